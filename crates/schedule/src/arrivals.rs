//! When sessions arrive: a process (constant, Poisson, in bursts) along a path of rates, or a trace.
//!
//! All processes are drawn at unit rate and carried over to the path by the inverse of its expected count, which is
//! exact for rates that change; bursts are as many arrivals long at any rate.

use crate::plan::{Path, Process, Stage};
use crate::rng::{Purpose, Stream};
use crate::{Nanos, PlanError, SECOND};

/// By how much of the mean the rate of bursts is above and below it.
const SWING: f64 = 0.9;
/// Mean number of arrivals between two jumps of the rate where bursts come on every scale.
const BETWEEN_JUMPS: f64 = 9.0 / (SWING * SWING);

/// Instants of all arrivals, in order.
#[derive(Clone, Debug)]
pub struct Arrivals<'a> {
    kind: Kind<'a>,
}

#[derive(Clone, Debug)]
enum Kind<'a> {
    Trace(std::slice::Iter<'a, Nanos>),
    Stages { left: &'a [Stage], begin_ns: Nanos, before: f64, drawn: f64, gaps: Gaps },
}

impl<'a> Arrivals<'a> {
    /// Arrivals over the whole of `path`; `seed` and `part` choose the random stream.
    pub fn new(process: Process, path: &'a Path, seed: u64, part: u64) -> Self {
        let kind = match path {
            Path::Trace { at_ns } => Kind::Trace(at_ns.iter()),
            Path::Stages { stages } => {
                let gaps = Gaps::new(process, Stream::new(seed, part, Purpose::Arrivals));
                Kind::Stages { left: stages, begin_ns: 0, before: 0.0, drawn: 0.0, gaps }
            }
        };
        Arrivals { kind }
    }
}

impl Iterator for Arrivals<'_> {
    type Item = Nanos;

    fn next(&mut self) -> Option<Nanos> {
        let (left, begin_ns, before, drawn, gaps) = match &mut self.kind {
            Kind::Trace(instants) => return instants.next().copied(),
            Kind::Stages { left, begin_ns, before, drawn, gaps } => (left, begin_ns, before, drawn, gaps),
        };
        *drawn += gaps.next();
        while let Some((stage, rest)) = left.split_first() {
            let count = stage.expected();
            if *drawn <= *before + count {
                return Some(*begin_ns + stage.when(*drawn - *before));
            }
            *before += count;
            *begin_ns += stage.length_ns;
            *left = rest;
        }
        None
    }
}

/// The time from one arrival to the next, at a rate of one on the mean.
#[derive(Clone, Debug)]
struct Gaps {
    process: Process,
    chance: Stream,
    /// The rate now, where it jumps, and the time until it does.
    rate: f64,
    until_jump: f64,
    is_first: bool,
}

impl Gaps {
    fn new(process: Process, mut chance: Stream) -> Self {
        let jumps = matches!(process, Process::Bursty { .. } | Process::SelfSimilar { .. });
        let rate = if jumps && chance.unit() < 0.5 { 1.0 - SWING } else { 1.0 + SWING };
        let mut gaps = Gaps { process, chance, rate, until_jump: 0.0, is_first: true };
        gaps.until_jump = gaps.draw_until_jump();
        gaps
    }

    fn next(&mut self) -> f64 {
        let is_first = std::mem::replace(&mut self.is_first, false);
        match self.process {
            Process::Constant if is_first => 0.5, // so that a stage's count is its expectation, rounded
            Process::Constant => 1.0,
            Process::Poisson => self.exponential(),
            Process::Bursty { .. } | Process::SelfSimilar { .. } => self.over_jumps(),
        }
    }

    /// An exponential gap has no memory: where the rate jumps first, it is drawn anew.
    fn over_jumps(&mut self) -> f64 {
        let mut passed = 0.0;
        loop {
            let gap = self.exponential() / self.rate;
            if gap < self.until_jump {
                self.until_jump -= gap;
                return passed + gap;
            }
            passed += self.until_jump;
            self.rate = 2.0 - self.rate;
            self.until_jump = self.draw_until_jump();
        }
    }

