//! What a member of a run says, turned into reports, and refused where it is not what its share of the plan comes to.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::{anyhow, bail, ensure, Context, Result};
use loadstone_record::event::{EndReason, Event};
use loadstone_record::recorder::IntervalRecord;
use loadstone_record::{Interval, Total, Totals};
use loadstone_schedule::plan::{self, Plan};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;
use tokio_rustls::server::TlsStream;

use super::line::{Hearing, Said, Saying, Word};
use super::member::Member;
use crate::report::{ticks, Report};

/// Words that are handed on as they are, of one member, beyond what the plan asks to be written down.
const MOST_HANDED_ON: usize = 100_000;
/// Time that a member has for its end once it was told to stop.
const GRACE: Duration = Duration::from_secs(5);

pub struct Follower {
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

/// Tells a member to stop once that is wanted, and comes when it should have ended.
async fn overdue(saying: &Saying, stopped: &mut watch::Receiver<bool>) {
    if stopped.wait_for(|&is_stopped| is_stopped).await.is_err() {
        std::future::pending::<()>().await; // nobody can tell it any more
    }
    let _ = saying.say(&Word::Stop).await; // a line that is gone shows where it is heard
    sleep(GRACE).await;
}

impl Follower {
    /// Of a member that plays a share of this plan.
    pub fn new(plan: &Plan, sender: mpsc::UnboundedSender<Report>) -> Self {
        let part = |part: &plan::Part| (part.workload.name.clone(), part.workload.operations.len());
        let logged = plan.threads.max(1) as usize * (plan.log_starts as usize + plan.log_operations as usize);
        Follower {
            starts: ticks(&plan.phases).map(|(from, _)| from).collect(),
            parts: plan.parts.iter().map(part).collect(),
            sender,
            most: MOST_HANDED_ON + logged,
            heard: Heard::default(),
        }
    }

    /// Hands on what a member says until its end; one that was told to stop has a few seconds for that.
    pub async fn run(mut self, member: Member, mut stopped: watch::Receiver<bool>) {
        let Member { name, mut hearing, saying, .. } = member;
        let told = tokio::select! {
            read = self.read(&mut hearing) => read,
            () = overdue(&saying, &mut stopped) => Err(anyhow!("it did not end within {} s of the request", GRACE.as_secs())),
        };
        if let Err(error) = told {
            let _ = self.sender.send(Report::Failed(format!("the driver at {name}: {error:#}")));
        }
    }

