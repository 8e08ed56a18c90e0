//! What the sessions of one thread share: the timer, memory, the record so far.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use loadstone_record::event::{Event, OperationLine};
use loadstone_record::outcome::Outcome;
use loadstone_record::words::MOST_ANSWERS;
use loadstone_record::{Fault, Recorder};
use loadstone_schedule::slots::Values;

use crate::client::extent::Extent;
use crate::job::Job;
use crate::ledger::AuditLedger;
use crate::operation::allowed_ns;
use crate::scratch::Scratch;
use crate::timer::Timer;

/// Samples of trouble reported for each operation and kind by one thread.
const MOST_SAMPLES: u32 = 3;

fn recorder(job: &Job) -> Recorder {
    Recorder::new(job.operations.len(), job.phases.steady_start()..job.phases.steady_end())
}

/// What all sessions of a thread share, whatever they play.
#[derive(Clone)]
pub struct Common {
    pub timer: Timer,
    pub scratch: Rc<RefCell<Scratch>>,
}

/// An operation under way.
#[derive(Clone, Copy, Debug)]
pub struct UnderWay {
    pub operation: usize,
    pub intended_ns: u64,
    /// How long it had lasted before the run.
    pub before_ns: u64,
    /// When it can no longer be tolerable; none where its limit does not say.
    pub overdue_ns: Option<u64>,
}

/// What one thread's sessions of one workload share.
pub struct Shared {
    pub job: Arc<Job>,
    pub timer: Timer,
    pub scratch: Rc<RefCell<Scratch>>,
    pub recorder: RefCell<Recorder>,
    pub active: Cell<u64>,
    pub open: Cell<u64>,
    /// What each local session has under way.
    pub under_way: RefCell<Vec<Option<UnderWay>>>,
    /// Memory for kept heads of bodies.
    pub heads: RefCell<Vec<Vec<u8>>>,
    /// The first starts of the steady state: intended and actual.
    pub starts: RefCell<Vec<(u64, u64)>>,
    /// Operations one by one since they were last handed over, and how many there were before.
    operations: RefCell<(Vec<OperationLine>, usize)>,
    /// What the server must hold.
    pub ledger: RefCell<AuditLedger>,
    /// The largest answer to each operation so far, in bytes.
    largest: RefCell<Vec<u64>>,
    /// Answers to each operation that were taken for the words that they have in common.
    compared: RefCell<Vec<u32>>,
    /// Whether each operation's answers set cookies, as far as one was answered.
    cookies: RefCell<Vec<Option<bool>>>,
    samples: RefCell<HashMap<(usize, Fault), u32>>,
    troubles: RefCell<Vec<Event>>,
    /// Whether the visit that is traced is over.
    pub is_over: Cell<bool>,
}

impl Shared {
    /// Nothing was played yet.
    pub fn new(job: Arc<Job>, common: Common) -> Self {
        Shared {
            recorder: RefCell::new(recorder(&job)),
            active: Cell::new(0),
            open: Cell::new(0),
            under_way: RefCell::default(),
            heads: RefCell::default(),
            starts: RefCell::default(),
            operations: RefCell::default(),
            ledger: RefCell::new(AuditLedger::new(&job.operations)),
            largest: RefCell::new(vec![0; job.operations.len()]),
            compared: RefCell::new(vec![0; job.operations.len()]),
            cookies: RefCell::new(vec![None; job.operations.len()]),
            samples: RefCell::default(),
            troubles: RefCell::default(),
            is_over: Cell::new(false),
            job,
            timer: common.timer,
            scratch: common.scratch,
        }
    }

    /// The run's time.
    pub fn now(&self) -> u64 {
        self.timer.now()
    }

    /// Forgets what was recorded before the run.
    pub fn begin(&self) {
        self.recorder.replace(recorder(&self.job));
        self.compared.borrow_mut().fill(0);
        self.operations.take();
    }

    /// Whether the next answer to an operation is taken for the words that its first answers have in common.
    pub fn compares(&self, operation: usize) -> bool {
        let taken = &mut self.compared.borrow_mut()[operation];
        let is_taken = *taken < MOST_ANSWERS;
        *taken += u32::from(is_taken);
        is_taken
    }

    /// Makes room for one more session; returns its number on this thread.
    pub fn slot(&self) -> usize {
        let mut under_way = self.under_way.borrow_mut();
        under_way.push(None);
        under_way.len() - 1
    }

    /// A session has an operation under way that was meant to start at `intended_ns`. Where nobody declares how large
    /// its answer is, it's expected to be as large as the largest so far.
    pub fn began(&self, slot: usize, operation: usize, (intended_ns, extent): (u64, Extent), values: &Values) {
        let compiled = &self.job.operations[operation];
        let largest = || Some(self.largest.borrow()[operation]).filter(|&bytes| bytes > 0);
        let allowed_ns = allowed_ns(&compiled.limit, compiled.body_bytes(values).or_else(largest));
        let before_ns = match extent {
            Extent::Rest(midway) if compiled.can_be_taken_up(&self.job.rates()) => midway.done_ns,
            _ => 0,
        };
        let left_ns = allowed_ns.map(|allowed_ns| allowed_ns.saturating_sub(before_ns));
        let overdue_ns = left_ns.map(|left_ns| intended_ns.saturating_add(left_ns));
        self.under_way.borrow_mut()[slot] = Some(UnderWay { operation, intended_ns, before_ns, overdue_ns });
    }

