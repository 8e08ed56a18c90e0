//! Pauses: think time (from an answer to the next request) and cycle time (from start to start).

use crate::plan::{Curve, Distribution, Pacing, PacingKind};
use crate::rng::Stream;
use crate::Nanos;

impl Pacing {
    /// Draws one pause in nanoseconds, cut off at the cap.
    pub fn draw(&self, stream: &mut Stream) -> Nanos {
        self.draw_least(0, stream)
    }

    /// Draws one pause of the same mean that lasts so long at least: what is drawn comes on top.
    pub fn draw_least(&self, least_ns: Nanos, stream: &mut Stream) -> Nanos {
        let mean = self.mean_ns.saturating_sub(least_ns) as f64;
        let drawn = match self.distribution {
            Distribution::Exponential => -mean * (1.0 - stream.unit()).ln(),
            Distribution::Uniform => 2.0 * mean * stream.unit(),
            Distribution::Fixed => mean,
        };
        least_ns.saturating_add(drawn as Nanos).min(self.cap_ns.unwrap_or(Nanos::MAX))
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
    /// How long a pause is that begins at this moment of the run: until the load's factor, summed up over the time, comes
    /// to the pause as drawn. So the load follows the curve at every moment, and a curve of mean 1 loses none of it.
    pub fn bend(&self, pause: Nanos, at: Nanos) -> Nanos {
        let step = self.step_ns.max(1);
        let a_period: f64 = self.factors.iter().map(|factor| factor.max(0.0) * step as f64).sum();
        if a_period <= 0.0 {
            return pause;
        }
        let periods = (pause as f64 / a_period).floor();
        let mut left = pause as f64 - periods * a_period;
        let mut bent = (periods * (step * self.factors.len() as u64) as f64) as Nanos;
        let mut place = at.saturating_add(self.shift_ns);
        for _ in 0..=self.factors.len() {
            let factor = self.factors[(place / step) as usize % self.factors.len()].max(0.0);
            let room = step - place % step;
            if factor * room as f64 >= left {
                return bent.saturating_add(if left > 0.0 { (left / factor) as Nanos } else { 0 });
            }
            left -= factor * room as f64;
            bent += room;
            place += room;
        }
        bent // what is left is a rounding error
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
    fn a_least_pause_is_never_undercut_and_changes_no_mean() {
        let pacing = pacing(PacingKind::Cycle);
        let mut stream = Stream::new(7, 0, Purpose::Pause);
        let draws: Vec<f64> =
            (0..200_000).map(|_| pacing.draw_least(4_000_000_000, &mut stream) as f64 / 1e9).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        // Standard error 6 / sqrt(200 000) = 0.013 s; four of them.
        assert!((mean - 10.0).abs() < 0.054, "mean {mean}");
        assert!(draws.iter().all(|&pause| pause >= 4.0));
    }

    #[test]
    fn a_pause_ends_when_the_load_of_its_time_comes_to_it() {
        let curve = Curve { step_ns: 10, factors: vec![0.5, 1.5], shift_ns: 10 };
        // In the step of 1.5: six of nine units there. Over its end: 15 there, then 5 at half the load.
        assert_eq!(curve.bend(9, 0), 6);
        assert_eq!(curve.bend(15, 0), 10);
        assert_eq!(curve.bend(20, 0), 20);
        assert_eq!(curve.bend(16, 0), 12);
        // From within a step, and over whole periods of 20 units each.
        assert_eq!(curve.bend(3, 8), 2);
        assert_eq!(curve.bend(309, 0), 306);
        assert_eq!(curve.bend(300, 10), 300);
    }

    #[test]
    fn nobody_comes_while_there_is_no_load() {
        let curve = Curve { step_ns: 10, factors: vec![0.0, 2.0], shift_ns: 0 };
        assert_eq!([curve.bend(2, 0), curve.bend(0, 0), curve.bend(2, 12), curve.bend(3, 19)], [11, 0, 1, 11]);
    }

    #[test]
    fn a_curve_of_mean_one_loses_no_load() {
        let curve = Curve { step_ns: 7_500_000_000, factors: vec![0.4, 1.6, 1.3, 0.7], shift_ns: 3_000_000_000 };
        let pacing = pacing(PacingKind::Cycle);
        let end_ns = 40_000 * 30_000_000_000u64;
        let mut stream = Stream::new(7, 0, Purpose::Pause);
        let (mut at_ns, mut starts) = (0, 0u64);
        while at_ns < end_ns {
            at_ns += curve.bend(pacing.draw(&mut stream), at_ns);
            starts += 1;
        }
        let expected = end_ns as f64 / 1e10;
        // Standard error of a Poisson count of 120 000: 0.3 %.
        assert!((starts as f64 / expected - 1.0).abs() < 0.01, "{starts} of {expected}");
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
