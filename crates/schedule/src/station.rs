//! A service station as queueing theory has it: k workers serve requests first come, first served. A pure machine,
//! played in real time by the reference server and in virtual time by the discrete-event simulation, so that both keep the same law.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rng::{Purpose, Stream};
use crate::{Nanos, PlanError};

/// How long one request keeps a worker.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Service {
    Fixed {
        mean_ns: Nanos,
    },
    Exponential {
        mean_ns: Nanos,
    },
    /// `cv`: standard deviation divided by the mean.
    LogNormal {
        mean_ns: Nanos,
        cv: f64,
    },
}

/// What goes wrong on purpose. Time counts from the station's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Faults {
    /// Every so often all workers stand still, at the end of each such time; 0 for never.
    pub stall_every_ns: Nanos,
    pub stall_ns: Nanos,
    /// Share of requests answered with an error after their service.
    pub error_share: f64,
    /// Service takes `slow_start_factor` times as long at first and comes down to its own length evenly over this time.
    pub slow_start_ns: Nanos,
    pub slow_start_factor: f64,
}

/// A station's declaration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    pub workers: u32,
    pub service: Service,
    /// Most requests that wait; one more is refused. None for no limit.
    pub queue: Option<u32>,
    #[serde(default)]
    pub faults: Faults,
}

impl Layout {
    /// Refuses what is no station.
    pub fn check(&self) -> Result<(), PlanError> {
        let Faults { stall_every_ns, stall_ns, error_share, slow_start_factor, .. } = self.faults;
        let problem = match self.service {
            _ if self.workers == 0 || self.workers > 100_000 => "give it 1 to 100,000 workers",
            Service::LogNormal { cv, .. } if !(0.0..=100.0).contains(&cv) => "its cv must be from 0 to 100",
            _ if stall_ns > 0 && stall_ns >= stall_every_ns => "a stall must be shorter than the time between two",
            _ if !(0.0..=1.0).contains(&error_share) => "the share of errors must be from 0 to 1",
            _ if !(0.0..=1e6).contains(&slow_start_factor) => "the slow start's factor must be from 0 to 1,000,000",
            _ => return Ok(()),
        };
        Err(PlanError::invalid("station", problem))
    }
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Admission {
    /// It is served from `start_ns` to `end_ns`; `is_error` when the answer is a planned error.
    Served { start_ns: Nanos, end_ns: Nanos, is_error: bool },
    /// The queue was full.
    Refused,
}

/// A station at work.
#[derive(Clone, Debug)]
pub struct Station {
    layout: Layout,
    /// When each worker will have done all it was given.
    free: BinaryHeap<Reverse<Nanos>>,
    /// Starts, in order, of the requests that wait.
    waiting: VecDeque<Nanos>,
    chance: Stream,
    given_ns: u128,
}

impl Station {
    /// An idle station; the seed decides its service times and errors.
    pub fn new(layout: Layout, seed: u64) -> Self {
        let free = (0..layout.workers).map(|_| Reverse(0)).collect();
        let chance = Stream::new(seed, 0, Purpose::Embedded);
        Station { layout, free, waiting: VecDeque::new(), chance, given_ns: 0 }
    }

    /// Takes a request that arrives at `now_ns`. Arrivals must come in order of time.
    pub fn admit(&mut self, now_ns: Nanos) -> Admission {
        while self.waiting.front().is_some_and(|&start| start <= now_ns) {
            self.waiting.pop_front();
        }
        let Some(&Reverse(free_ns)) = self.free.peek() else { return Admission::Refused };
        let is_full = self.layout.queue.is_some_and(|most| self.waiting.len() >= most as usize);
        if free_ns > now_ns && is_full {
            return Admission::Refused;
        }
        let start_ns = now_ns.max(free_ns);
        let work_ns = self.draw(start_ns);
        let end_ns = self.layout.faults.end_of(start_ns, work_ns);
        let is_error = self.layout.faults.error_share > 0.0 && self.chance.unit() < self.layout.faults.error_share;
        self.free.pop();
        self.free.push(Reverse(end_ns));
        self.given_ns += u128::from(end_ns - start_ns);
        if start_ns > now_ns {
            self.waiting.push_back(start_ns);
        }
        Admission::Served { start_ns, end_ns, is_error }
    }

    /// Worker time used by `now_ns`, stalls included; what was admitted but is not done yet is left out.
    pub fn busy_ns(&self, now_ns: Nanos) -> u64 {
        // A worker that is given work ahead is busy without a gap until it is free.
        let ahead: u128 = self.free.iter().map(|Reverse(free)| u128::from(free.saturating_sub(now_ns))).sum();
        self.given_ns.saturating_sub(ahead) as u64
    }

