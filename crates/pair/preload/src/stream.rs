//! The log as a stream: what QEMU writes goes to the agent as soon as an event is whole, what it reads comes from there.
//!
//! QEMU has no patience for a log that ends: a reader waits here for more, until it is told to go live. Then it is given
//! the event that ends a log, which leaves everything as it is, and its mode becomes the recording one; both modes hold
//! the same locks at that place.

use std::ffi::{c_char, c_int, c_void, CStr};
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use loadstone_pair::log::{Scanner, END, VERSION};
use loadstone_pair::ring::{Command, Shared, State};

use crate::libc_calls::{fopencookie, function, variable, CookieFunctions};

/// `REPLAY_MODE_RECORD` of QEMU's `ReplayMode` (qapi/replay.json).
const RECORD: c_int = 1;
/// Where `current_icount` lies in `ReplayState` of QEMU 7.2 (replay/replay-internal.h): behind two clocks.
const INSTRUCTIONS_AT: usize = 16;
/// `QEMU_CLOCK_VIRTUAL` of QEMU's `QEMUClockType` (include/qemu/timer.h).
const VIRTUAL_CLOCK: c_int = 1;
/// How long a reader sleeps at most before it looks again.
const NAP: Duration = Duration::from_secs(1);

/// The memory shared with the agent, once the log was opened.
static MEMORY: OnceLock<Shared> = OnceLock::new();

/// QEMU's end of the log. Its calls are made under QEMU's replay lock, one at a time.
struct Stream {
    memory: &'static Shared,
    mode: *mut c_int,
    instructions: Option<*mut u64>,
    /// What of the version was not read yet.
    version: &'static [u8],
    /// Recorded, and not published yet: no place for a cut.
    staged: Vec<u8>,
    scanner: Scanner,
    /// Whether what was recorded last was for somebody.
    was_read: bool,
}

/// The log's stream; null, with the reason on the standard error, when there is no memory to share, or QEMU is another.
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
    let (mode, instructions) = unsafe { (variable(c"replay_mode", 0), variable(c"replay_state", INSTRUCTIONS_AT)) };
    let Some(mode) = mode else {
        eprintln!("loadstone-pair: this QEMU does not export `replay_mode`");
        return std::ptr::null_mut();
    };
    memory.set_state(if is_replayed { State::Replaying } else { State::Recording });
    let stream = Stream {
        memory,
        mode,
        instructions,
        version: if is_replayed { &VERSION } else { &[] },
        staged: Vec::new(),
        scanner: Scanner::default(),
        was_read: false,
    };
    let functions = CookieFunctions { read: Some(read), write: Some(write), seek: None, close: None };
    // SAFETY: the stream lives as long as QEMU, which never closes its log before it ends.
    let file = unsafe { fopencookie(Box::into_raw(Box::new(stream)).cast(), c"r+".as_ptr(), functions) };
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

/// Whether the calling thread is the main loop of a machine that records.
pub fn records() -> bool {
    let is_recorded = |memory: &Shared| matches!(memory.state(), State::Recording | State::Live);
    MEMORY.get().is_some_and(is_recorded) && is_main()
}

/// Has the processor look for what was queued for it: what QEMU itself does when a timer was set anew.
pub fn wake_processor() {
    static NOTIFY: OnceLock<Option<unsafe extern "C" fn(c_int)>> = OnceLock::new();
    // SAFETY: QEMU's function of that name takes a clock's number, and may be called from the main loop at any time.
    if let Some(notify) = NOTIFY.get_or_init(|| unsafe { function(c"qemu_clock_notify") }) {
        unsafe { notify(VIRTUAL_CLOCK) };
    }
}

fn is_main() -> bool {
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

impl Stream {
    fn read(&mut self, into: &mut [u8]) -> usize {
        if into.is_empty() {
            return 0;
        }
        if !self.version.is_empty() {
            let count = into.len().min(self.version.len());
            into[..count].copy_from_slice(&self.version[..count]);
            self.version = &self.version[count..];
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
        if matches!(self.memory.state(), State::Unreplayable | State::Ended) {
            return;
        }
        // A new secondary is a copy of the machine as it is now: what was recorded before is in it.
        let is_read = self.memory.is_read();
        if is_read && !self.was_read {
            self.staged.clear();
        }
        self.was_read = is_read;
        self.staged.extend_from_slice(bytes);
        match self.scanner.scan(bytes) {
            Ok(Some(cut)) => {
                self.publish(self.staged.len() + cut - bytes.len());
                if self.scanner.is_over() {
                    self.memory.set_state(State::Ended);
                }
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
    }

    fn tell_instructions(&self) {
        if let Some(instructions) = self.instructions {
            // SAFETY: QEMU's own counter, which changes under the replay lock that this call holds.
            self.memory.set_instructions(unsafe { instructions.read_volatile() });
        }
    }
}
