//! What a driver says while it runs: one JSON object a line on its standard output.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::counts::{ConnectionStats, Counts, OperationTotals, PauseCounts, SessionCounts};
use crate::detail::{FileRecord, Slowest, StatusCount};
use crate::fault::Fault;
use crate::histogram::TimeHistogram;
use crate::recorder::{Interval, Totals};

/// Version of the event schema.
pub const EVENT_SCHEMA: u32 = 6;

/// One operation. Times are nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
pub struct OperationLine {
    /// In the order of the part's `operations` in the start event.
    pub operation: u32,
    /// When its user meant to start it.
    pub intended_ns: u64,
    /// None where it was under way when the run ended.
    pub end_ns: Option<u64>,
    pub fault: Option<Fault>,
}

/// A request and its answer as they were on the connection; times are nanoseconds since the start of the run.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Exchange {
    pub at_ns: u64,
    pub first_byte_ns: u64,
    pub end_ns: u64,
    pub is_secure: bool,
    /// As HTTP/1.1 writes it, whatever the version spoken.
    pub request: String,
    /// Status line and fields of the answer; empty where none came.
    pub head: String,
    /// The beginning of its body, decoded.
    pub body: String,
    /// Bytes received, head included, and those of the body, decoded.
    pub bytes: u64,
    pub body_bytes: u64,
    /// Why it failed; empty where it did not.
    pub fault: String,
}

/// A line. Times are nanoseconds; `at_ns` counts from the start of the run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// All is prepared; the driver waits for the start signal.
    Ready {
        schema: u32,
    },
    Start {
        schema: u32,
        version: String,
        /// Driver threads, of all drivers together.
        threads: u32,
        drivers: u32,
        parts: Vec<PartNames>,
        /// Wall-clock time of the start, nanoseconds since 1970-01-01.
        start_unix_ns: u64,
        /// What reading the clock once costs here.
        clock_cost_ns: f64,
        /// How late the timer wakes up on an idle loop: median of the calibration.
        timer_slack_ns: u64,
        /// By how much the drivers' starts may differ at most: half of the longest round trip by which a clock was
        /// compared. None of a driver that plays alone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        clock_bound_ns: Option<u64>,
    },
    Phase {
        phase: String,
        at_ns: u64,
    },
    Interval {
        /// The workload it is about.
        part: String,
        at_ns: u64,
        length_ns: u64,
        phase: String,
        sessions_active: u64,
        connections_open: u64,
        /// In the order of the part's `operations` in the start event.
        operations: Vec<OperationCounts>,
        response: Encoded,
        service: Encoded,
        /// How late the driver acted against its own schedule.
        lag: Encoded,
        #[serde(rename = "wires")]
        connections: ConnectionStats,
        cpu: CpuShare,
    },
    /// A sample of what went wrong; a few of each kind.
    Trouble {
        part: String,
        at_ns: u64,
        operation: String,
        kind: Fault,
        detail: String,
    },
    /// A request and its answer, where the plan asks for a trace.
    Exchange(Box<Exchange>),
    /// An operation that ended, where the plan asks for a trace.
    Performed {
        operation: String,
        at_ns: u64,
        end_ns: u64,
        kind: Option<Fault>,
        detail: String,
        /// What was taken from its answer, by name.
        values: Vec<(String, String)>,
    },
    /// The first starts of the steady state, one by one, where the plan asks for them.
    Starts {
        part: String,
        intended_ns: Vec<u64>,
        actual_ns: Vec<u64>,
    },
    /// Operations one by one as they ended, where the plan asks for them.
    Operations {
        part: String,
        operations: Vec<OperationLine>,
    },
    /// How operations of several possible endings ended on one thread, over the whole run: what an audit is held against.
    Ledger {
        part: String,
        operation: String,
        endings: Vec<LedgerEntry>,
        /// Operations that had no right answer, or none in time: the server may hold what they asked for, or not.
        in_doubt: u64,
    },
    /// Work of the modelled station of a simulation in an interval.
    Station {
        at_ns: u64,
        length_ns: u64,
        workers: u32,
        busy_ns: u64,
    },
    Totals {
        part: String,
        steady_ns: u64,
        operations: Vec<OperationRecord>,
        lag: Encoded,
        /// The longest time for which a driver thread, although it had something to do, did not run.
        longest_gap_ns: u64,
        sessions: SessionCounts,
        pauses: PauseCounts,
        /// How long those pauses were, as they came.
        pause: Encoded,
        #[serde(rename = "wires")]
        connections: ConnectionStats,
        cpu: CpuShare,
    },
    End {
        at_ns: u64,
        reason: EndReason,
    },
}

