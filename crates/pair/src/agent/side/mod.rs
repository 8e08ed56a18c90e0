//! The thread that decides: takes what happens, asks the state machine, does what it says.

mod actions;
mod orders;
mod peering;

use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{bail, Context, Result};
use serde_json::json;

use super::channel::{connect, Identity, Message};
use super::clock::Clock;
use super::disk::Disk;
use super::event::Event;
use super::exits::Exits;
use super::guest::Guest;
use super::inputs::Inputs;
use super::lease::Lease;
use super::network::Tap;
use super::options::Options;
use super::peer::Peer;
use super::replication::{Base, Replication};
use super::report::{report, report_latest, Metrics};
use super::sealed::Seals;
use super::shadow::{hash_of, Shadow};
use super::takeover::Takeover;
use super::threads::lock;
use crate::machine::{Input, Phase, Role, Side};
use crate::ring::{Saving, Shared, State};
use crate::store::Store;

/// Between two looks whether a machine has gone live.
const LOOK: Duration = Duration::from_micros(500);
/// Between two beats.
const BEAT: Duration = Duration::from_millis(10);
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
    /// Of the channel, where it has no seals.
    key: String,
    clock: Clock,
    side: Side,
    peer: Peer,
    guest: Guest,
    exits: Exits,
    log: Replication,
    takeover: Takeover,
    metrics: Arc<Mutex<Metrics>>,
    reported: Instant,
    lease: Lease,
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
        store.prepare().context("the store")?;
        let inputs = Arc::new(Inputs::new(&options.inlet, options.follow.is_none())?);
        let (clock, metrics) = (Clock::starting_now(), Arc::new(Mutex::new(Metrics::new()?)));
        let mut agent = Agent {
            store,
            seals: options.papers.read()?,
            key: options.channel_key().context("the key of the pair's channel")?,
            clock,
            side: Side::alone(generation, options.patience_ms * 1_000_000),
            peer: Peer::new(sender),
            guest: Guest::new(memory.clone(), disk, differs, inputs),
            exits: Exits::new(tap, metrics.clone(), clock),
            log: Replication::new(memory.clone(), metrics.clone()),
            takeover: Takeover::new(memory.clone()),
            metrics,
            reported: Instant::now(),
            lease: Lease::beginning(options.lease(), Instant::now()),
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
        Identity { name, generation, seals: self.seals.clone(), key: self.key.clone() }
    }

    /// Becomes the secondary of the agent that the options name.
    fn follow(&mut self) -> Result<()> {
        let Some(address) = self.options.follow else { return Ok(()) };
        let channel = connect(address, &self.identity(), self.options.slowing())?;
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
                Ok(event) => self.take(event),
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

    fn take(&mut self, event: Event) {
        match event {
            Event::Order(order) => self.obey(&order),
            Event::Orphaned => self.stop(),
            Event::Kept(number) => self.lease.begin_keeping(number),
            Event::Unkept(number) if self.lease.stop_keeping(number, Instant::now()) => self.is_abandoned(),
            Event::Unkept(_) => {} // another keeper has taken over
            Event::Frame(frame, position) => self.sent(frame, position),
            Event::Saved => self.saved(),
            Event::Live => self.takeover.has_all(),
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
            Event::Joined(number, channel) if self.peer.awaits(number) => self.join(*channel),
            Event::Joined(..) => {} // too late
            Event::Said(number, message) if self.peer.is_linked_by(number) => self.hear(&message),
            Event::Lost(number, why) if self.peer.was_latest(number) => self.lost(&why),
            Event::Said(..) | Event::Lost(..) => {} // of a channel that was before this one
        }
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
        let is_at_rest = self.memory.was_at_rest();
        report(&json!({ "event": "saved", "position": position, "frames": frames, "is_at_rest": is_at_rest }));
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

    fn beat(&mut self) {
        if self.options.control.is_some() && self.lease.is_over(Instant::now()) {
            report(&json!({ "event": "expired", "why": "no keeper has come within the pair's lease" }));
            return self.stop();
        }
        self.happened(Input::Tick);
        if self.memory.state() == State::Unreplayable && self.side.phase == Phase::Protected {
            report(&json!({ "event": "lost", "why": "the machine did what no pair can replay" }));
            self.happened(Input::ChannelLost);
        }
        self.look_whether_stuck();
        self.look_whether_written();
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
            self.peer.say(&Message::Probe { at_ns: self.clock.now_ns() });
            self.report_metrics();
        }
    }

    fn look_whether_stuck(&mut self) {
        if self.side.role != Role::Primary || self.side.phase != Phase::Protected {
            return;
        }
        if self.log.has_stopped_growing(self.options.patience()) {
            report(&json!({ "event": "hung", "why": "the machine records nothing, not even that time passes" }));
            return self.end_machine();
        }
        if let Some(why) = self.log.stuck(self.exits.waiting_for(), self.options.patience()) {
            report(&json!({ "event": "lost", "why": why }));
            self.happened(Input::ChannelLost);
        }
    }

    /// Reports once that the machine's state is in its file, or could not be written.
    fn look_whether_written(&self) {
        let saving = self.memory.saving();
        if matches!(saving, Saving::Written | Saving::Failed) {
            self.memory.set_saving(Saving::Idle);
            report(&json!({ "event": "written", "is_whole": saving == Saving::Written }));
        }
    }

    fn report_metrics(&self) {
        let mut told = lock(&self.metrics).told();
        told["event"] = "metrics".into();
        told["phase"] = format!("{:?}", self.side.phase).to_lowercase().into();
        told["role"] = format!("{:?}", self.side.role).to_lowercase().into();
        told["waiting"] = self.exits.waiting().into();
        told["lost_frames"] = self.exits.lost().into();
        self.log.describe(&mut told);
        report_latest(&told);
    }
}
