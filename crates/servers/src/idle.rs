//! The idle role: a machine that is hardly used, and answers heartbeats so that its responsiveness can be seen. With a
//! timer it also wakes up at a rate, as kernels with a fixed clock do, and counts that.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, StatusCode};

use crate::content::Page;
use crate::front::answer::{html, refusal, text, Answer};
use crate::front::{Request, Role};

/// Where heartbeats are answered.
pub const HEARTBEAT: &str = "/heartbeat";
/// Where the timer's count is, as a number.
pub const TICKS: &str = "/ticks";

/// The role: it holds no more than the count of its timer.
#[derive(Debug, Default)]
pub struct Idle {
    ticks: Arc<AtomicU64>,
}

impl Idle {
    /// A role with a thread that sleeps so many times a second; none without a rate. An error where there is no thread.
    pub fn new(ticks_per_s: Option<NonZeroU32>) -> std::io::Result<Self> {
        let idle = Idle::default();
        if let Some(rate) = ticks_per_s {
            let (ticks, pause) = (idle.ticks.clone(), Duration::from_secs(1) / rate.get());
            std::thread::Builder::new().name("ticks".to_owned()).spawn(move || loop {
                std::thread::sleep(pause);
                ticks.fetch_add(1, Ordering::Relaxed);
            })?;
        }
        Ok(idle)
    }
}

impl Role for Idle {
    async fn answer(&self, request: Request) -> Answer {
        match (&request.method, request.path.as_str()) {
            (&Method::GET, HEARTBEAT) => html(Page::new("Heartbeat", 0).finish(0)),
            (&Method::GET, TICKS) => {
                let count = format!("{}\n", self.ticks.load(Ordering::Relaxed));
                text(StatusCode::OK, "text/plain", Bytes::from(count))
            }
            _ => refusal(StatusCode::NOT_FOUND),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_counts_and_without_one_nothing_does() {
        let ticking = Idle::new(NonZeroU32::new(1000)).expect("a thread");
        let idle = Idle::new(None).expect("no thread");
        while ticking.ticks.load(Ordering::Relaxed) < 10 {
            std::thread::yield_now();
        }
        assert_eq!(idle.ticks.load(Ordering::Relaxed), 0);
    }
}
