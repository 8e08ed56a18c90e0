//! The door of a leader: hears out who connects, and lets in who knows the run's token.

use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::time::Duration;

use anyhow::{Context, Result};
use loadstone_schedule::plan::{self, Plan};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_rustls::server::TlsStream;
use tokio_rustls::TlsAcceptor;

use super::line::{line, Word};
use super::member::Member;

/// Connections of strangers that are heard out at once, how many of one address, and how many of them are named.
pub const MOST_STRANGERS: usize = 256;
pub const MOST_OF_AN_ADDRESS: usize = 128;
const MOST_NAMED: u32 = 20;
/// Longest time for a whole handshake with a stranger.
const GREETING: Duration = Duration::from_secs(5);
/// Pause after a connection that could not be taken, as where no more files can be opened.
const AFTER_AN_ERROR: Duration = Duration::from_millis(10);

/// Lets in drivers until each share has one, and tells each its share of the plan. After `silence` a driver counts as
/// lost.
pub async fn welcome(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    plan: &Plan,
    shares: Range<u32>,
    silence: Duration,
) -> Result<Vec<Member>> {
    let (sender, mut let_in) = mpsc::channel(1);
    let door = tokio::spawn(open_door(listener, acceptor, sender));
    let mut joined = Vec::new();
    let of = shares.end;
    for index in shares {
        let (name, stream) = let_in.recv().await.context("no driver can join any more")?;
        let (hearing, saying) = line(stream, &Word::Alive, silence)?;
        let share = Plan { member: plan::Member { index, of }, ..plan.clone() };
        saying.say(&Word::Plan(Box::new(share))).await.with_context(|| format!("the driver at {name}"))?;
        joined.push(Member { name, hearing, saying, ahead_ns: 0, bound_ns: 0 });
    }
    door.abort();
    Ok(joined)
}

/// Hears out who connects, and lets in who knows the token. Where there are too many, the oldest stranger makes room.
async fn open_door(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    let_in: mpsc::Sender<(SocketAddr, TlsStream<TcpStream>)>,
) -> Result<()> {
    let (mut strangers, mut named): (Vec<(IpAddr, AbortHandle)>, _) = (Vec::new(), 0);
    loop {
        let Ok((stream, name)) = listener.accept().await else {
            tokio::time::sleep(AFTER_AN_ERROR).await;
            continue;
        };
        named += 1;
        let (acceptor, let_in, is_named) = (acceptor.clone(), let_in.clone(), named <= MOST_NAMED);
        strangers.retain(|(_, greeting)| !greeting.is_finished());
        if let Some(at) = to_make_room(&strangers, name.ip()) {
            strangers.remove(at).1.abort();
        }
        let greeting = tokio::spawn(async move {
            let _ = stream.set_nodelay(true);
            match timeout(GREETING, acceptor.accept(stream)).await {
                Ok(Ok(stream)) => {
                    // Apart, so that it makes room for nobody while it waits to be taken.
                    tokio::spawn(async move { let_in.send((name, stream)).await });
                }
                refused if is_named => {
                    let why = refused.map_or("it sent nothing".into(), |done| {
                        done.err().map_or(String::new(), |error| error.to_string())
                    });
                    eprintln!("refused {name}, which does not know the token: {why}");
                }
                _ => {}
            }
        });
        strangers.push((name.ip(), greeting.abort_handle()));
    }
}

/// Which of the strangers, the oldest first, makes room for another from this address; none where there is a place. It
/// is of the address that has the most, so that one address drives out no other.
pub fn to_make_room<T>(strangers: &[(IpAddr, T)], from: IpAddr) -> Option<usize> {
    let count = |address: IpAddr| strangers.iter().filter(|one| one.0 == address).count();
    if count(from) >= MOST_OF_AN_ADDRESS {
        return strangers.iter().position(|one| one.0 == from);
    }
    if strangers.len() < MOST_STRANGERS {
        return None;
    }
    let most = strangers.iter().map(|one| count(one.0)).max()?;
    strangers.iter().position(|one| count(one.0) == most)
}
