//! Moving the log: from the machine that records over the channel, and from the channel to the machine that replays.

use std::io::Read;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{bail, ensure, Context, Result};
use rustix::event::{poll, PollFd, PollFlags};
use serde_json::json;
use socket2::Socket;

use super::channel::{receive_piece, send_log, send_mark, Control, Message, Piece};
use super::disk::SharedDisk;
use super::inputs::Inputs;
use super::report::{report, Metrics};
use super::threads::lock;
use crate::log::{packets, Scanner};
use crate::ring::Shared;
use crate::volume::EventKind;

/// Log that is read at once.
const PIECE: usize = 64 << 10;
/// Longest wait for more before looking whether it is over.
const LOOK: Duration = Duration::from_millis(20);

/// Sends what the machine records from `position` on, whole events alone, until it is over; an error when the channel
/// breaks.
pub fn send(
    (memory, disk): (&Shared, Option<&SharedDisk>),
    stream: &mut Socket,
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
        // Before the machine records that a request was done it is marked as done.
        let (mut volume, mut wire) = (scanner.take_volume(), 0);
        for mark in disk.map_or(Vec::new(), SharedDisk::departing) {
            volume.add(EventKind::Disk, mark.brought());
            wire += send_mark(stream, &mark)?;
        }
        wire += send_log(stream, offset, &pending[..whole])?;
        lock(metrics).sent(volume, wire as u64);
        pending.drain(..whole);
        offset += whole as u64;
    }
    Ok(())
}

/// What the thread that receives a log shares with the one that decides.
pub struct SecondaryEnd {
    /// Length of the log beyond which none is taken, but for the rest of an event.
    pub last: AtomicU64,
    /// Bytes that came.
    pub taken: AtomicU64,
}

/// Counts what comes, piece by piece.
struct Counted<'a> {
    stream: &'a mut Socket,
    taken: &'a AtomicU64,
}

impl Read for Counted<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let count = self.stream.read(into)?;
        self.taken.fetch_add(count as u64, Ordering::AcqRel);
        Ok(count)
    }
}

/// Gives the machine that replays what comes up to a place, and acknowledges it; ends with an error when nothing more
/// comes.
pub fn receive(
    (memory, disk, inputs): (&Shared, Option<&SharedDisk>, &Inputs),
    stream: &mut Socket,
    position: u64,
    (over, control, ends): (&AtomicBool, &Control, &SecondaryEnd),
) -> Result<()> {
    let SecondaryEnd { last, taken } = ends;
    let mut next = position;
    let log = memory.to_qemu();
    while next < last.load(Ordering::Acquire) {
        let (offset, mut bytes) = match receive_piece(&mut Counted { stream, taken })? {
            Piece::Log(offset, bytes) => (offset, bytes),
            Piece::Mark(mark) => {
                disk.context("a mark of a shared disk, for a side that has none")?
                    .arrived(mark, || log.unread() > 0 && !over.load(Ordering::Acquire));
                continue;
            }
        };
        ensure!(offset == next, "the log continues at {offset} instead of {next}");
        bytes.truncate(end_beyond(&bytes, last.load(Ordering::Acquire).saturating_sub(next))?);
        if !log.write_all(&bytes, || over.load(Ordering::Acquire)) {
            bail!("the machine no longer replays");
        }
        inputs.are_logged(packets(&bytes));
        next += bytes.len() as u64;
        // A channel that takes no acknowledgement any more has its end in what it brings, too.
        let (executed, taken) = (position + log.read(), taken.load(Ordering::Acquire));
        let _ = control.send(&Message::Acknowledged { received: next, executed, taken });
    }
    report(&json!({ "event": "stalled", "position": next }));
    // Nor is anything taken from the channel any more: what is sent fills its buffers, then the primary's.
    poll(&mut [PollFd::new(stream, PollFlags::RDHUP)], None)?;
    bail!("stalled, and over")
}

/// The first place in whole events from `least` bytes on where the log may be cut; all of them where there is none.
fn end_beyond(events: &[u8], least: u64) -> Result<usize> {
    if least >= events.len() as u64 {
        return Ok(events.len());
    }
    let mut scanner = Scanner::default();
    for (at, byte) in events.iter().enumerate() {
        if scanner.scan(std::slice::from_ref(byte))?.is_some() && at as u64 + 1 >= least {
            return Ok(at + 1);
        }
    }
    Ok(events.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_stalled_at_the_end_of_an_event_that_is_no_count_of_instructions() {
        let events = [1, 0, 0, 0, 0, 9, 28, 1, 2, 3, 4, 5, 6, 7, 8, 1, 30];
        for (least, end) in [(0, 1), (1, 1), (2, 15), (15, 15), (16, 16), (17, 17), (99, 17)] {
            assert_eq!(end_beyond(&events, least).expect("a log"), end, "{least}");
        }
    }
}
