//! A pair on a network without a clock of its own, under random schedules of delays, cuts, crashes and a store that goes
//! away: no output before its commit, at most one side that goes on, and nothing lost that a client was told.
//!
//! The machine is a ledger: each event of the log is a client's request, applied once, and answered by one frame.

use std::collections::{BTreeMap, HashSet, VecDeque};

use loadstone_pair::commit::Outputs;
use loadstone_pair::machine::{Action, Input, Phase, Role, Side};

const MS: u64 = 1_000_000;
const PATIENCE: u64 = 100 * MS;

/// Chance from a seed (SplitMix64; Steele, Lea, Flood 2014).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, most: u64) -> u64 {
        self.next() % most
    }
}

/// What goes over the channel.
#[derive(Clone, Debug)]
enum Message {
    Event(u64),
    Acknowledged(u64),
    Welcome(u64),
    Beat,
    Leaving,
}

/// Connections of the channel: for the log, and for everything else. Neither waits for the other.
const CONNECTIONS: usize = 2;

impl Message {
    fn connection(&self) -> usize {
        usize::from(!matches!(self, Message::Event(_)))
    }
}

/// One side: its agent, and its machine as the requests it has applied.
struct Host {
    side: Side,
    /// Requests in the order of the log.
    log: Vec<u64>,
    applied: HashSet<u64>,
    outputs: Outputs,
    is_up: bool,
    /// Messages under way to it over each connection, by when they arrive.
    mail: [VecDeque<(u64, Message)>; CONNECTIONS],
    /// Length of the log from which on its primary holds outputs for it.
    welcome: Option<u64>,
    asked: Option<u64>,
}

impl Host {
    fn new(side: Side) -> Self {
        Host {
            side,
            log: Vec::new(),
            applied: HashSet::new(),
            outputs: Outputs::default(),
            is_up: true,
            mail: Default::default(),
            welcome: None,
            asked: None,
        }
    }

    fn apply(&mut self, request: u64) {
        self.log.push(request);
        self.applied.insert(request);
    }

    fn forget_mail(&mut self) {
        self.mail.iter_mut().for_each(VecDeque::clear);
    }

    /// Whether it takes what comes over the channel.
    fn listens(&self) -> bool {
        let is_joined = self.side.phase == Phase::Alone && self.side.generation == 0;
        is_joined || matches!(self.side.phase, Phase::Joining | Phase::Protected)
    }

    fn serves(&self) -> bool {
        self.is_up && self.side.role == Role::Primary && self.side.phase != Phase::Over
    }
}

struct World {
    chance: Chance,
    now: u64,
    hosts: [Host; 2],
    is_cut: bool,
    store_up: bool,
    /// Who went on with which generation.
    owners: BTreeMap<u64, usize>,
    /// What clients were told is done.
    told: HashSet<u64>,
    next_request: u64,
}

impl World {
    fn new(seed: u64) -> Self {
        let protected = [Role::Primary, Role::Secondary].map(|role| Side::protected(role, 0, 0, PATIENCE));
        let joining = [Side::alone(0, PATIENCE), Side::joining(0, PATIENCE)];
        World {
            chance: Chance(seed),
            now: 0,
            hosts: (if seed.is_multiple_of(2) { protected } else { joining }).map(Host::new),
            is_cut: false,
            store_up: true,
            owners: BTreeMap::new(),
            told: HashSet::new(),
            next_request: 0,
        }
    }

    /// Sends over the channel; in order, late, or never.
    fn send(&mut self, to: usize, message: Message) {
        if self.is_cut || !self.hosts[to].is_up {
            return;
        }
        let latest = if message.connection() == 0 { 30 * MS } else { 8 * MS };
        let late = self.now + self.chance.below(latest);
        let mail = &mut self.hosts[to].mail[message.connection()];
        let earliest = mail.back().map_or(0, |(at, _)| *at);
        mail.push_back((late.max(earliest), message));
    }

    fn happened(&mut self, at: usize, input: Input) {
        for action in self.hosts[at].side.take(input, self.now) {
            match action {
                Action::Claim(generation) => {
                    self.hosts[at].asked = Some(generation);
                    self.hosts[at].forget_mail(); // the channel is ended before the store is asked
                }
                Action::Welcome => {
                    let position = self.hosts[at].log.len() as u64;
                    self.send(1 - at, Message::Welcome(position));
                }
                Action::ReleaseAll => {
                    let held: Vec<_> = self.hosts[at].outputs.release_all().collect();
                    held.iter().for_each(|one| self.leave(at, one.position));
                }
                Action::Kill => self.hosts[at].is_up = false,
                Action::Leave => self.send(1 - at, Message::Leaving),
                Action::GoLive => {}
            }
        }
    }

    /// The answer to the request before this place of the log reaches its client.
    fn leave(&mut self, at: usize, position: u64) {
        let request = self.hosts[at].log[position as usize - 1];
        self.told.insert(request);
        let is_alone = self.hosts[at].side.phase == Phase::Alone;
        let other = &self.hosts[1 - at];
        assert!(is_alone || other.applied.contains(&request), "an output before its commit");
    }

