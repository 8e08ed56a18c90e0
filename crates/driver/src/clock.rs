//! The run's clock: nanoseconds of the monotonic clock since the start of the run.

use rustix::time::{clock_gettime, ClockId};

/// Nanoseconds of a kernel clock.
pub fn kernel_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// CPU time the calling thread has used, in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    kernel_ns(ClockId::ThreadCPUTime)
}

/// A clock that starts at an agreed instant, shared by all threads of a run.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// None before anybody has agreed on it: such a clock shows zero for ever.
    origin_ns: Option<u64>,
}

impl Clock {
    /// A clock that stands at zero until it is replaced by one that runs.
    pub fn standing() -> Self {
        Clock { origin_ns: None }
    }

    /// A clock that shows zero `lead_ns` from now.
    pub fn starting_in(lead_ns: u64) -> Self {
        Self::starting_at(kernel_ns(ClockId::Monotonic) + lead_ns)
    }

    /// A clock that shows zero at an instant of the kernel's monotonic clock.
    pub fn starting_at(origin_ns: u64) -> Self {
        Clock { origin_ns: Some(origin_ns) }
    }

    /// The same for an instant that is to come; an error for one that has passed.
    pub fn starting_in_time(origin_ns: u64) -> anyhow::Result<Self> {
        let late_ns = kernel_ns(ClockId::Monotonic).saturating_sub(origin_ns);
        anyhow::ensure!(late_ns == 0, "the scheduled start was {} ms ago", late_ns / 1_000_000);
        Ok(Self::starting_at(origin_ns))
    }

    /// Nanoseconds since the start; zero before it.
    pub fn now(&self) -> u64 {
        self.origin_ns.map_or(0, |origin_ns| kernel_ns(ClockId::Monotonic).saturating_sub(origin_ns))
    }

    /// The kernel's monotonic time for a time of this clock; of one that stands, for so long from now.
    pub fn to_monotonic(&self, at_ns: u64) -> u64 {
        self.origin_ns.unwrap_or_else(|| kernel_ns(ClockId::Monotonic)).saturating_add(at_ns)
    }
}

/// Mean cost of reading the clock once, in nanoseconds.
pub fn reading_cost_ns() -> f64 {
    const READINGS: u64 = 20_000;
    let start = kernel_ns(ClockId::Monotonic);
    let mut last = start;
    for _ in 0..READINGS {
        last = kernel_ns(ClockId::Monotonic);
    }
    (last - start) as f64 / READINGS as f64
}
