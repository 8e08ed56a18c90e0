//! A byte stream to the server, plain or over TLS, and how it is opened.

use std::cell::Cell;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsRawFd, RawFd};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{ready, Context, Poll};

use loadstone_record::Fault;
use rustix::net::RecvFlags;
use rustls::pki_types::ServerName;
use rustls::ClientConfig;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::{TcpSocket, TcpStream};

use super::failure::Failure;
use super::secure::Secure;

/// A connection's bytes.
pub enum Stream {
    Plain(TcpStream),
    Tls(Box<Secure>),
}

/// Source addresses that are taken at most where the first has no port left.
const MOST_SOURCES: u8 = 16;

/// The source address of all connections to the loopback network, unless there are several.
const FIRST_SOURCE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// What the TLS handshake was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Handshake {
    Full,
    Resumed,
}

/// Receive buffer of a connection whose line is limited: more than a second's worth at the published 100,000 bytes/s. A
/// kernel left to itself gives each download megabytes that its line takes half a minute to empty, until the machine
/// has no memory for TCP left and all of them crawl.
const LIMITED_RECEIVE_BYTES: u32 = 128 * 1024;

/// Bytes of what nobody asked for that are looked at.
const BEGINNING: usize = 16;
/// What some servers say before they close a connection that has been idle (RFC 9110, section 15.5.9).
const GIVEN_UP: &[u8] = b"HTTP/1.1 408";

/// What a connection is good for on which nothing is under way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Idle {
    Quiet,
    /// The other side closes it.
    Closed,
    /// The other side has begun to answer what it was not asked.
    Unasked,
}

/// How fast the user's side takes what comes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Intake {
    Unlimited,
    Limited,
}

/// Opens a connection; on the loopback network from one of so many source addresses.
pub async fn connect(address: SocketAddr, intake: Intake, sources: u8) -> Result<TcpStream, Failure> {
    let stream = dial(address, intake, sources).await.map_err(|error| Failure::from_io(&error))?;
    stream.set_nodelay(true).map_err(|error| Failure::from_io(&error))?;
    Ok(stream)
}

/// Whether a connection comes from a loopback address other than the first.
pub fn is_of_further_source(stream: &TcpStream) -> bool {
    stream.local_addr().is_ok_and(|local| local.ip().is_loopback() && local.is_ipv4() && local.ip() != FIRST_SOURCE)
}

/// Speaks TLS on a connection; says whether the session was resumed.
pub async fn secure(
    tcp: TcpStream,
    name: ServerName<'static>,
    config: Arc<ClientConfig>,
) -> Result<(Stream, Handshake), Failure> {
    let stream = Secure::connect(tcp, name, config).await.map_err(|error| {
        let failure = Failure::from_io(&error);
        match failure.fault {
            Fault::ClosedEarly => Failure::new(Fault::Tls, format!("closed during the handshake: {error}")),
            _ => failure,
        }
    })?;
    let handshake = if stream.is_resumed() { Handshake::Resumed } else { Handshake::Full };
    Ok((Stream::Tls(Box::new(stream)), handshake))
}

/// Opens a connection. On the loopback network source addresses are taken in turn. A server knows its users by them, so
/// there is one, unless a plan asks for several: from one address the kernel looks for a free port by trying one after
/// the other, which takes it milliseconds once half of them are in use. Where no port is left, further ones are taken.
async fn dial(address: SocketAddr, intake: Intake, sources: u8) -> std::io::Result<TcpStream> {
    thread_local! {
        static TURN: Cell<u8> = const { Cell::new(0) };
        static NEEDED: Cell<u8> = const { Cell::new(1) };
    }
    loop {
        let spread = sources.max(NEEDED.get());
        let turn = TURN.with(|turn| turn.replace((turn.get() + 1) % spread)) % spread;
        let opened = dial_from(address, intake, turn).await;
        let is_without_port = opened.as_ref().is_err_and(|error| error.raw_os_error() == Some(libc::EADDRNOTAVAIL))
            && has_sources(address);
        if !is_without_port || spread >= MOST_SOURCES {
            return opened;
        }
        NEEDED.set(spread + 1);
        TURN.set(spread);
    }
}

/// Whether connections to an address can come from several addresses of this machine.
fn has_sources(address: SocketAddr) -> bool {
    address.is_ipv4() && address.ip().is_loopback()
}

async fn dial_from(address: SocketAddr, intake: Intake, turn: u8) -> std::io::Result<TcpStream> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    if intake == Intake::Limited {
        socket.set_recv_buffer_size(LIMITED_RECEIVE_BYTES)?;
    }
    if has_sources(address) {
        bind_without_port(&socket)?;
        socket.bind(SocketAddr::from(([127, 0, 0, 1 + turn], 0)))?;
    }
    socket.connect(address).await
}

/// Leaves the choice of the port to the connecting, which knows the destination and so may use a port twice.
fn bind_without_port(socket: &TcpSocket) -> std::io::Result<()> {
    set_option(socket.as_raw_fd(), libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1)
}

