//! The log channel between two agents: one connection for the log, one for everything that must not wait behind it.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{bail, ensure, Context, Result};
use serde::{Deserialize, Serialize};

use super::lock;

/// What both agents must speak; they must be of one build, since they compare hashes.
pub const VERSION: u32 = 1;
/// Longest message, and longest piece of log.
const LONGEST: usize = 1 << 20;
/// Longest wait for the other agent to say who it is.
const HELLO: Duration = Duration::from_secs(5);

/// What agents tell each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// The first, from both: who it is, and which of the two connections this is.
    Hello { version: u32, name: String, generation: u64, is_log: bool },
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
    /// The secondary holds the log up to `received`, and has replayed it up to `executed`.
    Acknowledged { received: u64, executed: u64 },
    /// The primary's machine has sent this frame.
    Sent { number: u64, hash: u64 },
    /// All frames before this one have left.
    Left { number: u64 },
    /// Its machine has ended by itself.
    Ended,
    /// It is going away.
    Leaving,
}

/// Both connections.
pub struct Channel {
    pub control: Control,
    pub log: TcpStream,
    pub peer: String,
    pub generation: u64,
}

/// The connection for messages; written by several threads, read by one.
#[derive(Clone)]
pub struct Control {
    writer: Arc<Mutex<TcpStream>>,
    stream: Arc<TcpStream>,
}

impl Control {
    fn new(stream: TcpStream) -> Result<Self> {
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

fn send(stream: &mut TcpStream, message: &Message) -> Result<()> {
    let body = postcard::to_stdvec(message)?;
    let mut bytes = (body.len() as u32).to_be_bytes().to_vec();
    bytes.extend_from_slice(&body);
    Ok(stream.write_all(&bytes)?)
}

fn receive(stream: &mut impl Read) -> Result<Message> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length) as usize;
    ensure!(length <= LONGEST, "a message of {length} bytes: the other side is no agent");
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok(postcard::from_bytes(&body)?)
}

/// A piece of log from a place on.
pub fn send_log(stream: &mut TcpStream, offset: u64, bytes: &[u8]) -> Result<usize> {
    let body = lz4_flex::compress_prepend_size(bytes);
    let mut packet = Vec::with_capacity(12 + body.len());
    packet.extend_from_slice(&offset.to_be_bytes());
    packet.extend_from_slice(&(body.len() as u32).to_be_bytes());
    packet.extend_from_slice(&body);
    stream.write_all(&packet)?;
    Ok(packet.len())
}

/// The next piece of log, and where it begins.
pub fn receive_log(stream: &mut TcpStream) -> Result<(u64, Vec<u8>)> {
    let mut head = [0; 12];
    stream.read_exact(&mut head)?;
    let (offset, length) = head.split_at(8);
    let offset = u64::from_be_bytes(offset.try_into()?);
    let length = u32::from_be_bytes(length.try_into()?) as usize;
    ensure!(length <= LONGEST, "a piece of log of {length} bytes: the other side is no agent");
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    let whole = body.first_chunk::<4>().map_or(0, |size| u32::from_le_bytes(*size) as usize);
    ensure!(whole <= LONGEST, "a piece of log that would become {whole} bytes");
    Ok((offset, lz4_flex::decompress_size_prepended(&body)?))
}

/// Waits for the other agent's two connections.
pub fn accept(listener: &TcpListener, name: &str, generation: u64) -> Result<Channel> {
    let (mut control, mut log, mut peer, mut theirs) = (None, None, String::new(), 0);
    while control.is_none() || log.is_none() {
        let (mut stream, _) = listener.accept()?;
        prepare(&stream)?;
        let Ok((name_there, generation_there, is_log)) = greet(&mut stream, name, generation, false) else { continue };
        (peer, theirs) = (name_there, generation_there);
        *(if is_log { &mut log } else { &mut control }) = Some(stream);
    }
    finish(control, log, peer, theirs)
}

/// Connects to the other agent, twice.
pub fn connect(address: SocketAddr, name: &str, generation: u64) -> Result<Channel> {
    ensure!(
        address.ip().is_loopback(),
        "the channel to {address} would leave this host unencrypted: not supported yet"
    );
    let (mut streams, mut peer, mut theirs) = (Vec::new(), String::new(), 0);
    for is_log in [false, true] {
        let mut stream =
            TcpStream::connect_timeout(&address, HELLO).with_context(|| format!("no agent answers at {address}"))?;
        prepare(&stream)?;
        (peer, theirs, _) = greet(&mut stream, name, generation, is_log)?;
        streams.push(stream);
    }
    let log = streams.pop();
    finish(streams.pop(), log, peer, theirs)
}

fn prepare(stream: &TcpStream) -> Result<()> {
    stream.set_nodelay(true)?;
    Ok(stream.set_read_timeout(Some(HELLO))?)
}

fn greet(stream: &mut TcpStream, name: &str, generation: u64, is_log: bool) -> Result<(String, u64, bool)> {
    send(stream, &Message::Hello { version: VERSION, name: name.to_owned(), generation, is_log })?;
    match receive(stream)? {
        Message::Hello { version: VERSION, name, generation, is_log } => Ok((name, generation, is_log)),
        Message::Hello { version, .. } => bail!("the other agent speaks version {version}, this is {VERSION}"),
        _ => bail!("the other side is no agent"),
    }
}

fn finish(control: Option<TcpStream>, log: Option<TcpStream>, peer: String, generation: u64) -> Result<Channel> {
    let (Some(control), Some(log)) = (control, log) else { bail!("the channel is not whole") };
    for stream in [&control, &log] {
        stream.set_read_timeout(None)?;
    }
    Ok(Channel { control: Control::new(control)?, log, peer, generation })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_and_log_come_through_as_they_were_sent() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        let there = std::thread::spawn(move || accept(&listener, "a", 3).expect("a channel"));
        let mut here = connect(address, "b", 2).expect("a channel");
        let mut there = there.join().expect("no panic");
        assert_eq!((here.peer.as_str(), here.generation, there.peer.as_str(), there.generation), ("a", 3, "b", 2));
        let said = Message::Acknowledged { received: 7, executed: 5 };
        here.control.send(&said).expect("sent");
        assert_eq!(there.control.receive().expect("heard"), said);
        let piece: Vec<u8> = (0..100_000_u32).map(|at| (at % 7) as u8).collect();
        let sent = send_log(&mut there.log, 9, &piece).expect("sent");
        assert!(sent < piece.len() / 10, "{sent}");
        assert_eq!(receive_log(&mut here.log).expect("heard"), (9, piece));
        there.control.close();
        assert!(here.control.receive().is_err());
    }

    #[test]
    fn what_is_no_agent_is_refused() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        });
        assert!(connect(address, "b", 0).is_err());
        assert!(connect("192.0.2.1:9".parse().expect("an address"), "b", 0).is_err());
    }
}
