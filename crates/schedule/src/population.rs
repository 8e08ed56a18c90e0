//! Who is there when the number of sessions changes: the first so many by their numbers.

use std::ops::Range;

use crate::plan::PopulationStage;

/// When session number `id`, from 0, is there, in nanoseconds from the beginning of the path: while the number of
/// sessions, rounded, is above its own.
pub fn presence(path: &[PopulationStage], id: u64) -> Vec<Range<u64>> {
    let mut found: Vec<Range<u64>> = Vec::new();
    let mut begin = 0;
    for stage in path {
        let end = begin + stage.length_ns;
        if let Some(part) = within(stage, id).filter(|part| !part.is_empty()) {
            let (from, to) = (begin + part.start, begin + part.end);
            match found.last_mut() {
                Some(last) if last.end == from => last.end = to,
                _ => found.push(from..to),
            }
        }
        begin = end;
    }
    found
}

/// The part of a stage over which there are at least `id` and a half sessions.
fn within(stage: &PopulationStage, id: u64) -> Option<Range<u64>> {
    let (from, to, due) = (f64::from(stage.from), f64::from(stage.to), id as f64 + 0.5);
    let crossed = ((due - from) / (to - from) * stage.length_ns as f64) as u64;
    match (from >= due, to >= due) {
        (true, true) => Some(0..stage.length_ns),
        (true, false) => Some(0..crossed),
        (false, true) => Some(crossed..stage.length_ns),
        (false, false) => None,
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)] // there is one time
mod tests {
    use super::*;

    fn stage(length_ns: u64, from: u32, to: u32) -> PopulationStage {
        PopulationStage { length_ns, from, to }
    }

    #[test]
    fn sessions_come_and_go_with_the_steps() {
        let path = [stage(10, 1, 1), stage(10, 3, 3), stage(10, 2, 2), stage(10, 3, 3)];
        assert_eq!(presence(&path, 0), vec![0..40]);
        assert_eq!(presence(&path, 1), vec![10..40]);
        assert_eq!(presence(&path, 2), [10..20, 30..40]);
        assert_eq!(presence(&path, 3), []);
    }

    #[test]
    fn on_a_ramp_one_after_the_other_comes_and_at_each_time_there_are_as_many_as_declared() {
        let path = [stage(1000, 0, 10), stage(500, 10, 0)];
        let all: Vec<_> = (0..12).map(|id| presence(&path, id)).collect();
        assert_eq!(all[0], vec![50..1475]);
        assert_eq!(all[9], vec![950..1025]);
        assert!(all[10].is_empty());
        for at in 0..1500 {
            let there = all.iter().flatten().filter(|range| range.contains(&at)).count() as f64;
            let declared = if at < 1000 { at as f64 / 100.0 } else { (1500 - at) as f64 / 50.0 };
            assert!((there - declared).abs() <= 0.6, "{there} instead of {declared} at {at}");
        }
    }
}
