//! Pauses: think time (from an answer to the next request) and cycle time (from start to start).

use crate::plan::{Curve, Distribution, Pacing, PacingKind};
use crate::rng::Stream;
use crate::Nanos;

impl Pacing {
    /// Draws one pause in nanoseconds, cut off at the cap.
    pub fn draw(&self, stream: &mut Stream) -> Nanos {
        let mean = self.mean_ns as f64;
        let drawn = match self.distribution {
            Distribution::Exponential => -mean * (1.0 - stream.unit()).ln(),
            Distribution::Uniform => 2.0 * mean * stream.unit(),
            Distribution::Fixed => mean,
        };
        (drawn as Nanos).min(self.cap_ns.unwrap_or(Nanos::MAX))
    }

    /// When the next operation should start, given the start and the end of the one before.
    pub fn next_start(&self, pause: Nanos, started: Nanos, ended: Nanos) -> Nanos {
        match self.kind {
            PacingKind::Think => ended.saturating_add(pause),
            PacingKind::Cycle => started.saturating_add(pause).max(ended),
        }
    }
}

impl Curve {
    /// A pause as it is at this moment of the run.
    pub fn bend(&self, pause: Nanos, at: Nanos) -> Nanos {
        let place = (at.saturating_add(self.shift_ns) / self.step_ns.max(1)) as usize;
        match self.factors.get(place % self.factors.len().max(1)) {
            Some(&factor) if factor > 0.0 => (pause as f64 / factor) as Nanos,
            _ => pause,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Purpose;

    fn pacing(kind: PacingKind) -> Pacing {
        Pacing { kind, distribution: Distribution::Exponential, mean_ns: 10_000_000_000, cap_ns: Some(150_000_000_000) }
    }

    #[test]
    fn exponential_pauses_have_the_declared_mean_and_never_pass_the_cap() {
        let pacing = pacing(PacingKind::Think);
        let mut stream = Stream::new(7, 0, Purpose::Pause);
        let draws: Vec<f64> = (0..200_000).map(|_| pacing.draw(&mut stream) as f64 / 1e9).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        // Standard error 10 / sqrt(200 000) = 0.022 s; four of them.
        assert!((mean - 10.0).abs() < 0.09, "mean {mean}");
        assert!(draws.iter().all(|&pause| pause <= 150.0));
    }

    #[test]
    fn a_curve_shortens_pauses_at_its_peaks_and_comes_again() {
        let curve = Curve { step_ns: 10, factors: vec![0.5, 1.5], shift_ns: 10 };
        assert_eq!([0, 9, 10, 20, 30].map(|at| curve.bend(300, at)), [200, 200, 600, 200, 600]);
    }

    #[test]
    fn think_time_counts_from_the_end_and_cycle_time_from_the_start() {
        assert_eq!(pacing(PacingKind::Think).next_start(5, 100, 120), 125);
        assert_eq!(pacing(PacingKind::Cycle).next_start(50, 100, 120), 150);
        assert_eq!(pacing(PacingKind::Cycle).next_start(5, 100, 120), 120);
    }

    #[test]
    fn uniform_pauses_reach_twice_their_mean_and_fixed_ones_are_it() {
        let uniform = Pacing { distribution: Distribution::Uniform, ..pacing(PacingKind::Think) };
        let mut stream = Stream::new(7, 0, Purpose::Pause);
        let draws: Vec<f64> = (0..50_000).map(|_| uniform.draw(&mut stream) as f64 / 1e9).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        // Standard error 5.77 / sqrt(50 000) = 0.026 s; four of them.
        assert!((mean - 10.0).abs() < 0.104, "mean {mean}");
        assert!(draws.iter().all(|&pause| (0.0..20.0).contains(&pause)) && draws.iter().any(|&pause| pause > 19.9));
        let fixed = Pacing { distribution: Distribution::Fixed, ..uniform };
        assert_eq!(fixed.draw(&mut stream), 10_000_000_000);
        assert_eq!(Pacing { cap_ns: Some(3), ..fixed }.draw(&mut stream), 3);
        assert_eq!(Pacing { cap_ns: None, ..fixed }.draw(&mut stream), 10_000_000_000);
    }

    #[test]
    fn a_curve_without_a_load_leaves_pauses_as_they_are() {
        for factors in [vec![], vec![0.0], vec![-1.0]] {
            assert_eq!(Curve { step_ns: 10, factors, shift_ns: 0 }.bend(300, 5), 300);
        }
    }
}