    /// A client asks whoever serves.
    fn request(&mut self) {
        let Some(at) = self.hosts.iter().position(Host::serves) else { return };
        let request = self.next_request;
        self.next_request += 1;
        self.hosts[at].apply(request);
        let position = self.hosts[at].log.len() as u64;
        self.hosts[at].outputs.hold(position, self.now, Vec::new());
        if self.hosts[at].side.is_alone() {
            let held: Vec<_> = self.hosts[at].outputs.release_all().collect();
            held.iter().for_each(|one| self.leave(at, one.position));
        }
        let follows = matches!(self.hosts[1 - at].side.phase, Phase::Joining | Phase::Protected);
        if follows && self.hosts[at].side.generation == 0 {
            self.send(1 - at, Message::Event(request));
        }
    }

    fn deliver(&mut self, at: usize) {
        for connection in 0..CONNECTIONS {
            self.deliver_over(at, connection);
        }
        let host = &self.hosts[at];
        if host.is_up && host.welcome.is_some_and(|position| host.log.len() as u64 >= position) {
            self.hosts[at].welcome = None;
            self.happened(at, Input::Welcomed);
        }
    }

    fn deliver_over(&mut self, at: usize, connection: usize) {
        while self.hosts[at].is_up && self.hosts[at].mail[connection].front().is_some_and(|(due, _)| *due <= self.now) {
            let Some((_, message)) = self.hosts[at].mail[connection].pop_front() else { return };
            if !self.hosts[at].listens() {
                continue;
            }
            self.happened(at, Input::Heard);
            match message {
                Message::Event(request) => {
                    self.hosts[at].apply(request);
                    let received = self.hosts[at].log.len() as u64;
                    self.send(1 - at, Message::Acknowledged(received));
                }
                // Beyond the frame's place by one: the next event shows that the guest passed it.
                Message::Acknowledged(received) => {
                    self.happened(at, Input::PeerReplays);
                    let held: Vec<_> = self.hosts[at].outputs.acknowledge(received + 1).collect();
                    held.iter().for_each(|one| self.leave(at, one.position));
                }
                Message::Welcome(position) => self.hosts[at].welcome = Some(position),
                Message::Beat => {}
                Message::Leaving => self.happened(at, Input::ChannelLost),
            }
        }
    }

    fn ask_store(&mut self, at: usize) {
        if !self.hosts[at].is_up || self.chance.below(3) > 0 {
            return;
        }
        let Some(generation) = self.hosts[at].asked.take() else { return };
        if !self.store_up {
            return self.happened(at, Input::StoreUnavailable);
        }
        let owner = *self.owners.entry(generation).or_insert(at);
        self.happened(at, if owner == at { Input::ClaimWon } else { Input::ClaimLost });
    }

    fn crash(&mut self, at: usize) {
        self.hosts[at].is_up = false;
        self.hosts[at].forget_mail();
        if self.chance.below(2) == 0 {
            self.happened(1 - at, Input::ChannelLost); // the kernel of a host that lives closes the connection
        }
    }

    /// One step of a few milliseconds; `trouble` is how likely each kind is, one in so many steps.
    fn step(&mut self, trouble: u64) {
        self.now += 1 + self.chance.below(5 * MS);
        if self.chance.below(3) > 0 {
            self.request();
        }
        for at in 0..2 {
            self.deliver(at);
            if self.hosts[at].is_up {
                self.send(1 - at, Message::Beat);
                self.happened(at, Input::Tick);
                self.ask_store(at);
            }
        }
        match self.chance.below(5 * trouble) {
            0 => self.crash(0),
            1 => self.crash(1),
            2 => self.is_cut = true,
            3 => self.store_up = !self.store_up,
            _ => {}
        }
    }

    fn check(&self) {
        let alone = self.hosts.iter().filter(|host| host.is_up && host.side.phase == Phase::Alone).count();
        assert!(alone <= 1, "two sides go on alone");
        for (at, host) in self.hosts.iter().enumerate() {
            if host.is_up && host.side.phase == Phase::Alone {
                assert!(self.told.iter().all(|request| host.applied.contains(request)), "side {at} lost what was told");
                assert_eq!(host.log.len(), host.applied.len(), "side {at} applied something twice");
            }
        }
    }
}

#[test]
fn in_a_thousand_random_schedules_nothing_that_was_told_is_lost_and_one_side_goes_on() {
    let (mut survived, mut by_secondary, mut told) = (0, 0, 0);
    for seed in 0..1000 {
        let mut world = World::new(seed);
        for _ in 0..400 {
            world.step(if seed.is_multiple_of(2) { 60 } else { 8 }); // a secondary joins soon, or never
            world.check();
        }
        let alone = world.hosts.iter().position(|host| host.is_up && host.side.phase == Phase::Alone);
        survived += usize::from(alone.is_some());
        by_secondary += usize::from(alone == Some(1));
        told += world.told.len();
    }
    assert!(survived > 150 && by_secondary > 70 && told > 80_000, "{survived} {by_secondary} {told}");
}
