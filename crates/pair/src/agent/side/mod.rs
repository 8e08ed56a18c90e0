//! The thread that decides: takes what happens, asks the state machine, does what it says.

mod orders;

use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{bail, Context, Result};
use serde_json::{json, Value};

use super::channel::{connect, Channel, Identity, Message};
use super::clock::Clock;
use super::disk::{Disk, SharedDisk};
use super::event::Event;
use super::exits::Exits;
use super::guest::Guest;
use super::inputs::Inputs;
use super::link::Ends;
use super::network::Tap;
use super::options::Options;
use super::peer::Peer;
use super::replication::{Base, Replication};
use super::report::{report, Metrics};
use super::sealed::Seals;
use super::shadow::{hash_of, Shadow};
use super::takeover::Takeover;
use super::threads::lock;
use crate::machine::{Action, Input, Phase, Role, Side};
use crate::ring::{Shared, State};
use crate::store::{Claim, Store};

/// Between two looks whether a machine has gone live.
const LOOK: Duration = Duration::from_micros(500);
/// Between two beats.
const BEAT: Duration = Duration::from_millis(10);
/// What came to a primary so shortly before it was heard last may not have come to its log: it is given to the machine
/// that goes live. What comes twice by that comes twice on any network.
const UNDER_WAY: Duration = Duration::from_millis(100);
/// Between two reports of metrics.
const REPORTED: Duration = Duration::from_secs(1);

/// What the machine has beside its memory.
pub struct Devices {
    pub tap: Tap,
    pub disk: Option<Arc<Disk>>,
    /// Whether its disk found that it differs from the primary's.
    pub differs: Arc<AtomicBool>,
}

/// An agent.
pub struct Agent {
    options: Options,
    memory: Arc<Shared>,
    store: Store,
    seals: Option<Seals>,
    clock: Clock,
    side: Side,
    peer: Peer,
    guest: Guest,
    exits: Exits,
    log: Replication,
    takeover: Takeover,
    metrics: Arc<Mutex<Metrics>>,
    reported: Instant,
}

impl Agent {
    /// Nothing has happened yet; a secondary is connected with its primary.
    pub fn new(
        options: &Options,
        memory: Arc<Shared>,
        Devices { tap, disk, differs }: Devices,
        sender: Sender<Event>,
    ) -> Result<Self> {
        let store = options.generations()?;
        let generation = store.generation().context("the store")?;
        let inputs = Arc::new(Inputs::new(&options.inlet, options.follow.is_none())?);
        let (clock, metrics) = (Clock::starting_now(), Arc::new(Mutex::new(Metrics::new()?)));
        let mut agent = Agent {
            store,
            seals: options.papers.read()?,
            clock,
            side: Side::alone(generation, options.patience_ms * 1_000_000),
            peer: Peer::new(sender),
            guest: Guest::new(memory.clone(), disk, differs, inputs),
            exits: Exits::new(tap, metrics.clone(), clock),
            log: Replication::new(memory.clone(), metrics.clone()),
            takeover: Takeover::new(memory.clone()),
            metrics,
            reported: Instant::now(),
            options: options.clone(),
            memory,
        };
        if options.follow.is_some() {
            agent.follow()?;
        }
        report(&json!({ "event": "ready", "generation": agent.side.generation }));
        Ok(agent)
    }

    /// Who this side is to the other.
    fn identity(&self) -> Identity {
        let (name, generation) = (self.options.name.clone(), self.side.generation);
        Identity { name, generation, seals: self.seals.clone() }
    }

    /// Becomes the secondary of the agent that the options name.
    fn follow(&mut self) -> Result<()> {
        let Some(address) = self.options.follow else { return Ok(()) };
        let channel = connect(address, &self.identity())?;
        let Message::Base { position, frames, is_snapshot } = channel.control.receive()? else {
            bail!("the primary did not say from where it records");
        };
        self.log.replay_from(Base { position, frames, is_snapshot });
        self.takeover.shadow = Shadow::beginning_at(frames);
        self.side = Side::joining(channel.generation, self.options.patience_ms * 1_000_000);
        self.attach(channel)
    }

