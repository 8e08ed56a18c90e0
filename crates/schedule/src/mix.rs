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
