//! Choosing one of several things: weighted choice and Zipf's law.

use crate::rng::Stream;

/// A weighted choice among `n` things; weights need not sum to one.
#[derive(Clone, Debug)]
pub struct Weighted {
    cumulative: Vec<f64>,
}

impl Weighted {
    /// `None` when there is no weight, a weight is negative or not finite, or all are zero.
    pub fn new(weights: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut total = 0.0;
        let mut cumulative = Vec::new();
        for weight in weights {
            if !weight.is_finite() || weight < 0.0 {
                return None;
            }
            total += weight;
            cumulative.push(total);
        }
        if total <= 0.0 {
            return None;
        }
        cumulative.iter_mut().for_each(|value| *value /= total);
        Some(Weighted { cumulative })
    }

    /// The chance of each thing.
    pub fn shares(&self) -> impl Iterator<Item = f64> + '_ {
        let before = std::iter::once(0.0).chain(self.cumulative.iter().copied());
        self.cumulative.iter().zip(before).map(|(edge, before)| edge - before)
    }

    /// Index of the chosen thing.
    pub fn pick(&self, stream: &mut Stream) -> usize {
        let at = stream.unit();
        self.cumulative.partition_point(|&edge| edge <= at).min(self.cumulative.len() - 1)
    }
}

/// Zipf's law over ranks `0..n`: rank r has weight 1 / (r + 1)^alpha.
///
/// The support site's download directories use alpha 1.2 (docs/web-workloads.md, File sets).
pub fn zipf(n: u64, alpha: f64) -> Option<Weighted> {
    Weighted::new((1..=n).map(|rank| (rank as f64).powf(-alpha)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Purpose;

    #[test]
    fn zipf_over_650_directories_gives_the_published_shares() {
        // docs/web-workloads.md, File sets: top directory 23.7 %, 50 % of accesses on 6, 90 % on 170.
        let zipf = zipf(650, 1.2).expect("valid");
        assert!((zipf.cumulative[0] - 0.237).abs() < 0.001);
        assert!(zipf.cumulative[5] >= 0.5 && zipf.cumulative[4] < 0.5);
        assert!((zipf.cumulative[169] - 0.9).abs() < 0.002);
    }

    #[test]
    fn a_zero_weight_is_never_picked() {
        let choice = Weighted::new([0.0, 1.0, 0.0]).expect("valid");
        let mut stream = Stream::new(1, 1, Purpose::Values);
        assert!((0..10_000).all(|_| choice.pick(&mut stream) == 1));
    }

    #[test]
    fn nonsense_weights_are_refused() {
        assert!(Weighted::new([]).is_none());
        assert!(Weighted::new([0.0]).is_none());
        assert!(Weighted::new([1.0, -1.0]).is_none());
        assert!(Weighted::new([f64::NAN]).is_none());
    }

    #[test]
    fn the_last_thing_is_picked_as_often_as_its_weight_says() {
        let choice = Weighted::new([1.0, 1.0, 2.0]).expect("valid");
        let mut stream = Stream::new(3, 1, Purpose::Values);
        let mut counts = [0u32; 3];
        (0..40_000).for_each(|_| counts[choice.pick(&mut stream)] += 1);
        // Standard deviations 87 and 100; four of them.
        assert!(counts[0].abs_diff(10_000) < 350 && counts[2].abs_diff(20_000) < 400, "{counts:?}");
    }
}