    /// Where frames from the network go.
    pub fn inputs(&self) -> Arc<Inputs> {
        self.guest.inputs()
    }

    /// Takes events until the machine is gone.
    pub fn run(&mut self, events: &Receiver<Event>) -> Result<()> {
        let mut beat = Instant::now();
        while self.side.phase != Phase::Over {
            let longest = if self.takeover.is_under_way() { LOOK } else { BEAT.saturating_sub(beat.elapsed()) };
            match events.recv_timeout(longest) {
                Ok(event) => self.take(event)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.look_whether_live()?;
            if beat.elapsed() >= BEAT {
                beat = Instant::now();
                self.beat();
            }
        }
        self.peer.detach();
        report(&json!({ "event": "over", "generation": self.side.generation }));
        Ok(())
    }

    fn take(&mut self, event: Event) -> Result<()> {
        match event {
            Event::Order(order) => self.obey(&order)?,
            Event::Orphaned => self.stop(),
            Event::Frame(frame, position) => self.sent(frame, position),
            Event::Saved => self.saved(),
            Event::Silent => self.machine_is_gone(),
            Event::DiskFailed(why, answer) => self.disk_failed(&why, &answer),
            Event::Write(position, word) => self.writes(position, word),
            Event::HasRead(number) => self.peer.say(&Message::HasRead { number }),
            Event::Diverged(why) => {
                self.differs(&json!({ "event": "diverged", "why": why }));
                self.give_up_going_live();
            }
            Event::Fenced => {
                report(&json!({ "event": "fenced", "generation": self.side.generation }));
                self.end_machine();
            }
            Event::Joined(number, channel) if self.peer.awaits(number) => self.join(*channel)?,
            Event::Joined(..) => {} // too late
            Event::Said(number, message) if self.peer.is_linked_by(number) => self.hear(&message),
            Event::Lost(number, why) if self.peer.was_latest(number) => self.lost(&why),
            Event::Said(..) | Event::Lost(..) => {} // of a channel that was before this one
        }
        Ok(())
    }

    fn machine_is_gone(&mut self) {
        let has_ended = self.guest.has_ended();
        if has_ended {
            self.peer.say(&Message::Ended);
        }
        self.happened(if has_ended { Input::MachineEnded } else { Input::MachineDied });
    }

    /// A side whose disk fails is gone for the other; a machine that nobody follows is told by its disk. No mark tells a
    /// side that is being made of a shared disk's failures: it is made another time.
    fn disk_failed(&mut self, why: &str, answer: &Sender<()>) {
        report(&json!({ "event": "disk_failed", "why": why }));
        if self.side.is_alone() {
            if self.guest.shared_disk().is_some() {
                self.wait_for_nobody();
            }
            let _ = answer.send(());
            return;
        }
        self.end_machine();
    }

    /// The machine is being saved, and all that it sent before has come.
    fn saved(&mut self) {
        let Base { position, frames, .. } = self.log.begin_at_snapshot(self.exits.sent());
        report(&json!({ "event": "saved", "position": position, "frames": frames }));
    }

    /// The channel broke.
    fn lost(&mut self, why: &str) {
        if self.side.is_alone() && !self.peer.is_linked() {
            return;
        }
        if self.side.phase != Phase::Deciding {
            report(&json!({ "event": "lost", "why": why }));
        }
        if self.side.is_alone() {
            self.peer.detach();
            return self.record_for_nobody();
        }
        self.happened(Input::ChannelLost);
    }

    /// A side is there that is to become the secondary.
    fn join(&mut self, channel: Channel) -> Result<()> {
        let Base { position, frames, is_snapshot } = self.log.base();
        channel.control.send(&Message::Base { position, frames, is_snapshot })?;
        report(&json!({ "event": "joined", "by": channel.peer }));
        self.attach(channel)
    }

    /// Continues over a channel.
    fn attach(&mut self, channel: Channel) -> Result<()> {
        let ends = Ends {
            role: self.side.role,
            position: self.log.base().position,
            memory: self.memory.clone(),
            disk: self.guest.disk(),
            metrics: self.metrics.clone(),
        };
        self.peer.attach(channel, ends)
    }

    /// Whoever is about to follow is not to any more.
    fn wait_for_nobody(&mut self) {
        self.peer.wait_for_nobody();
        self.record_for_nobody();
    }

    fn record_for_nobody(&mut self) {
        self.log.stop_recording();
        self.guest.with_shared_disk(SharedDisk::forget);
        self.log.skip();
    }

    fn stop(&mut self) {
        self.peer.say(&Message::Ended);
        self.guest.kill();
        self.happened(Input::MachineEnded);
    }

    /// Our machine sent a frame.
    fn sent(&mut self, frame: Vec<u8>, position: u64) {
        if self.side.role == Role::Secondary || self.takeover.is_under_way() {
            let differs = self.takeover.shadow.sent(frame);
            return self.compared(differs);
        }
        let hash = hash_of(&frame);
        let number = self.exits.hold(position, frame);
        self.peer.say(&Message::Sent { number, hash });
        if self.side.is_alone() {
            self.exits.release_unheld();
            self.peer.say(&Message::Left { number: number + 1 });
        }
    }

    /// Our machine writes to the disk that both sides share: an output as any.
    fn writes(&mut self, position: u64, word: Sender<()>) {
        self.exits.hold_write(position, word);
        if self.side.is_alone() {
            self.exits.release_unheld();
        }
    }

    /// The frame, if any, in which our machine's output differs from the primary's.
    fn compared(&mut self, differs: Option<u64>) {
        if let Some(number) = differs {
            self.differs(&json!({ "event": "diverged", "frame": number }));
        }
    }

    fn differs(&mut self, told: &Value) {
        report(told);
        self.happened(Input::Diverged);
    }

    fn hear(&mut self, message: &Message) {
        self.peer.is_heard();
        self.happened(Input::Heard);
        match *message {
            Message::Acknowledged { executed, .. } if self.side.is_alone() && executed > self.log.base().position => {
                self.happened(Input::PeerReplays);
            }
            Message::Acknowledged { received, executed, taken } if self.side.phase == Phase::Protected => {
                self.log.acknowledged(received, executed, taken);
                if let Some(number) = self.exits.acknowledge(received) {
                    self.peer.say(&Message::Left { number });
                }
            }
            Message::HasRead { number } => self.guest.with_shared_disk(|disk| disk.has_read(number)),
            Message::Sent { number, hash } => {
                let differs = self.takeover.shadow.expect(number, hash);
                self.compared(differs);
            }
            Message::Left { number } => self.takeover.shadow.left(number),
            Message::Welcome { position } => self.log.expect_welcome(position),
            Message::Follows => report(&json!({ "event": "protected", "generation": self.side.generation })),
            Message::Ended | Message::Dismissed => self.happened(Input::PeerEnded),
            Message::Leaving => self.happened(Input::ChannelLost),
            _ => {}
        }
    }

    fn happened(&mut self, input: Input) {
        for action in self.side.take(input, self.clock.now_ns()) {
            self.act(action);
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Claim(generation) => self.claim(generation),
            Action::ReleaseAll if self.takeover.is_under_way() => {} // once it is live
            Action::Welcome => {
                self.exits.begin_anew();
                self.log.is_followed();
                self.guest.with_shared_disk(SharedDisk::is_followed);
                self.peer.say(&Message::Welcome { position: self.log.recorded() });
            }
            Action::ReleaseAll => {
                self.record_for_nobody();
                self.exits.release_all();
                report(&json!({ "event": "alone", "generation": self.side.generation }));
            }
            Action::GoLive => self.takeover.begin(),
            Action::Kill => self.guest.kill(),
            Action::Leave => self.peer.say(&Message::Leaving),
        }
    }

    /// Asks the store. A secondary ends the channel first: it acknowledges nothing any more. A primary asks while the
    /// channel is still open: this thread lets nothing out meanwhile, and a secondary that sees the channel end before
    /// the primary has asked would ask too, and could win although it takes no log.
    fn claim(&mut self, generation: u64) {
        let silent_ms = self.peer.heard().elapsed().as_secs_f64() * 1e3;
        if self.side.role == Role::Secondary {
            self.peer.detach();
            if self.guest.differs() {
                return self.differs(&json!({ "event": "diverged", "why": "its disk found so meanwhile" }));
            }
        } else if self.memory.state() == State::Ended {
            // The secondary may have replayed the end of the machine and gone before ours was seen to.
            self.peer.say(&Message::Ended);
            return self.happened(Input::MachineEnded);
        }
        let claim = self.store.claim(generation);
        self.peer.detach();
        let (input, word) = match &claim {
            Claim::Won => (Input::ClaimWon, "won".to_owned()),
            Claim::Lost { owner } => (Input::ClaimLost, format!("lost to {owner}")),
            Claim::Unavailable(error) => (Input::StoreUnavailable, format!("the store does not answer: {error}")),
        };
        report(&json!({ "event": "claim", "generation": generation, "came": word, "silent_ms": silent_ms }));
        self.happened(input);
    }

    /// Whether the machine that was told to go live has; then it serves.
    fn look_whether_live(&mut self) -> Result<()> {
        let Some(begun) = self.takeover.completed()? else { return Ok(()) };
        self.guest.with_shared_disk(SharedDisk::serve);
        let (frames, next) = self.takeover.shadow.take();
        self.exits.take_over(self.options.mac, &frames, next);
        let heard = self.peer.heard();
        self.guest.serve_frames(heard.checked_sub(UNDER_WAY).unwrap_or(heard));
        let after_ms = begun.elapsed().as_secs_f64() * 1e3;
        report(&json!({ "event": "live", "generation": self.side.generation, "after_ms": after_ms }));
        Ok(())
    }

    fn beat(&mut self) {
        self.happened(Input::Tick);
        if self.memory.state() == State::Unreplayable && self.side.phase == Phase::Protected {
            report(&json!({ "event": "lost", "why": "the machine did what no pair can replay" }));
            self.happened(Input::ChannelLost);
        }
        self.look_whether_stuck();
        if self.peer.is_linked() {
            if self.side.role == Role::Primary {
                self.peer.say(&Message::Beat);
                self.log.slow_by_lag();
            } else {
                self.acknowledge();
            }
        }
        if self.reported.elapsed() >= REPORTED {
            self.reported = Instant::now();
            self.report_metrics();
        }
    }

    fn look_whether_stuck(&mut self) {
        if self.side.role != Role::Primary || self.side.phase != Phase::Protected {
            return;
        }
        if let Some(why) = self.log.stuck(self.exits.waiting_for()) {
            report(&json!({ "event": "lost", "why": why }));
            self.happened(Input::ChannelLost);
        }
    }

    /// A machine that was told to go live and is no copy must not serve.
    fn give_up_going_live(&mut self) {
        if self.takeover.is_under_way() {
            self.end_machine();
        }
    }

    /// Our machine is to be gone, and the other side to know of it.
    fn end_machine(&mut self) {
        self.guest.kill();
        self.happened(Input::MachineDied);
    }

    /// Acknowledges what is here, and becomes the secondary once all is that precedes what the primary lets out without us.
    fn acknowledge(&mut self) {
        let (received, executed) = self.log.measure();
        self.peer.say(&Message::Acknowledged { received, executed, taken: self.peer.taken() });
        if self.log.is_complete() {
            self.happened(Input::Welcomed);
            self.peer.say(&Message::Follows);
            report(&json!({ "event": "follows", "generation": self.side.generation }));
        }
    }

    fn report_metrics(&self) {
        let mut told = lock(&self.metrics).told();
        told["event"] = "metrics".into();
        told["phase"] = format!("{:?}", self.side.phase).to_lowercase().into();
        told["role"] = format!("{:?}", self.side.role).to_lowercase().into();
        told["waiting"] = self.exits.waiting().into();
        self.log.describe(&mut told);
        report(&told);
    }
}
