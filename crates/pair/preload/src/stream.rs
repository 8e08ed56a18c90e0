//! The log as a stream: what QEMU writes goes to the agent as soon as an event is whole, what it reads comes from there.
//!
//! QEMU has no patience for a log that ends: a reader waits here for more, until it is told to go live. Then it is given
//! the event that ends a log, which leaves everything as it is, and its mode becomes the recording one; both modes hold
//! the same locks at that place.

use std::ffi::{c_char, c_int, c_void, CStr};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use loadstone_pair::lag::pause;
use loadstone_pair::log::{Scanner, END, PRELUDE, VERSION};
use loadstone_pair::ring::{Command, Shared, State};

use crate::libc_calls::{call, fopencookie, function, variable, CookieFunctions};

/// Names the shared memory; the same path is given to QEMU as the log's.
pub const VARIABLE: &str = "LOADSTONE_PAIR_MEMORY";
/// `REPLAY_MODE_RECORD` of QEMU's `ReplayMode` (qapi/replay.json).
const RECORD: c_int = 1;
/// Where `current_icount` lies in `ReplayState` of QEMU 7.2 (replay/replay-internal.h): behind two clocks.
const INSTRUCTIONS_AT: usize = 16;
/// Where `instruction_count`, `data_kind` and `has_unread_data` lie in it, four bytes each.
const NEXT_EVENT_AT: usize = 24;
/// `QEMU_CLOCK_VIRTUAL` of QEMU's `QEMUClockType` (include/qemu/timer.h).
const VIRTUAL_CLOCK: c_int = 1;
/// A machine that is slowed runs for so long at once.
const SLICE: Duration = Duration::from_millis(1);
/// Longest wait for the agent to take what a machine sent that is being saved.
const TAKEN: Duration = Duration::from_secs(2);
/// How long a reader sleeps at most before it looks again.
const NAP: Duration = Duration::from_secs(1);

/// What is used of QEMU's own: its log's state and locks, and who is to be told that time passed.
pub const USED: [&CStr; 8] = [
    c"replay_mode",
    c"replay_state",
    c"replay_mutex_lock",
    c"replay_mutex_locked",
    c"replay_mutex_unlock",
    c"replay_fetch_data_kind",
    c"runstate_is_running",
    c"qemu_clock_notify",
];

/// The memory shared with the agent, once the log was opened.
static MEMORY: OnceLock<Shared> = OnceLock::new();

/// Whether a saved state was loaded, and the log waits for the machine to run.
///
/// A machine that does not run yet would take from the log that time passed, and not what it found then: what it was to
/// read there would be left, for ever.
static IS_LOADED: AtomicBool = AtomicBool::new(false);

/// Whether this process is a copy of QEMU, whose log is another's.
static IS_COPY: AtomicBool = AtomicBool::new(false);

/// The log's stream, once it was opened.
static STREAM: AtomicPtr<Stream> = AtomicPtr::new(std::ptr::null_mut());

/// QEMU's end of the log. Its calls are made under QEMU's replay lock, one at a time.
struct Stream {
    memory: &'static Shared,
    mode: *mut c_int,
    instructions: Option<*mut u64>,
    next_event: Option<*mut [u32; 3]>,
    /// What is read before the log, and was not yet.
    before: &'static [u8],
    /// Recorded, and not published yet: no place for a cut.
    staged: Vec<u8>,
    scanner: Scanner,
    /// When the machine was last let run.
    ran_from: Instant,
}

/// The log's stream; null, with the reason on the standard error, when there is no memory to share.
pub fn open(path: &CStr, is_replayed: bool) -> *mut libc::FILE {
    let path = Path::new(std::ffi::OsStr::new(path.to_str().unwrap_or_default()));
    let memory = match Shared::open(path) {
        Ok(memory) => MEMORY.get_or_init(|| memory),
        Err(error) => {
            eprintln!("loadstone-pair: the log cannot be opened: {error}");
            return std::ptr::null_mut();
        }
    };
    // SAFETY: an enumeration of C, and a counter of eight bytes, in the builds that are let start with this library.
    let (mode, instructions, next_event) = unsafe {
        let state = c"replay_state";
        (variable(c"replay_mode", 0), variable(state, INSTRUCTIONS_AT), variable(state, NEXT_EVENT_AT))
    };
    let Some(mode) = mode else { return std::ptr::null_mut() };
    memory.set_state(if is_replayed { State::Replaying } else { State::Recording });
    let stream = Stream {
        memory,
        mode,
        instructions,
        next_event,
        before: match is_replayed {
            true if memory.begins_with_snapshot() => &PRELUDE,
            true => &VERSION,
            false => &[],
        },
        staged: Vec::new(),
        scanner: Scanner::default(),
        ran_from: Instant::now(),
    };
    let stream = Box::into_raw(Box::new(stream));
    STREAM.store(stream, Ordering::Release);
    let functions = CookieFunctions { read: Some(read), write: Some(write), seek: Some(seek), close: None };
    // SAFETY: the stream lives as long as QEMU, which never closes its log before it ends.
    let file = unsafe { fopencookie(stream.cast(), c"r+".as_ptr(), functions) };
    if !file.is_null() {
        // SAFETY: just made; unbuffered from its first byte on.
        unsafe { libc::setvbuf(file, std::ptr::null_mut(), libc::_IONBF, 0) };
    }
    file
}

