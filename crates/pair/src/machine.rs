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
pub const AGAIN_NS: u64 = 100_000_000;

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

    #[test]
    fn a_side_that_joins_goes_on_only_once_its_primary_holds_outputs_for_it() {
        let (mut primary, mut secondary) = (Side::alone(4, PATIENCE_NS), Side::joining(4, PATIENCE_NS));
        assert_eq!(secondary.clone().take(Input::ChannelLost, 1), [Action::Kill]);
        assert_eq!(primary.take(Input::PeerReplays, 2), [Action::Welcome]);
        assert_eq!(secondary.take(Input::Welcomed, 3), []);
        assert_eq!(secondary.take(Input::ChannelLost, 4), [Action::Claim(5)]);
        assert_eq!(primary.take(Input::ChannelLost, 4), [Action::Claim(5)]);
    }
}
