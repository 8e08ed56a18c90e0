//! The log channel between two agents: one connection for the log, one for everything that must not wait behind it.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{sync_channel, SyncSender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{bail, ensure, Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::json;
use socket2::Socket;

use super::disk::Mark;
use super::places::{self, Bounded, Places, GREETING};
use super::report::report;
use super::sealed::Seals;
use super::slowing::{SlowedLink, Slowing};
use super::threads::{lock, spawn};
use super::transmission;

/// What both agents must speak; they must be of one build, since they compare hashes.
pub const VERSION: u32 = 4;
/// Longest message, and longest piece of log.
const LONGEST: usize = 1 << 20;
/// Longest mark: a read, and a little about it.
const LONGEST_MARK: usize = (transmission::LONGEST as usize) + (1 << 10);
/// Between two looks whether anybody came.
const LOOK: Duration = Duration::from_millis(2);
/// Greetings that are waited for at once.
const MOST_GREETINGS: usize = places::MOST;
/// Longest time until the other agent has said who it is, which is not waited for by others.
const HELLO: Duration = Duration::from_secs(5);

/// What agents tell each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// The first, from both: who it is, and which of the two connections this is.
    /// `key` is empty where the channel is sealed.
    Hello { version: u32, name: String, generation: u64, is_log: bool, key: String },
    /// Still there.
    Beat,
    /// The primary recorded from this place of its log on for us, when its machine had sent so many frames; that was
    /// while it ran, and its state then is a snapshot, or before it started.
    Base { position: u64, frames: u64, is_snapshot: bool },
    /// The primary holds its outputs for us since its log was so long: who has more than that is its secondary.
    Welcome { position: u64 },
    /// The secondary has more than that.
    Follows,
    /// The primary goes on without us.
    Dismissed,
    /// The secondary holds the log up to `received`, and has replayed it up to `executed`; its end of the log's
    /// connection has brought so many bytes.
    Acknowledged { received: u64, executed: u64, taken: u64 },
    /// The primary's machine has sent this frame.
    Sent { number: u64, hash: u64 },
    /// All frames before this one have left.
    Left { number: u64 },
    /// The secondary has read what this mark told of from the disk that both share.
    HasRead { number: u64 },
    /// Its machine has ended by itself.
    Ended,
    /// It is going away.
    Leaving,
    /// To be echoed at once; the sender's clock in nanoseconds.
    Probe { at_ns: u64 },
    /// The echo.
    Echo { at_ns: u64 },
}

/// Both connections.
pub struct Channel {
    pub control: Control,
    pub log: Socket,
    pub peer: String,
    pub generation: u64,
}

/// The connection for messages; written by several threads, read by one.
#[derive(Clone)]
pub struct Control {
    writer: Arc<Mutex<Socket>>,
    stream: Arc<Socket>,
}

impl Control {
    fn new(stream: Socket) -> Result<Self> {
        Ok(Control { writer: Arc::new(Mutex::new(stream.try_clone()?)), stream: Arc::new(stream) })
    }

    /// Sends a message.
    pub fn send(&self, message: &Message) -> Result<()> {
        let mut writer = lock(&self.writer);
        send(&mut writer, message)
    }

    /// The next message; an error when there will be none.
    pub fn receive(&self) -> Result<Message> {
        receive(&mut &*self.stream)
    }

    /// Ends the connection, for whoever reads from it too.
    pub fn close(&self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

fn send(stream: &mut Socket, message: &Message) -> Result<()> {
    let body = postcard::to_stdvec(message)?;
    let mut bytes = (body.len() as u32).to_be_bytes().to_vec();
    bytes.extend_from_slice(&body);
    Ok(stream.write_all(&bytes)?)
}

fn receive(stream: &mut impl Read) -> Result<Message> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length) as usize;
    ensure!(length <= LONGEST, "a message of {length} bytes: the other side is not an agent");
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok(postcard::from_bytes(&body)?)
}

/// What the log's connection brings.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece {
    /// Log from this place on.
    Log(u64, Vec<u8>),
    /// A request that the primary's disk has done, before all log that follows.
    Mark(Mark),
}

/// Before a piece: a mark has none of a place in the log.
const MARKED: u64 = u64::MAX;

