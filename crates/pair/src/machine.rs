//! What one side of a pair does when something happens: a state machine, pure. Time, the network and the store come in
//! as inputs; what is to be done goes out as actions.
//!
//! A side that hears nothing from the other suspects it, and asks the store for the next generation. Whoever gets it
//! goes on alone; whoever does not ends its machine. Without an answer of the store nobody goes on.

/// Which side of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// It serves.
    Primary,
    /// It replays.
    Secondary,
}

/// What a side is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// It serves, and nobody follows it.
    Alone,
    /// It is becoming the secondary: what it has is not enough to go on with, or its primary does not know of it yet.
    Joining,
    /// Both are there.
    Protected,
    /// The other is suspected; the store is asked.
    Deciding,
    /// Its machine has ended, or was ended.
    Over,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// The other side said anything.
    Heard,
    /// Time has come to this.
    Tick,
    /// The machine of the side that joins replays.
    PeerReplays,
    /// The primary holds its outputs for us from here on.
    Welcomed,
    /// The channel broke, or the other side said that its machine is gone.
    ChannelLost,
    /// The other side's machine has ended by itself, or goes on without us: there is nothing to go on with.
    PeerEnded,
    /// The store gave us the generation that was asked for.
    ClaimWon,
    /// It had given it to the other.
    ClaimLost,
    /// It did not answer.
    StoreUnavailable,
    /// Our machine ended by itself: the guest powered off.
    MachineEnded,
    /// Our machine is gone although nobody meant it to.
    MachineDied,
    /// What the machine does is not what the other's did.
    Diverged,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Ask the store for a generation, once.
    Claim(u64),
    /// Hold outputs from here on, then tell the other side that it is the secondary.
    Welcome,
    /// Let everything out that is held, and hold nothing from now on; record for nobody.
    ReleaseAll,
    /// Have the machine that replays go on by itself, and tell the network where it is.
    GoLive,
    /// End the machine at once.
    Kill,
    /// Tell the other side that this one is gone.
    Leave,
}

/// One side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Side {
    pub role: Role,
    pub phase: Phase,
    /// How often one side went on without the other, so far.
    pub generation: u64,
    /// When the other was heard last.
    heard_ns: u64,
    /// Silence after which it is suspected.
    patience_ns: u64,
    /// When the store may be asked again.
    ask_ns: u64,
}

/// Between two questions to a store that did not answer.
const AGAIN_NS: u64 = 100_000_000;

impl Side {
    /// A side of a pair that is complete.
    pub fn protected(role: Role, generation: u64, now_ns: u64, patience_ns: u64) -> Self {
        Side { role, phase: Phase::Protected, generation, heard_ns: now_ns, patience_ns, ask_ns: 0 }
    }

    /// A side that becomes the secondary of a primary of this generation.
    pub fn joining(generation: u64, patience_ns: u64) -> Self {
        let role = Role::Secondary;
        Side { role, phase: Phase::Joining, generation, heard_ns: 0, patience_ns, ask_ns: 0 }
    }

    /// A machine that nobody follows.
    pub fn alone(generation: u64, patience_ns: u64) -> Self {
        Side { role: Role::Primary, phase: Phase::Alone, generation, heard_ns: 0, patience_ns, ask_ns: 0 }
    }

