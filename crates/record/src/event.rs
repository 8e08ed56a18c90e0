//! What a driver says while it runs: one JSON object a line on its standard output.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fault::Fault;
use crate::recorder::{CpuShare, IntervalRecord, Totals, TotalsRecord};
use crate::total::Total;

/// Version of the event schema.
pub const EVENT_SCHEMA: u32 = 7;

/// One operation; its times count from the start of the run.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
pub struct OperationLine {
    /// In the order of the part's `operations` in the start event.
    pub operation: u32,
    /// When its user meant to start it.
    pub intended_ns: u64,
    /// None where it was in flight when the run ended.
    pub end_ns: Option<u64>,
    pub fault: Option<Fault>,
}

/// A request and its answer as they were on the connection; its times count from the start of the run.
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

/// Lines that a driver writes, an object each. Instants count from the start of the run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
#[schemars(extend("x-version" = EVENT_SCHEMA))]
pub enum Event {
    /// All is prepared; the driver waits for the start signal.
    Ready {
        schema: u32,
    },
    /// The run begins.
    Start {
        schema: u32,
        version: String,
        /// Driver threads, of all drivers together.
        threads: u32,
        drivers: u32,
        parts: Vec<PartNames>,
        /// Wall-clock time of the start, since 1970-01-01.
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
    /// A phase begins.
    #[schemars(title = "PhaseChange")]
    Phase {
        phase: String,
        at_ns: u64,
    },
    Interval(Box<IntervalRecord>),
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
    #[schemars(title = "StationUse")]
    Station {
        at_ns: u64,
        length_ns: u64,
        workers: u32,
        busy_ns: u64,
    },
    Totals(Box<TotalsRecord>),
    /// The driver is done.
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
    /// Paths of the embedded files of each operation; the totals have them.
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

impl Event {
    /// The event of a part's steady state of `steady_ns`.
    pub fn totals(part: &PartNames, steady_ns: u64, totals: &Totals, cpu: CpuShare) -> Self {
        let mut record = TotalsRecord { part: part.workload.clone(), steady_ns, cpu, ..totals.to_record() };
        record
            .operations
            .iter_mut()
            .zip(&part.operations)
            .for_each(|(operation, name)| operation.name.clone_from(name));
        for (operation, paths) in record.operations.iter_mut().zip(&part.files) {
            operation.files.iter_mut().zip(paths).for_each(|(file, path)| file.path.clone_from(path));
        }
        Event::Totals(Box::new(record))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detail::FileSample;
    use crate::recorder::Recorder;

    #[test]
    fn totals_name_their_operations_and_files() {
        let mut recorder = Recorder::new(2, 0..100);
        let file = FileSample { operation: 1, file: 1, begun_ns: 1, end_ns: 9, bytes: 5, not_modified: false };
        recorder.file(&file);
        let part = PartNames {
            workload: "shop".into(),
            operations: vec!["home".into(), "order".into()],
            files: vec![vec![], vec!["/a".into(), "/b".into()]],
        };
        let event = Event::totals(&part, 100, &recorder.totals, CpuShare { threads: vec![0.25] });
        let event = serde_json::to_value(&event).expect("plain data");
        assert_eq!(
            (&event["event"], &event["part"], &event["steady_ns"]),
            (&"totals".into(), &"shop".into(), &100.into())
        );
        assert_eq!(event["cpu"]["threads"], serde_json::json!([0.25]));
        assert_eq!(
            (&event["operations"][0]["name"], &event["operations"][1]["name"]),
            (&"home".into(), &"order".into())
        );
        let files = &event["operations"][1]["files"];
        assert_eq!(
            (&files[0]["path"], &files[1]["path"], &files[1]["requests"]),
            (&"/a".into(), &"/b".into(), &1.into())
        );
        let read: Event = serde_json::from_value(event).expect("as written");
        assert!(matches!(read, Event::Totals(totals) if totals.operations.len() == 2));
    }
}
