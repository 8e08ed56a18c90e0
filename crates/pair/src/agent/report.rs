//! What an agent tells whoever started it: one JSON object a line.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hdrhistogram::Histogram;
use serde_json::{json, Value};

use super::keepers::deliver;
use crate::volume::Volume;

/// Lines that wait for a reader at most; later ones are dropped.
const MOST_UNREAD: usize = 4096;
/// Longest wait for the last lines to be read when the program ends.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);
/// Poll interval of that wait.
const FLUSH_POLL: Duration = Duration::from_millis(1);

static UNREAD: AtomicUsize = AtomicUsize::new(0);

/// A report on its way to its reader.
struct Line {
    text: String,
    /// Whether a later reader gets it too.
    is_stored: bool,
}

/// Writes a line. Never waits: a thread of its own writes, and a reader that stopped reading gets no more than
/// `MOST_UNREAD` lines when it resumes.
pub fn report(value: &Value) {
    write(value, true);
}

/// Writes a line that the next of its kind replaces; drops it where earlier lines were not read yet.
pub fn report_latest(value: &Value) {
    if UNREAD.load(Ordering::Acquire) == 0 {
        write(value, false);
    }
}

fn write(value: &Value, is_stored: bool) {
    static LINES: OnceLock<Option<SyncSender<Line>>> = OnceLock::new();
    let Some(lines) = LINES.get_or_init(start_writer) else { return };
    UNREAD.fetch_add(1, Ordering::AcqRel);
    if lines.try_send(Line { text: stamped(value).to_string(), is_stored }).is_err() {
        UNREAD.fetch_sub(1, Ordering::AcqRel);
    }
}

/// With the time of this host's clock: a later reader gets it later.
fn stamped(value: &Value) -> Value {
    let mut stamped = value.clone();
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    stamped["unix_s"] = since.as_secs_f64().into();
    stamped
}

/// Waits until all lines are written, as long as a reader may take.
pub fn flush_reports() {
    let until = Instant::now() + FLUSH_TIMEOUT;
    while UNREAD.load(Ordering::Acquire) > 0 && Instant::now() < until {
        std::thread::sleep(FLUSH_POLL);
    }
}

fn start_writer() -> Option<SyncSender<Line>> {
    let (sender, lines): (_, Receiver<Line>) = sync_channel(MOST_UNREAD);
    let write = move || {
        for Line { text, is_stored } in lines {
            // Unit tests have no reader: their reports would hide which test failed.
            if !deliver(&text, is_stored) && !cfg!(test) {
                let mut out = std::io::stdout().lock();
                let _ = writeln!(out, "{text}").and_then(|()| out.flush());
            }
            UNREAD.fetch_sub(1, Ordering::AcqRel);
        }
    };
    std::thread::Builder::new().name("reports".into()).spawn(write).ok()?;
    Some(sender)
}

/// How long outputs were held, and how far the secondary is behind.
pub struct Metrics {
    held_ns: Histogram<u64>,
    lag_ns: f64,
    log: Volume,
    /// When the log's rate was computed last, and its bytes then.
    rated: (Instant, Volume),
    wire_bytes: u64,
    frames: u64,
    writes: u64,
    /// Of the latest probe to the other side and back, through both agents; none before the first.
    pub round_trip_ns: Option<u64>,
}

/// Steps of the distribution of holding times for each halving of what lies beyond.
const TICKS: u32 = 2;
/// Weight of the newest lag in its moving average.
const NEWEST: f64 = 0.05;

impl Metrics {
    /// Nothing was measured yet.
    pub fn new() -> anyhow::Result<Self> {
        // Three digits up to an hour.
        let held_ns = Histogram::new_with_bounds(1, Duration::from_secs(3600).as_nanos() as u64, 3)?;
        Ok(Metrics {
            held_ns,
            lag_ns: 0.0,
            log: Volume::default(),
            rated: (Instant::now(), Volume::default()),
            wire_bytes: 0,
            frames: 0,
            writes: 0,
            round_trip_ns: None,
        })
    }

    /// A frame, or a write to a shared disk, left after so long.
    pub fn left(&mut self, is_write: bool, held_ns: u64) {
        *(if is_write { &mut self.writes } else { &mut self.frames }) += 1;
        self.held_ns.saturating_record(held_ns.max(1));
    }

    /// What was replayed now had been recorded so long ago.
    pub fn replayed(&mut self, behind: Duration) {
        self.lag_ns += NEWEST * (behind.as_nanos() as f64 - self.lag_ns);
    }

    /// So much log went over the wire, as so many bytes.
    pub fn sent(&mut self, log: Volume, wire_bytes: u64) {
        self.log += log;
        self.wire_bytes += wire_bytes;
    }

    /// All of it since the beginning; the log's rate, in Mbit/s, since this was called last.
    pub fn told(&mut self) -> Value {
        let (before, earlier) = std::mem::replace(&mut self.rated, (Instant::now(), self.log));
        let (added, seconds) = (self.log - earlier, before.elapsed().as_secs_f64().max(1e-9));
        let mbit_per_s = |bytes: u64| 8e-6 * bytes as f64 / seconds;
        let curve = self.held_ns.iter_quantiles(TICKS).filter(|step| step.count_since_last_iteration() > 0);
        let curve: Vec<_> = curve.map(|step| (step.value_iterated_to() as f64 / 1e6, step.quantile())).collect();
        let held = |share: f64| self.held_ns.value_at_quantile(share) as f64 / 1e6;
        json!({
            "lag_ms": self.lag_ns / 1e6,
            "log_bytes": self.log.total(),
            "log_bytes_by_kind": self.log.by_name().collect::<BTreeMap<_, _>>(),
            "log_mbit_per_s": mbit_per_s(added.total()),
            "log_mbit_per_s_by_kind": added.by_name().map(|(kind, bytes)| (kind, mbit_per_s(bytes))).collect::<BTreeMap<_, _>>(),
            "wire_bytes": self.wire_bytes,
            "round_trip_ms": self.round_trip_ns.map(|took| took as f64 / 1e6),
            "frames": self.frames,
            "writes": self.writes,
            "held_curve": curve,
            "held_ms": {
                "p50": held(0.5),
                "p90": held(0.9),
                "p99": held(0.99),
                "p99.9": held(0.999),
                "max": self.held_ns.max() as f64 / 1e6,
            },
        })
    }
}