    /// Takes what happened at `now_ns`; what is to be done, in order.
    pub fn take(&mut self, input: Input, now_ns: u64) -> Vec<Action> {
        match (self.phase, input) {
            (Phase::Over, _) => Vec::new(),
            (_, Input::MachineDied) => self.end(&[Action::Leave]),
            (_, Input::MachineEnded) => self.end(&[]),
            // The primary first: were it the other way round, both could go on alone, one of them without asking.
            (Phase::Alone, Input::PeerReplays) => self.protect(now_ns, &[Action::Welcome]),
            (Phase::Joining, Input::Welcomed) => self.protect(now_ns, &[]),
            (Phase::Joining, Input::ChannelLost | Input::PeerEnded | Input::Diverged) => self.end(&[Action::Kill]),
            (Phase::Protected, Input::Heard) => {
                self.heard_ns = now_ns;
                Vec::new()
            }
            (Phase::Protected, Input::ChannelLost) => self.decide(),
            (Phase::Protected, Input::Tick) if now_ns.saturating_sub(self.heard_ns) > self.patience_ns => self.decide(),
            (Phase::Protected, Input::PeerEnded) => match self.role {
                Role::Primary => self.decide(),
                Role::Secondary => self.end(&[Action::Kill]),
            },
            // A secondary that is no copy must not go on, whatever happens; its primary finds it gone.
            (Phase::Protected | Phase::Deciding, Input::Diverged) if self.role == Role::Secondary => {
                self.end(&[Action::Leave, Action::Kill])
            }
            (Phase::Deciding, Input::ClaimWon) => self.go_on(),
            (Phase::Deciding, Input::ClaimLost) => self.end(&[Action::Kill]),
            (Phase::Deciding, Input::StoreUnavailable) => {
                self.ask_ns = now_ns + AGAIN_NS;
                Vec::new()
            }
            (Phase::Deciding, Input::Tick) if self.ask_ns > 0 && now_ns >= self.ask_ns => self.decide(),
            _ => Vec::new(),
        }
    }

    /// Whether what the machine sends may leave without waiting.
    pub fn is_alone(&self) -> bool {
        self.phase == Phase::Alone
    }

    fn protect(&mut self, now_ns: u64, actions: &[Action]) -> Vec<Action> {
        self.phase = Phase::Protected;
        self.heard_ns = now_ns;
        actions.to_vec()
    }

    fn decide(&mut self) -> Vec<Action> {
        self.phase = Phase::Deciding;
        self.ask_ns = 0;
        vec![Action::Claim(self.generation + 1)]
    }

    fn go_on(&mut self) -> Vec<Action> {
        self.generation += 1;
        self.phase = Phase::Alone;
        match self.role {
            Role::Primary => vec![Action::ReleaseAll],
            Role::Secondary => {
                self.role = Role::Primary;
                vec![Action::GoLive, Action::ReleaseAll]
            }
        }
    }

