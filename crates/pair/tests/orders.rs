//! Every order of what may happen to both sides of a pair, gone through at small scope: at most one goes on alone.

use loadstone_pair::machine::{Action, Input, Phase, Role, Side, AGAIN_NS};
use stateright::{Checker, Model, Property};

const PATIENCE_NS: u64 = 100;
/// Until then time passes: long enough for a store that does not answer to be asked again.
const LATEST_NS: u64 = 2 * AGAIN_NS;
const INPUTS: [Input; 9] = [
    Input::Heard,
    Input::Tick,
    Input::PeerReplays,
    Input::Welcomed,
    Input::ChannelLost,
    Input::PeerEnded,
    Input::MachineEnded,
    Input::MachineDied,
    Input::Diverged,
];

/// Both sides, whose claims the store has, and what is under way between them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct World {
    sides: [Side; 2],
    asked: [Option<u64>; 2],
    owner: Option<usize>,
    /// Whether the primary's word that it holds its outputs is under way.
    is_welcome: bool,
    /// Which sides let output out without waiting for the other.
    free: [bool; 2],
    now_ns: u64,
}

/// What may happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    To(usize, Input),
    StoreAnswers(usize),
    StoreIsSilent(usize),
    TimePasses,
}

/// A pair, as it begins.
struct Pair(World);

impl Pair {
    fn of(sides: [Side; 2], is_free: bool) -> Pair {
        let free = [is_free, false];
        Pair(World { sides, asked: [None; 2], owner: None, is_welcome: false, free, now_ns: 0 })
    }
}

impl World {
    fn take(&mut self, at: usize, input: Input) {
        for action in self.sides[at].take(input, self.now_ns) {
            match action {
                Action::Claim(generation) => self.asked[at] = Some(generation),
                Action::ReleaseAll => self.free[at] = true,
                Action::Kill => self.free[at] = false,
                Action::Welcome => {
                    self.free[at] = false;
                    self.is_welcome = true;
                }
                Action::GoLive | Action::Leave => {}
            }
        }
        self.free[at] &= self.sides[at].phase != Phase::Over;
    }

    fn may(&self, at: usize, input: Input) -> bool {
        let other = self.sides[1 - at].phase;
        match input {
            Input::Heard => matches!(other, Phase::Protected | Phase::Deciding),
            // A channel that was lost brings no word of a side that joins any more.
            Input::PeerReplays => other == Phase::Joining && self.sides[at].generation == 0,
            Input::PeerEnded => other == Phase::Over,
            Input::Welcomed => at == 1 && self.is_welcome,
            _ => true,
        }
    }

    fn is_by_the_stores_word(&self, at: usize) -> bool {
        let was_alone_before = at == 0 && self.sides[at].generation == 0;
        !self.free[at] || self.owner == Some(at) || was_alone_before
    }
}

impl Model for Pair {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        vec![self.0.clone()]
    }

    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        for at in 0..2 {
            steps.extend(INPUTS.into_iter().filter(|&input| world.may(at, input)).map(|input| Step::To(at, input)));
            if world.asked[at].is_some() {
                steps.extend([Step::StoreAnswers(at), Step::StoreIsSilent(at)]);
            }
        }
        if world.now_ns < LATEST_NS {
            steps.push(Step::TimePasses);
        }
    }

    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        let mut next = world.clone();
        match step {
            Step::To(at, input) => next.take(at, input),
            Step::StoreAnswers(at) => {
                next.asked[at] = None;
                let owner = *next.owner.get_or_insert(at);
                next.take(at, if owner == at { Input::ClaimWon } else { Input::ClaimLost });
            }
            Step::StoreIsSilent(at) => {
                next.asked[at] = None;
                next.take(at, Input::StoreUnavailable);
            }
            Step::TimePasses => next.now_ns += AGAIN_NS,
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("at most one side goes on alone", |_, world: &World| !(world.free[0] && world.free[1])),
            Property::always("nobody goes on without the store's word", |_, world: &World| {
                (0..2).all(|at| world.is_by_the_stores_word(at))
            }),
            Property::always("who is alone lets its outputs out", |_, world: &World| {
                (0..2).all(|at| world.sides[at].phase != Phase::Alone || world.free[at])
            }),
            Property::sometimes("the primary goes on", |_, world: &World| {
                world.free[0] && world.sides[0].generation == 1
            }),
            Property::sometimes("the secondary goes on", |_, world: &World| world.free[1]),
        ]
    }
}

fn explored(pair: Pair) {
    let checked = pair.checker().spawn_bfs().join();
    checked.assert_properties();
    assert!(checked.unique_state_count() > 200, "{} states", checked.unique_state_count());
}

#[test]
fn of_a_whole_pair_at_most_one_side_goes_on_alone() {
    explored(Pair::of([Role::Primary, Role::Secondary].map(|role| Side::protected(role, 0, 0, PATIENCE_NS)), false));
}

#[test]
fn of_a_pair_that_is_being_made_at_most_one_side_goes_on_alone() {
    explored(Pair::of([Side::alone(0, PATIENCE_NS), Side::joining(0, PATIENCE_NS)], true));
}
