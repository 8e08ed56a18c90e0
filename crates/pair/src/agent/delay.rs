//! A connection on which everything takes longer: for experiments with a distant secondary.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::time::{Duration, Instant};

use anyhow::Result;
use socket2::Socket;

use super::threads::spawn;

/// Longest piece that is read at once.
const LONGEST: usize = 64 * 1024;
/// Pieces under way in one direction; a connection with more waits.
const MOST_UNDER_WAY: usize = 1024;

/// Bytes, and when they may go on.
type Piece = (Instant, Vec<u8>);

/// The near end of a connection whose bytes take so much longer in each direction.
pub fn delay_both_ways(stream: Socket, by: Duration) -> Result<Socket> {
    let (near, far) = UnixStream::pair()?;
    let far = Socket::from(far);
    carry(stream.try_clone()?, far.try_clone()?, by)?;
    carry(far, stream, by)?;
    Ok(Socket::from(near))
}

/// Hands on what comes from one end to the other, each piece so long after it came.
fn carry(from: Socket, to: Socket, by: Duration) -> Result<()> {
    let (sender, pieces) = sync_channel(MOST_UNDER_WAY);
    spawn("delay in", move || take(from, by, &sender))?;
    spawn("delay out", move || hand_on(to, &pieces))
}

fn take(mut from: Socket, by: Duration, sender: &SyncSender<Piece>) {
    let mut buffer = vec![0; LONGEST];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        if sender.send((Instant::now() + by, buffer[..length].to_vec())).is_err() {
            break;
        }
    }
}

fn hand_on(mut to: Socket, pieces: &Receiver<Piece>) {
    for (at, piece) in pieces {
        std::thread::sleep(at.saturating_duration_since(Instant::now()));
        if to.write_all(&piece).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

#[cfg(test)]
mod tests {
    use super::*;

    const BY: Duration = Duration::from_millis(30);

    #[test]
    fn bytes_come_late_in_both_directions_in_their_order_and_the_end_comes_through() {
        let (here, there) = UnixStream::pair().expect("a pair of sockets");
        let mut near = delay_both_ways(Socket::from(here), BY).expect("a connection");
        let mut there = Socket::from(there);
        let begun = Instant::now();
        for number in 0..200u8 {
            near.write_all(&[number]).expect("room");
        }
        let mut came = [0; 200];
        there.read_exact(&mut came).expect("all of it");
        assert!(begun.elapsed() >= BY);
        assert!(came.iter().enumerate().all(|(place, number)| place == usize::from(*number)));
        let answered = Instant::now();
        there.write_all(b"answer").expect("room");
        let mut answer = [0; 6];
        near.read_exact(&mut answer).expect("all of it");
        assert!(answered.elapsed() >= BY);
        assert_eq!(&answer, b"answer");
        near.shutdown(Shutdown::Both).expect("it is open");
        assert_eq!(there.read(&mut came).expect("an end"), 0);
    }
}