    fn end(&mut self, actions: &[Action]) -> Vec<Action> {
        self.phase = Phase::Over;
        actions.to_vec()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const PATIENCE_NS: u64 = 100;

    fn pair() -> [Side; 2] {
        [Role::Primary, Role::Secondary].map(|role| Side::protected(role, 0, 0, PATIENCE_NS))
    }

    #[test]
    fn a_secondary_that_hears_nothing_asks_the_store_and_goes_live_when_it_wins() {
        let [_, mut secondary] = pair();
        assert_eq!(secondary.take(Input::Tick, PATIENCE_NS), []);
        assert_eq!(secondary.take(Input::Tick, PATIENCE_NS + 1), [Action::Claim(1)]);
        assert_eq!(secondary.take(Input::ClaimWon, PATIENCE_NS + 2), [Action::GoLive, Action::ReleaseAll]);
        assert_eq!((secondary.role, secondary.phase, secondary.generation), (Role::Primary, Phase::Alone, 1));
    }

    #[test]
    fn whoever_loses_ends_its_machine_and_nobody_goes_on_without_the_store() {
        let [mut primary, mut secondary] = pair();
        assert_eq!(primary.take(Input::ChannelLost, 5), [Action::Claim(1)]);
        assert_eq!(primary.take(Input::ClaimLost, 6), [Action::Kill]);
        assert_eq!(secondary.take(Input::ChannelLost, 5), [Action::Claim(1)]);
        assert_eq!(secondary.take(Input::StoreUnavailable, 6), []);
        assert_eq!(secondary.take(Input::Tick, 7), []);
        assert_eq!(secondary.take(Input::Tick, 6 + AGAIN_NS), [Action::Claim(1)]);
    }

    #[test]
    fn a_guest_that_powers_off_ends_both_and_a_divergent_copy_never_goes_on() {
        let [_, mut secondary] = pair();
        assert_eq!(secondary.take(Input::PeerEnded, 1), [Action::Kill]);
        let [_, mut secondary] = pair();
        assert_eq!(secondary.take(Input::Diverged, 1), [Action::Leave, Action::Kill]);
        assert_eq!(secondary.take(Input::ChannelLost, 2), []);
    }

    /// The world of the exhaustive search: both sides, whose claims the store has, which machines are let out.
    #[derive(Clone, PartialEq, Eq, Hash)]
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

    impl World {
        fn take(&self, at: usize, input: Input) -> World {
            let mut world = self.clone();
            for action in world.sides[at].take(input, world.now_ns) {
                match action {
                    Action::Claim(generation) => world.asked[at] = Some(generation),
                    Action::ReleaseAll => world.free[at] = true,
                    Action::Kill => world.free[at] = false,
                    Action::Welcome => {
                        world.free[at] = false;
                        world.is_welcome = true;
                    }
                    Action::GoLive | Action::Leave => {}
                }
            }
            world
        }

        /// All that may happen next, in any order, lost or late.
        fn next(&self) -> Vec<World> {
            let mut worlds = Vec::new();
            for at in 0..2 {
                worlds
                    .extend(INPUTS.into_iter().filter(|&input| self.may(at, input)).map(|input| self.take(at, input)));
                if self.asked[at].is_some() {
                    let mut answered = self.clone();
                    answered.asked[at] = None;
                    worlds.push(answered.take(at, Input::StoreUnavailable));
                    let owner = *answered.owner.get_or_insert(at);
                    worlds.push(answered.take(at, if owner == at { Input::ClaimWon } else { Input::ClaimLost }));
                }
            }
            if self.now_ns < 2 * AGAIN_NS {
                let mut later = self.clone();
                later.now_ns += AGAIN_NS;
                worlds.push(later);
            }
            worlds
        }

        fn may(&self, at: usize, input: Input) -> bool {
            let other = self.sides[1 - at].phase;
            match input {
                Input::Heard => matches!(other, Phase::Protected | Phase::Deciding),
                // A channel that was lost brings no word of a side that joins any more.
                Input::PeerReplays => other == Phase::Joining && self.sides[at].generation == 0,
                Input::Welcomed => at == 1 && self.is_welcome,
                _ => true,
            }
        }
    }

    const INPUTS: [Input; 7] = [
        Input::Heard,
        Input::Tick,
        Input::PeerReplays,
        Input::Welcomed,
        Input::ChannelLost,
        Input::MachineDied,
        Input::Diverged,
    ];

    #[test]
    fn a_side_that_joins_goes_on_only_once_its_primary_holds_outputs_for_it() {
        let (mut primary, mut secondary) = (Side::alone(4, PATIENCE_NS), Side::joining(4, PATIENCE_NS));
        assert_eq!(secondary.clone().take(Input::ChannelLost, 1), [Action::Kill]);
        assert_eq!(primary.take(Input::PeerReplays, 2), [Action::Welcome]);
        assert_eq!(secondary.take(Input::Welcomed, 3), []);
        assert_eq!(secondary.take(Input::ChannelLost, 4), [Action::Claim(5)]);
        assert_eq!(primary.take(Input::ChannelLost, 4), [Action::Claim(5)]);
    }

    #[test]
    fn in_every_order_of_events_at_most_one_side_goes_on_alone() {
        let joining = [Side::alone(0, PATIENCE_NS), Side::joining(0, PATIENCE_NS)];
        for (sides, free) in [(pair(), false), (joining, true)] {
            explore(World { sides, asked: [None; 2], owner: None, is_welcome: false, free: [free, false], now_ns: 0 });
        }
    }

    fn explore(first: World) {
        let (mut seen, mut open) = (HashSet::from([first.clone()]), vec![first]);
        let mut went_on = [0_usize; 2];
        while let Some(world) = open.pop() {
            assert!(!(world.free[0] && world.free[1]), "two live sides");
            for (at, side) in world.sides.iter().enumerate() {
                let was_alone_before = at == 0 && side.generation == 0;
                assert!(
                    !world.free[at] || world.owner == Some(at) || was_alone_before,
                    "live without the store's word"
                );
                assert!(side.phase != Phase::Alone || world.free[at]);
                went_on[at] += usize::from(world.free[at]);
            }
            for next in world.next() {
                if seen.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
        assert!(went_on[0] > 0 && went_on[1] > 0 && seen.len() > 200, "{} states", seen.len());
    }
}