    fn draw_until_jump(&mut self) -> f64 {
        match self.process {
            // The index of dispersion is 1 + SWING^2 x the mean number of arrivals between two jumps (Fischer and
            // Meier-Hellstern 1993, two states alike).
            Process::Bursty { dispersion } => (dispersion - 1.0) / (SWING * SWING) * self.exponential(),
            // The Hurst parameter is (3 - shape) / 2 (Taqqu, Willinger, Sherman 1997).
            Process::SelfSimilar { hurst } => {
                let shape = 3.0 - 2.0 * hurst;
                let least = BETWEEN_JUMPS * (shape - 1.0) / shape;
                least * (1.0 - self.chance.unit()).powf(-1.0 / shape)
            }
            Process::Constant | Process::Poisson => f64::INFINITY,
        }
    }

    fn exponential(&mut self) -> f64 {
        -(1.0 - self.chance.unit()).ln()
    }
}

impl Stage {
    /// Expected number of arrivals.
    pub fn expected(&self) -> f64 {
        (self.from_per_s + self.to_per_s) / 2.0 * self.length_ns as f64 / SECOND as f64
    }

    /// Nanoseconds into the stage after which `count` arrivals are expected.
    fn when(&self, count: f64) -> Nanos {
        let seconds = self.length_ns as f64 / SECOND as f64;
        let slope = (self.to_per_s - self.from_per_s) / seconds;
        // count = from t + slope t^2 / 2, solved in the form that does not cancel for small slopes.
        let root = (self.from_per_s * self.from_per_s + 2.0 * slope * count).max(0.0).sqrt();
        let at = 2.0 * count / (self.from_per_s + root);
        ((at * SECOND as f64) as Nanos).min(self.length_ns)
    }
}

