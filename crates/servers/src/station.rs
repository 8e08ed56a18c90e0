//! The station role: k workers with a known service time, so that a measurement can be checked against theory. It
//! does no work; each request waits for the instant that queueing gives it.

use std::os::fd::OwnedFd;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{ensure, Result};
use bytes::Bytes;
use clap::{Args, ValueEnum};
use http::StatusCode;
use loadstone_schedule::station::{Admission, Faults, Layout, Service, Station};
use rustix::time::{
    timerfd_create, timerfd_settime, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec,
};
use tokio::io::unix::AsyncFd;

use crate::front::answer::{html, refusal, text, Answer};
use crate::front::{Request, Role};

/// Where a station says what it has done; not queued itself.
const USAGE: &str = "/usage";

/// How service times are spread.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Distribution {
    Fixed,
    Exponential,
    LogNormal,
}

/// A station as it is asked for on the command line; times in seconds.
#[derive(Debug, Args)]
pub struct Options {
    /// Requests served at the same time
    #[arg(long, default_value_t = 1)]
    workers: u32,
    /// Mean service time, in seconds
    #[arg(long, default_value_t = 0.01)]
    service: f64,
    /// How service times are spread
    #[arg(long, value_enum, default_value = "exponential")]
    distribution: Distribution,
    /// Standard deviation by mean, of log-normal service times
    #[arg(long, default_value_t = 1.0)]
    cv: f64,
    /// Most requests that wait; one more is answered 503. Without it none is refused
    #[arg(long)]
    queue: Option<u32>,
    /// All workers stand still for this long, in seconds ...
    #[arg(long, default_value_t = 0.0, requires = "stall_every")]
    stall: f64,
    /// ... at the end of each such time since the start
    #[arg(long, default_value_t = 0.0)]
    stall_every: f64,
    /// Share of requests answered 500 after their service
    #[arg(long, default_value_t = 0.0)]
    error_share: f64,
    /// Service is slower for this long after the start, in seconds ...
    #[arg(long, default_value_t = 0.0)]
    slow_start: f64,
    /// ... by this factor at first
    #[arg(long, default_value_t = 1.0)]
    slow_start_factor: f64,
    /// Seed of the service times
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// The role.
pub struct Waiting {
    station: Mutex<Station>,
    start: Instant,
}

impl Waiting {
    /// A station that waits in real time; an error says which options do not fit together.
    pub fn new(options: &Options) -> Result<Self> {
        let layout = options.layout()?;
        layout.check()?;
        Ok(Waiting { station: Mutex::new(Station::new(layout, options.seed)), start: Instant::now() })
    }

    fn now_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    fn usage(&self) -> Answer {
        let now_ns = self.now_ns();
        let Ok(station) = self.station.lock() else { return refusal(StatusCode::INTERNAL_SERVER_ERROR) };
        let (workers, busy_ns) = (station.workers(), station.busy_ns(now_ns));
        drop(station);
        let said = serde_json::json!({ "workers": workers, "at_ns": now_ns, "busy_ns": busy_ns });
        text(StatusCode::OK, "application/json", Bytes::from(said.to_string()))
    }
}

impl Role for Waiting {
    async fn answer(&self, request: Request) -> Answer {
        if request.path == USAGE {
            return self.usage();
        }
        // Taking the time and the place in the queue is one step: arrivals must be in order.
        let admission = match self.station.lock() {
            Ok(mut station) => station.admit(self.now_ns()),
            Err(_) => return refusal(StatusCode::INTERNAL_SERVER_ERROR),
        };
        let Admission::Served { end_ns, is_error, .. } = admission else {
            return refusal(StatusCode::SERVICE_UNAVAILABLE);
        };
        if wait(Duration::from_nanos(end_ns.saturating_sub(self.now_ns()))).await.is_err() || is_error {
            return refusal(StatusCode::INTERNAL_SERVER_ERROR);
        }
        html(Bytes::from_static(b"<title>Station</title>served\n"))
    }
}

/// Waits by a kernel timer of its own: the runtime's counts in milliseconds, as long as whole services last.
async fn wait(length: Duration) -> std::io::Result<()> {
    let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
    let timer: OwnedFd = timerfd_create(TimerfdClockId::Monotonic, flags)?;
    let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
    let nanoseconds = i64::from(length.subsec_nanos()).max(1); // zero would disarm it
    let value = Timespec { tv_sec: length.as_secs() as i64, tv_nsec: nanoseconds };
    timerfd_settime(&timer, TimerfdTimerFlags::empty(), &Itimerspec { it_interval: zero, it_value: value })?;
    // SAFETY: an OwnedFd always names the same open descriptor, and the AsyncFd owns it from here on.
    unsafe { AsyncFd::register(timer) }?.readable().await?.retain_ready();
    Ok(())
}

impl Options {
    fn layout(&self) -> Result<Layout> {
        let mean_ns = nanoseconds(self.service)?;
        let service = match self.distribution {
            Distribution::Fixed => Service::Fixed { mean_ns },
            Distribution::Exponential => Service::Exponential { mean_ns },
            Distribution::LogNormal => Service::LogNormal { mean_ns, cv: self.cv },
        };
        let faults = Faults {
            stall_every_ns: nanoseconds(self.stall_every)?,
            stall_ns: nanoseconds(self.stall)?,
            error_share: self.error_share,
            slow_start_ns: nanoseconds(self.slow_start)?,
            slow_start_factor: self.slow_start_factor,
        };
        Ok(Layout { workers: self.workers, service, queue: self.queue, faults })
    }
}

fn nanoseconds(seconds: f64) -> Result<u64> {
    ensure!((0.0..=1e6).contains(&seconds), "{seconds} is not a valid time; use 0 to 1,000,000 seconds");
    Ok((seconds * 1e9) as u64)
}
