//! Several drivers play one plan: one leads, the others join it over TCP, start at the same instant and send it their
//! events, which it merges with its own.
//!
//! One JSON document a line. The leader sends the plan with the joiner's share of it, asks for its clock a few times
//! (the answer of the shortest round trip tells the difference), and says at what instant of that clock to start. The
//! network between the drivers must be trusted: nothing is encrypted.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure, Context, Result};
use loadstone_record::event::{EndReason, Event, EVENT_SCHEMA};
use loadstone_record::{Interval, Totals};
use loadstone_schedule::plan::{self, Plan};
use rustix::process::{getpid, kill_process, Signal};
use rustix::time::ClockId;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::clock::{kernel_ns, Clock};
use crate::report::{ticks, Report};

/// How often a joiner's clock is asked for.
const QUESTIONS: u32 = 20;
/// Time between the word to start and the start.
const LEAD_NS: u64 = 500_000_000;
/// Time a joiner has for an answer before the start, and a leader to be there.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Longest word: plans with the instants of a trace are the longest.
const MOST_WORD_BYTES: u64 = 64 << 20;
/// Words that are handed on as they are, of one member, beyond what the plan asks to be written down.
const MOST_HANDED_ON: usize = 100_000;

/// Where a driver's plan, its companions and its start come from.
pub trait Setting: Send {
    /// The plan this driver plays, and the other drivers whose reports it merges.
    fn prepare(&mut self) -> Result<(Plan, Members)>;
    /// The instant of the start, once everyone is ready.
    fn agree(&mut self, members: &mut Members) -> Result<Clock>;
    /// Whether someone waits to hear that all is prepared.
    fn waits(&self) -> bool {
        false
    }
}

/// What a leader says.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    Plan(Box<Plan>),
    /// What does your monotonic clock say?
    Clock,
    /// Start at this instant of your monotonic clock.
    Start(u64),
    Stop,
}

/// A joiner's answer: it is ready, and this is its monotonic clock.
#[derive(Serialize, Deserialize)]
struct Now {
    schema: u32,
    now_ns: u64,
}

/// The drivers that have joined a leader.
#[derive(Default)]
pub struct Members(Vec<Member>);

struct Member {
    name: SocketAddr,
    reader: BufReader<TcpStream>,
    writer: TcpStream,
    /// Its clock less ours, in nanoseconds.
    ahead_ns: i64,
}

/// Leads: waits until as many drivers have joined as were announced.
pub struct Leader<F> {
    pub read_plan: F,
    pub address: String,
    pub joining: u32,
}

/// Joins the driver that leads at `address`; events go to `events`.
pub struct Joiner {
    reader: BufReader<TcpStream>,
    writer: TcpStream,
}

impl<F: Fn() -> Result<Plan> + Send> Setting for Leader<F> {
    fn prepare(&mut self) -> Result<(Plan, Members)> {
        let mut plan = (self.read_plan)()?;
        let listener =
            TcpListener::bind(&self.address).with_context(|| format!("cannot listen on {}", self.address))?;
        eprintln!("waiting on {} for {} drivers to join", listener.local_addr()?, self.joining);
        let of = self.joining + 1;
        let mut members = Members::default();
        for index in 1..of {
            let (stream, name) = listener.accept()?;
            plan.member = plan::Member { index, of };
            members.0.push(Member::welcome(stream, name, &plan).with_context(|| format!("the driver at {name}"))?);
        }
        plan.member = plan::Member { index: 0, of };
        Ok((plan, members))
    }

    fn agree(&mut self, members: &mut Members) -> Result<Clock> {
        for member in &mut members.0 {
            member.compare_clocks().with_context(|| format!("the driver at {}", member.name))?;
        }
        let origin_ns = kernel_ns(ClockId::Monotonic) + LEAD_NS;
        for member in &mut members.0 {
            say(&mut member.writer, &Word::Start(origin_ns.saturating_add_signed(member.ahead_ns)))?;
        }
        Ok(Clock::starting_at(origin_ns))
    }
}

impl Member {
    fn welcome(stream: TcpStream, name: SocketAddr, plan: &Plan) -> Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        let mut member = Member { name, reader: BufReader::new(stream.try_clone()?), writer: stream, ahead_ns: 0 };
        say(&mut member.writer, &Word::Plan(Box::new(plan.clone())))?;
        Ok(member)
    }

    fn compare_clocks(&mut self) -> Result<()> {
        let mut shortest = u64::MAX;
        for _ in 0..QUESTIONS {
            let before = kernel_ns(ClockId::Monotonic);
            say(&mut self.writer, &Word::Clock)?;
            let Now { schema, now_ns } = hear(&mut self.reader)?;
            let after = kernel_ns(ClockId::Monotonic);
            if schema != EVENT_SCHEMA {
                bail!("it speaks event schema {schema}, this one {EVENT_SCHEMA}; install the same version on both");
            }
            if after - before < shortest {
                shortest = after - before;
                self.ahead_ns = now_ns as i64 - (before + shortest / 2) as i64;
            }
        }
        Ok(())
    }
}

