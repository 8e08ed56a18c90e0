//! The thread that decides: takes what happens, asks the state machine, does what it says.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{bail, Context, Result};
use rustix::process::{kill_process, Pid, Signal};
use serde_json::{json, Value};

use super::channel::{accept, connect, listen, Channel, Identity, Message};
use super::disk::Disk;
use super::inputs::Inputs;
use super::link::{Ends, Link};
use super::marks::Marks;
use super::network::{announcement, put};
use super::progress::{Progress, Reached};
use super::report::{report, Metrics};
use super::sealed::Seals;
use super::shadow::{hash_of, Shadow};
use super::shared::SharedDisk;
use super::{lock, spawn, Event, Options, Order, Tap, BEAT};
use crate::commit::{Held, Output, Outputs};
use crate::lag::slowed_pct;
use crate::machine::{Action, Input, Phase, Role, Side};
use crate::ring::{Command, Shared, State};
use crate::store::{Claim, Store};

/// Between two looks whether a machine has gone live.
const LOOK: Duration = Duration::from_micros(500);
/// Longest time for that.
const LIVE: Duration = Duration::from_secs(60);
/// What came to a primary so shortly before it was heard last may not have come to its log: it is given to the machine
/// that goes live. What comes twice by that comes twice on any network.
const UNDER_WAY: Duration = Duration::from_millis(100);
/// Longest time from a machine's last word to its end.
const GOING: Duration = Duration::from_millis(200);
/// Between two reports of metrics.
const REPORTED: Duration = Duration::from_secs(1);