/// How long the calling thread may wait for files, in nanoseconds; none as long as it likes. Only the main loop of a
/// machine that replays may not.
pub fn patience(nap_ns: i64) -> Option<i64> {
    let memory = MEMORY.get().filter(|memory| memory.state() == State::Replaying)?;
    is_main().then(|| if memory.to_qemu().unread() > 0 { 0 } else { nap_ns })
}

/// Has a machine that was loaded and runs read on in its log; to be called when the main loop holds no lock.
pub fn begin_when_running() {
    if !IS_LOADED.load(Ordering::Acquire) || !is_main() {
        return;
    }
    // SAFETY: QEMU's functions of these names take nothing; the log is read under the replay lock, as QEMU does it.
    unsafe {
        let (Some(is_running), Some(is_locked)) = (call(c"runstate_is_running"), call(c"replay_mutex_locked")) else {
            return;
        };
        if !is_running() || is_locked() {
            return;
        }
        let (Some(lock), Some(unlock)) = (function(c"replay_mutex_lock"), function(c"replay_mutex_unlock")) else {
            return;
        };
        let Some(fetch) = function::<unsafe extern "C" fn()>(c"replay_fetch_data_kind") else { return };
        let Some(next_event) = variable::<[u32; 3]>(c"replay_state", NEXT_EVENT_AT) else { return };
        let (lock, unlock): (unsafe extern "C" fn(), unsafe extern "C" fn()) = (lock, unlock);
        IS_LOADED.store(false, Ordering::Release);
        lock();
        next_event.write_volatile([0; 3]);
        fetch();
        unlock();
    }
    wake_processor();
}

/// Whether the calling thread is the main loop of a machine that records.
pub fn records() -> bool {
    let is_recorded = |memory: &Shared| matches!(memory.state(), State::Recording | State::Live);
    MEMORY.get().is_some_and(is_recorded) && is_main()
}

/// Tells the agent that something is about to be sent.
pub fn sends() {
    if let Some(memory) = MEMORY.get() {
        memory.sends();
    }
}

/// Has the processor look for what was queued for it: what QEMU itself does when a timer was set anew.
pub fn wake_processor() {
    static NOTIFY: OnceLock<Option<unsafe extern "C" fn(c_int)>> = OnceLock::new();
    // SAFETY: QEMU's function of that name takes a clock's number, and may be called from the main loop at any time.
    if let Some(notify) = NOTIFY.get_or_init(|| unsafe { function(c"qemu_clock_notify") }) {
        unsafe { notify(VIRTUAL_CLOCK) };
    }
}

/// Whether this is the thread of the main loop.
pub fn is_main() -> bool {
    // SAFETY: calls without arguments that cannot fail.
    unsafe { libc::gettid() == libc::getpid() }
}

/// Gives QEMU bytes of the log; waits where there are none.
unsafe extern "C" fn read(cookie: *mut c_void, into: *mut c_char, room: usize) -> isize {
    // SAFETY: the cookie of `open`, and room for so many bytes by fopencookie's contract.
    let (stream, into) = unsafe { (&mut *cookie.cast::<Stream>(), std::slice::from_raw_parts_mut(into.cast(), room)) };
    stream.read(into) as isize
}

/// Takes bytes that QEMU recorded.
unsafe extern "C" fn write(cookie: *mut c_void, bytes: *const c_char, count: usize) -> isize {
    // SAFETY: the cookie of `open`, and so many bytes by fopencookie's contract.
    let (stream, bytes) = unsafe { (&mut *cookie.cast::<Stream>(), std::slice::from_raw_parts(bytes.cast(), count)) };
    stream.write(bytes);
    count as isize
}