    async fn read(&mut self, hearing: &mut Hearing<TlsStream<TcpStream>>) -> Result<()> {
        loop {
            let said = hearing.hear().await.context("it is gone before the end of the run")?;
            let event = match said {
                Said::Alive => continue,
                Said::Event(event) => *event,
                Said::Now { .. } => bail!("it sent its clock without a request"),
            };
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
        ensure!(self.parts[part].1 == operations, "its operations differ from the plan");
        Ok(part)
    }

    /// The same, of totals, which are told once.
    fn part_of_totals(&mut self, name: &str, operations: usize) -> Result<usize> {
        let part = self.part(name, operations)?;
        ensure!(self.heard.totals.insert(part), "it sent its totals twice");
        Ok(part)
    }

    /// An event of a member as a report to be merged; none for what the leader says itself.
    pub(super) fn report(&mut self, event: Event) -> Result<Option<Report>> {
        Ok(Some(match event {
            Event::Ready { .. } | Event::Start { .. } | Event::Phase { .. } | Event::End { .. } => return Ok(None),
            Event::Exchange(_) | Event::Performed { .. } => anyhow::bail!("it sent a trace without a request"),
            event @ (Event::Trouble { .. }
            | Event::Starts { .. }
            | Event::Operations { .. }
            | Event::Ledger { .. }
            | Event::Station { .. }) => {
                self.heard.handed_on += 1;
                ensure!(self.heard.handed_on <= self.most, "it sent too many events");
                Report::Event(Box::new(event))
            }
            Event::Interval(record) => {
                let IntervalRecord { at_ns, sessions_active: active, connections_open: open, .. } = *record;
                let from_ns = at_ns.checked_sub(record.length_ns);
                let number = from_ns.and_then(|from_ns| self.starts.binary_search(&from_ns).ok());
                let number = number.context("its intervals differ from the plan")?;
                let part = self.part(&record.part, record.operations.len())?;
                ensure!(self.heard.intervals.insert((part, number)), "it sent an interval twice");
                let cpu = record.cpu.threads.clone();
                let interval = Box::new(Interval::from_record(*record)?);
                Report::Interval { part, number, at_ns, interval, active, open, cpu }
            }
            Event::Totals(record) => {
                let part = self.part_of_totals(&record.part, record.operations.len())?;
                let (steady_ns, cpu) = (record.steady_ns, record.cpu.threads.clone());
                Report::Totals { part, totals: Box::new(Totals::from_record(*record)?), cpu, steady_ns }
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::line::line;
    use super::*;
    use loadstone_record::event::PartNames;
    use loadstone_record::recorder::CpuShare;
    use loadstone_record::Recorder;

    const SILENCE: Duration = Duration::from_secs(3);

    #[tokio::test(start_paused = true)]
    async fn a_member_is_told_to_stop_and_has_a_few_seconds_for_it() {
        let (near, far) = tokio::io::duplex(1 << 16);
        let (_, saying) = line(near, &Word::Alive, SILENCE).expect("a line");
        let (mut hearing, _saying) = line(far, &Said::Alive, SILENCE).expect("a line");
        let (stop, mut stopped) = watch::channel(false);
        let waiting = tokio::spawn(async move { overdue(&saying, &mut stopped).await });
        sleep(GRACE).await;
        assert!(!waiting.is_finished());
        stop.send(true).expect("heard");
        while !matches!(hearing.hear::<Word>().await.expect("a word"), Word::Stop) {}
        waiting.await.expect("no panic");
    }

    fn follower() -> Follower {
        let (sender, _) = mpsc::unbounded_channel();
        let parts = vec![("shop".into(), 1), ("bank".into(), 1)];
        Follower { starts: vec![0, 10, 20], parts, sender, most: 2, heard: Heard::default() }
    }

    fn interval(part: &str, at_ns: u64) -> Event {
        let mut recorder = Recorder::new(1, 0..30);
        recorder.request(1);
        Event::Interval(Box::new(IntervalRecord {
            part: part.into(),
            at_ns,
            length_ns: 10,
            phase: "steady".into(),
            sessions_active: 3,
            connections_open: 2,
            cpu: CpuShare { threads: vec![0.5] },
            ..recorder.take_interval().to_record()
        }))
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
        assert_eq!(refused(interval("bank", 31)), "its intervals differ from the plan");
        assert_eq!(refused(interval("bank", 5)), "its intervals differ from the plan");
        let mut other = follower();
        other.parts[1].1 = 2;
        let error = other.report(interval("bank", 30)).err().expect("refused");
        assert_eq!(error.to_string(), "its operations differ from the plan");
    }

    #[test]
    fn a_member_that_ends_before_it_has_told_all_or_tells_it_twice_is_refused() {
        let mut follower = follower();
        assert_eq!(follower.is_all_there().expect_err("nothing").to_string(), "it ended without its totals");
        for part in ["shop", "bank"] {
            for at_ns in [10, 20, 30] {
                follower.report(interval(part, at_ns)).expect("known");
            }
            let names = PartNames { workload: part.into(), operations: vec!["page".into()], files: Vec::new() };
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
        assert_eq!(follower.report(ledger()).err().expect("one too many").to_string(), "it sent too many events");
    }

    #[test]
    fn what_the_leader_says_itself_is_not_merged() {
        let end = Event::End { at_ns: 1, reason: EndReason::Completed };
        assert!(follower().report(end).expect("known").is_none());
    }
}