/// Refuses processes and paths that are none.
pub fn check(process: Process, path: &Path) -> Result<(), PlanError> {
    let invalid = |message: &str| Err(PlanError::invalid("arrivals", message));
    match process {
        Process::Bursty { dispersion } if !(dispersion > 1.0 && dispersion.is_finite()) => {
            return invalid("an index of dispersion of bursts is above 1");
        }
        Process::SelfSimilar { hurst } if !(hurst > 0.5 && hurst < 1.0) => {
            return invalid("a Hurst parameter is between 0.5 and 1");
        }
        _ => {}
    }
    match path {
        Path::Trace { at_ns } if !at_ns.is_sorted() => invalid("the trace is not in order"),
        Path::Stages { stages } => {
            let rates = stages.iter().flat_map(|stage| [stage.from_per_s, stage.to_per_s]);
            match rates.into_iter().all(|rate| rate.is_finite() && rate >= 0.0) {
                true => Ok(()),
                false => invalid("a rate is negative or no number"),
            }
        }
        Path::Trace { .. } => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(seconds: u64, from_per_s: f64, to_per_s: f64) -> Stage {
        Stage { length_ns: seconds * SECOND, from_per_s, to_per_s }
    }

    fn instants(process: Process, stages: &[Stage], seed: u64) -> Vec<f64> {
        let path = Path::Stages { stages: stages.to_vec() };
        Arrivals::new(process, &path, seed, 0).map(|at| at as f64 / SECOND as f64).collect()
    }

    #[test]
    fn constant_arrivals_are_evenly_spaced() {
        let at = instants(Process::Constant, &[stage(10, 100.0, 100.0)], 1);
        assert_eq!(at.len(), 1000);
        assert!(at.windows(2).all(|pair| (pair[1] - pair[0] - 0.01).abs() < 1e-6));
    }

    #[test]
    fn a_ramp_and_steps_bring_the_expected_counts() {
        let stages = [stage(10, 0.0, 100.0), stage(10, 100.0, 100.0), stage(5, 20.0, 20.0), stage(5, 0.0, 0.0)];
        let at = instants(Process::Constant, &stages, 1);
        let between = |from: f64, to: f64| at.iter().filter(|&&at| at >= from && at < to).count() as i64;
        for (from, to, expected) in [(0.0, 5.0, 125), (5.0, 10.0, 375), (10.0, 20.0, 1000), (20.0, 25.0, 100)] {
            assert!((between(from, to) - expected).abs() <= 1, "{from} to {to}: {}", between(from, to));
        }
        assert_eq!(between(25.0, 31.0), 0);
        assert!(at.is_sorted());
    }

    #[test]
    fn poisson_gaps_are_exponential() {
        // Kolmogorov-Smirnov against 1 - exp(-x): the 0.1 % bound is 1.95 / sqrt(n).
        let at = instants(Process::Poisson, &[stage(100, 1000.0, 1000.0)], 7);
        let mut gaps: Vec<f64> = at.windows(2).map(|pair| (pair[1] - pair[0]) * 1000.0).collect();
        gaps.sort_by(f64::total_cmp);
        let n = gaps.len() as f64;
        let distance = gaps.iter().enumerate().map(|(rank, gap)| {
            let expected = 1.0 - (-gap).exp();
            (expected - rank as f64 / n).abs().max((expected - (rank + 1) as f64 / n).abs())
        });
        let distance = distance.fold(0.0, f64::max);
        assert!(distance < 1.95 / n.sqrt(), "{distance} over {n} gaps");
        assert!((n - 100_000.0).abs() < 4.0 * 100_000f64.sqrt());
    }

    /// The variance of counts of windows by their mean, and that mean.
    fn dispersion(process: Process, seconds: u64, window_s: f64) -> (f64, f64) {
        let at = instants(process, &[stage(seconds, 100.0, 100.0)], 11);
        let windows = (seconds as f64 / window_s) as usize;
        let mut counts = vec![0.0; windows];
        for one in at {
            counts[((one / window_s) as usize).min(windows - 1)] += 1.0;
        }
        let mean = counts.iter().sum::<f64>() / windows as f64;
        let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / (windows - 1) as f64;
        (variance / mean, mean)
    }

    #[test]
    fn bursts_have_the_declared_index_of_dispersion_and_keep_the_rate() {
        let bursty = |dispersion| (Process::Bursty { dispersion }, dispersion);
        for (process, expected) in [(Process::Poisson, 1.0), bursty(1.5), bursty(3.0), bursty(10.0)] {
            let (index, mean) = dispersion(process, 20_000, 10.0);
            assert!((index / expected - 1.0).abs() < 0.1, "{process:?}: {index}");
            assert!((mean / 1000.0 - 1.0).abs() < 0.01, "{process:?}: {mean}");
        }
    }

    #[test]
    fn self_similar_arrivals_scatter_the_more_the_longer_they_are_counted() {
        // Of Hurst parameter H the index grows as window^(2 H - 1): by 10^0.6 = 4 for ten times the window.
        let similar = Process::SelfSimilar { hurst: 0.8 };
        let (short, mean) = dispersion(similar, 200_000, 10.0);
        let (long, _) = dispersion(similar, 200_000, 100.0);
        assert!((2.5..6.5).contains(&(long / short)), "{short} to {long}");
        assert!((mean / 1000.0 - 1.0).abs() < 0.05, "{mean}");
        let bursty = Process::Bursty { dispersion: 10.0 };
        let (once, _) = dispersion(bursty, 200_000, 10.0);
        let (ten, _) = dispersion(bursty, 200_000, 100.0);
        assert!((ten / once - 1.0).abs() < 0.2, "{once} to {ten}");
    }

    #[test]
    fn jumps_of_self_similar_rates_are_eleven_arrivals_apart() {
        // A Pareto distribution of shape 1.4 begins at 0.4 / 1.4 of its mean.
        let mut gaps = Gaps::new(Process::SelfSimilar { hurst: 0.8 }, Stream::new(1, 0, Purpose::Arrivals));
        let least = (0..100_000).map(|_| gaps.draw_until_jump()).fold(f64::INFINITY, f64::min);
        assert!((least / (9.0 / 0.81 * 0.4 / 1.4) - 1.0).abs() < 1e-3, "{least}");
    }

    #[test]
    fn the_same_seed_gives_the_same_arrivals_and_another_one_others() {
        let of = |seed| instants(Process::Poisson, &[stage(10, 50.0, 50.0)], seed);
        assert_eq!(of(3), of(3));
        assert_ne!(of(3), of(4));
    }

    #[test]
    fn a_trace_is_taken_as_it_is() {
        let path = Path::Trace { at_ns: vec![1, 5, 5, 9] };
        assert_eq!(Arrivals::new(Process::Poisson, &path, 1, 0).collect::<Vec<_>>(), [1, 5, 5, 9]);
        assert!(check(Process::Poisson, &path).is_ok());
        assert!(check(Process::Poisson, &Path::Trace { at_ns: vec![2, 1] }).is_err());
        assert!(check(Process::Poisson, &Path::Stages { stages: vec![stage(1, -1.0, 0.0)] }).is_err());
        for dispersion in [1.0, f64::NAN, f64::INFINITY] {
            assert!(check(Process::Bursty { dispersion }, &path).is_err());
        }
        for hurst in [0.5, 1.0, f64::NAN] {
            assert!(check(Process::SelfSimilar { hurst }, &path).is_err());
        }
    }
}