/// Has QEMU believe that it is anywhere in the log, which has one place alone: its end. It asks where it is (no way
/// from the current place) when it saves the machine's state.
unsafe extern "C" fn seek(cookie: *mut c_void, offset: *mut i64, whence: c_int) -> c_int {
    // SAFETY: the cookie of `open`, and a place for an offset by fopencookie's contract.
    let (stream, offset) = unsafe { (&*cookie.cast::<Stream>(), &mut *offset) };
    if whence == libc::SEEK_CUR && *offset == 0 {
        *offset = stream.memory.saved_at() as i64;
    }
    0
}

/// Notes that the machine, which stands still, is saved now; whether its state is whole, with nothing on its way to it.
/// To be called under the replay lock.
pub fn note_saved() -> bool {
    // SAFETY: the stream lives as long as QEMU, and is used under the replay lock alone.
    unsafe { STREAM.load(Ordering::Acquire).as_mut() }.is_some_and(Stream::save)
}

/// From here on this process records nothing: it is a copy.
pub fn leave_log() {
    IS_COPY.store(true, Ordering::Release);
}

/// The memory that is shared with the agent, once the log was opened.
pub fn memory() -> Option<&'static Shared> {
    MEMORY.get()
}

impl Stream {
    fn read(&mut self, into: &mut [u8]) -> usize {
        if into.is_empty() {
            return 0;
        }
        if !self.before.is_empty() {
            let count = into.len().min(self.before.len());
            into[..count].copy_from_slice(&self.before[..count]);
            self.before = &self.before[count..];
            IS_LOADED.store(self.before.is_empty() && self.memory.begins_with_snapshot(), Ordering::Release);
            return count;
        }
        self.tell_instructions();
        let log = self.memory.to_qemu();
        loop {
            let seen = log.news();
            let count = log.read_some(into);
            if count > 0 {
                return count;
            }
            if self.memory.command() == Command::GoLive {
                return self.go_live(into);
            }
            log.wait_beyond(seen, NAP);
        }
    }

    /// From here on QEMU records: what it reads is the end of the log, between two events.
    fn go_live(&mut self, into: &mut [u8]) -> usize {
        // SAFETY: QEMU's own variable, which is written under the replay lock that this call holds.
        unsafe { self.mode.write_volatile(RECORD) };
        self.memory.set_state(State::Live);
        into[0] = END;
        1
    }

    fn write(&mut self, bytes: &[u8]) {
        if IS_COPY.load(Ordering::Acquire) || matches!(self.memory.state(), State::Unreplayable | State::Ended) {
            return;
        }
        self.staged.extend_from_slice(bytes);
        match self.scanner.scan(bytes) {
            Ok(Some(cut)) => {
                // Before the other side can have replayed it.
                if self.scanner.is_over() {
                    self.memory.set_state(State::Ended);
                }
                self.publish(self.staged.len() + cut - bytes.len());
            }
            Ok(None) => {}
            Err(_) => {
                self.memory.set_state(State::Unreplayable);
                self.staged.clear();
            }
        }
    }

    /// Hands what was recorded to the agent, up to where the log may be cut; waits while there is no room.
    fn publish(&mut self, cut: usize) {
        self.tell_instructions();
        if self.memory.is_read() {
            self.memory.from_qemu().write_all(&self.staged[..cut], || !self.memory.is_read());
        }
        self.staged.drain(..cut);
        self.slow_down();
    }

    /// Keeps a machine from running whose secondary is far behind.
    fn slow_down(&mut self) {
        let pct = self.memory.slowed_pct();
        if pct > 0 && self.ran_from.elapsed() > SLICE {
            std::thread::sleep(pause(self.ran_from.elapsed(), pct));
        }
        if pct == 0 || self.ran_from.elapsed() > SLICE {
            self.ran_from = Instant::now();
        }
    }

    /// The machine's state is being saved: the log of a copy of it begins here. Whether the state is whole.
    ///
    /// What was recorded before is in the state. A machine that went live still has the event that ended what it
    /// replayed before it; a copy would wait behind that.
    fn save(&mut self) -> bool {
        self.staged.clear();
        if let Some(next_event) = self.next_event {
            // SAFETY: three numbers of QEMU's own, used only while it replays, under the replay lock that this call holds.
            unsafe { next_event.write_volatile([0; 3]) };
        }
        // SAFETY: QEMU's function of that name takes nothing.
        let is_at_rest = unsafe { call(c"replay_can_snapshot").is_some_and(|can_snapshot| can_snapshot()) };
        self.memory.save_at(self.memory.from_qemu().written(), is_at_rest, TAKEN);
        is_at_rest
    }

    fn tell_instructions(&self) {
        if let Some(instructions) = self.instructions {
            // SAFETY: QEMU's own counter, which changes under the replay lock that this call holds.
            self.memory.set_instructions(unsafe { instructions.read_volatile() });
        }
    }
}
