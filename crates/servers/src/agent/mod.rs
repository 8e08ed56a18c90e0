//! The guest agent: inside a machine it does what the laboratory asks over a serial channel, one JSON object a line.
//!
//! Requests carry a number that their answer repeats; what services write and how they end comes as events. As the
//! machine's first process it also sets the machine up (`boot`). It knows no workload and no platform.
//!
//! A serial port, since many hosts lack vsock, and since ssh needs keys, a network and a login to wait for.

mod boot;
mod counters;
mod identity;
mod network;
mod programs;
mod speaker;
mod system;
pub mod watch;

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{bail, Context, Result};
use serde::Deserialize;
use serde_json::{json, Value};

pub use boot::is_init;
use programs::Programs;
use speaker::Speaker;
use system::{kernel, unix_ns};

/// Name of the serial port, as the machine is given it.
const PORT: &str = "org.loadstone.agent";
/// Longest wait for the port to appear: beyond the laboratory's own patience, which decides (on a busy host emulated
/// machines took more than 30 s).
const PORT_PATIENCE: Duration = Duration::from_secs(600);
/// What the console says once the machine can be reached.
const READY: &str = "loadstone: ready";
const PORT_LOOK: Duration = Duration::from_millis(10);
/// What both sides must speak.
const SCHEMA: u32 = 2;

#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
enum Wish {
    /// Draw from random numbers of its own from now on
    Seed { entropy: String },
    /// Mount a disk; at `/` it becomes the root
    Mount { disk: String, path: String },
    /// Set the wall clock by a difference
    ShiftClock { by_ns: i64 },
    /// Give interfaces their addresses
    Network { interfaces: Vec<network::Interface> },
    /// Start a program under a name; `loadstone-server` is this program
    Start { name: String, command: Vec<String> },
    /// Ask a program to end, then end it
    Stop { name: String },
    /// Write a file, with the folders it needs
    Write { path: PathBuf, text: String },
    /// Counters of the machine, and its clock
    Look,
    /// Its clock alone
    Clock,
    /// Power the machine off
    Off,
}

#[derive(Debug, Deserialize)]
struct Request {
    id: u64,
    #[serde(flatten)]
    wish: Wish,
}

/// Serves requests until the channel ends or the machine is powered off.
pub fn serve(channel: Option<&Path>) -> Result<()> {
    if is_init() {
        boot::set_up().context("the machine cannot be set up")?;
        if let Some(port) = boot::declared_port()? {
            return listen(port);
        }
    }
    let path = match channel {
        Some(path) => path.to_owned(),
        None => find_port()?,
    };
    let open = || OpenOptions::new().read(true).write(true).open(&path);
    let file = open().with_context(|| format!("cannot open {}", path.display()))?;
    let speaker = Speaker::new(file.try_clone()?);
    let programs = Programs::new(speaker.clone());
    speaker.say(&json!({ "event": "hello", "schema": SCHEMA, "kernel": kernel(), "unix_ns": unix_ns() }));
    for line in BufReader::new(file).lines() {
        answer(&line?, &programs, &speaker);
    }
    boot::power_off();
    Ok(())
}

/// Serves whoever connects, one after the other, where a serial channel would be an input that nobody records. The
/// machine's state is kept once it is ready: it has no address yet, and gets another one each time it continues.
fn listen(port: u16) -> Result<()> {
    let descriptions = network::Descriptions::open()?;
    println!("{READY}");
    network::set_up(&[descriptions.wait()?])?;
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port))?;
    let speaker = Speaker::new(File::create("/dev/null")?);
    let programs = Programs::new(speaker.clone());
    for stream in listener.incoming() {
        let stream = stream?;
        stream.set_nodelay(true)?;
        let read = stream.try_clone()?;
        speaker.speak_to(File::from(OwnedFd::from(stream)));
        speaker.say(&json!({ "event": "hello", "schema": SCHEMA, "kernel": kernel(), "unix_ns": unix_ns() }));
        for line in BufReader::new(read).lines().map_while(Result::ok) {
            answer(&line, &programs, &speaker);
        }
    }
    Ok(())
}

fn answer(line: &str, programs: &Programs, speaker: &Speaker) {
    let request: Request = match serde_json::from_str(line) {
        Ok(request) => request,
        Err(error) => return speaker.say(&json!({ "event": "confused", "by": line, "why": error.to_string() })),
    };
    let reply = match fulfil(request.wish, programs) {
        Ok(value) => json!({ "id": request.id, "ok": value }),
        Err(error) => json!({ "id": request.id, "error": format!("{error:#}") }),
    };
    speaker.say(&reply);
}

