//! Threads that hand on the orders of the laboratory and the frames of the machine.

use std::io::BufRead;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::mpsc::Sender;
use std::time::Duration;

use anyhow::Result;
use rustix::event::{PollFd, PollFlags};

use super::event::Event;
use super::network::{next_frame, FRAME_HEAD_BYTES};
use super::report::report;
use crate::ring::{Command, Shared, State};

/// Between two looks of the thread that takes frames at whether the machine is being saved.
const LOOK: Duration = Duration::from_millis(5);
/// The same for a machine that was told to go live: users wait for it.
const LIVE_LOOK: Duration = Duration::from_micros(500);

/// Hands on what the laboratory says.
pub fn orders(sender: &Sender<Event>) {
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        read_order(&line, sender);
    }
    let _ = sender.send(Event::Orphaned);
}

/// Hands on the order in a line, or reports that it is none.
pub fn read_order(line: &str, sender: &Sender<Event>) {
    match serde_json::from_str(line) {
        Ok(order) => drop(sender.send(Event::Order(order))),
        Err(error) => report(&serde_json::json!({ "event": "refused", "line": line, "why": error.to_string() })),
    }
}

/// Hands on what the machine sends, until it is gone; where it is being saved, that nothing more is there; where it has
/// gone live, that all is there that it sent before.
pub fn outputs(listener: &UnixListener, memory: &Shared, sender: &Sender<Event>) {
    let heard = || -> Result<()> {
        let (mut stream, _): (UnixStream, _) = listener.accept()?;
        let mut is_live = false;
        // Bytes that were in the line when the machine was first seen live, as far as they are there still.
        let mut before_live = None;
        loop {
            if !is_live && memory.state() == State::Live {
                let left = match before_live {
                    None => rustix::io::ioctl_fionread(&stream)?,
                    Some(left) => left,
                };
                before_live = Some(left);
                if left == 0 {
                    sender.send(Event::Live)?;
                    is_live = true;
                }
            }
            let is_awaited = !is_live && memory.command() == Command::GoLive;
            if !has_more(&stream, if is_awaited { LIVE_LOOK } else { LOOK })? {
                if memory.is_saving() {
                    sender.send(Event::Saved)?;
                    memory.go_on();
                }
                continue;
            }
            let frame = next_frame(&mut stream)?;
            before_live = before_live.map(|left| left.saturating_sub((FRAME_HEAD_BYTES + frame.len()) as u64));
            // The events before the frame were published before it was sent, under the same lock.
            let position = memory.sent_at();
            sender.send(Event::Frame(frame, position))?;
        }
    };
    drop(heard());
    let _ = sender.send(Event::Silent);
}

/// Whether there is anything to read within a while.
fn has_more(stream: &UnixStream, longest: Duration) -> Result<bool> {
    let longest = rustix::time::Timespec { tv_sec: 0, tv_nsec: i64::from(longest.subsec_nanos()) };
    match rustix::event::poll(&mut [PollFd::new(stream, PollFlags::IN)], Some(&longest)) {
        Err(rustix::io::Errno::INTR) => Ok(false),
        ready => Ok(ready? > 0),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::mpsc::{channel, Receiver};
    use std::sync::Arc;

    use super::*;

    const FRAMES: u8 = 40;

    fn frame(number: u8) -> Vec<u8> {
        [&[0, 0, 0, 60][..], &[number; 60]].concat()
    }

    fn next(events: &Receiver<Event>) -> Event {
        events.recv_timeout(Duration::from_secs(10)).expect("an event")
    }

    #[test]
    fn a_machine_is_live_after_all_that_it_sent_as_it_replayed_and_however_much_it_sends() {
        let folder = tempfile::tempdir().expect("a folder");
        let memory = Arc::new(Shared::create(&folder.path().join("memory")).expect("a memory"));
        let listener = UnixListener::bind(folder.path().join("outlet")).expect("a socket");
        let mut machine = UnixStream::connect(folder.path().join("outlet")).expect("a connection");
        memory.set_state(State::Replaying);
        memory.tell(Command::GoLive);
        (0..FRAMES).for_each(|number| machine.write_all(&frame(number)).expect("sent"));
        memory.set_state(State::Live);
        let (sender, events) = channel();
        let hearing = std::thread::spawn(move || outputs(&listener, &memory, &sender));
        for number in 0..FRAMES {
            assert!(matches!(next(&events), Event::Frame(frame, _) if frame[0] == number), "{number}");
        }
        assert!(matches!(next(&events), Event::Live));
        machine.write_all(&frame(FRAMES)).expect("sent");
        assert!(matches!(next(&events), Event::Frame(..)), "it is live once");
        drop(machine);
        assert!(matches!(next(&events), Event::Silent));
        hearing.join().expect("ended");
    }
}
