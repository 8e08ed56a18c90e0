//! A connection on which everything takes longer: for experiments with a distant secondary, or a slow link to it.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::Result;
use socket2::Socket;

use super::threads::{lock, spawn};

/// Longest piece that is read at once.
const LONGEST: usize = 64 * 1024;
/// Pieces under way in one direction; a connection with more waits.
const MOST_UNDER_WAY: usize = 1024;
/// Pieces that wait for a link of limited speed, beside those under way.
const MOST_WAITING: usize = 4;
/// Bytes that the link carries at once: connections that share it take turns.
const FRAME: usize = 1500;
/// Time that an idle link makes up for: threads wake up late.
const BURST: Duration = Duration::from_millis(1);

/// Bytes, and when they may go on.
type Piece = (Instant, Vec<u8>);

/// What the channel to the other side is slowed by.
#[derive(Clone, Copy, Default)]
pub struct Slowing {
    /// Time that everything takes longer in each direction.
    pub delay: Duration,
    /// Bytes per second in each direction, for all connections together; none without a limit.
    pub bytes_per_s: Option<u64>,
}

impl Slowing {
    fn is_none(self) -> bool {
        self.delay.is_zero() && self.bytes_per_s.is_none()
    }

    /// Pieces that may be under way in one direction of one connection.
    fn most_under_way(self) -> usize {
        let Some(bytes_per_s) = self.bytes_per_s else { return MOST_UNDER_WAY };
        let under_way = (bytes_per_s as f64 * self.delay.as_secs_f64()) as usize / LONGEST;
        (under_way + MOST_WAITING).min(MOST_UNDER_WAY)
    }
}

/// One direction of a link, which connections share: when it has carried all that it was given.
struct Direction {
    bytes_per_s: u64,
    free: Mutex<Instant>,
}

impl Direction {
    /// Waits until the link has carried so many bytes.
    fn carry(&self, length: usize) {
        let takes = Duration::from_secs_f64(length as f64 / self.bytes_per_s as f64);
        let carried = {
            let mut free = lock(&self.free);
            let earliest = Instant::now().checked_sub(BURST).unwrap_or_else(Instant::now);
            *free = (*free).max(earliest) + takes;
            *free
        };
        std::thread::sleep(carried.saturating_duration_since(Instant::now()));
    }
}

/// A slowed link: connections that it carries share its speed.
pub struct SlowedLink {
    slowing: Slowing,
    ways: [Option<Arc<Direction>>; 2],
}

impl SlowedLink {
    /// A link that is idle.
    pub fn new(slowing: Slowing) -> Self {
        let way = || slowing.bytes_per_s.map(|bytes_per_s| Direction { bytes_per_s, free: Mutex::new(Instant::now()) });
        Self { slowing, ways: [way().map(Arc::new), way().map(Arc::new)] }
    }

    /// The near end of a connection that the link carries; the connection itself where nothing is slowed.
    pub fn carry(&self, stream: Socket) -> Result<Socket> {
        if self.slowing.is_none() {
            return Ok(stream);
        }
        let (near, far) = UnixStream::pair()?;
        let far = Socket::from(far);
        let [inwards, outwards] = &self.ways;
        self.hand(stream.try_clone()?, far.try_clone()?, inwards.clone())?;
        self.hand(far, stream, outwards.clone())?;
        Ok(Socket::from(near))
    }

    /// Hands on what comes from one end to the other.
    fn hand(&self, from: Socket, to: Socket, way: Option<Arc<Direction>>) -> Result<()> {
        let (sender, pieces) = sync_channel(self.slowing.most_under_way());
        let by = self.slowing.delay;
        spawn("delay in", move || take(from, by, &sender))?;
        spawn("delay out", move || hand_on(to, &pieces, way.as_deref()))
    }
}

fn take(mut from: Socket, by: Duration, sender: &SyncSender<Piece>) {
    let mut buffer = vec![0; LONGEST];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        if sender.send((Instant::now() + by, buffer[..length].to_vec())).is_err() {
            break;
        }
    }
}

fn hand_on(mut to: Socket, pieces: &Receiver<Piece>, way: Option<&Direction>) {
    'pieces: for (at, piece) in pieces {
        std::thread::sleep(at.saturating_duration_since(Instant::now()));
        for frame in piece.chunks(if way.is_some() { FRAME } else { LONGEST }) {
            if let Some(way) = way {
                way.carry(frame.len());
            }
            if to.write_all(frame).is_err() {
                break 'pieces;
            }
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    const BY: Duration = Duration::from_millis(30);

    /// Both ends of a connection that a link carries.
    fn connect(link: &SlowedLink) -> (Socket, Socket) {
        let (here, there) = UnixStream::pair().expect("a pair of sockets");
        (link.carry(Socket::from(here)).expect("a connection"), Socket::from(there))
    }

    #[test]
    fn bytes_come_late_in_both_directions_in_their_order_and_the_end_comes_through() {
        let (mut near, mut there) = connect(&SlowedLink::new(Slowing { delay: BY, ..Slowing::default() }));
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

    #[test]
    fn connections_share_the_speed_of_a_link_in_each_direction() {
        const BYTES: usize = 20_000;
        let link = SlowedLink::new(Slowing { bytes_per_s: Some(1_000_000), ..Slowing::default() });
        let begun = Instant::now();
        let ends: Vec<_> = (0..2).map(|_| connect(&link)).collect();
        let readers: Vec<_> = ends
            .into_iter()
            .map(|(mut near, mut there)| {
                near.write_all(&[7; BYTES]).expect("room");
                std::thread::spawn(move || {
                    let mut came = [0; BYTES];
                    there.read_exact(&mut came).expect("all of it");
                    assert!(came.iter().all(|byte| *byte == 7));
                    near
                })
            })
            .collect();
        for reader in readers {
            reader.join().expect("all came");
        }
        // Both together, but for the burst of an idle link.
        assert!(begun.elapsed() >= Duration::from_millis(40) - BURST);
    }

    #[test]
    fn a_connection_that_nothing_slows_is_left_alone() {
        let (here, _there) = UnixStream::pair().expect("a pair of sockets");
        let number = here.as_raw_fd();
        let near = SlowedLink::new(Slowing::default()).carry(Socket::from(here)).expect("a connection");
        assert_eq!(near.as_raw_fd(), number);
    }
}