/// One way of ending well.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LedgerEntry {
    pub name: String,
    pub count: u64,
    /// Of those, the ones that started and ended in the steady state.
    pub steady: u64,
    /// Sum of the hashes (FNV-1a, 64 bits, wrapping) of what the server must hold, in hexadecimal.
    pub sum: String,
}

/// A workload of the plan and its operations.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PartNames {
    pub workload: String,
    pub operations: Vec<String>,
    /// Paths of the embedded files of each operation; they stand with the totals.
    #[serde(skip)]
    pub files: Vec<Vec<String>>,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    Completed,
    Interrupted,
}

/// The driver's own use of CPU over an interval, as shares of one core.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct CpuShare {
    /// One entry a thread.
    pub threads: Vec<f64>,
}

/// A histogram in HdrHistogram's V2 compressed base64 form (values in microseconds), with the figures most asked for.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Encoded {
    pub count: u64,
    pub mean_ns: f64,
    pub p50_ns: u64,
    pub p99_ns: u64,
    pub max_ns: u64,
    /// Recorded times above ten minutes, kept as ten minutes.
    pub clamped: u64,
    /// Empty when there is no sample.
    pub hdr: String,
}

impl From<&TimeHistogram> for Encoded {
    fn from(histogram: &TimeHistogram) -> Self {
        let count = histogram.count();
        Encoded {
            count,
            mean_ns: if count == 0 { 0.0 } else { histogram.sum_ns as f64 / count as f64 },
            p50_ns: histogram.quantile_ns(0.5),
            p99_ns: histogram.quantile_ns(0.99),
            max_ns: histogram.quantile_ns(1.0),
            clamped: histogram.clamped,
            hdr: if count == 0 { String::new() } else { histogram.encode() },
        }
    }
}

/// One operation in an interval.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct OperationCounts {
    pub requests: u64,
    pub good: u64,
    /// Tolerable but not good.
    pub tolerable: u64,
    pub fail: u64,
    pub bytes: u64,
    pub errors: BTreeMap<Fault, u64>,
}

impl From<&Counts> for OperationCounts {
    fn from(counts: &Counts) -> Self {
        OperationCounts {
            requests: counts.requests,
            good: counts.good,
            tolerable: counts.tolerable,
            fail: counts.fail,
            bytes: counts.bytes,
            errors: counts.errors.clone(),
        }
    }
}

/// One operation in the steady state.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct OperationRecord {
    pub name: String,
    pub counts: OperationCounts,
    /// Started before the steady state and ended in it; not in `counts`.
    pub cut_at_start: u64,
    /// Started in the steady state and ended after it or never; not in `counts`.
    pub cut_at_end: u64,
    /// Sum of the times of all operations that ended in the steady state, errors included.
    pub ended_ns: f64,
    /// Bytes of those operations.
    pub ended_bytes: u64,
    /// Of operations under way when the steady state began: their ages then.
    pub entered: Encoded,
    /// Ages at their answers, of all that were answered in the steady state.
    pub answered: Encoded,
    /// Ages of those still under way at its end, or when they failed.
    pub lost: Encoded,
    /// From starts of it to the starts of what came next, where starts are paced: as drawn and as kept.
    pub cycles: PauseCounts,
    /// Under way at the end of the steady state and beyond their tolerable time; not in `counts`.
    pub overdue: u64,
    pub embedded: u64,
    pub conditional: u64,
    pub not_modified: u64,
    pub redirects: u64,
    /// Pictures that its pages named, those of them that were fetched, and their bytes.
    #[serde(default)]
    pub images_named: u64,
    #[serde(default)]
    pub images_loaded: u64,
    #[serde(default)]
    pub image_bytes: u64,
    /// Bodies of its answers, decoded: more than `bytes` where they came compressed.
    #[serde(default)]
    pub body_bytes: u64,
    /// How often each request around its page was answered, by its place; shorter where the last ones never were.
    #[serde(default)]
    pub requests_beside: Vec<u64>,
    /// Mean time the user's line alone needs for the bytes of a page.
    pub line_mean_ns: f64,
    pub response: Encoded,
    pub service: Encoded,
    pub first_byte: Encoded,
    /// How often each status ended its page.
    #[serde(default)]
    pub statuses: Vec<StatusCount>,
    /// The longest response time, and when it began.
    #[serde(default)]
    pub slowest: Slowest,
    /// Its embedded files, in their order; shorter where the last never came.
    #[serde(default)]
    pub files: Vec<FileRecord>,
    /// Hashes of words that stand in each of its first right answers: the smallest 64, in ascending order. Empty where
    /// there are none, or where that is not known.
    #[serde(default)]
    pub words: Vec<u32>,
}