    /// That operation is over.
    pub fn ended(&self, slot: usize, outcome: &Outcome) {
        self.under_way.borrow_mut()[slot] = None;
        let largest = &mut self.largest.borrow_mut()[outcome.operation];
        *largest = outcome.bytes.max(*largest);
        self.log(OperationLine {
            operation: outcome.operation as u32,
            intended_ns: outcome.intended_ns,
            end_ns: Some(outcome.end_ns),
            fault: outcome.fault,
        });
    }

    /// That operation is under way at the end, and never ended.
    pub fn never_ended(&self, operation: usize, intended_ns: u64) {
        self.log(OperationLine { operation: operation as u32, intended_ns, end_ns: None, fault: None });
    }

    fn log(&self, line: OperationLine) {
        let mut operations = self.operations.borrow_mut();
        if operations.1 < self.job.log_operations {
            operations.0.push(line);
            operations.1 += 1;
        }
    }

    /// The operations that ended since they were last taken, where the plan asks for them.
    pub fn take_operations(&self) -> Option<Event> {
        let operations = std::mem::take(&mut self.operations.borrow_mut().0);
        (!operations.is_empty()).then(|| Event::Operations { part: self.job.name().to_owned(), operations })
    }

    /// An operation starts at `now_ns`, meant for `intended_ns`.
    pub fn note_start(&self, now_ns: u64, intended_ns: u64) {
        let mut recorder = self.recorder.borrow_mut();
        recorder.lag(now_ns, now_ns.saturating_sub(intended_ns));
        if self.job.log_starts > 0 && recorder.is_steady(intended_ns) {
            let mut starts = self.starts.borrow_mut();
            if starts.len() < self.job.log_starts {
                starts.push((intended_ns, now_ns));
            }
        }
    }

    /// Notes what went wrong, a few times for each operation and kind.
    pub fn trouble(&self, operation: usize, kind: Fault, detail: &str) {
        let mut samples = self.samples.borrow_mut();
        let seen = samples.entry((operation, kind)).or_default();
        *seen += 1;
        if *seen <= MOST_SAMPLES {
            let operation = self.job.operations[operation].name.clone();
            let (part, detail) = (self.job.name().to_owned(), self.job.withheld.hide(detail).into_owned());
            let event = Event::Trouble { part, at_ns: self.now(), operation, kind, detail };
            self.troubles.borrow_mut().push(event);
        }
    }

    /// Tells something of a visit that is traced, without secrets; `what` is asked for nothing else.
    pub fn trace(&self, what: impl FnOnce() -> Event) {
        if self.job.traces {
            self.troubles.borrow_mut().push(self.job.withheld.hide_in(what()));
        }
    }

    /// Counts the operations under way that have already passed their tolerable time: a server that never answers
    /// must not pass for want of answers.
    pub fn note_overdue(&self, now_ns: u64) {
        for under_way in self.under_way.borrow().iter().flatten() {
            if under_way.overdue_ns.is_some_and(|overdue_ns| overdue_ns < now_ns) {
                self.recorder.borrow_mut().overdue(under_way.operation);
            }
        }
    }

    /// Whether an operation that was over when its user was found must be performed again: one that the server must know
    /// of, or whose answer brings a cookie. Where no answer was seen yet, it is, and that is learned.
    pub fn must_catch_up(&self, operation: usize, is_first: bool) -> bool {
        let may_bring_cookie = || self.job.mail.is_none() && self.cookies.borrow()[operation] != Some(false);
        self.job.leaves_traces(operation, is_first) || may_bring_cookie()
    }

    /// Notes whether an operation's answer set a cookie. A cookie that came once may always come again: a user may have
    /// had it from elsewhere.
    pub fn learn_cookies(&self, operation: usize, sets_cookie: bool, is_well: bool) {
        let known = &mut self.cookies.borrow_mut()[operation];
        if sets_cookie {
            *known = Some(true);
        } else if is_well {
            known.get_or_insert(false);
        }
    }

    /// The samples of trouble noted since they were last taken.
    pub fn take_troubles(&self) -> Vec<Event> {
        std::mem::take(&mut self.troubles.borrow_mut())
    }
}

/// Counts something open for as long as it lives.
pub struct Counted<'a>(&'a Cell<u64>);

impl<'a> Counted<'a> {
    /// Counts one more until it is dropped.
    pub fn new(counter: &'a Cell<u64>) -> Self {
        counter.set(counter.get() + 1);
        Counted(counter)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}