/// A piece of log from a place on; how many bytes that took.
pub fn send_log(stream: &mut Socket, offset: u64, bytes: &[u8]) -> Result<usize> {
    send_piece(stream, offset, bytes)
}

/// A mark; how many bytes that took.
pub fn send_mark(stream: &mut Socket, mark: &Mark) -> Result<usize> {
    send_piece(stream, MARKED, &postcard::to_stdvec(mark)?)
}

fn send_piece(stream: &mut Socket, offset: u64, bytes: &[u8]) -> Result<usize> {
    let body = lz4_flex::compress_prepend_size(bytes);
    let mut packet = Vec::with_capacity(12 + body.len());
    packet.extend_from_slice(&offset.to_be_bytes());
    packet.extend_from_slice(&(body.len() as u32).to_be_bytes());
    packet.extend_from_slice(&body);
    stream.write_all(&packet)?;
    Ok(packet.len())
}

/// The next piece.
pub fn receive_piece(stream: &mut impl Read) -> Result<Piece> {
    let mut head = [0; 12];
    stream.read_exact(&mut head)?;
    let (offset, length) = head.split_at(8);
    let offset = u64::from_be_bytes(offset.try_into()?);
    let length = u32::from_be_bytes(length.try_into()?) as usize;
    let longest = if offset == MARKED { LONGEST_MARK } else { LONGEST };
    // Compressed, what does not compress is a little longer.
    ensure!(length <= longest + longest / 64, "a piece of log of {length} bytes: the other side is not an agent");
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    let whole = body.first_chunk::<4>().map_or(0, |size| u32::from_le_bytes(*size) as usize);
    ensure!(whole <= longest, "a piece of log that would become {whole} bytes");
    let bytes = lz4_flex::decompress_size_prepended(&body)?;
    Ok(if offset == MARKED { Piece::Mark(postcard::from_bytes(&bytes)?) } else { Piece::Log(offset, bytes) })
}

/// Who an agent is to the other.
#[derive(Clone)]
pub struct Identity {
    pub name: String,
    pub generation: u64,
    /// Needed where the channel leaves this host.
    pub seals: Option<Seals>,
    /// What both sides know that share a store on this host: the proof that a channel without seals asks for.
    pub key: String,
}

/// Waits for the other agent's two connections, as long as they are waited for; others are turned away, each by a thread
/// of its own: who says nothing holds up nobody.
pub fn accept(listener: &TcpListener, identity: &Identity, is_waited_for: impl Fn() -> bool) -> Result<Channel> {
    listener.set_nonblocking(true)?;
    let (greeted, greetings) = sync_channel(MOST_GREETINGS);
    let places = Arc::new(Places::default());
    let (mut control, mut log, mut peer, mut theirs) = (None, None, String::new(), 0);
    while control.is_none() || log.is_none() {
        ensure!(is_waited_for(), "no secondary came while it was waited for");
        match listener.accept() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::sleep(LOOK),
            Err(error) => return Err(error.into()),
            Ok((tcp, from)) => greet_apart(tcp, from, identity, &greeted, &places)?,
        }
        for (stream, name, generation, is_log) in greetings.try_iter() {
            if peer != name {
                (control, log) = (None, None);
            }
            (peer, theirs) = (name, generation);
            *(if is_log { &mut log } else { &mut control }) = Some(stream);
        }
    }
    finish(control, log, peer, theirs)
}

/// Connection, name, generation, and whether it is for the log.
type Greeting = (Socket, String, u64, bool);

/// Hears who a connection is of, beside all others; where there are too many, the oldest stranger makes room.
fn greet_apart(
    tcp: TcpStream,
    from: SocketAddr,
    identity: &Identity,
    greeted: &SyncSender<Greeting>,
    places: &Arc<Places>,
) -> Result<()> {
    let Ok(place) = places.take(&tcp) else { return Ok(()) }; // it is gone already
    let (identity, greeted) = (identity.clone(), greeted.clone());
    spawn("greeting", move || {
        let welcomed = welcome(tcp, &identity);
        drop(place);
        match welcomed {
            Ok(greeting) => drop(greeted.try_send(greeting)),
            Err(error) => {
                report(&json!({ "event": "turned_away", "from": from.to_string(), "why": format!("{error:#}") }));
            }
        }
    })
}

