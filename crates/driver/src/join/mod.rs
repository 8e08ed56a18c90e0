//! Several drivers play one plan: one leads, the others join it over TCP, start at the same instant and send it their
//! events, which it merges with its own.
//!
//! Only who knows the run's token is let in (`secure`). The leader sends the plan with the joiner's share of it, compares
//! clocks by four time stamps a few times (the shortest round trip tells the difference best), and says at what instant of
//! the joiner's clock to start. Either end notices within seconds when the other is gone (`line`).

mod follower;
mod joiner;
mod line;
#[cfg(test)]
mod merging;
mod secure;

use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{bail, Context, Result};
use loadstone_record::event::EVENT_SCHEMA;
use loadstone_schedule::plan::{self, Load, Plan};
use rustix::time::ClockId;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::{timeout, Instant};
use tokio_rustls::server::TlsStream;
use tokio_rustls::TlsAcceptor;

use crate::awaited::awaited_origin_ns;
use crate::clock::{kernel_ns, Clock};
use crate::report::Report;
use follower::Follower;
pub use joiner::Joiner;
use line::{line, Hearing, Said, Saying, Word};
pub use secure::Token;

/// How often a joiner's clock is asked for.
const QUESTIONS: u32 = 20;
/// Time between the word to start and the start.
const LEAD_NS: u64 = 500_000_000;
/// Longest time for a handshake, and for a joiner to find its leader.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Longest time that joiners may take to prepare: as long as the laboratory waits for its own drivers.
const PREPARE: Duration = Duration::from_secs(1800);
/// Connections of strangers that are heard out at once, how many of one address, and how many of them are named.
const MOST_STRANGERS: usize = 256;
const MOST_OF_AN_ADDRESS: usize = 128;
const MOST_NAMED: u32 = 20;
/// Longest time for a whole handshake with a stranger.
const GREETING: Duration = Duration::from_secs(5);
/// Pause after a connection that could not be taken, as where no more files can be opened.
const AFTER_AN_ERROR: Duration = Duration::from_millis(10);

/// Where a driver's plan, its companions and its start come from.
pub trait Setting: Send {
    /// The plan this driver plays, and the other drivers whose reports it merges.
    fn prepare(&mut self) -> Result<(Plan, Members)>;
    /// Waits until the others are prepared too.
    fn gather(&mut self, _: &mut Members) -> Result<()> {
        Ok(())
    }
    /// The instant of the start, once everyone is ready.
    fn agree(&mut self, members: &mut Members) -> Result<Clock>;
    /// Whether someone waits to hear that all is prepared.
    fn waits(&self) -> bool {
        false
    }
}

/// The drivers that have joined a leader.
#[derive(Default)]
pub struct Members {
    joined: Vec<Member>,
    network: Option<Arc<Runtime>>,
}

/// One of them.
pub struct Member {
    name: SocketAddr,
    hearing: Hearing<TlsStream<TcpStream>>,
    saying: Saying,
    /// Its clock less ours, in nanoseconds, and by how much that may be wrong at most.
    ahead_ns: i64,
    bound_ns: u64,
}

/// What keeps members' lines open, and tells them that the run ends early.
pub struct Lines {
    stop: watch::Sender<bool>,
    _network: Option<Arc<Runtime>>,
}

/// Leads: waits until as many drivers have joined as were announced.
pub struct Leader<F> {
    pub read_plan: F,
    pub address: String,
    pub joining: u32,
    pub token: Token,
    pub share: Share,
    pub start: StartWord,
}

/// Whether the driver that leads plays itself.
#[derive(Clone, Copy, PartialEq)]
pub enum Share {
    /// A share like the others'.
    Own,
    /// Nothing: it only merges what the others tell, so that its host need not be fit to make load.
    None,
}

/// Whether the driver that leads chooses the start.
#[derive(Clone, Copy, PartialEq)]
pub enum StartWord {
    Own,
    /// Someone tells it, as `start::Told` is told.
    Awaited,
}

/// What serves the lines to other drivers, on a thread of its own.
fn network() -> Result<Arc<Runtime>> {
    let built = Builder::new_multi_thread().worker_threads(1).thread_name("network").enable_all().build();
    Ok(Arc::new(built?))
}

impl<F: Fn() -> Result<Plan> + Send> Setting for Leader<F> {
    fn prepare(&mut self) -> Result<(Plan, Members)> {
        let mut plan = (self.read_plan)()?;
        let first = u32::from(self.share == Share::Own);
        let (network, acceptor, of) = (network()?, self.token.acceptor()?, self.joining + first);
        let joined = network.block_on(async {
            let listener = TcpListener::bind(&self.address).await;
            let listener = listener.with_context(|| format!("cannot listen on {}", self.address))?;
            eprintln!("waiting on {} for {} drivers to join", listener.local_addr()?, self.joining);
            welcome(listener, acceptor, &plan, first..of).await
        })?;
        plan.member = plan::Member { index: 0, of };
        if self.share == Share::None {
            leave_to_others(&mut plan);
        }
        Ok((plan, Members { joined, network: Some(network) }))
    }

