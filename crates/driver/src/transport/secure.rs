//! A TLS connection that holds no buffers while it waits: what comes in is decrypted in memory that all connections of a
//! thread share, what goes out is written at once. The protocol itself is `rustls`', through its unbuffered interface.

use std::cell::RefCell;
use std::io::{Error, ErrorKind, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{ready, Context, Poll};

use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::pki_types::ServerName;
use rustls::unbuffered::{ConnectionState, EncodeError, UnbufferedStatus};
use rustls::{ClientConfig, HandshakeKind};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;

/// Longest record with its head (RFC 8446, section 5.2).
const RECORD_BYTES: usize = 5 + 16 * 1024 + 256;
/// Read size at most, and at least.
const MOST_READ: usize = 128 * 1024;
const LEAST_READ: usize = 8 * 1024;
/// Bytes encrypted at once; with what encryption adds they fit into the shared memory.
const MOST_WRITTEN: usize = 64 * 1024;
/// Most bytes of a server's handshake.
const MOST_HANDSHAKE_BYTES: usize = 128 * 1024;

thread_local! {
    /// Encrypted bytes, used between two waits.
    static ENCRYPTED: RefCell<Vec<u8>> = RefCell::new(vec![0; RECORD_BYTES + MOST_READ]);
}

/// An established connection.
pub struct Secure {
    tcp: TcpStream,
    session: UnbufferedClientConnection,
    /// The beginning of a record whose rest has not come.
    partial: Vec<u8>,
    /// Decrypted, but not yet asked for.
    plain: Vec<u8>,
    /// Encrypted, but not yet taken by the kernel.
    outgoing: Vec<u8>,
    closed: bool,
}

/// What records amounted to.
#[derive(Default)]
struct Processed {
    used: usize,
    closed: bool,
    handshaken: bool,
}

impl Secure {
    /// Makes the handshake; errors of the protocol are of kind `InvalidData`.
    pub async fn connect(tcp: TcpStream, name: ServerName<'static>, config: Arc<ClientConfig>) -> Result<Self> {
        let session = UnbufferedClientConnection::new(config, name).map_err(wrong)?;
        let (partial, plain, outgoing) = Default::default();
        let mut secure = Secure { tcp, session, partial, plain, outgoing, closed: false };
        let mut incoming = Vec::new();
        loop {
            let Secure { session, plain, outgoing, .. } = &mut secure;
            let processed = process(session, &mut incoming, outgoing, &mut |record| plain.extend_from_slice(record))?;
            incoming.drain(..processed.used);
            secure.tcp.write_all(&std::mem::take(&mut secure.outgoing)).await?;
            if processed.handshaken {
                secure.partial = incoming;
                return Ok(secure);
            }
            if processed.closed || incoming.len() > MOST_HANDSHAKE_BYTES {
                return Err(Error::new(ErrorKind::InvalidData, "the server does not finish the handshake"));
            }
            incoming.reserve(LEAST_READ);
            if secure.tcp.read_buf(&mut incoming).await? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// Whether the handshake resumed an earlier session.
    pub fn is_resumed(&self) -> bool {
        self.session.handshake_kind() == Some(HandshakeKind::Resumed)
    }

    /// The protocol agreed upon, where one was offered.
    pub fn protocol(&self) -> Option<&[u8]> {
        self.session.alpn_protocol()
    }

    /// Decrypts what there is into `room`; how many bytes, none when the other side has closed.
    pub fn poll_piece(&mut self, context: &mut Context<'_>, room: &mut [u8]) -> Poll<Result<usize>> {
        loop {
            if !self.plain.is_empty() {
                let count = room.len().min(self.plain.len());
                room[..count].copy_from_slice(&self.plain[..count]);
                self.plain.drain(..count);
                return Poll::Ready(Ok(count));
            }
            if self.closed {
                return Poll::Ready(Ok(0));
            }
            let filled = ENCRYPTED.with_borrow_mut(|encrypted| self.poll_records(context, encrypted, room));
            let filled = ready!(filled)?;
            if filled > 0 {
                return Poll::Ready(Ok(filled));
            }
        }
    }

    /// Reads once and decrypts all whole records; what does not fit into `room` is kept.
    fn poll_records(
        &mut self,
        context: &mut Context<'_>,
        encrypted: &mut [u8],
        room: &mut [u8],
    ) -> Poll<Result<usize>> {
        let begun = self.partial.len();
        if begun > encrypted.len() - LEAST_READ {
            return Poll::Ready(Err(Error::new(ErrorKind::InvalidData, "the TLS record is too long")));
        }
        let most = (room.len() + 512).clamp(LEAST_READ, encrypted.len() - begun);
        let mut space = ReadBuf::new(&mut encrypted[begun..begun + most]);
        ready!(Pin::new(&mut self.tcp).poll_read(context, &mut space))?;
        let count = space.filled().len();
        if count == 0 {
            return Poll::Ready(Err(ErrorKind::UnexpectedEof.into()));
        }
        encrypted[..begun].copy_from_slice(&self.partial);
        let incoming = &mut encrypted[..begun + count];
        let mut filled = 0;
        let Secure { session, plain, outgoing, .. } = self;
        let processed = process(session, incoming, outgoing, &mut |record| {
            let fits = if plain.is_empty() { record.len().min(room.len() - filled) } else { 0 };
            room[filled..filled + fits].copy_from_slice(&record[..fits]);
            filled += fits;
            plain.extend_from_slice(&record[fits..]);
        })?;
        self.closed |= processed.closed;
        self.partial.clear();
        self.partial.extend_from_slice(&encrypted[processed.used..begun + count]);
        if !self.outgoing.is_empty() {
            let _ = self.poll_send(context)?; // answers to the server's own messages; the rest goes with the next write
        }
        Poll::Ready(Ok(filled))
    }

    /// Gives back memory that a pause does not need.
    pub fn rest(&mut self) {
        for held in [&mut self.partial, &mut self.plain, &mut self.outgoing] {
            held.shrink_to_fit();
        }
    }

    /// Hands the kernel what it has not taken yet.
    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        while !self.outgoing.is_empty() {
            let count = ready!(Pin::new(&mut self.tcp).poll_write(context, &self.outgoing))?;
            if count == 0 {
                return Poll::Ready(Err(ErrorKind::WriteZero.into()));
            }
            self.outgoing.drain(..count);
        }
        Poll::Ready(Ok(()))
    }

    /// Encrypts `data` into `room`; returns how many bytes that made.
    fn encrypt(&mut self, data: &[u8], room: &mut [u8]) -> Result<usize> {
        let UnbufferedStatus { state, .. } = self.session.process_tls_records(&mut []);
        match state.map_err(wrong)? {
            ConnectionState::WriteTraffic(mut traffic) => {
                traffic.encrypt(data, room).map_err(|error| Error::new(ErrorKind::InvalidData, error.to_string()))
            }
            _ => Err(Error::new(ErrorKind::BrokenPipe, "the connection takes no more data")),
        }
    }
}

impl AsyncRead for Secure {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, space: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        let count = ready!(self.poll_piece(context, space.initialize_unfilled()))?;
        space.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Secure {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, data: &[u8]) -> Poll<Result<usize>> {
        ready!(self.poll_send(context))?;
        let data = &data[..data.len().min(MOST_WRITTEN)];
        ENCRYPTED.with_borrow_mut(|encrypted| {
            let length = self.encrypt(data, encrypted)?;
            // What is encrypted counts as written: what the kernel does not take now goes before anything else.
            let taken = match Pin::new(&mut self.tcp).poll_write(context, &encrypted[..length]) {
                Poll::Ready(taken) => taken?,
                Poll::Pending => 0,
            };
            self.outgoing.extend_from_slice(&encrypted[taken..length]);
            Poll::Ready(Ok(data.len()))
        })
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        self.poll_send(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        ready!(self.poll_send(context))?;
        Pin::new(&mut self.tcp).poll_shutdown(context)
    }
}

/// Goes through `incoming` until more is needed: application data to `sink`, what must be sent behind `outgoing`.
fn process(
    session: &mut UnbufferedClientConnection,
    incoming: &mut [u8],
    outgoing: &mut Vec<u8>,
    sink: &mut dyn FnMut(&[u8]),
) -> Result<Processed> {
    let mut done = Processed::default();
    loop {
        let UnbufferedStatus { mut discard, state, .. } = session.process_tls_records(&mut incoming[done.used..]);
        let goes_on = step(state.map_err(wrong)?, &mut discard, &mut done, outgoing, sink)?;
        done.used += discard;
        if !goes_on {
            return Ok(done);
        }
    }
}

/// One state of the protocol; false when it needs more data or has nothing more to do.
fn step(
    state: ConnectionState<'_, '_, ClientConnectionData>,
    discard: &mut usize,
    done: &mut Processed,
    outgoing: &mut Vec<u8>,
    sink: &mut dyn FnMut(&[u8]),
) -> Result<bool> {
    match state {
        ConnectionState::ReadTraffic(mut traffic) => {
            while let Some(record) = traffic.next_record() {
                let record = record.map_err(wrong)?;
                *discard += record.discard;
                sink(record.payload);
            }
            return Ok(true);
        }
        ConnectionState::EncodeTlsData(mut data) => {
            let from = outgoing.len();
            let mut room = 2048;
            loop {
                outgoing.resize(from + room, 0);
                match data.encode(&mut outgoing[from..]) {
                    Ok(used) => {
                        outgoing.truncate(from + used);
                        return Ok(true);
                    }
                    Err(EncodeError::InsufficientSize(wanted)) => room = wanted.required_size,
                    Err(error) => return Err(Error::new(ErrorKind::InvalidData, error.to_string())),
                }
            }
        }
        ConnectionState::TransmitTlsData(data) => {
            data.done(); // it is sent before anything else is
            return Ok(true);
        }
        ConnectionState::PeerClosed => {
            done.closed = true;
            return Ok(true);
        }
        ConnectionState::WriteTraffic(_) => done.handshaken = true,
        ConnectionState::Closed => done.closed = true,
        _ => {} // needs more data
    }
    Ok(false)
}

fn wrong(error: rustls::Error) -> Error {
    Error::new(ErrorKind::InvalidData, error)
}
