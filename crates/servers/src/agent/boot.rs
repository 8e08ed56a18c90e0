//! Setting a machine up as its first process: file systems, kernel modules, the root disk; and powering it off.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{bail, Context, Result};
use rustix::ioctl;
use rustix::mount::{mount, mount_move, MountFlags};
use rustix::system::{finit_module, reboot, RebootCommand};

/// Modules in the order of their dependencies, one file name a line.
const MODULES: &str = "/modules/order";
/// Word that names further such lists, with commas between them.
const MORE_MODULES: &str = "loadstone.modules=";
/// Word that has the agent listen at this port of the machine's network, once a frame has described that network.
const LISTEN: &str = "loadstone.listen=";
/// Resets the machine without a word to its devices, where `b` is written to it (kernel documentation, sysrq): QEMU 7.2
/// breaks off when a network card that sends by a timer is shut down, as those of pairs do, and ends well when the
/// machine is reset.
const AT_ONCE: &str = "/proc/sysrq-trigger";
/// `BLKFLSBUF` of linux/fs.h.
const FLUSH_BUFFERS: ioctl::Opcode = ioctl::opcode::none(0x12, 97);
/// `EXT4_IOC_RESIZE_FS` of linux/ext4.h: the file system's new number of blocks.
const RESIZE: ioctl::Opcode = ioctl::opcode::write::<u64>(b'f', 16);
/// Bytes of a sector, in which the kernel states sizes of disks.
const SECTOR_BYTES: u64 = 512;
const DISK_PATIENCE: Duration = Duration::from_secs(10);
const DISK_LOOK: Duration = Duration::from_millis(10);

/// The name under which a kernel starts a machine's first process.
const INIT: &str = "/init";

/// Whether this program is a machine's first process; in a container it may have number 1 too.
pub fn is_init() -> bool {
    std::process::id() == 1 && std::env::args_os().next().is_some_and(|name| name == INIT)
}

/// Mounts what every program expects and loads the modules. Disks are mounted when the laboratory asks for it: the state
/// of a machine that is saved before that has nothing of a disk in it.
pub fn set_up() -> Result<()> {
    mount_at("devtmpfs", "/dev", "devtmpfs", c"")?;
    mount_at("proc", "/proc", "proc", c"")?;
    mount_at("sysfs", "/sys", "sysfs", c"")?;
    load_modules(Path::new(MODULES))?;
    let line = std::fs::read_to_string("/proc/cmdline")?;
    if let Some(more) = word(&line, MORE_MODULES) {
        for list in more.split(',') {
            load_modules(&Path::new(MODULES).with_file_name(list))?;
        }
    }
    for (path, mode) in [("/run", c"mode=755"), ("/tmp", c"mode=1777"), ("/dev/shm", c"mode=1777")] {
        mount_at("tmpfs", path, "tmpfs", mode)?;
    }
    std::env::set_var("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    Ok(())
}

/// Mounts a disk; at `/` it becomes the root.
pub fn attach(disk: &str, path: &str) -> Result<()> {
    await_disk(disk)?;
    forget_cached(disk)?;
    if path == "/" {
        return go_over(disk);
    }
    std::fs::create_dir_all(path)?;
    mount_disk(disk, path)
}

/// The port that the kernel's command line has the agent listen at, if any.
pub fn declared_port() -> Result<Option<u16>> {
    let line = std::fs::read_to_string("/proc/cmdline")?;
    let port = word(&line, LISTEN).map(str::parse).transpose();
    port.with_context(|| format!("{LISTEN} is not followed by a port"))
}

/// Writes out what is in memory and switches the machine off; does nothing where this is no machine of its own.
pub fn power_off() {
    if is_init() {
        rustix::fs::sync();
        if matches!(declared_port(), Ok(Some(_))) {
            let _ = std::fs::write(AT_ONCE, "b");
        }
        let _ = reboot(RebootCommand::PowerOff);
    }
}

fn mount_at(what: &str, path: &str, kind: &str, options: &std::ffi::CStr) -> Result<()> {
    std::fs::create_dir_all(path)?;
    let flags = MountFlags::NOSUID;
    mount(what, path, kind, flags, options).with_context(|| format!("cannot mount {kind} on {path}"))
}

fn load_modules(list: &Path) -> Result<()> {
    let Ok(order) = std::fs::read_to_string(list) else {
        return Ok(()); // all are built in
    };
    for name in order.lines() {
        let path = list.with_file_name(name);
        let file = File::open(&path).with_context(|| format!("there is no module {name}"))?;
        match finit_module(&file, c"", 0) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(error) => bail!("the module {name} cannot be loaded: {error}"),
        }
    }
    Ok(())
}

/// What follows a name on the kernel's command line.
fn word<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.split_whitespace().find_map(|word| word.strip_prefix(name))
}

/// Disks are found while this program already runs.
fn await_disk(disk: &str) -> Result<()> {
    let started = Instant::now();
    while !Path::new(disk).exists() {
        if started.elapsed() > DISK_PATIENCE {
            bail!("there is no disk {disk}");
        }
        std::thread::sleep(DISK_LOOK);
    }
    Ok(())
}

/// Drops what the kernel has read of a disk before: a restored machine looked for partitions on another one.
fn forget_cached(disk: &str) -> Result<()> {
    let file = File::open(disk)?;
    // SAFETY: BLKFLSBUF takes no argument.
    let flush = unsafe { ioctl::NoArg::<FLUSH_BUFFERS>::new() };
    // SAFETY: as above; what is no disk refuses it.
    unsafe { ioctl::ioctl(&file, flush) }.with_context(|| format!("the cache of {disk} cannot be dropped"))
}

/// Mounts a disk; its file system takes all of it.
fn mount_disk(disk: &str, path: &str) -> Result<()> {
    mount(disk, path, "ext4", MountFlags::NOATIME, c"").with_context(|| format!("cannot mount {disk}"))?;
    let name = Path::new(disk).file_name().context("a disk without a name")?.to_string_lossy();
    let sectors: u64 = std::fs::read_to_string(format!("/sys/class/block/{name}/size"))?.trim().parse()?;
    grow(path, sectors * SECTOR_BYTES).with_context(|| format!("the file system of {disk} cannot be grown"))
}

/// Grows a mounted file system to so many bytes; one of that size stays as it is.
fn grow(path: &str, bytes: u64) -> Result<()> {
    let folder = File::open(path)?;
    let blocks = bytes / rustix::fs::fstatfs(&folder)?.f_bsize as u64;
    // SAFETY: EXT4_IOC_RESIZE_FS reads a number of 64 bits.
    let resize = unsafe { ioctl::Setter::<RESIZE, u64>::new(blocks) };
    // SAFETY: as above; what is no ext4 refuses it.
    Ok(unsafe { ioctl::ioctl(&folder, resize) }?)
}

/// Makes the disk's file system the root. This program stays: it is open, whatever the root is.
fn go_over(disk: &str) -> Result<()> {
    let root = "/disk";
    std::fs::create_dir_all(root)?;
    mount_disk(disk, root)?;
    for path in ["dev", "proc", "sys", "run", "tmp"] {
        let into = format!("{root}/{path}");
        std::fs::create_dir_all(&into)?;
        mount_move(format!("/{path}"), &into).with_context(|| format!("cannot move /{path}"))?;
    }
    std::env::set_current_dir(root)?;
    mount_move(root, "/").context("cannot make the disk the root")?;
    rustix::process::chroot(".")?;
    Ok(std::env::set_current_dir("/")?)
}