impl Members {
    /// How many other drivers take part.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether this driver plays alone.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Where to say that the run ends early.
    pub fn stoppers(&self) -> Result<Vec<TcpStream>> {
        self.0.iter().map(|member| Ok(member.writer.try_clone()?)).collect()
    }

    /// Turns what the members write into reports, one thread each.
    pub fn follow(self, plan: &Plan, sender: mpsc::UnboundedSender<Report>) -> Result<Vec<JoinHandle<()>>> {
        let ends: Vec<u64> = ticks(&plan.phases).map(|(from, _)| from).collect();
        let part = |part: &plan::Part| (part.workload.name.clone(), part.workload.operations.len());
        let parts: Vec<(String, usize)> = plan.parts.iter().map(part).collect();
        let logged = plan.threads.max(1) as usize * (plan.log_starts as usize + plan.log_operations as usize);
        let follow = |member: Member| {
            let (sender, starts, parts) = (sender.clone(), ends.clone(), parts.clone());
            let follower = Follower { starts, parts, sender, most: MOST_HANDED_ON + logged, heard: Heard::default() };
            let spawned = std::thread::Builder::new().name("member".into()).spawn(move || follower.run(member));
            Ok(spawned?)
        };
        self.0.into_iter().map(follow).collect()
    }
}

/// Says to a member that the run ends early; one that is gone need not hear it.
pub fn stop(writer: &mut TcpStream) {
    let _ = say(writer, &Word::Stop);
}

struct Follower {
    /// Beginnings of the run's intervals, in order.
    starts: Vec<u64>,
    /// Names of the parts, and how many operations each has.
    parts: Vec<(String, usize)>,
    sender: mpsc::UnboundedSender<Report>,
    /// Words that are handed on as they are, at most.
    most: usize,
    heard: Heard,
}

/// What a member has said so far.
#[derive(Default)]
struct Heard {
    /// By part and number.
    intervals: HashSet<(usize, usize)>,
    /// By part.
    totals: HashSet<usize>,
    handed_on: usize,
}

impl Follower {
    fn run(mut self, mut member: Member) {
        if let Err(error) = self.read(&mut member) {
            let _ = self.sender.send(Report::Failed(format!("the driver at {}: {error:#}", member.name)));
        }
    }

    fn read(&mut self, member: &mut Member) -> Result<()> {
        member.writer.set_read_timeout(None)?;
        loop {
            let event = hear(&mut member.reader).context("it is gone before the end of the run")?;
            if let Event::End { reason, .. } = event {
                if reason == EndReason::Interrupted {
                    let _ = self.sender.send(Report::Interrupted);
                    return Ok(());
                }
                return self.is_all_there();
            }
            if let Some(report) = self.report(event)? {
                let _ = self.sender.send(report);
            }
        }
    }

    /// Refuses an end before all was said: what is missing would look like a smaller load.
    fn is_all_there(&self) -> Result<()> {
        let intervals = self.parts.len() * self.starts.len();
        ensure!(self.heard.totals.len() == self.parts.len(), "it ended without its totals");
        ensure!(self.heard.intervals.len() == intervals, "it ended without all its intervals");
        Ok(())
    }

    /// A part by its name, of as many operations as it says.
    fn part(&self, name: &str, operations: usize) -> Result<usize> {
        let known = self.parts.iter().position(|(known, _)| known == name);
        let part = known.with_context(|| format!("it plays `{name}`"))?;
        ensure!(self.parts[part].1 == operations, "its operations are other ones");
        Ok(part)
    }

    /// The same, of totals, which are told once.
    fn part_of_totals(&mut self, name: &str, operations: usize) -> Result<usize> {
        let part = self.part(name, operations)?;
        ensure!(self.heard.totals.insert(part), "it tells its totals twice");
        Ok(part)
    }

