//! Saving a machine while it runs: a copy of the whole process is made at an instant at which the machine stands still,
//! and the copy writes its state to a file. The kernel copies memory when either of both changes it (fork(2)), so the
//! machine stands still for milliseconds, whatever it has.
//!
//! The copy has one thread, and nothing open but that file. What it would add to the log goes nowhere. It uses functions
//! of QEMU's own, in the order in which QEMU saves a snapshot (`save_snapshot` of its migration/savevm.c).

use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicI32, Ordering};

use loadstone_pair::ring::{Saving, Shared};

use crate::libc_calls::{call, function};
use crate::stream::{is_main, leave_log, memory, note_saved, VARIABLE};

/// What is used of QEMU's own.
pub const USED: [&CStr; 18] = [
    c"replay_can_snapshot",
    c"qemu_mutex_lock_iothread_impl",
    c"qemu_mutex_unlock_iothread",
    c"qemu_get_cpu",
    c"tlb_flush",
    c"qio_channel_file_new_fd",
    c"qemu_file_new_output",
    c"qemu_file_get_error",
    c"qemu_fflush",
    c"global_state_store",
    c"migrate_get_current",
    c"migrate_init",
    c"qemu_savevm_state_header",
    c"qemu_savevm_state_setup",
    c"qemu_savevm_state_iterate",
    c"qemu_savevm_state_complete_precopy",
    c"runstate_is_running",
    c"replay_mutex_locked",
];
/// The file, next to the memory that is shared with the agent.
const FILE_NAME: &str = "state";
/// The first of all files but the standard ones.
const FIRST_FILE: libc::c_uint = 3;

/// The copy that writes; 0 for none.
static COPY: AtomicI32 = AtomicI32::new(0);

type Plain = unsafe extern "C" fn();
type Lock = unsafe extern "C" fn(*const c_char, c_int);
type Get = unsafe extern "C" fn() -> *mut c_void;
type Take = unsafe extern "C" fn(*mut c_void);

/// Saves a machine that stands still, where the agent has asked for that; to be called when the main loop holds no lock.
pub fn save_when_asked() {
    let Some(memory) = memory().filter(|_| is_main()) else { return };
    look_after_copy(memory);
    if memory.saving() == Saving::Requested {
        save(memory);
    }
}

fn save(memory: &Shared) {
    // SAFETY: QEMU's functions of these names take nothing, or a place in a source file.
    unsafe {
        let (Some(is_running), Some(is_locked)) = (call(c"runstate_is_running"), call(c"replay_mutex_locked")) else {
            return;
        };
        if is_running() || is_locked() {
            return;
        }
        let (Some(lock_log), Some(unlock_log)) = (function(c"replay_mutex_lock"), function(c"replay_mutex_unlock"))
        else {
            return;
        };
        let (Some(lock), Some(unlock)) =
            (function::<Lock>(c"qemu_mutex_lock_iothread_impl"), function::<Plain>(c"qemu_mutex_unlock_iothread"))
        else {
            return;
        };
        let (lock_log, unlock_log): (Plain, Plain) = (lock_log, unlock_log);
        lock_log();
        lock(c"loadstone".as_ptr(), 0);
        memory.set_saving(Saving::Idle);
        if note_saved() {
            forget_translations();
            fork(memory);
        }
        unlock();
        unlock_log();
    }
}

/// Has the processor look every page up anew when it runs next. A copy of the machine begins like that, and marks the
/// pages that it uses in tables that the guest reads: both must mark the same.
///
/// # Safety
///
/// The machine stands still.
unsafe fn forget_translations() {
    // SAFETY: QEMU's functions of these names take a processor's number, and a processor; a machine has one.
    unsafe {
        let processor: Option<unsafe extern "C" fn(c_int) -> *mut c_void> = function(c"qemu_get_cpu");
        if let (Some(processor), Some(flush)) = (processor, function::<Take>(c"tlb_flush")) {
            flush(processor(0));
        }
    }
}

/// # Safety
///
/// The main loop holds all locks of QEMU.
unsafe fn fork(memory: &Shared) {
    end_copy();
    memory.set_saving(Saving::Writing);
    // SAFETY: the copy calls nothing that waits for another thread.
    match unsafe { libc::fork() } {
        0 => {
            leave_log();
            // SAFETY: this process is the copy.
            let is_written = unsafe { write_state() }.is_some();
            memory.set_saving(if is_written { Saving::Written } else { Saving::Failed });
            unsafe { libc::_exit(0) }
        }
        -1 => memory.set_saving(Saving::Failed),
        copy => COPY.store(copy, Ordering::Release),
    }
}

/// Notes that the copy has ended; one that was ended has written nothing whole.
fn look_after_copy(memory: &Shared) {
    let copy = COPY.load(Ordering::Acquire);
    // SAFETY: a child of this process.
    if copy > 0 && unsafe { libc::waitpid(copy, std::ptr::null_mut(), libc::WNOHANG) } == copy {
        COPY.store(0, Ordering::Release);
        if memory.saving() == Saving::Writing {
            memory.set_saving(Saving::Failed);
        }
    }
}

/// Ends a copy that still writes: nobody waits for its file any more.
fn end_copy() {
    let copy = COPY.swap(0, Ordering::AcqRel);
    if copy > 0 {
        // SAFETY: a child of this process, which was not waited for yet.
        unsafe {
            libc::kill(copy, libc::SIGKILL);
            libc::waitpid(copy, std::ptr::null_mut(), 0);
        }
    }
}

/// Writes the machine's state; None where that failed.
///
/// # Safety
///
/// This process is a copy whose main loop held all locks of QEMU.
unsafe fn write_state() -> Option<()> {
    let path = std::env::var_os(VARIABLE)?;
    let path = CString::new(Path::new(&path).with_file_name(FILE_NAME).as_os_str().as_bytes()).ok()?;
    // SAFETY: QEMU's functions of these names have these types in the builds that are let start with this library.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::close_range(FIRST_FILE, libc::c_uint::MAX, 0);
        let to = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC | libc::O_CLOEXEC, 0o600);
        if to < 0 {
            return None;
        }
        let channel = function::<unsafe extern "C" fn(c_int) -> *mut c_void>(c"qio_channel_file_new_fd")?(to);
        let file = function::<unsafe extern "C" fn(*mut c_void) -> *mut c_void>(c"qemu_file_new_output")?(channel);
        let error: unsafe extern "C" fn(*mut c_void) -> c_int = function(c"qemu_file_get_error")?;
        let iterate: unsafe extern "C" fn(*mut c_void, bool) -> c_int = function(c"qemu_savevm_state_iterate")?;
        function::<unsafe extern "C" fn() -> c_int>(c"global_state_store")?();
        function::<Take>(c"migrate_init")?(function::<Get>(c"migrate_get_current")?());
        function::<Plain>(c"qemu_mutex_unlock_iothread")?();
        function::<Take>(c"qemu_savevm_state_header")?(file);
        function::<Take>(c"qemu_savevm_state_setup")?(file);
        function::<Lock>(c"qemu_mutex_lock_iothread_impl")?(c"loadstone".as_ptr(), 0);
        while error(file) == 0 && iterate(file, false) <= 0 {}
        let complete: unsafe extern "C" fn(*mut c_void, bool, bool) -> c_int =
            function(c"qemu_savevm_state_complete_precopy")?;
        complete(file, false, false);
        function::<Take>(c"qemu_fflush")?(file);
        (error(file) == 0).then_some(())
    }
}