/// Where a primary began to record for its secondary.
#[derive(Clone, Copy, Debug, Default)]
struct Base {
    position: u64,
    frames: u64,
    is_snapshot: bool,
}

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
    tap: Tap,
    disk: Option<Arc<Disk>>,
    differs: Arc<AtomicBool>,
    sender: Sender<Event>,
    store: Store,
    seals: Option<Seals>,
    inputs: Arc<Inputs>,
    begun: Instant,
    side: Side,
    link: Option<Link>,
    /// Channels that there were.
    links: u64,
    /// How often a secondary was waited for; who comes for an earlier time comes too late.
    waited: Arc<AtomicU64>,
    machine: Option<Pid>,
    outputs: Outputs,
    base: Base,
    shadow: Shadow,
    /// Length of the log that the secondary holds, and that it has replayed.
    reached: (u64, u64),
    /// Bytes that its connection has brought it.
    taken: u64,
    /// Length of the log from which on our primary holds its outputs for us.
    welcome: Option<u64>,
    /// When the log was how long, for the lag.
    marks: Marks,
    progress: Progress,
    metrics: Arc<Mutex<Metrics>>,
    reported: Instant,
    heard: Instant,
    /// Since when frames are kept from the machine.
    held: Instant,
    going_live: Option<Instant>,
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
        let now = Instant::now();
        let mut agent = Agent {
            store,
            seals: options.papers.read()?,
            inputs,
            side: Side::alone(generation, options.patience_ms * 1_000_000),
            begun: now,
            link: None,
            links: 0,
            waited: Arc::default(),
            machine: None,
            outputs: Outputs::default(),
            base: Base::default(),
            shadow: Shadow::default(),
            reached: (0, 0),
            taken: 0,
            welcome: None,
            marks: Marks::default(),
            progress: Progress::beginning(now),
            metrics: Arc::new(Mutex::new(Metrics::new()?)),
            reported: now,
            heard: now,
            held: now,
            going_live: None,
            options: options.clone(),
            memory,
            tap,
            disk,
            differs,
            sender,
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

    /// Becomes the secondary of the agent it was told.
    fn follow(&mut self) -> Result<()> {
        let Some(address) = self.options.follow else { return Ok(()) };
        let channel = connect(address, &self.identity())?;
        let Message::Base { position, frames, is_snapshot } = channel.control.receive()? else {
            bail!("the primary did not say from where it records");
        };
        self.base = Base { position, frames, is_snapshot };
        self.shadow = Shadow::beginning_at(frames);
        if is_snapshot {
            self.memory.begin_with_snapshot();
        }
        self.side = Side::joining(channel.generation, self.options.patience_ms * 1_000_000);
        self.attach(channel)
    }

    /// Where frames from the network go.
    pub fn inputs(&self) -> Arc<Inputs> {
        self.inputs.clone()
    }

    /// Takes events until the machine is gone.
    pub fn run(&mut self, events: &Receiver<Event>) -> Result<()> {
        let mut beat = Instant::now();
        while self.side.phase != Phase::Over {
            let longest = if self.going_live.is_some() { LOOK } else { BEAT.saturating_sub(beat.elapsed()) };
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
        self.detach();
        report(&json!({ "event": "over", "generation": self.side.generation }));
        Ok(())
    }

    fn take(&mut self, event: Event) -> Result<()> {
        match event {
            Event::Order(order) => self.obey(&order)?,
            Event::Orphaned => self.stop(),
            Event::Frame(frame, position) => self.sent(frame, position),
            Event::Saved => self.saved(),
            Event::Silent => {
                let has_ended = self.has_ended();
                if has_ended {
                    self.say(&Message::Ended);
                }
                self.happened(if has_ended { Input::MachineEnded } else { Input::MachineDied });
            }
            Event::DiskFailed(why, answer) => self.disk_failed(&why, &answer),
            Event::Write(position, word) => self.writes(position, word),
            Event::HasRead(number) => self.say(&Message::HasRead { number }),
            Event::Diverged(why) => {
                self.differs(&json!({ "event": "diverged", "why": why }));
                self.give_up_going_live();
            }
            Event::Fenced => {
                report(&json!({ "event": "fenced", "generation": self.side.generation }));
                self.end_machine();
            }
            Event::Joined(number, channel) if number == self.waited.load(Ordering::Acquire) && self.link.is_none() => {
                self.join(*channel)?;
            }
            Event::Joined(..) => {} // too late
            Event::Said(number, message) if self.is_linked_by(number) => self.hear(&message),
            Event::Lost(number, why) if number == self.links => self.lost(&why),
            Event::Said(..) | Event::Lost(..) => {} // of a channel that was before this one
        }
        Ok(())
    }

    /// Whether the machine, which is gone, ended by itself: it may close its line before its log.
    fn has_ended(&self) -> bool {
        let until = Instant::now() + GOING;
        while self.memory.state() != State::Ended && self.machine.is_some_and(is_running) && Instant::now() < until {
            std::thread::sleep(LOOK);
        }
        self.memory.state() == State::Ended
    }

    fn obey(&mut self, order: &Order) -> Result<()> {
        match order {
            Order::Machine { pid } => self.machine = Pid::from_raw(*pid),
            Order::Hold => {
                self.held = Instant::now();
                self.inputs.hold();
                self.memory.from_qemu().skip();
                self.memory.set_read(true);
            }
            Order::Resume { is_saved } => {
                self.resume(*is_saved);
            }
            Order::Copy { to } => self.copy_disk(to)?,
            Order::CopyRest { to } => self.copy_rest(to)?,
            Order::Protect => self.protect()?,
            Order::Unprotect => {
                self.say(&Message::Dismissed);
                self.happened(Input::ChannelLost);
            }
            Order::Stall { after } => {
                if let Some(link) = &self.link {
                    link.stall(self.reached.0 + after);
                }
            }
            Order::Cut => self.detach(),
            Order::Stop => self.stop(),
        }
        Ok(())
    }

    /// The machine runs again. Where it was not saved, or nobody came for its state, it records for nobody.
    fn resume(&mut self, is_saved: bool) {
        self.inputs.serve(self.held);
        if is_saved {
            if let Some(disk) = &self.disk {
                disk.forget_written();
            }
        } else if self.side.is_alone() {
            self.wait_for_nobody();
        }
    }

    /// Whoever is about to follow is not to any more.
    fn wait_for_nobody(&mut self) {
        self.waited.fetch_add(1, Ordering::AcqRel);
        self.detach();
        self.record_for_nobody();
    }

    /// Copies the disk beside everything else.
    fn copy_disk(&self, to: &Path) -> Result<()> {
        let (Some(disk), to) = (self.disk.clone(), to.to_owned()) else { return Ok(()) };
        spawn("copier", move || {
            let why = disk.copy(&to).err().map(|error| format!("{}: {error}", to.display()));
            report(&json!({ "event": "copied", "why": why }));
        })
    }

    /// Copies what was written since, beside everything else: what is under way may wait for our word.
    fn copy_rest(&self, to: &Path) -> Result<()> {
        let (Some(disk), to) = (self.disk.clone(), to.to_owned()) else { return Ok(()) };
        spawn("copier", move || {
            let (is_at_rest, why) = match disk.copy_rest(&to) {
                Ok(is_at_rest) => (is_at_rest, None),
                Err(error) => (false, Some(format!("{}: {error}", to.display()))),
            };
            report(&json!({ "event": "rest_copied", "is_at_rest": is_at_rest, "why": why }));
        })
    }

    /// A side whose disk fails is gone for the other; a machine that nobody follows is told by its disk. No mark tells a
    /// side that is being made of a shared disk's failures: it is made another time.
    fn disk_failed(&mut self, why: &str, answer: &Sender<()>) {
        report(&json!({ "event": "disk_failed", "why": why }));
        if self.side.is_alone() {
            if self.shared_disk().is_some() {
                self.wait_for_nobody();
            }
            let _ = answer.send(());
            return;
        }
        self.end_machine();
    }

    /// The machine is being saved, and all that it sent before has come.
    fn saved(&mut self) {
        let position = self.memory.saved_at();
        self.memory.from_qemu().skip_to(position);
        self.base = Base { position, frames: self.outputs.sent(), is_snapshot: true };
        report(&json!({ "event": "saved", "position": position, "frames": self.base.frames }));
    }

    /// The channel broke.
    fn lost(&mut self, why: &str) {
        if self.side.is_alone() && self.link.is_none() {
            return;
        }
        if self.side.phase != Phase::Deciding {
            report(&json!({ "event": "lost", "why": why }));
        }
        if self.side.is_alone() {
            self.detach();
            return self.record_for_nobody();
        }
        self.happened(Input::ChannelLost);
    }

    fn is_linked_by(&self, number: u64) -> bool {
        self.link.as_ref().is_some_and(|link| link.number == number)
    }

    fn record_for_nobody(&mut self) {
        self.memory.set_read(false);
        self.memory.slow_by(0);
        self.marks.forget();
        self.shared(SharedDisk::forget);
        self.memory.from_qemu().skip();
    }

    /// Waits for a secondary.
    fn protect(&mut self) -> Result<()> {
        let identity = self.identity();
        let (listener, address) = match listen(self.options.listen, &identity) {
            Ok(listening) => listening,
            Err(error) => {
                report(&json!({ "event": "refused", "why": format!("{error:#}") }));
                return Ok(());
            }
        };
        self.memory.set_read(true);
        self.shared(SharedDisk::begin);
        report(&json!({ "event": "listening", "address": address.to_string() }));
        let number = self.waited.fetch_add(1, Ordering::AcqRel) + 1;
        let (sender, waited) = (self.sender.clone(), self.waited.clone());
        let is_waited_for = move || waited.load(Ordering::Acquire) == number;
        spawn("listener", move || match accept(&listener, &identity, is_waited_for) {
            Ok(channel) => drop(sender.send(Event::Joined(number, Box::new(channel)))),
            Err(error) => report(&json!({ "event": "refused", "why": format!("{error:#}") })),
        })
    }

    /// A side is there that is to become the secondary.
    fn join(&mut self, channel: Channel) -> Result<()> {
        let Base { position, frames, is_snapshot } = self.base;
        channel.control.send(&Message::Base { position, frames, is_snapshot })?;
        report(&json!({ "event": "joined", "by": channel.peer }));
        self.attach(channel)
    }

    /// Goes on over a channel.
    fn attach(&mut self, channel: Channel) -> Result<()> {
        self.links += 1;
        let ends = Ends {
            number: self.links,
            role: self.side.role,
            position: self.base.position,
            memory: self.memory.clone(),
            disk: self.disk.clone(),
            metrics: self.metrics.clone(),
        };
        self.link = Some(Link::new(channel, ends, self.sender.clone())?);
        self.heard = Instant::now();
        Ok(())
    }

    /// Ends the channel, if there is one.
    fn detach(&mut self) {
        if let Some(link) = self.link.take() {
            link.end();
        }
    }

    fn stop(&mut self) {
        self.say(&Message::Ended);
        self.kill();
        self.happened(Input::MachineEnded);
    }

    /// Our machine sent a frame.
    fn sent(&mut self, frame: Vec<u8>, position: u64) {
        if self.side.role == Role::Secondary || self.going_live.is_some() {
            let differs = self.shadow.sent(frame);
            return self.compared(differs);
        }
        let hash = hash_of(&frame);
        let number = self.outputs.hold(position, self.now_ns(), frame);
        self.say(&Message::Sent { number, hash });
        if self.side.is_alone() {
            self.release_unheld();
            self.say(&Message::Left { number: number + 1 });
        }
    }

    /// Our machine writes to the disk that both sides share: an output as any.
    fn writes(&mut self, position: u64, word: Sender<()>) {
        self.outputs.hold_write(position, self.now_ns(), word);
        if self.side.is_alone() {
            self.release_unheld();
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
        self.heard = Instant::now();
        self.happened(Input::Heard);
        match *message {
            Message::Acknowledged { executed, .. } if self.side.is_alone() && executed > self.base.position => {
                self.happened(Input::PeerReplays);
            }
            Message::Acknowledged { received, executed, taken } if self.side.phase == Phase::Protected => {
                (self.reached, self.taken) = ((received, executed), taken);
                self.replayed(executed);
                let held: Vec<Held> = self.outputs.acknowledge(received).collect();
                if !held.is_empty() {
                    self.release(held);
                    self.say(&Message::Left { number: self.outputs.left() });
                }
            }
            Message::HasRead { number } => self.shared(|disk| disk.has_read(number)),
            Message::Sent { number, hash } => {
                let differs = self.shadow.expect(number, hash);
                self.compared(differs);
            }
            Message::Left { number } => self.shadow.left(number),
            Message::Welcome { position } => self.welcome = Some(position),
            Message::Follows => report(&json!({ "event": "protected", "generation": self.side.generation })),
            Message::Ended | Message::Dismissed => self.happened(Input::PeerEnded),
            Message::Leaving => self.happened(Input::ChannelLost),
            _ => {}
        }
    }

    fn happened(&mut self, input: Input) {
        for action in self.side.take(input, self.now_ns()) {
            self.act(action);
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Claim(generation) => self.claim(generation),
            Action::ReleaseAll if self.going_live.is_some() => {} // once it is live
            Action::Welcome => {
                self.outputs.begin_anew();
                self.progress = Progress::beginning(Instant::now());
                self.shared(SharedDisk::is_followed);
                self.say(&Message::Welcome { position: self.memory.from_qemu().written() });
            }
            Action::ReleaseAll => {
                self.record_for_nobody();
                self.release_all();
                report(&json!({ "event": "alone", "generation": self.side.generation }));
            }
            Action::GoLive => {
                self.going_live = Some(Instant::now());
                self.memory.set_read(false);
                self.memory.tell(Command::GoLive);
            }
            Action::Kill => self.kill(),
            Action::Leave => self.say(&Message::Leaving),
        }
    }

    /// Asks the store. A secondary ends the channel first: it acknowledges nothing any more. A primary asks while the
    /// channel is still open: this thread lets nothing out meanwhile, and a secondary that sees the channel end before
    /// the primary has asked would ask too, and could win although it takes no log.
    fn claim(&mut self, generation: u64) {
        let silent_ms = self.heard.elapsed().as_secs_f64() * 1e3;
        if self.side.role == Role::Secondary {
            self.detach();
            if self.differs.load(Ordering::Acquire) {
                return self.differs(&json!({ "event": "diverged", "why": "its disk found so meanwhile" }));
            }
        } else if self.memory.state() == State::Ended {
            // The secondary may have replayed the end of the machine and gone before ours was seen to.
            self.say(&Message::Ended);
            return self.happened(Input::MachineEnded);
        }
        let claim = self.store.claim(generation);
        self.detach();
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
        let Some(begun) = self.going_live else { return Ok(()) };
        if self.memory.state() != State::Live {
            if begun.elapsed() > LIVE {
                bail!("the machine did not go live within {} s", LIVE.as_secs());
            }
            return Ok(());
        }
        self.going_live = None;
        self.shared(SharedDisk::serve);
        put(&self.tap, &announcement(self.options.mac));
        let (frames, next) = self.shadow.take();
        frames.iter().for_each(|frame| put(&self.tap, frame));
        self.outputs.continue_from(next);
        self.inputs.serve(self.heard.checked_sub(UNDER_WAY).unwrap_or(self.heard));
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
        if self.link.is_some() {
            if self.side.role == Role::Primary {
                self.say(&Message::Beat);
                let now = Instant::now();
                self.marks.mark(self.memory.from_qemu().written(), now);
                self.memory.slow_by(slowed_pct(self.marks.lag(now)));
            } else {
                self.acknowledge();
            }
        }
        if self.reported.elapsed() >= REPORTED {
            self.reported = Instant::now();
            self.tell_metrics();
        }
    }

    fn look_whether_stuck(&mut self) {
        if self.side.role != Role::Primary || self.side.phase != Phase::Protected {
            return;
        }
        let waits = self.outputs.waiting_since().map(|since| Duration::from_nanos(self.now_ns() - since));
        let (received, executed) = self.reached;
        let (written, taken) = (self.memory.from_qemu().written(), self.taken);
        let reached = Reached { written, received, executed, taken, waits };
        if let Some(why) = self.progress.stuck(reached, Instant::now()) {
            report(&json!({ "event": "lost", "why": why }));
            self.happened(Input::ChannelLost);
        }
    }

    /// A machine that was told to go live and is no copy must not serve.
    fn give_up_going_live(&mut self) {
        if self.going_live.is_some() {
            self.end_machine();
        }
    }

    /// Our machine is to be gone, and the other side to know of it.
    fn end_machine(&mut self) {
        self.kill();
        self.happened(Input::MachineDied);
    }

    fn acknowledge(&mut self) {
        let (received, executed) = (self.memory.to_qemu().written(), self.memory.to_qemu().read());
        self.reached = (self.base.position + received, self.base.position + executed);
        let (received, executed) = self.reached;
        let taken = self.link.as_ref().map_or(0, Link::taken);
        self.say(&Message::Acknowledged { received, executed, taken });
        self.follow_when_complete(received);
    }

    /// Becomes the secondary once all is here that precedes what the primary lets out without us: one event more, as
    /// for every output.
    fn follow_when_complete(&mut self, received: u64) {
        if self.welcome.is_some_and(|position| received > position) {
            self.welcome = None;
            self.happened(Input::Welcomed);
            self.say(&Message::Follows);
            report(&json!({ "event": "follows", "generation": self.side.generation }));
        }
    }

    /// The secondary has replayed the log up to there.
    fn replayed(&mut self, executed: u64) {
        let mut metrics = lock(&self.metrics);
        self.marks.replayed(executed, Instant::now()).for_each(|behind| metrics.replayed(behind));
    }

    fn tell_metrics(&self) {
        let mut told = lock(&self.metrics).told();
        told["event"] = "metrics".into();
        told["phase"] = format!("{:?}", self.side.phase).to_lowercase().into();
        told["role"] = format!("{:?}", self.side.role).to_lowercase().into();
        told["waiting"] = self.outputs.waiting().into();
        told["slowed_pct"] = self.memory.slowed_pct().into();
        told["recorded"] = self.memory.from_qemu().written().into();
        told["received"] = self.reached.0.into();
        told["executed"] = self.reached.1.into();
        told["instructions"] = self.memory.instructions().into();
        report(&told);
    }

    fn release_all(&mut self) {
        let held: Vec<Held> = self.outputs.release_all().collect();
        self.release(held);
    }

    /// Lets out what was held by nobody: there is no delay to tell of.
    fn release_unheld(&mut self) {
        let held: Vec<Held> = self.outputs.release_all().collect();
        held.into_iter().for_each(|held| self.let_out(held.output));
    }

    fn release(&self, held: Vec<Held>) {
        let now_ns = self.now_ns();
        let mut metrics = lock(&self.metrics);
        for Held { at_ns, output, .. } in held {
            metrics.left(matches!(output, Output::Write(_)), now_ns.saturating_sub(at_ns));
            self.let_out(output);
        }
    }

    fn let_out(&self, output: Output) {
        match output {
            Output::Frame(_, frame) => put(&self.tap, &frame),
            Output::Write(word) => drop(word.send(())),
        }
    }

    /// Has the disk that both sides share do something, where there is one.
    fn shared(&self, change: impl FnMut(&SharedDisk)) {
        self.shared_disk().into_iter().for_each(change);
    }

    fn shared_disk(&self) -> Option<&SharedDisk> {
        self.disk.as_ref().and_then(|disk| disk.shared())
    }

    fn say(&self, message: &Message) {
        if let Some(link) = &self.link {
            link.say(message);
        }
    }

    /// Ends our machine at once.
    fn kill(&self) {
        if let Some(pid) = self.machine {
            let _ = kill_process(pid, Signal::KILL);
        }
    }

    fn now_ns(&self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }
}

/// Whether a process is there, and not one that nobody has looked after since it ended (proc(5)).
fn is_running(pid: Pid) -> bool {
    let path = format!("/proc/{}/stat", pid.as_raw_nonzero());
    let state = |told: String| told.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    std::fs::read_to_string(path).ok().and_then(state).is_some_and(|state| !matches!(state, 'Z' | 'X'))
}