impl OperationRecord {
    /// The record of an operation from its totals; `paths` are those of its embedded files.
    pub fn new(name: &str, paths: &[String], totals: &OperationTotals) -> Self {
        let path = |at: usize| paths.get(at).map_or("", String::as_str);
        let files = totals.detail.files.iter().enumerate();
        let timed = totals.response.count();
        OperationRecord {
            name: name.to_owned(),
            counts: (&totals.counts).into(),
            cut_at_start: totals.cut_at_start,
            cut_at_end: totals.cut_at_end,
            ended_ns: totals.ended_ns as f64,
            ended_bytes: totals.ended_bytes,
            entered: (&totals.life.entered).into(),
            answered: (&totals.life.answered).into(),
            lost: (&totals.life.lost).into(),
            cycles: totals.cycles,
            overdue: totals.overdue,
            embedded: totals.embedded,
            conditional: totals.conditional,
            not_modified: totals.not_modified,
            redirects: totals.redirects,
            images_named: totals.images_named,
            images_loaded: totals.images_loaded,
            image_bytes: totals.image_bytes,
            body_bytes: totals.body_bytes,
            requests_beside: totals.requests_beside.clone(),
            line_mean_ns: if timed == 0 { 0.0 } else { totals.line_ns as f64 / timed as f64 },
            response: (&totals.response).into(),
            service: (&totals.service).into(),
            first_byte: (&totals.first_byte).into(),
            statuses: totals.detail.status_counts(),
            slowest: totals.detail.slowest,
            files: files.map(|(at, file)| FileRecord::new(path(at), file)).collect(),
            words: totals.detail.words.smallest(),
        }
    }
}

/// When an interval was, and what was open at its end.
#[derive(Clone, Debug, Default)]
pub struct Moment {
    pub at_ns: u64,
    pub length_ns: u64,
    pub phase: String,
    pub sessions_active: u64,
    pub connections_open: u64,
}

impl Event {
    /// The event of a part's interval.
    pub fn interval(part: &str, moment: Moment, interval: &Interval, cpu: CpuShare) -> Self {
        let Moment { at_ns, length_ns, phase, sessions_active, connections_open } = moment;
        Event::Interval {
            part: part.to_owned(),
            at_ns,
            length_ns,
            phase,
            sessions_active,
            connections_open,
            operations: interval.operations.iter().map(OperationCounts::from).collect(),
            response: (&interval.response).into(),
            service: (&interval.service).into(),
            lag: (&interval.lag).into(),
            connections: interval.connections,
            cpu,
        }
    }

    /// The event of a part's steady state of `steady_ns`.
    pub fn totals(part: &PartNames, steady_ns: u64, totals: &Totals, cpu: CpuShare) -> Self {
        let records = part.operations.iter().zip(&totals.operations).enumerate();
        let paths = |at: usize| part.files.get(at).map_or(&[][..], Vec::as_slice);
        Event::Totals {
            part: part.workload.clone(),
            steady_ns,
            operations: records.map(|(at, (name, totals))| OperationRecord::new(name, paths(at), totals)).collect(),
            lag: (&totals.lag).into(),
            longest_gap_ns: totals.longest_gap_ns,
            sessions: totals.sessions,
            pauses: totals.pauses,
            pause: (&totals.pause).into(),
            connections: totals.connections,
            cpu,
        }
    }
}
