//! How the next state is chosen: by a matrix (Markov chain), flat shares, or a fixed sequence.

use crate::draw::Weighted;
use crate::plan::Mix;
use crate::rng::Stream;
use crate::PlanError;

/// Where a session goes from here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next {
    State(usize),
    /// The session ends as its user meant it to.
    Finish,
    /// The user walks away without logging out.
    Abandon,
}

/// A mix compiled for fast choice.
#[derive(Clone, Debug)]
pub enum Chooser {
    Matrix { start: usize, rows: Vec<(Vec<Next>, Weighted)> },
    Flat { shares: Weighted, operations_per_session: Option<u32> },
    Sequence { states: Vec<usize> },
}

/// Rows may miss 1 by this much before the remainder counts as "the user leaves".
pub const ROW_SLACK: f64 = 1e-9;

impl Chooser {
    /// Compiles a mix of so many states; an error says which chances are none.
    pub fn compile(mix: &Mix, states: usize) -> Result<Self, PlanError> {
        let known = |index: u32| match (index as usize) < states {
            true => Ok(index as usize),
            false => Err(PlanError::invalid("mix", format!("state {index} does not exist"))),
        };
        match mix {
            Mix::Matrix { start, rows } => {
                let compiled: Result<Vec<_>, _> = rows.iter().map(|row| compile_row(row, &known)).collect();
                let rows = compiled?;
                if rows.len() != states {
                    return Err(PlanError::invalid("mix", "needs one row for each state"));
                }
                Ok(Chooser::Matrix { start: known(*start)?, rows })
            }
            Mix::Flat { shares, operations_per_session } => {
                let weighted = Weighted::new(shares.iter().copied()).filter(|_| shares.len() == states);
                let shares =
                    weighted.ok_or_else(|| PlanError::invalid("mix", "needs a positive share for the states"))?;
                Ok(Chooser::Flat { shares, operations_per_session: *operations_per_session })
            }
            Mix::Sequence { states: order } => {
                let states: Vec<usize> = order.iter().map(|&index| known(index)).collect::<Result<_, _>>()?;
                if states.is_empty() {
                    return Err(PlanError::invalid("mix", "a sequence needs at least one state"));
                }
                Ok(Chooser::Sequence { states })
            }
        }
    }

    /// Whether no session ever ends by it.
    pub fn is_endless(&self) -> bool {
        match self {
            Chooser::Matrix { rows, .. } => rows.iter().all(|(targets, weights)| {
                targets.iter().zip(weights.shares()).all(|(to, share)| matches!(to, Next::State(_)) || share == 0.0)
            }),
            Chooser::Flat { operations_per_session, .. } => operations_per_session.is_none(),
            Chooser::Sequence { .. } => false,
        }
    }

    /// The state after `current`; `done` operations have been performed in this session (0: choose the first).
    pub fn next(&self, current: usize, done: u32, stream: &mut Stream) -> Next {
        match self {
            Chooser::Matrix { start, .. } if done == 0 => Next::State(*start),
            Chooser::Matrix { rows, .. } => {
                let (targets, weights) = &rows[current];
                targets[weights.pick(stream)]
            }
            Chooser::Flat { operations_per_session: Some(limit), .. } if done >= *limit => Next::Finish,
            Chooser::Flat { shares, .. } => Next::State(shares.pick(stream)),
            Chooser::Sequence { states } => states.get(done as usize).map_or(Next::Finish, |&state| Next::State(state)),
        }
    }
}

fn compile_row(
    row: &crate::plan::Row,
    known: &impl Fn(u32) -> Result<usize, PlanError>,
) -> Result<(Vec<Next>, Weighted), PlanError> {
    let mut targets = Vec::new();
    let mut weights = Vec::new();
    for edge in &row.to {
        targets.push(Next::State(known(edge.state)?));
        weights.push(edge.probability);
    }
    targets.push(Next::Finish);
    weights.push(row.finish);
    let total: f64 = weights.iter().sum();
    if total > 1.0 + ROW_SLACK {
        return Err(PlanError::invalid("mix", format!("a row sums to {total}, more than 1")));
    }
    targets.push(Next::Abandon);
    weights.push(if 1.0 - total > ROW_SLACK { 1.0 - total } else { 0.0 });
    let weights =
        Weighted::new(weights).ok_or_else(|| PlanError::invalid("mix", "a row has a negative probability"))?;
    Ok((targets, weights))
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::plan::{Edge, Row};
    use crate::rng::Purpose;

    fn row(to: &[(u32, f64)], finish: f64) -> Row {
        Row { to: to.iter().map(|&(state, probability)| Edge { state, probability }).collect(), finish }
    }

    fn refused(mix: &Mix, states: usize) -> String {
        Chooser::compile(mix, states).expect_err("refused").to_string()
    }

    #[test]
    fn what_does_not_exist_is_named() {
        assert!(refused(&Mix::Sequence { states: vec![1] }, 1).contains("state 1 does not exist"));
        assert!(refused(&Mix::Matrix { start: 0, rows: vec![] }, 1).contains("one row for each state"));
        assert!(refused(&Mix::Matrix { start: 0, rows: vec![row(&[], 1.1)] }, 1).contains("sums to 1.1"));
        assert!(refused(&Mix::Matrix { start: 0, rows: vec![row(&[(0, -0.5)], 1.0)] }, 1).contains("negative"));
        assert!(Chooser::compile(&Mix::Matrix { start: 0, rows: vec![row(&[], 1.0 + 5e-10)] }, 1).is_ok());
    }

    #[test]
    fn a_row_of_whole_chances_never_abandons_and_a_short_one_does() {
        let mut stream = Stream::new(1, 1, Purpose::Mix);
        let mut outcomes = |finish: f64| {
            let chooser = Chooser::compile(&Mix::Matrix { start: 0, rows: vec![row(&[], finish)] }, 1).expect("valid");
            (0..2000).filter(|_| chooser.next(0, 1, &mut stream) == Next::Abandon).count()
        };
        assert_eq!(outcomes(1.0), 0);
        assert_eq!(outcomes(1.0 - 5e-10), 0);
        // Standard deviation 19; five of them.
        assert!(outcomes(0.75).abs_diff(500) < 97);
    }

    #[test]
    fn a_session_begins_where_its_mix_says_and_ends_after_its_operations() {
        let mut stream = Stream::new(1, 1, Purpose::Mix);
        let matrix = Mix::Matrix { start: 1, rows: vec![row(&[], 1.0), row(&[(0, 1.0)], 0.0)] };
        let chooser = Chooser::compile(&matrix, 2).expect("valid");
        assert_eq!(chooser.next(0, 0, &mut stream), Next::State(1));
        assert_eq!(chooser.next(1, 1, &mut stream), Next::State(0));
        let flat = Mix::Flat { shares: vec![1.0], operations_per_session: Some(2) };
        let chooser = Chooser::compile(&flat, 1).expect("valid");
        assert_eq!(
            [0, 1, 2, 3].map(|done| chooser.next(0, done, &mut stream)),
            [Next::State(0), Next::State(0), Next::Finish, Next::Finish]
        );
    }
}