    /// An event of a member as a report to be merged; none for what the leader says itself.
    fn report(&mut self, event: Event) -> Result<Option<Report>> {
        Ok(Some(match event {
            Event::Ready { .. } | Event::Start { .. } | Event::Phase { .. } | Event::End { .. } => return Ok(None),
            event @ (Event::Trouble { .. }
            | Event::Starts { .. }
            | Event::Operations { .. }
            | Event::Ledger { .. }
            | Event::Station { .. }) => {
                self.heard.handed_on += 1;
                ensure!(self.heard.handed_on <= self.most, "it says too much");
                Report::Event(Box::new(event))
            }
            Event::Interval {
                part,
                at_ns,
                length_ns,
                sessions_active,
                connections_open,
                operations,
                response,
                service,
                lag,
                connections,
                cpu,
                ..
            } => {
                let from_ns = at_ns.checked_sub(length_ns);
                let number = from_ns.and_then(|from_ns| self.starts.binary_search(&from_ns).ok());
                let number = number.context("its intervals are other ones")?;
                let part = self.part(&part, operations.len())?;
                ensure!(self.heard.intervals.insert((part, number)), "it tells an interval twice");
                Report::Interval {
                    part,
                    number,
                    at_ns,
                    interval: Box::new(Interval {
                        operations: operations.into_iter().map(Into::into).collect(),
                        response: (&response).try_into()?,
                        service: (&service).try_into()?,
                        lag: (&lag).try_into()?,
                        connections,
                    }),
                    active: sessions_active,
                    open: connections_open,
                    cpu: cpu.threads,
                }
            }
            Event::Totals {
                part,
                steady_ns,
                operations,
                lag,
                longest_gap_ns,
                sessions,
                pauses,
                pause,
                connections,
                cpu,
            } => Report::Totals {
                part: self.part_of_totals(&part, operations.len())?,
                totals: Box::new(Totals {
                    operations: operations.into_iter().map(TryInto::try_into).collect::<Result<_, _>>()?,
                    lag: (&lag).try_into()?,
                    longest_gap_ns,
                    sessions,
                    pauses,
                    pause: (&pause).try_into()?,
                    connections,
                }),
                cpu: cpu.threads,
                steady_ns,
            },
        }))
    }
}

impl Joiner {
    /// Connects to a leader, which may yet have to come up.
    pub fn connect(address: &str) -> Result<Self> {
        let until = Instant::now() + TIMEOUT;
        let stream = loop {
            let known = address.to_socket_addrs().with_context(|| format!("cannot look up `{address}`"))?;
            match TcpStream::connect(known.collect::<Vec<_>>().as_slice()) {
                Ok(stream) => break stream,
                Err(_) if Instant::now() < until => std::thread::sleep(Duration::from_millis(200)),
                Err(error) => return Err(error).with_context(|| format!("nobody leads at {address}")),
            }
        };
        stream.set_nodelay(true)?;
        Ok(Joiner { reader: BufReader::new(stream.try_clone()?), writer: stream })
    }

    /// Where this driver's events go.
    pub fn events(&self) -> Result<TcpStream> {
        Ok(self.writer.try_clone()?)
    }
}

impl Setting for Joiner {
    fn prepare(&mut self) -> Result<(Plan, Members)> {
        match hear(&mut self.reader).context("the leader is gone")? {
            Word::Plan(plan) => {
                eprintln!("plays part {} of {}", plan.member.index + 1, plan.member.of);
                Ok((*plan, Members::default()))
            }
            _ => bail!("the leader has no plan"),
        }
    }

    fn agree(&mut self, _: &mut Members) -> Result<Clock> {
        loop {
            match hear(&mut self.reader).context("the leader is gone")? {
                Word::Clock => {
                    let now = Now { schema: EVENT_SCHEMA, now_ns: kernel_ns(ClockId::Monotonic) };
                    say(&mut self.writer, &now)?;
                }
                Word::Start(origin_ns) => {
                    self.heed_stop()?;
                    return Ok(Clock::starting_at(origin_ns));
                }
                Word::Plan(_) | Word::Stop => bail!("the leader does not start the run"),
            }
        }
    }
}

impl Joiner {
    /// From the start on the leader has one word left; its end means the same.
    fn heed_stop(&mut self) -> Result<()> {
        let mut reader = BufReader::new(self.reader.get_ref().try_clone()?);
        std::thread::Builder::new().name("leader".into()).spawn(move || {
            let _: Result<Word> = hear(&mut reader);
            let _ = kill_process(getpid(), Signal::INT); // as if its user had ended it
        })?;
        Ok(())
    }
}

fn say(writer: &mut TcpStream, what: &impl Serialize) -> Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    Ok(writer.write_all(&line)?)
}