fn welcome(tcp: TcpStream, identity: &Identity) -> Result<Greeting> {
    tcp.set_nonblocking(false)?;
    let until = Instant::now() + GREETING;
    let mut stream = prepare(tcp, identity.seals.as_ref(), |seals, tcp| seals.accepted(tcp, until))?;
    // Nothing is said to a stranger: the other side speaks first, and proves who it is.
    let (name, generation, is_log) = hear_hello(&stream, identity, until)?;
    say_hello(&mut stream, identity, false)?;
    Ok((stream, name, generation, is_log))
}

/// Connects to the other agent, twice; both connections share a slowed link from then on.
pub fn connect(address: SocketAddr, identity: &Identity, slowing: Slowing) -> Result<Channel> {
    ensure!(is_sealed_or_local(address, identity), "{}", unsealed(address));
    let (mut streams, mut peer, mut theirs) = (Vec::new(), String::new(), 0);
    let link = SlowedLink::new(slowing);
    for is_log in [false, true] {
        let tcp =
            TcpStream::connect_timeout(&address, HELLO).with_context(|| format!("no agent answers at {address}"))?;
        let until = Instant::now() + HELLO;
        let seal = |seals: &Seals, tcp| seals.connected(tcp, address.ip(), until);
        let mut stream = prepare(tcp, identity.seals.as_ref(), seal)?;
        say_hello(&mut stream, identity, is_log)?;
        (peer, theirs, _) = hear_hello(&stream, identity, until)?;
        streams.push(link.carry(stream)?);
    }
    let log = streams.pop();
    finish(streams.pop(), log, peer, theirs)
}

/// Listens for a secondary.
pub fn listen(address: SocketAddr, identity: &Identity) -> Result<(TcpListener, SocketAddr)> {
    ensure!(is_sealed_or_local(address, identity), "{}", unsealed(address));
    let listener =
        TcpListener::bind(address).with_context(|| format!("a secondary cannot be waited for at {address}"))?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

fn is_sealed_or_local(address: SocketAddr, identity: &Identity) -> bool {
    identity.seals.is_some() || address.ip().is_loopback()
}

fn unsealed(address: SocketAddr) -> String {
    format!(
        "the channel at {address} would leave this host unsealed: give both sides --certificate, --key, --authority"
    )
}

/// A connection, sealed where the side has what that needs.
fn prepare(
    tcp: TcpStream,
    seals: Option<&Seals>,
    seal: impl Fn(&Seals, TcpStream) -> Result<UnixStream>,
) -> Result<Socket> {
    tcp.set_nodelay(true)?;
    Ok(match seals {
        Some(seals) => Socket::from(seal(seals, tcp)?),
        None => Socket::from(tcp),
    })
}

/// Says who this side is.
fn say_hello(stream: &mut Socket, identity: &Identity, is_log: bool) -> Result<()> {
    let Identity { name, generation, key, .. } = identity.clone();
    send(stream, &Message::Hello { version: VERSION, name, generation, is_log, key })
}

/// Hears who the other side is, by a moment, and that it has the same key.
fn hear_hello(stream: &Socket, identity: &Identity, until: Instant) -> Result<(String, u64, bool)> {
    match receive(&mut Bounded::new(stream, until))? {
        Message::Hello { version: VERSION, name, generation, is_log, key } => {
            ensure!(is_same(&key, &identity.key), "`{name}` does not have the key of this pair");
            Ok((name, generation, is_log))
        }
        Message::Hello { version, .. } => bail!("the other agent speaks version {version}, this is {VERSION}"),
        _ => bail!("the other side is not an agent"),
    }
}

/// Whether two keys are the same, in a time that tells nothing of where they differ.
fn is_same(one: &str, other: &str) -> bool {
    one.len() == other.len() && one.bytes().zip(other.bytes()).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

fn finish(control: Option<Socket>, log: Option<Socket>, peer: String, generation: u64) -> Result<Channel> {
    let (Some(control), Some(log)) = (control, log) else { bail!("the channel is not whole") };
    for stream in [&control, &log] {
        stream.set_read_timeout(None)?;
        stream.set_write_timeout(None)?;
    }
    Ok(Channel { control: Control::new(control)?, log, peer, generation })
}

#[cfg(test)]
mod tests;
