//! A driver that joins another: it is told its plan and its start, and tells its events.

use std::io::{self, Write};
use std::net::ToSocketAddrs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{bail, Context, Result};
use loadstone_record::event::EVENT_SCHEMA;
use loadstone_schedule::plan::Plan;
use rustix::process::{getpid, kill_process, Signal};
use rustix::time::ClockId;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::time::{sleep, timeout};
use tokio_rustls::client::TlsStream;

use super::line::{line, Hearing, Said, Saying, Word, PLAN};
use super::members::Members;
use super::network::{network, TIMEOUT};
use super::secure::Token;
use super::setting::Setting;
use crate::clock::{kernel_ns, Clock};

/// Pause between two looks whether the leader is up.
const LOOK: Duration = Duration::from_millis(200);
/// Beginning of a driver's last event.
const END: &[u8] = b"{\"event\":\"end\"";
/// A name that TLS wants and nobody looks at: the leader is known by its key.
const NAME: &str = "loadstone";

/// Joins the driver that leads; events go to `Events`.
pub struct Joiner {
    network: Arc<Runtime>,
    hearing: Option<Hearing<TlsStream<TcpStream>>>,
    saying: Arc<Saying>,
    has_ended: Arc<AtomicBool>,
}

/// Where its events go.
pub struct Events {
    network: Arc<Runtime>,
    saying: Arc<Saying>,
    line: Vec<u8>,
    /// Whether the last event is written: the leader may close the line then.
    has_ended: Arc<AtomicBool>,
}

impl Joiner {
    /// Connects to a leader, which may yet have to come up. After `silence` it counts as lost.
    pub fn connect(address: &str, token: &Token, silence: Duration) -> Result<Self> {
        let (network, connector) = (network()?, token.connector()?);
        let (hearing, saying) = network.block_on(async {
            let stream = found(address).await?;
            let name = ServerName::try_from(NAME)?;
            let shaken = timeout(TIMEOUT, connector.connect(name, stream)).await;
            let stream = shaken.context("it sent nothing")?;
            line(stream.with_context(|| format!("{address} does not know the token"))?, &Said::Alive, silence)
        })?;
        Ok(Joiner { network, hearing: Some(hearing), saying: Arc::new(saying), has_ended: Arc::default() })
    }

    /// Where this driver's events go.
    pub fn events(&self) -> Events {
        let (network, saying, has_ended) = (self.network.clone(), self.saying.clone(), self.has_ended.clone());
        Events { network, saying, line: Vec::new(), has_ended }
    }
}

async fn found(address: &str) -> Result<TcpStream> {
    let until = Instant::now() + TIMEOUT;
    loop {
        let known = address.to_socket_addrs().with_context(|| format!("cannot look up `{address}`"))?;
        match TcpStream::connect(known.collect::<Vec<_>>().as_slice()).await {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(_) if Instant::now() < until => sleep(LOOK).await,
            Err(error) => return Err(error).with_context(|| format!("no leading driver at {address}")),
        }
    }
}

impl Setting for Joiner {
    fn prepare(&mut self) -> Result<(Plan, Members)> {
        let hearing = self.hearing.as_mut().context("the leader's messages were already read")?;
        let plan = self.network.block_on(async {
            loop {
                match hearing.hear_within(PLAN).await? {
                    Word::Plan(plan) => return Ok(plan),
                    Word::Alive => {}
                    _ => bail!("it sent no plan"),
                }
            }
        });
        let plan = plan.context("the leader is gone")?;
        eprintln!("plays part {} of {}", plan.member.index + 1, plan.member.of);
        Ok((*plan, Members::default()))
    }

    fn agree(&mut self, _: &mut Members) -> Result<Clock> {
        let mut hearing = self.hearing.take().context("the leader's messages were already read")?;
        let origin_ns = self.network.block_on(self.origin_ns(&mut hearing)).context("the leader is gone")?;
        self.network.spawn(heed_stop(hearing, self.has_ended.clone()));
        Ok(Clock::starting_at(origin_ns))
    }
}

impl Joiner {
    /// Tells its clock as often as it is asked, until it hears when to start.
    async fn origin_ns(&self, hearing: &mut Hearing<TlsStream<TcpStream>>) -> Result<u64> {
        loop {
            match hearing.hear().await? {
                Word::Clock => {
                    let heard_ns = kernel_ns(ClockId::Monotonic);
                    let now_ns = kernel_ns(ClockId::Monotonic);
                    self.saying.say(&Said::Now { schema: EVENT_SCHEMA, heard_ns, now_ns }).await?;
                }
                Word::Start(origin_ns) => return Ok(origin_ns),
                Word::Alive => {}
                Word::Plan(_) | Word::Stop => bail!("it does not start the run"),
            }
        }
    }
}

/// From the start on the leader has one word left; its end, and its silence, mean the same while the run lasts.
async fn heed_stop(mut hearing: Hearing<TlsStream<TcpStream>>, has_ended: Arc<AtomicBool>) {
    while let Ok(Word::Alive) = hearing.hear().await {}
    if !has_ended.load(Ordering::SeqCst) {
        let _ = kill_process(getpid(), Signal::INT); // as if its user had ended it
    }
}

impl Write for Events {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.say()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Events {
    /// Says an event that was written whole.
    fn say(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        self.has_ended.fetch_or(line.starts_with(END), Ordering::SeqCst);
        let event = [b"{\"event\":", line.trim_ascii_end(), b"}\n"].concat();
        self.saying.say_line(event).map_err(io::Error::other)
    }

    /// Waits until all is sent.
    pub fn finish(self) {
        if let Ok(saying) = Arc::try_unwrap(self.saying) {
            self.network.block_on(saying.finish());
        }
    }
}