    /// How many requests it serves at once.
    pub fn workers(&self) -> u32 {
        self.layout.workers
    }

    fn draw(&mut self, start_ns: Nanos) -> Nanos {
        let drawn = match self.layout.service {
            Service::Fixed { mean_ns } => mean_ns as f64,
            Service::Exponential { mean_ns } => -(1.0 - self.chance.unit()).ln() * mean_ns as f64,
            Service::LogNormal { mean_ns, cv } => {
                // The logarithm's variance is ln(1 + cv^2) and its mean ln(mean) less half of that.
                let variance = (1.0 + cv * cv).ln();
                (self.normal() * variance.sqrt() - variance / 2.0).exp() * mean_ns as f64
            }
        };
        (drawn * self.layout.faults.slowness(start_ns)) as Nanos
    }

    /// A standard normal number (Box and Muller 1958).
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.chance.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.chance.unit()).cos()
    }
}

impl Faults {
    fn slowness(&self, at_ns: Nanos) -> f64 {
        if at_ns >= self.slow_start_ns {
            return 1.0;
        }
        let left = 1.0 - at_ns as f64 / self.slow_start_ns as f64;
        1.0 + (self.slow_start_factor - 1.0) * left
    }

    /// When work that starts at `start_ns` is done, stalls in between included.
    fn end_of(&self, start_ns: Nanos, work_ns: Nanos) -> Nanos {
        let (every, stall) = (self.stall_every_ns, self.stall_ns);
        if every == 0 || stall == 0 {
            return start_ns.saturating_add(work_ns);
        }
        let awake = every - stall;
        // Time awake before the start, plus the work, carried back to the clock.
        let done = start_ns / every * awake + (start_ns % every).min(awake) + work_ns;
        match (done / awake, done % awake) {
            (rounds, 0) if rounds > 0 => (rounds - 1) * every + awake,
            (rounds, rest) => rounds * every + rest,
        }
        .max(start_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SECOND;

    const MS: Nanos = 1_000_000;

    fn fixed(workers: u32, queue: Option<u32>, faults: Faults) -> Station {
        Station::new(Layout { workers, service: Service::Fixed { mean_ns: 10 * MS }, queue, faults }, 1)
    }

    fn end(admission: Admission) -> Option<Nanos> {
        match admission {
            Admission::Served { end_ns, .. } => Some(end_ns / MS),
            Admission::Refused => None,
        }
    }

    #[test]
    fn two_workers_serve_in_order_of_arrival_and_one_too_many_is_refused() {
        let mut station = fixed(2, Some(1), Faults::default());
        let ends: Vec<_> = [0, 1, 2, 3].iter().map(|at| end(station.admit(at * MS))).collect();
        assert_eq!(ends, [Some(10), Some(11), Some(20), None]);
        assert_eq!(end(station.admit(12 * MS)), Some(22), "the one that waited has been taken by then");
    }

    #[test]
    fn busy_time_is_the_work_done_by_then() {
        let mut station = fixed(2, None, Faults::default());
        station.admit(0);
        station.admit(5 * MS);
        station.admit(5 * MS); // waits until 10
        for (at, busy) in [(5, 5), (10, 15), (15, 25), (20, 30), (50, 30)] {
            assert_eq!(station.busy_ns(at * MS), busy * MS, "at {at} ms");
        }
    }

    #[test]
    fn a_stall_stops_everybody_and_no_work_is_lost() {
        let faults = Faults { stall_every_ns: 100 * MS, stall_ns: 40 * MS, ..Faults::default() };
        let mut station = fixed(1, None, faults);
        assert_eq!(end(station.admit(55 * MS)), Some(105), "5 ms before the stall from 60 to 100, 5 ms after it");
        let mut station = fixed(1, None, faults);
        assert_eq!(end(station.admit(70 * MS)), Some(110), "arrives in the stall");
        let mut station = fixed(1, None, faults);
        assert_eq!(end(station.admit(50 * MS)), Some(60), "done just before it");
    }

    #[test]
    fn service_times_have_their_declared_mean_and_spread() {
        for (service, cv) in [
            (Service::Exponential { mean_ns: 10 * MS }, 1.0),
            (Service::LogNormal { mean_ns: 10 * MS, cv: 0.5 }, 0.5),
            (Service::Fixed { mean_ns: 10 * MS }, 0.0),
        ] {
            let mut station = Station::new(Layout { workers: 1, service, queue: None, faults: Faults::default() }, 5);
            let drawn: Vec<f64> = (0..100_000).map(|_| station.draw(0) as f64 / MS as f64).collect();
            let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
            let variance = drawn.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / drawn.len() as f64;
            assert!((mean - 10.0).abs() < 0.15, "{service:?}: mean {mean}");
            assert!((variance.sqrt() / mean - cv).abs() < 0.02, "{service:?}: cv {}", variance.sqrt() / mean);
        }
    }

    #[test]
    fn a_slow_start_wears_off_and_errors_come_in_their_share() {
        let faults = Faults { slow_start_ns: SECOND, slow_start_factor: 3.0, error_share: 0.2, ..Faults::default() };
        let mut station = fixed(1, None, faults);
        assert_eq!(end(station.admit(0)), Some(30));
        assert_eq!(end(station.admit(SECOND / 2)), Some(520));
        let errors = (0..10_000)
            .filter(|at| matches!(station.admit(2 * SECOND + at * SECOND), Admission::Served { is_error: true, .. }));
        let share = errors.count() as f64 / 10_000.0;
        assert!((share - 0.2).abs() < 0.02, "{share}");
        assert_eq!(end(station.admit(20_000 * SECOND)), Some(20_000_010));
    }

    #[test]
    fn what_is_no_station_is_refused_with_its_reason() {
        let usual =
            Layout { workers: 1, service: Service::Fixed { mean_ns: 1 }, queue: None, faults: Faults::default() };
        let said = |layout: Layout| layout.check().err().map(|error| error.to_string()).unwrap_or_default();
        let workers = |workers| said(Layout { workers, ..usual });
        assert_eq!([workers(1), workers(100_000)], ["", ""]);
        assert!(workers(0).contains("1 to 100,000 workers") && workers(100_001).contains("workers"));
        let cv = |cv| said(Layout { service: Service::LogNormal { mean_ns: 1, cv }, ..usual });
        assert_eq!([cv(0.0), cv(100.0)], ["", ""]);
        assert!(cv(-0.1).contains("cv must be") && cv(100.1).contains("cv") && cv(f64::NAN).contains("cv"));
        let stall = |stall_ns, stall_every_ns| {
            said(Layout { faults: Faults { stall_ns, stall_every_ns, ..Faults::default() }, ..usual })
        };
        assert_eq!([stall(0, 0), stall(1, 2), stall(0, 5)], ["", "", ""]);
        assert!(stall(1, 1).contains("a stall must be shorter") && stall(2, 1).contains("a stall"));
        let errors = |error_share| said(Layout { faults: Faults { error_share, ..Faults::default() }, ..usual });
        assert_eq!([errors(0.0), errors(1.0)], ["", ""]);
        assert!(errors(1.1).contains("share of errors") && errors(-0.1).contains("errors"));
        let slow =
            |slow_start_factor| said(Layout { faults: Faults { slow_start_factor, ..Faults::default() }, ..usual });
        assert_eq!([slow(0.0), slow(1e6)], ["", ""]);
        assert!(slow(-1.0).contains("slow start's factor") && slow(2e6).contains("factor"));
    }

    #[test]
    fn a_request_waits_where_it_is_its_turn_at_this_very_instant() {
        let mut station = fixed(1, Some(0), Faults::default());
        station.admit(0);
        assert_eq!(end(station.admit(10 * MS)), Some(20), "the worker is free at that instant");
        assert_eq!(station.admit(19 * MS), Admission::Refused);
        assert_eq!(station.workers(), 1);
    }

    #[test]
    fn stalls_come_again_and_work_over_several_of_them_waits_for_each() {
        let faults = Faults { stall_every_ns: 100, stall_ns: 40, ..Faults::default() };
        // Awake from 0 to 60, 100 to 160, 200 to 260.
        for (start, work, end) in
            [(0, 60, 60), (0, 61, 101), (0, 120, 160), (0, 121, 201), (250, 10, 260), (250, 11, 301), (130, 100, 310)]
        {
            assert_eq!(faults.end_of(start, work), end, "{work} from {start}");
        }
        let never = Faults { stall_every_ns: 100, stall_ns: 0, ..Faults::default() };
        assert_eq!(never.end_of(90, 50), 140);
    }

    #[test]
    fn a_station_says_how_many_it_serves_at_once() {
        assert_eq!(fixed(3, None, Faults::default()).workers(), 3);
    }
}
