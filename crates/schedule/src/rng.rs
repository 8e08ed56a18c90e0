//! Random streams: one generator per (run seed, session, purpose), so that what one session draws never
//! depends on how the server or another session behaved.

use rand_core::Rng;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// What a stream of random numbers is used for. Keeping them apart keeps the order of pages the same
/// when a workload draws more or fewer data values.
#[derive(Clone, Copy, Debug)]
pub enum Purpose {
    Mix = 1,
    Pause = 2,
    Values = 3,
    /// The order in which conditional requests are dealt; service times of a modelled server.
    Embedded = 4,
    /// When sessions come.
    Arrivals = 5,
    /// What mail users choose, and what stands in their mailboxes at first.
    Mail = 6,
    Populate = 7,
    /// Where users are found when a run begins.
    Place = 8,
}

/// A small, fast, reproducible generator (xoshiro256++).
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// The stream of one session for one purpose: the same seed gives the same numbers, whoever else draws.
    pub fn new(seed: u64, session: u64, purpose: Purpose) -> Self {
        let mixed = scramble(scramble(scramble(seed) ^ session) ^ purpose as u64);
        Stream(Xoshiro256PlusPlus::seed_from_u64(mixed))
    }

    /// A uniform number in [0, 1) with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A uniform integer in `0..n`; `n` must be positive. The bias of the multiply-shift is below n / 2^64.
    pub fn below(&mut self, n: u64) -> u64 {
        ((self.0.next_u64() as u128 * n as u128) >> 64) as u64
    }
}

/// The seed of a part of a plan: parts that are played side by side draw different users. The first has the plan's own.
pub fn seed_of_part(seed: u64, part: usize) -> u64 {
    match part {
        0 => seed,
        _ => scramble(seed ^ scramble(part as u64)),
    }
}

/// SplitMix64's output function (Steele, Lea, Flood 2014): spreads nearby seeds over all 64 bits.
pub fn scramble(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plans made with a version must be the same requests with every later one.
    #[test]
    fn streams_are_what_they_always_were() {
        // SplitMix64 from state 0 (Vigna's splitmix64.c).
        assert_eq!(scramble(0), 0xe220_a839_7b1d_cdaf);
        let mut stream = Stream::new(1, 2, Purpose::Mix);
        assert_eq!([10, 1000, 1_000_000].map(|n| stream.below(n)), [5, 339, 899_888]);
        assert_eq!([stream.unit(), stream.unit()], [0.988_666_731_505_418, 0.215_969_561_505_435]);
    }

    #[test]
    fn parts_have_seeds_of_their_own_and_the_first_the_plans() {
        let mut seeds: Vec<u64> = (0..100).flat_map(|seed| (0..10).map(move |part| seed_of_part(seed, part))).collect();
        assert_eq!(seeds[30], 3);
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 1000);
    }

    #[test]
    fn numbers_are_spread_over_all_of_their_range() {
        let mut stream = Stream::new(7, 7, Purpose::Values);
        let mut seen = [0u32; 6];
        (0..6000).for_each(|_| seen[stream.below(6) as usize] += 1);
        // Standard deviation 29; five of them.
        assert!(seen.iter().all(|count| count.abs_diff(1000) < 145), "{seen:?}");
    }
}
