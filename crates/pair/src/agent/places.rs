//! Places for connections whose other side has not yet proved who it is: a bounded number, of which no address has more
//! than its share, and none for longer than a greeting takes. Where all are taken, the oldest makes room.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use socket2::SockRef;

use super::threads::lock;

/// Places of all addresses together.
pub const MOST: usize = 128;
/// Places of one address: more than it can newly take while another of it proves who it is.
pub const MOST_OF_AN_ADDRESS: usize = 64;
/// Longest time for a whole greeting: from the connection until the other side has proved who it is.
pub const GREETING: Duration = Duration::from_secs(2);

/// The places and who has them, the oldest first.
#[derive(Default)]
pub struct Places {
    strangers: Mutex<Strangers>,
}

#[derive(Default)]
struct Strangers {
    next: u64,
    held: Vec<Stranger>,
}

struct Stranger {
    number: u64,
    from: IpAddr,
    tcp: TcpStream,
}

/// A place, which is free again when it is dropped.
pub struct Place {
    places: Arc<Places>,
    number: u64,
}

impl Places {
    /// Takes a place for a connection. Whoever makes room for it has its connection ended.
    pub fn take(self: &Arc<Self>, tcp: &TcpStream) -> io::Result<Place> {
        let (tcp, from) = (tcp.try_clone()?, tcp.peer_addr()?.ip());
        let mut strangers = lock(&self.strangers);
        while let Some(number) = strangers.to_make_room(from) {
            let at = strangers.held.iter().position(|one| one.number == number).unwrap_or(0);
            let _ = strangers.held.remove(at).tcp.shutdown(Shutdown::Both);
        }
        let number = strangers.next;
        strangers.next += 1;
        strangers.held.push(Stranger { number, from, tcp });
        Ok(Place { places: self.clone(), number })
    }
}

impl Strangers {
    /// Who makes room for a connection from this address; nobody where there is a place. It is the oldest of the address
    /// that has the most, so that one address drives out no other.
    fn to_make_room(&self, from: IpAddr) -> Option<u64> {
        let count = |address: IpAddr| self.held.iter().filter(|one| one.from == address).count();
        let oldest_of = |address: IpAddr| self.held.iter().find(|one| one.from == address).map(|one| one.number);
        if count(from) >= MOST_OF_AN_ADDRESS {
            return oldest_of(from);
        }
        if self.held.len() < MOST {
            return None;
        }
        let most = self.held.iter().map(|one| count(one.from)).max()?;
        self.held.iter().find(|one| count(one.from) == most).map(|one| one.number)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.places.strangers).held.retain(|one| one.number != self.number);
    }
}

/// A connection whose reads and writes all end by one instant, however little each of them brings.
pub struct Bounded<'a, S> {
    stream: &'a S,
    until: Instant,
}

impl<'a, S: AsFd> Bounded<'a, S> {
    /// Until then.
    pub fn new(stream: &'a S, until: Instant) -> Self {
        Bounded { stream, until }
    }

    fn left(&self) -> io::Result<Duration> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::new(ErrorKind::TimedOut, "the greeting takes too long"));
        }
        Ok(left)
    }
}

impl<S: AsFd> Read for Bounded<'_, S>
where
    for<'b> &'b S: Read,
{
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        SockRef::from(self.stream).set_read_timeout(Some(self.left()?))?;
        (&mut &*self.stream).read(into)
    }
}

impl<S: AsFd> Write for Bounded<'_, S>
where
    for<'b> &'b S: Write,
{
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        SockRef::from(self.stream).set_write_timeout(Some(self.left()?))?;
        (&mut &*self.stream).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&mut &*self.stream).flush()
    }
}

/// Held by tests that open many connections, which all of them together could not.
#[cfg(test)]
pub static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// So many connections to this listener, as it accepted them.
    fn connections(count: usize) -> Vec<(TcpStream, TcpStream)> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let connection = |_| {
            let there = TcpStream::connect(address).expect("a connection");
            (listener.accept().expect("accepted").0, there)
        };
        (0..count).map(connection).collect()
    }

    fn has_ended(there: &TcpStream) -> bool {
        there.set_nonblocking(true).expect("a socket");
        matches!((&mut &*there).read(&mut [0]), Ok(0))
    }

    #[test]
    fn the_oldest_of_an_address_makes_room_for_the_newest() {
        let _alone = lock(&ALONE);
        let (places, connections) = (Arc::new(Places::default()), connections(MOST_OF_AN_ADDRESS + 3));
        let held: Vec<_> = connections.iter().map(|(here, _)| places.take(here).expect("a place")).collect();
        let ended: Vec<bool> = connections.iter().map(|(_, there)| has_ended(there)).collect();
        assert_eq!(ended.iter().filter(|&&one| one).count(), 3);
        assert!(ended[..3].iter().all(|&one| one));
        drop(held);
        assert!(lock(&places.strangers).held.is_empty());
    }

    #[test]
    fn where_all_places_are_taken_the_address_with_the_most_gives_one() {
        let connections = connections(1);
        let mut strangers = Strangers::default();
        let address = |last: u8| IpAddr::from([192, 0, 2, last]);
        for number in 0..MOST as u64 {
            let tcp = connections[0].0.try_clone().expect("a socket");
            let from = address(if number < 8 { 1 } else { 2 + (number % 4) as u8 });
            strangers.held.push(Stranger { number, from, tcp });
        }
        assert_eq!(strangers.to_make_room(address(9)), Some(8), "not the oldest of all, whose address has few");
        assert_eq!(strangers.to_make_room(address(1)), Some(8));
        strangers.held.pop();
        assert_eq!(strangers.to_make_room(address(9)), None);
    }

    #[test]
    fn a_byte_now_and_then_takes_no_longer_than_the_whole_may() {
        let connections = connections(1);
        let (here, there) = &connections[0];
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while (&mut &*there).write_all(b"x").is_ok() {
                    std::thread::sleep(Duration::from_millis(5));
                }
            });
            let begun = Instant::now();
            let mut bounded = Bounded::new(here, begun + Duration::from_millis(100));
            assert!(bounded.read_exact(&mut [0; 100_000]).is_err());
            assert!(begun.elapsed() < Duration::from_secs(5));
            here.shutdown(Shutdown::Both).expect("open");
        });
    }
}