    fn gather(&mut self, members: &mut Members) -> Result<()> {
        members.compare_clocks()
    }

    fn agree(&mut self, members: &mut Members) -> Result<Clock> {
        let origin_ns = match self.start {
            StartWord::Own => None,
            StartWord::Awaited => Some(awaited_origin_ns()?),
        };
        members.compare_clocks()?; // anew: clocks drift while somebody waits for the word
        let origin_ns = origin_ns.unwrap_or_else(|| kernel_ns(ClockId::Monotonic) + LEAD_NS);
        members.start(origin_ns)?;
        Clock::starting_in_time(origin_ns)
    }

    fn waits(&self) -> bool {
        self.start == StartWord::Awaited
    }
}

/// A plan without its load: nobody is played.
fn leave_to_others(plan: &mut Plan) {
    for part in &mut plan.parts {
        part.load = Load::Population { sessions: 0, path: Vec::new() };
    }
}

/// Lets in drivers until each share has one, and tells each its share of the plan.
async fn welcome(listener: TcpListener, acceptor: TlsAcceptor, plan: &Plan, shares: Range<u32>) -> Result<Vec<Member>> {
    let (sender, mut let_in) = mpsc::channel(1);
    let door = tokio::spawn(open_door(listener, acceptor, sender));
    let mut joined = Vec::new();
    let of = shares.end;
    for index in shares {
        let (name, stream) = let_in.recv().await.context("nobody can join any more")?;
        let (hearing, saying) = line(stream, &Word::Alive)?;
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
                    let why = refused.map_or("it was silent".into(), |done| {
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
fn to_make_room<T>(strangers: &[(IpAddr, T)], from: IpAddr) -> Option<usize> {
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

impl Member {
    /// Asks for its clock once it is ready, by four time stamps each (RFC 5905, section 8).
    async fn compare_clocks(&mut self) -> Result<()> {
        let mut shortest = u64::MAX;
        for _ in 0..QUESTIONS {
            let asked_ns = kernel_ns(ClockId::Monotonic);
            self.saying.say(&Word::Clock).await?;
            let (heard_ns, said_ns) = self.hear_clock().await?;
            let back_ns = kernel_ns(ClockId::Monotonic);
            let round_ns = (back_ns - asked_ns).saturating_sub(said_ns.saturating_sub(heard_ns));
            if round_ns < shortest {
                shortest = round_ns;
                let (there, back) = (heard_ns as i128 - asked_ns as i128, said_ns as i128 - back_ns as i128);
                self.bound_ns = round_ns.div_ceil(2);
                self.ahead_ns = i64::try_from((there + back) / 2).context("its clock is from another age")?;
            }
        }
        Ok(())
    }

    async fn hear_clock(&mut self) -> Result<(u64, u64)> {
        let until = Instant::now() + PREPARE;
        while Instant::now() < until {
            match self.hearing.hear().await? {
                Said::Alive => {}
                Said::Now { schema: EVENT_SCHEMA, heard_ns, now_ns } => return Ok((heard_ns, now_ns)),
                Said::Now { schema, .. } => {
                    bail!("it speaks event schema {schema}, this one {EVENT_SCHEMA}; install the same version on both")
                }
                Said::Event(_) => bail!("it tells of a run that has not begun"),
            }
        }
        bail!("it was not ready within {} s", PREPARE.as_secs())
    }
}

impl Members {
    /// How many other drivers take part.
    pub fn len(&self) -> usize {
        self.joined.len()
    }

    /// Whether this driver plays alone.
    pub fn is_empty(&self) -> bool {
        self.joined.is_empty()
    }

    /// Compares clocks with all, which each answers once it is ready.
    fn compare_clocks(&mut self) -> Result<()> {
        let Members { joined, network } = self;
        let Some(network) = network else { bail!("nobody has joined") };
        network.block_on(async {
            for member in joined {
                member.compare_clocks().await.with_context(|| format!("the driver at {}", member.name))?;
            }
            Ok(())
        })
    }

    /// Tells all when to start: at this instant of our clock.
    fn start(&mut self, origin_ns: u64) -> Result<()> {
        let Members { joined, network } = self;
        let Some(network) = network else { bail!("nobody has joined") };
        network.block_on(async {
            for member in joined {
                member.saying.say(&Word::Start(origin_ns.saturating_add_signed(member.ahead_ns))).await?;
            }
            Ok(())
        })
    }

    /// By how much the clocks may differ from what was found, at most; none of a driver that plays alone.
    pub fn clock_bound_ns(&self) -> Option<u64> {
        self.joined.iter().map(|member| member.bound_ns).max()
    }

    /// Turns what the members say into reports.
    pub fn follow(self, plan: &Plan, sender: &mpsc::UnboundedSender<Report>) -> Lines {
        let (stop, stopped) = watch::channel(false);
        if let Some(network) = &self.network {
            for member in self.joined {
                network.spawn(Follower::new(plan, sender.clone()).run(member, stopped.clone()));
            }
        }
        Lines { stop, _network: self.network }
    }
}

impl Lines {
    /// Has all members told that the run ends early.
    pub fn stop(&self) {
        let _ = self.stop.send(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadstone_schedule::plan::PLAN_SCHEMA;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    fn token(letter: &str) -> Token {
        Token::new(letter.repeat(30)).expect("long enough")
    }

    fn plan() -> Plan {
        serde_json::from_value(serde_json::json!({
            "schema": PLAN_SCHEMA, "name": "test", "seed": 1, "threads": 1, "parts": [],
            "phases": { "ramp_up_ns": 0, "warm_up_ns": 0, "steady_ns": 1, "ramp_down_ns": 0 },
        }))
        .expect("a plan")
    }

    async fn joins(address: SocketAddr, token: &Token) -> Result<tokio_rustls::client::TlsStream<TcpStream>> {
        let stream = TcpStream::connect(address).await?;
        let mut stream = token.connector()?.connect("loadstone".try_into()?, stream).await?;
        stream.write_all(b"\n").await?; // who was refused is told when it says more
        stream.read_u8().await?;
        Ok(stream)
    }

    #[tokio::test]
    async fn strangers_are_told_nothing_and_hold_nobody_up() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let acceptor = token("a").acceptor().expect("keys");
        let welcoming = tokio::spawn(async move { welcome(listener, acceptor, &plan(), 1..2).await });
        let _silent = TcpStream::connect(address).await.expect("a line");
        let mut loud = TcpStream::connect(address).await.expect("a line");
        loud.write_all(&[7; 1000]).await.expect("sent");
        let mut said = Vec::new();
        let _ = loud.read_to_end(&mut said).await;
        assert!(said.len() < 20, "an alert at most: {said:?}");
        assert!(joins(address, &token("b")).await.is_err());
        assert!(!welcoming.is_finished());
        joins(address, &token("a")).await.expect("let in");
        assert_eq!(welcoming.await.expect("no panic").expect("joined").len(), 1);
        assert!(Token::new("short".into()).is_err());
    }

    #[tokio::test]
    async fn strangers_who_send_a_byte_now_and_then_keep_nobody_out() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let acceptor = token("a").acceptor().expect("keys");
        let welcoming = tokio::spawn(async move { welcome(listener, acceptor, &plan(), 1..4).await });
        let mut held = Vec::new();
        let mut joined = Vec::new();
        for _ in 0..3 {
            for _ in 0..MOST_OF_AN_ADDRESS + 8 {
                let mut slow = TcpStream::connect(address).await.expect("a line");
                slow.write_all(&[22, 3, 1]).await.expect("sent");
                held.push(slow);
            }
            joined.push(joins(address, &token("a")).await.expect("let in"));
        }
        assert_eq!(welcoming.await.expect("no panic").expect("joined").len(), 3);
    }

    #[test]
    fn the_oldest_of_the_address_with_the_most_makes_room() {
        let address = |last: u8| IpAddr::from([192, 0, 2, last]);
        let of = |last: &[u8]| last.iter().map(|&last| (address(last), ())).collect::<Vec<_>>();
        let full: Vec<u8> = (0..MOST_STRANGERS).map(|at| if at < 8 { 1 } else { 2 + at as u8 % 4 }).collect();
        assert_eq!(to_make_room(&of(&full), address(9)), Some(8));
        assert_eq!(to_make_room(&of(&full[1..]), address(9)), None);
        assert_eq!(to_make_room(&of(&[2, 1].repeat(MOST_OF_AN_ADDRESS)), address(1)), Some(1));
    }

    #[tokio::test]
    async fn clocks_are_compared_by_the_shortest_round_trip() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let acceptor = token("a").acceptor().expect("keys");
        let joiner = tokio::spawn(async move {
            let stream = TcpStream::connect(address).await.expect("a leader");
            let name = "loadstone".try_into().expect("a name");
            let stream = token("a").connector().expect("keys").connect(name, stream).await.expect("let in");
            let (mut hearing, saying) = line(stream, &Said::Alive).expect("a line");
            while let Ok(word) = hearing.hear().await {
                if matches!(word, Word::Clock) {
                    let heard_ns = kernel_ns(ClockId::Monotonic) + 3_600_000_000_000;
                    let now = Said::Now { schema: EVENT_SCHEMA, heard_ns, now_ns: heard_ns };
                    saying.say(&now).await.expect("heard");
                }
            }
        });
        let mut member = welcome(listener, acceptor, &plan(), 1..2).await.expect("joined").remove(0);
        member.compare_clocks().await.expect("answers");
        let wrong_ns = member.ahead_ns.abs_diff(3_600_000_000_000);
        assert!(wrong_ns <= member.bound_ns && member.bound_ns < 50_000_000, "{wrong_ns} of {}", member.bound_ns);
        drop(member);
        joiner.await.expect("no panic");
    }
}