fn set_option(descriptor: RawFd, level: libc::c_int, option: libc::c_int, value: u32) -> std::io::Result<()> {
    let (value, size) = (std::ptr::from_ref(&value).cast(), std::mem::size_of::<u32>() as libc::socklen_t);
    // SAFETY: the descriptor is open, and `value` points to an integer of the given size for the length of the call.
    match unsafe { libc::setsockopt(descriptor, level, option, value, size) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

impl Stream {
    /// What a connection is good for on which nothing is under way. Nothing is sent on one that is not quiet; what fails
    /// after sending is the server's failure and is not tried again.
    pub fn idle(&mut self) -> Idle {
        let mut begun = [0; BEGINNING];
        let read = match self {
            Stream::Plain(stream) => match stream.try_read(&mut begun) {
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Idle::Quiet,
                read => read,
            },
            Stream::Tls(secure) => {
                match secure.poll_piece(&mut Context::from_waker(std::task::Waker::noop()), &mut begun) {
                    Poll::Pending => return Idle::Quiet,
                    Poll::Ready(read) => read,
                }
            }
        };
        match read {
            Ok(count @ 1..) if begun[..count].iter().all(u8::is_ascii_whitespace) => Idle::Closed,
            Ok(count @ 1..) if !begun[..count].starts_with(GIVEN_UP) => Idle::Unasked,
            _ => Idle::Closed,
        }
    }

    /// Gives back memory that a pause does not need.
    pub fn rest(&mut self) {
        if let Stream::Tls(secure) = self {
            secure.rest();
        }
    }

    /// Whether HTTP/2 may be spoken: over TLS if both sides agreed on it, without TLS as nobody asks.
    pub fn may_speak_http2(&self) -> bool {
        match self {
            Stream::Plain(_) => true,
            Stream::Tls(secure) => secure.protocol() == Some(b"h2"),
        }
    }

    /// Whether bytes written may wait for a flush.
    pub fn is_buffered(&self) -> bool {
        matches!(self, Stream::Tls(_))
    }

    /// Reads what there is into `room`; how many bytes, none when the other side has closed.
    pub fn poll_piece(&mut self, context: &mut Context<'_>, room: &mut [u8]) -> Poll<std::io::Result<usize>> {
        match self {
            Stream::Tls(secure) => secure.poll_piece(context, room),
            Stream::Plain(stream) => {
                let mut space = ReadBuf::new(room);
                ready!(Pin::new(stream).poll_read(context, &mut space))?;
                Poll::Ready(Ok(space.filled().len()))
            }
        }
    }

    /// Has the kernel throw away as much as `room` would hold without copying it there; how many bytes there were.
    /// Plain streams only.
    pub fn poll_discard(&mut self, context: &mut Context<'_>, room: &mut [u8]) -> Poll<std::io::Result<usize>> {
        let Stream::Plain(stream) = self else {
            return Poll::Ready(Err(std::io::ErrorKind::Unsupported.into()));
        };
        loop {
            ready!(stream.poll_read_ready(context))?;
            let mut count = None;
            let discard = || {
                let (_, bytes) = rustix::net::recv(&*stream, &mut *room, RecvFlags::TRUNC)?;
                count = Some(bytes);
                match bytes < room.len() && bytes > 0 {
                    true => Err(std::io::ErrorKind::WouldBlock.into()), // that was all: wait for the next event
                    false => Ok(()),
                }
            };
            let tried = stream.try_io(Interest::READABLE, discard);
            match (count, tried) {
                (Some(bytes), _) => return Poll::Ready(Ok(bytes)),
                (None, Err(error)) if error.kind() != std::io::ErrorKind::WouldBlock => {
                    return Poll::Ready(Err(error));
                }
                (None, _) => {}
            }
        }
    }

    /// Has the kernel report bytes only when there are this many. Plain streams only.
    pub fn set_low_water(&self, bytes: u32) -> std::io::Result<()> {
        match self {
            Stream::Plain(stream) => set_option(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVLOWAT, bytes),
            Stream::Tls(_) => Ok(()),
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<std::io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Stream::Tls(stream) => Pin::new(stream.as_mut()).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<std::io::Result<usize>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_write(cx, data),
            Stream::Tls(stream) => Pin::new(stream.as_mut()).poll_write(cx, data),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Tls(stream) => Pin::new(stream.as_mut()).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Tls(stream) => Pin::new(stream.as_mut()).poll_shutdown(cx),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From which addresses a server on this host sees six connections.
    async fn seen(sources: u8) -> Vec<IpAddr> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let mut seen = Vec::new();
        for _ in 0..6 {
            let (stream, peer) = tokio::join!(connect(address, Intake::Unlimited, sources), listener.accept());
            let from = peer.expect("a connection").1.ip();
            assert_eq!(is_of_further_source(&stream.expect("a connection")), from != FIRST_SOURCE);
            seen.push(from);
        }
        seen.sort();
        seen.dedup();
        seen
    }

    #[tokio::test]
    async fn users_come_from_one_address_unless_several_are_asked_for() {
        assert_eq!(seen(1).await, [FIRST_SOURCE]);
        assert_eq!(seen(3).await, [1, 2, 3].map(|last| IpAddr::from([127, 0, 0, last])));
    }
}
