//! Threads that hand on the orders of the laboratory and the frames of the machine.

use std::io::BufRead;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::mpsc::Sender;
use std::time::Duration;

use anyhow::Result;
use rustix::event::{PollFd, PollFlags};

use super::event::Event;
use super::network::next_frame;
use super::report::report;
use crate::ring::Shared;

/// Between two looks of the thread that takes frames at whether the machine is being saved.
const LOOK: Duration = Duration::from_millis(5);

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

/// Hands on what the machine sends, until it is gone; where it is being saved, that nothing more is there.
pub fn outputs(listener: &UnixListener, memory: &Shared, sender: &Sender<Event>) {
    let heard = || -> Result<()> {
        let (mut stream, _): (UnixStream, _) = listener.accept()?;
        loop {
            if !has_more(&stream, LOOK)? {
                if memory.is_saving() {
                    sender.send(Event::Saved)?;
                    memory.go_on();
                }
                continue;
            }
            let frame = next_frame(&mut stream)?;
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