fn fulfil(wish: Wish, programs: &Programs) -> Result<Value> {
    match wish {
        Wish::Seed { entropy } => identity::seed(&entropy).map(|boot_id| json!({ "boot_id": boot_id })),
        Wish::Mount { disk, path } => boot::attach(&disk, &path).map(|()| Value::Null),
        Wish::ShiftClock { by_ns } => identity::shift_clock(by_ns).map(|()| Value::Null),
        Wish::Network { interfaces } => network::set_up(&interfaces).map(|()| Value::Null),
        Wish::Start { name, command } => programs.start(&name, &command).map(|pid| json!({ "pid": pid })),
        Wish::Stop { name } => programs.stop(&name).map(|()| Value::Null),
        Wish::Write { path, text } => write(&path, &text).map(|()| Value::Null),
        Wish::Look => counters::look(),
        Wish::Clock => Ok(json!({ "unix_ns": unix_ns() })),
        Wish::Off => {
            programs.stop_all();
            boot::power_off();
            Ok(Value::Null)
        }
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// The device of the port with our name. Without udev there are no links by name, so the names are looked up.
fn find_port() -> Result<PathBuf> {
    let started = std::time::Instant::now();
    while started.elapsed() < PORT_PATIENCE {
        for port in std::fs::read_dir("/sys/class/virtio-ports").into_iter().flatten().flatten() {
            let name = std::fs::read_to_string(port.path().join("name")).unwrap_or_default();
            let device = Path::new("/dev").join(port.file_name());
            if name.trim() == PORT && device.exists() {
                return Ok(device);
            }
        }
        std::thread::sleep(PORT_LOOK);
    }
    bail!("there is no serial port named {PORT} within {} s", PORT_PATIENCE.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    /// An agent on the other end of a pair of sockets, which the kernel shows as a file.
    fn agent() -> (UnixStream, impl FnMut() -> Value) {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        std::thread::spawn(move || {
            let (read, write) = (theirs.try_clone().expect("a copy"), theirs);
            let speaker = Speaker::new(File::from(std::os::fd::OwnedFd::from(write)));
            let programs = Programs::new(speaker.clone());
            for line in BufReader::new(read).lines().map_while(Result::ok) {
                answer(&line, &programs, &speaker);
            }
        });
        let mut lines = BufReader::new(ours.try_clone().expect("a copy")).lines();
        (ours, move || serde_json::from_str(&lines.next().expect("a line").expect("text")).expect("an object"))
    }

    #[test]
    fn requests_are_answered_by_number_and_programs_are_heard() {
        let (mut to, mut hear) = agent();
        to.write_all(b"{\"id\":1,\"do\":\"clock\"}\n").expect("sent");
        assert!(hear()["ok"]["unix_ns"].as_u64() > Some(0));
        to.write_all(
            b"{\"id\":2,\"do\":\"start\",\"name\":\"one\",\"command\":[\"/bin/sh\",\"-c\",\"echo there; cat\"]}\n",
        )
        .expect("sent");
        let heard = [hear(), hear()];
        assert!(heard.iter().any(|said| said["id"] == 2 && said["ok"]["pid"].as_u64() > Some(0)), "{heard:?}");
        assert!(heard.iter().any(|said| said["event"] == "line" && said["line"] == "there"), "{heard:?}");
        to.write_all(b"{\"id\":3,\"do\":\"start\",\"name\":\"one\",\"command\":[\"/bin/true\"]}\n").expect("sent");
        assert!(hear()["error"].as_str().expect("an error").contains("`one` is running already"));
        to.write_all(b"{\"id\":4,\"do\":\"stop\",\"name\":\"one\"}\n").expect("sent");
        let heard = [hear(), hear()];
        assert!(heard.iter().any(|said| said["event"] == "ended" && said["name"] == "one"), "{heard:?}");
        assert!(heard.iter().any(|said| said["id"] == 4), "{heard:?}");
    }

    #[test]
    fn what_it_does_not_understand_it_says_and_goes_on() {
        let (mut to, mut hear) = agent();
        to.write_all(b"nonsense\n{\"id\":1,\"do\":\"fly\"}\n{\"id\":2,\"do\":\"look\"}\n").expect("sent");
        assert_eq!(hear()["event"], "confused");
        assert_eq!(hear()["event"], "confused");
        let counters = hear();
        assert!(counters["ok"]["cores"].as_u64() > Some(0));
        assert!(counters["ok"]["memory"]["total"].as_u64() > Some(0));
    }
}
