//! What is loaded into QEMU before its own libraries, so that its record and replay go over shared memory: the log file
//! it opens is a stream of ours, and its main loop stays awake while there is log to replay.
//!
//! QEMU itself is the distribution's, unchanged. What is used of it - `replay_mode`, `replay_state` - it exports, and
//! whoever starts it checks its build first. All calls on the stream are made under QEMU's replay lock.

mod libc_calls;
mod saving;
mod stream;

use std::ffi::{c_char, c_int, c_void, CStr};
use std::sync::OnceLock;

use libc_calls::{is_there, next};
use stream::VARIABLE;

/// How long the main loop of a machine that replays sleeps at most: its own timers do not know what the log brings.
const NAP_NS: i64 = 5_000_000;

type Open = unsafe extern "C" fn(*const c_char, *const c_char) -> *mut libc::FILE;
type Poll =
    unsafe extern "C" fn(*mut libc::pollfd, libc::nfds_t, *const libc::timespec, *const libc::sigset_t) -> c_int;
type Receive = unsafe extern "C" fn(c_int, *mut c_void, usize, c_int) -> isize;
type Advise = unsafe extern "C" fn(*mut c_void, usize, c_int) -> c_int;
type Send = unsafe extern "C" fn(c_int, *const libc::msghdr, c_int) -> isize;
type CheckedPoll =
    unsafe extern "C" fn(*mut libc::pollfd, libc::nfds_t, *const libc::timespec, *const libc::sigset_t, usize) -> c_int;

/// Opens a file; the log's is a stream of ours.
///
/// # Safety
///
/// As of fopen(3).
#[no_mangle]
pub unsafe extern "C" fn fopen64(path: *const c_char, mode: *const c_char) -> *mut libc::FILE {
    let (name, how) = unsafe { (CStr::from_ptr(path), CStr::from_ptr(mode)) };
    let is_log = std::env::var_os(VARIABLE).is_some_and(|log| log.as_encoded_bytes() == name.to_bytes());
    if is_log && lacks_functions() {
        return std::ptr::null_mut();
    }
    if is_log {
        return stream::open(name, how.to_bytes().first() == Some(&b'r'));
    }
    static NEXT: OnceLock<Option<Open>> = OnceLock::new();
    // SAFETY: the C library's function of that name is of that type.
    match NEXT.get_or_init(|| unsafe { next(c"fopen64") }) {
        Some(open) => unsafe { open(path, mode) },
        None => std::ptr::null_mut(),
    }
}

/// Waits for files; no longer than the log allows.
///
/// # Safety
///
/// As of ppoll(2).
#[no_mangle]
pub unsafe extern "C" fn ppoll(
    files: *mut libc::pollfd,
    count: libc::nfds_t,
    longest: *const libc::timespec,
    signals: *const libc::sigset_t,
) -> c_int {
    static NEXT: OnceLock<Option<Poll>> = OnceLock::new();
    stream::begin_when_running();
    saving::save_when_asked();
    let shorter = shortened(longest);
    let longest = shorter.as_ref().map_or(longest, std::ptr::from_ref);
    // SAFETY: the C library's function of that name is of that type.
    match NEXT.get_or_init(|| unsafe { next(c"ppoll") }) {
        Some(poll) => unsafe { poll(files, count, longest, signals) },
        None => -1,
    }
}

/// Receives from a socket; a machine that records and was asleep is woken by what came.
///
/// QEMU hands a recorded frame to the machine when its processor is next awake, which an idle one is only for its own
/// timers: tens of milliseconds later.
///
/// # Safety
///
/// As of recv(2).
#[no_mangle]
pub unsafe extern "C" fn recv(socket: c_int, into: *mut c_void, room: usize, flags: c_int) -> isize {
    static NEXT: OnceLock<Option<Receive>> = OnceLock::new();
    // SAFETY: the C library's function of that name is of that type.
    let Some(receive) = NEXT.get_or_init(|| unsafe { next(c"recv") }) else { return -1 };
    let count = unsafe { receive(socket, into, room, flags) };
    if count > 0 && stream::records() {
        stream::wake_processor();
    }
    count
}

/// Advises the kernel on memory; a copy of this process keeps the machine's memory, which QEMU would leave out.
///
/// # Safety
///
/// As of madvise(2).
#[no_mangle]
pub unsafe extern "C" fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int {
    static NEXT: OnceLock<Option<Advise>> = OnceLock::new();
    if advice == libc::MADV_DONTFORK {
        return 0;
    }
    // SAFETY: the C library's function of that name is of that type.
    let Some(advise) = NEXT.get_or_init(|| unsafe { next(c"madvise") }) else { return -1 };
    unsafe { advise(address, length, advice) }
}

/// Sends to a socket; the agent learns how long the log was.
///
/// The place of an output in the log is that of its sending. Where the agent looked once it has the output, the events
/// that come behind it - the machine falls idle - were before it already, and those behind these may take a second.
///
/// # Safety
///
/// As of sendmsg(2).
#[no_mangle]
pub unsafe extern "C" fn sendmsg(socket: c_int, message: *const libc::msghdr, flags: c_int) -> isize {
    static NEXT: OnceLock<Option<Send>> = OnceLock::new();
    // SAFETY: the C library's function of that name is of that type.
    let Some(send) = NEXT.get_or_init(|| unsafe { next(c"sendmsg") }) else { return -1 };
    stream::sends();
    unsafe { send(socket, message, flags) }
}

/// The same as programs call it that were compiled with checks.
///
/// # Safety
///
/// As of ppoll(2).
#[no_mangle]
pub unsafe extern "C" fn __ppoll_chk(
    files: *mut libc::pollfd,
    count: libc::nfds_t,
    longest: *const libc::timespec,
    signals: *const libc::sigset_t,
    room: usize,
) -> c_int {
    static NEXT: OnceLock<Option<CheckedPoll>> = OnceLock::new();
    stream::begin_when_running();
    saving::save_when_asked();
    let shorter = shortened(longest);
    let longest = shorter.as_ref().map_or(longest, std::ptr::from_ref);
    // SAFETY: the C library's function of that name is of that type.
    match NEXT.get_or_init(|| unsafe { next(c"__ppoll_chk") }) {
        Some(poll) => unsafe { poll(files, count, longest, signals, room) },
        None => -1,
    }
}

/// Whether the program is no QEMU that pairs work with; it says what is missing.
fn lacks_functions() -> bool {
    let used = stream::USED.iter().chain(&saving::USED);
    let missing: Vec<_> = used.filter(|name| !is_there(name)).map(|name| name.to_string_lossy()).collect();
    if !missing.is_empty() {
        eprintln!(
            "loadstone-pair: this program does not export {}: it is no QEMU that pairs work with",
            missing.join(", ")
        );
    }
    !missing.is_empty()
}

/// A shorter time for the main loop of a machine that replays: none while there is log left. None where it may wait as
/// long as it likes.
fn shortened(longest: *const libc::timespec) -> Option<libc::timespec> {
    let most_ns = stream::patience(NAP_NS)?;
    // SAFETY: null, or a time by the function's contract.
    let asked_ns = unsafe { longest.as_ref() }.map(|time| time.tv_sec.saturating_mul(1_000_000_000) + time.tv_nsec);
    let is_longer = asked_ns.is_none_or(|asked_ns| asked_ns > most_ns);
    is_longer.then_some(libc::timespec { tv_sec: 0, tv_nsec: most_ns })
}