fn hear<T: for<'a> Deserialize<'a>>(reader: &mut impl BufRead) -> Result<T> {
    let mut line = String::new();
    if reader.by_ref().take(MOST_WORD_BYTES).read_line(&mut line)? == 0 {
        bail!("the connection was closed");
    }
    let beginning = || line.chars().take(80).collect::<String>();
    serde_json::from_str(&line).with_context(|| format!("not understood: {}", beginning()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadstone_record::event::{CpuShare, Moment, PartNames};
    use loadstone_record::Recorder;

    fn follower() -> Follower {
        let (sender, _) = mpsc::unbounded_channel();
        let parts = vec![("shop".into(), 1), ("bank".into(), 1)];
        Follower { starts: vec![0, 10, 20], parts, sender, most: 2, heard: Heard::default() }
    }

    fn interval(part: &str, at_ns: u64) -> Event {
        let mut recorder = Recorder::new(1, 0..30);
        recorder.request(1);
        let moment = Moment { at_ns, length_ns: 10, phase: "steady".into(), sessions_active: 3, connections_open: 2 };
        Event::interval(part, moment, &recorder.take_interval(), CpuShare { threads: vec![0.5] })
    }

    #[test]
    fn an_interval_of_a_member_finds_its_part_and_number() {
        let Some(Report::Interval { part, number, interval, active, open, .. }) =
            follower().report(interval("bank", 30)).expect("known")
        else {
            panic!("no interval");
        };
        assert_eq!((part, number, active, open), (1, 2, 3, 2));
        assert_eq!(interval.connections.http_requests, 1);
    }

    #[test]
    fn what_another_run_would_say_is_refused() {
        let refused = |event| follower().report(event).err().map_or("not refused".into(), |error| error.to_string());
        assert_eq!(refused(interval("mail", 30)), "it plays `mail`");
        assert_eq!(refused(interval("bank", 31)), "its intervals are other ones");
        assert_eq!(refused(interval("bank", 5)), "its intervals are other ones");
        let mut other = follower();
        other.parts[1].1 = 2;
        let error = other.report(interval("bank", 30)).err().expect("refused");
        assert_eq!(error.to_string(), "its operations are other ones");
    }

    #[test]
    fn a_member_that_ends_before_it_has_told_all_or_tells_it_twice_is_refused() {
        let mut follower = follower();
        assert_eq!(follower.is_all_there().expect_err("nothing").to_string(), "it ended without its totals");
        for part in ["shop", "bank"] {
            for at_ns in [10, 20, 30] {
                follower.report(interval(part, at_ns)).expect("known");
            }
            let names = PartNames { workload: part.into(), operations: vec!["page".into()] };
            let totals = Event::totals(&names, 1, &Totals::new(1), CpuShare::default());
            follower.report(totals.clone()).expect("known");
            assert!(follower.report(totals).is_err());
        }
        follower.is_all_there().expect("all of it");
        assert!(follower.report(interval("bank", 30)).is_err());
        follower.heard.intervals.remove(&(1, 2));
        assert_eq!(follower.is_all_there().expect_err("one").to_string(), "it ended without all its intervals");
    }

    #[test]
    fn a_member_may_not_say_without_end() {
        let mut follower = follower();
        let ledger = || Event::Ledger { part: "bank".into(), operation: "page".into(), endings: vec![], in_doubt: 0 };
        assert!(follower.report(ledger()).is_ok() && follower.report(ledger()).is_ok());
        assert_eq!(follower.report(ledger()).err().expect("one too many").to_string(), "it says too much");
    }

    #[test]
    fn what_the_leader_says_itself_is_not_merged() {
        let end = Event::End { at_ns: 1, reason: EndReason::Completed };
        assert!(follower().report(end).expect("known").is_none());
    }

    #[test]
    fn a_word_is_one_line_and_anything_else_is_named() {
        let heard = |text: &str| hear::<Word>(&mut text.as_bytes()).map(|word| matches!(word, Word::Start(7)));
        assert!(heard("{\"start\":7}\n").expect("a word"));
        assert_eq!(heard("").expect_err("nothing").to_string(), "the connection was closed");
        assert_eq!(heard("{\"go\":1}\n").expect_err("no word").to_string(), "not understood: {\"go\":1}\n");
        let cut = format!("{}\u{e9}{}", "x".repeat(79), "y".repeat(9)); // a letter of two bytes where the line is cut
        assert!(heard(&cut).expect_err("no word").to_string().ends_with("x\u{e9}"));
    }

    #[test]
    fn clocks_are_compared_by_the_shortest_round_trip() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound").to_string();
        let joiner = std::thread::spawn(move || {
            let stream = TcpStream::connect(address).expect("a leader");
            let (mut reader, mut writer) = (BufReader::new(stream.try_clone().expect("a stream")), stream);
            let ahead_ns = 3_600_000_000_000;
            for _ in 0..QUESTIONS {
                let _: Word = hear(&mut reader).expect("a question");
                let now_ns = kernel_ns(ClockId::Monotonic) + ahead_ns;
                say(&mut writer, &Now { schema: EVENT_SCHEMA, now_ns }).expect("heard");
            }
        });
        let (stream, name) = listener.accept().expect("a joiner");
        let mut member =
            Member { name, reader: BufReader::new(stream.try_clone().expect("a stream")), writer: stream, ahead_ns: 0 };
        member.compare_clocks().expect("answers");
        joiner.join().expect("no panic");
        assert!(member.ahead_ns.abs_diff(3_600_000_000_000) < 50_000_000, "{}", member.ahead_ns);
    }
}
