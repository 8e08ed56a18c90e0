//! What an agent tells whoever started it: one JSON object a line.

use std::io::Write;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde_json::{json, Value};

/// Writes a line; nobody need read it.
pub fn report(value: &Value) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{value}").and_then(|()| out.flush());
}

/// How long outputs were held, and how far the secondary is behind.
pub struct Metrics {
    held_ns: Histogram<u64>,
    lag_ns: f64,
    log_bytes: u64,
    wire_bytes: u64,
    frames: u64,
    writes: u64,
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
        Ok(Metrics { held_ns, lag_ns: 0.0, log_bytes: 0, wire_bytes: 0, frames: 0, writes: 0 })
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
    pub fn sent(&mut self, log_bytes: u64, wire_bytes: u64) {
        self.log_bytes += log_bytes;
        self.wire_bytes += wire_bytes;
    }

    /// All of it, since the beginning.
    pub fn told(&self) -> Value {
        let curve = self.held_ns.iter_quantiles(TICKS).filter(|step| step.count_since_last_iteration() > 0);
        let curve: Vec<_> = curve.map(|step| (step.value_iterated_to() as f64 / 1e6, step.quantile())).collect();
        let held = |share: f64| self.held_ns.value_at_quantile(share) as f64 / 1e6;
        json!({
            "lag_ms": self.lag_ns / 1e6,
            "log_bytes": self.log_bytes,
            "wire_bytes": self.wire_bytes,
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
