//! Moving the log: from the machine that records over the channel, and from the channel to the machine that replays.

use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{bail, ensure, Result};

use super::channel::{receive_log, send_log, Control, Message};
use super::lock;
use super::report::Metrics;
use crate::log::Scanner;
use crate::ring::Shared;

/// Log that is read at once.
const PIECE: usize = 64 << 10;
/// Longest wait for more before looking whether it is over.
const LOOK: Duration = Duration::from_millis(20);

/// Sends what the machine records from `position` on, whole events alone, until it is over; an error when the channel
/// breaks.
pub fn send(
    memory: &Shared,
    stream: &mut TcpStream,
    position: u64,
    (over, metrics): (&AtomicBool, &Mutex<Metrics>),
) -> Result<()> {
    let (mut scanner, mut pending, mut offset) = (Scanner::default(), Vec::new(), position);
    let mut piece = vec![0; PIECE];
    let log = memory.from_qemu();
    while !over.load(Ordering::Acquire) {
        let count = log.read_some(&mut piece);
        if count == 0 {
            log.wait(LOOK);
            continue;
        }
        let before = pending.len();
        pending.extend_from_slice(&piece[..count]);
        let Some(cut) = scanner.scan(&piece[..count])? else { continue };
        let whole = before + cut;
        let wire = send_log(stream, offset, &pending[..whole])?;
        lock(metrics).sent(whole as u64, wire as u64);
        pending.drain(..whole);
        offset += whole as u64;
    }
    Ok(())
}

/// Gives the machine that replays what comes, and acknowledges it; ends with an error when nothing more comes.
pub fn receive(
    memory: &Shared,
    stream: &mut TcpStream,
    position: u64,
    (over, control): (&AtomicBool, &Control),
) -> Result<()> {
    let mut next = position;
    let log = memory.to_qemu();
    loop {
        let (offset, bytes) = receive_log(stream)?;
        ensure!(offset == next, "the log goes on at {offset} instead of {next}");
        if !log.write_all(&bytes, || over.load(Ordering::Acquire)) {
            bail!("the machine does not replay any more");
        }
        next += bytes.len() as u64;
        // A channel that takes no acknowledgement any more has its end in what it brings, too.
        let _ = control.send(&Message::Acknowledged { received: next, executed: position + log.read() });
    }
}
