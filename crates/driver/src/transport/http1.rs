//! HTTP/1.1: one request, one answer, read at the speed of the user's line.
//!
//! `Reader` is the whole of the parsing and does no reading of its own: bytes go in as they come. The head is parsed
//! by `httparse`; the body streams through an inspector and is never collected. What is read stands in a buffer that
//! all connections of a thread share, so that a waiting connection holds none.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{ready, Context, Poll};

use loadstone_record::Fault;
use tokio::io::AsyncWrite;

use super::stream::Stream;
use super::{Answer, Body, ExchangeContext, Failure, Message};
use crate::client::cookies::{Jar, Origin};
use crate::coding::Codings;
use crate::inspect::{charset_of, Inspector};

/// Longest head of an answer the driver accepts.
pub const MOST_HEAD_BYTES: usize = 256 * 1024;
/// Header fields of nearly all heads; what has more is read with memory of its own.
pub const MOST_FIELDS: usize = 128;
/// Most header fields of an answer: more do not fit into the longest head.
const MOST_FIELDS_EVER: usize = MOST_HEAD_BYTES / 4;
/// From how many bytes left of a body nobody looks at the kernel is asked to throw them away.
const WORTH_DISCARDING: u64 = 64 * 1024;

/// Bytes that are worth waking up for while a body is thrown away.
const LOW_WATER: u64 = 1 << 20;

/// What is still to be sent of a message. An answer may begin, and end, before all of it is sent (RFC 9112, section 9.5).
struct Unsent<'a> {
    rest: &'a [u8],
    is_flushed: bool,
    /// Why no more could be sent. Only an answer tells whether that matters.
    failure: Option<Failure>,
}

impl<'a> Unsent<'a> {
    fn new(message: &'a [u8], stream: &Stream) -> Self {
        Unsent { rest: message, is_flushed: !stream.is_buffered(), failure: None }
    }

    /// Whether the connection is to take no more.
    fn is_over(&self) -> bool {
        self.rest.is_empty() && self.is_flushed
    }

    /// Sends as much as the connection takes now.
    fn poll(&mut self, task: &mut Context<'_>, stream: &mut Stream) {
        while !self.is_over() {
            let sent = match self.rest {
                [] => Pin::new(&mut *stream).poll_flush(task).map_ok(|()| None),
                rest => Pin::new(&mut *stream).poll_write(task, rest).map_ok(Some),
            };
            match sent {
                Poll::Pending => return,
                Poll::Ready(Ok(Some(count @ 1..))) => self.rest = &self.rest[count..],
                Poll::Ready(Ok(None)) => self.is_flushed = true,
                Poll::Ready(Ok(Some(0))) => self.give_up(&std::io::ErrorKind::WriteZero.into()),
                Poll::Ready(Err(error)) => self.give_up(&error),
            }
        }
    }

    fn give_up(&mut self, error: &std::io::Error) {
        (self.rest, self.is_flushed, self.failure) = (&[], true, Some(Failure::from_io(error)));
    }
}

/// Sends a message and reads its answer to the end.
pub async fn exchange(
    stream: &mut Stream,
    context: &mut ExchangeContext<'_>,
    message: &Message<'_>,
) -> Result<Answer, Failure> {
    context.reader.begin(message.body, message.wants_date);
    let mut unsent = Unsent::new(message.bytes, stream);
    let mut first_byte_ns = None;
    let mut end_ns = loop {
        let state = match read(stream, context, message, &mut unsent, first_byte_ns.is_none()).await {
            Err(failure) if context.reader.received == 0 => return Err(unsent.failure.take().unwrap_or(failure)),
            state => state?,
        };
        let now = context.clock.now();
        first_byte_ns.get_or_insert(now);
        if state == State::Complete {
            break now;
        }
    };
    context.reader.wake_at(1, stream);
    context.inspector.end().map_err(|why| Failure::new(Fault::Coding, why))?;
    if context.line.is_limited() {
        end_ns = context.line.free_at();
        context.timer.sleep_until(end_ns).await;
    }
    let reader = &context.reader;
    Ok(Answer {
        status: reader.status,
        bytes: reader.received,
        body_bytes: context.inspector.body_bytes(),
        first_byte_ns: first_byte_ns.unwrap_or(end_ns),
        end_ns,
        keep_alive: reader.keep_alive
            && reader.framing != Framing::UntilClose
            && unsent.is_over()
            && unsent.failure.is_none(),
    })
}

/// Takes the next piece when the line has delivered what came before.
async fn read(
    stream: &mut Stream,
    context: &mut ExchangeContext<'_>,
    message: &Message<'_>,
    unsent: &mut Unsent<'_>,
    first: bool,
) -> Result<State, Failure> {
    let limited = context.line.is_limited();
    if limited && !first {
        context.timer.sleep_until(context.line.free_at()).await;
    }
    let mut waited = false;
    std::future::poll_fn(|task| {
        unsent.poll(task, stream);
        let ExchangeContext { scratch, line, reader, inspector, jar, clock, .. } = context;
        let unseen = reader.unseen(inspector);
        let mut scratch = scratch.borrow_mut();
        let discards = unseen >= WORTH_DISCARDING && !limited && !stream.is_buffered();
        reader.wake_at(if discards { unseen.min(LOW_WATER) as u32 } else { 1 }, stream);
        let polled = match discards {
            true => stream.poll_discard(task, scratch.nowhere(unseen)).map_ok(Piece::Discarded),
            false => stream.poll_piece(task, scratch.room(limited)).map_ok(Piece::Read),
        };
        if polled.is_pending() {
            waited = true;
        }
        let piece = ready!(polled).map_err(|error| Failure::from_io(&error))?;
        if limited {
            // What needed no waiting had been in the buffer while the line was busy.
            let arrived = if waited || first { clock.now() } else { line.free_at() };
            line.deliver(arrived, piece.bytes());
        }
        Poll::Ready(match piece {
            Piece::Discarded(count) => reader.skip(count as u64, inspector),
            Piece::Read(count) => {
                let mut jar = jar.borrow_mut();
                let mut cookies = message.cookies(&mut jar);
                reader.take(scratch.read(count), inspector, &mut cookies)
            }
        })
    })
    .await
}

enum Piece {
    Read(usize),
    Discarded(usize),
}

impl Piece {
    fn bytes(&self) -> usize {
        let (Piece::Read(count) | Piece::Discarded(count)) = *self;
        count
    }
}

/// How far an answer has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum State {
    Unfinished,
    Complete,
}

/// How the end of a body is found.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Framing {
    Length(u64),
    Chunked(Chunk),
    UntilClose,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Chunk {
    /// In the size; true when it has a digit.
    Size(u64, bool),
    Extension(u64),
    Data(u64),
    DataEnd,
    /// In the trailer; true at the beginning of a line.
    Trailer(bool),
    Done,
}

/// Where cookies of an answer go, and the request that they answer.
pub struct Cookies<'a> {
    pub jar: &'a mut Jar,
    pub request: &'a [u8],
    pub is_secure: bool,
}

impl Cookies<'_> {
    fn take(&mut self, field: &str) {
        self.jar.take(field, &Origin::of(self.request, self.is_secure));
    }
}

/// Reads one answer from bytes as they come. Keeps its memory from answer to answer.
#[derive(Debug)]
pub struct Reader {
    pub status: u16,
    pub keep_alive: bool,
    /// Bytes received, head included.
    pub received: u64,
    pub location: Option<String>,
    /// Kept only where it was asked for.
    pub last_modified: Option<String>,
    /// How the body is coded.
    pub codings: Codings,
    /// Charset of the body, where the head names one.
    pub charset: Option<&'static encoding_rs::Encoding>,
    /// Whether it sets a cookie.
    pub sets_cookie: bool,
    /// Names of header fields that are kept, whatever they are; none where no others are.
    pub wanted: Option<Arc<[Box<str>]>>,
    /// Those that came: place among the wanted, and text.
    pub told: Vec<(usize, String)>,
    /// Whether the head is kept as it came, and that head.
    pub keeps_head: bool,
    pub head: Vec<u8>,
    framing: Framing,
    /// Whether the head names a length and chunks.
    is_framed_twice: bool,
    in_body: bool,
    body: Body,
    wants_date: bool,
    /// Bytes of trailer fields so far.
    trailer: usize,
    /// Bytes at which the kernel wakes the reader.
    low_water: u32,
    /// Of a head that came in pieces.
    partial: Vec<u8>,
}

impl Default for Reader {
    fn default() -> Self {
        Reader {
            status: 0,
            keep_alive: false,
            received: 0,
            location: None,
            last_modified: None,
            codings: Codings::default(),
            charset: None,
            sets_cookie: false,
            wanted: None,
            told: Vec::new(),
            keeps_head: false,
            head: Vec::new(),
            framing: Framing::UntilClose,
            is_framed_twice: false,
            in_body: false,
            body: Body::Expected,
            wants_date: false,
            trailer: 0,
            low_water: 1,
            partial: Vec::new(),
        }
    }
}

impl Reader {
    /// Starts over for the next answer; `body` says whether it may have one.
    pub fn begin(&mut self, body: Body, wants_date: bool) {
        let mut partial = std::mem::take(&mut self.partial);
        partial.clear();
        let (wanted, keeps_head) = (self.wanted.take(), self.keeps_head);
        *self = Reader { body, wants_date, partial, wanted, keeps_head, ..Reader::default() };
    }

    /// Bytes of the answer so far.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// The next bytes from the connection; none means that it was closed.
    pub fn take(
        &mut self,
        data: &[u8],
        inspector: &mut Inspector,
        cookies: &mut Cookies<'_>,
    ) -> Result<State, Failure> {
        self.received += data.len() as u64;
        if data.is_empty() {
            return self.closed();
        }
        if self.in_body {
            return self.feed(data, inspector);
        }
        if self.partial.is_empty() {
            let used = self.take_heads(data, cookies)?;
            if self.in_body {
                inspector.decode(self.body_codings());
                inspector.read_as(self.charset);
                return self.feed(&data[used..], inspector);
            }
            self.partial.extend_from_slice(&data[used..]);
        } else {
            let mut whole = std::mem::take(&mut self.partial);
            whole.extend_from_slice(data);
            let used = self.take_heads(&whole, cookies)?;
            if self.in_body {
                inspector.decode(self.body_codings());
                inspector.read_as(self.charset);
                return self.feed(&whole[used..], inspector);
            }
            whole.drain(..used);
            self.partial = whole;
        }
        if self.partial.len() >= MOST_HEAD_BYTES {
            return Err(Failure::new(Fault::HeadTooLarge, format!("head of over {MOST_HEAD_BYTES} bytes")));
        }
        Ok(State::Unfinished)
    }

    /// How the body is coded; none where there is none.
    pub fn body_codings(&self) -> Option<&Codings> {
        Some(&self.codings).filter(|_| self.framing != Framing::Length(0))
    }

    /// Sets from how many bytes on the kernel wakes the reader, where that changes. It may refuse: then it wakes earlier.
    fn wake_at(&mut self, bytes: u32, stream: &Stream) {
        if self.low_water != bytes {
            self.low_water = bytes;
            let _ = stream.set_low_water(bytes);
        }
    }

    /// Bytes of the body still to come that the inspector need not see.
    pub fn unseen(&self, inspector: &Inspector) -> u64 {
        match self.framing {
            Framing::Length(left) if self.in_body && inspector.is_blind() => left,
            _ => 0,
        }
    }

    /// Bytes of the body that came and were thrown away; none means that the connection was closed.
    fn skip(&mut self, count: u64, inspector: &mut Inspector) -> Result<State, Failure> {
        self.received += count;
        match &mut self.framing {
            Framing::Length(left) if count > 0 => {
                *left = left.saturating_sub(count);
                inspector.skip(count);
                Ok(if *left == 0 { State::Complete } else { State::Unfinished })
            }
            _ => self.closed(),
        }
    }

    fn closed(&self) -> Result<State, Failure> {
        match (self.in_body, self.framing) {
            (true, Framing::UntilClose) => Ok(State::Complete),
            (true, _) => Err(Failure::new(Fault::ClosedEarly, "closed before the body was complete")),
            (false, _) => Err(Failure::new(Fault::ClosedEarly, "closed before the head of the answer was complete")),
        }
    }

    /// Reads the heads in `data`; returns how much of it they take. Interim answers (RFC 9110, section 15.2) are passed
    /// over.
    fn take_heads(&mut self, data: &[u8], cookies: &mut Cookies<'_>) -> Result<usize, Failure> {
        let mut used = 0;
        while !self.in_body {
            match self.take_head(&data[used..], cookies)? {
                Some(length) => used += length,
                None => break,
            }
        }
        Ok(used)
    }

    fn take_head(&mut self, data: &[u8], cookies: &mut Cookies<'_>) -> Result<Option<usize>, Failure> {
        let mut fields = [const { std::mem::MaybeUninit::uninit() }; MOST_FIELDS];
        let mut response = httparse::Response::new(&mut []);
        let mut parsed = as_browsers_read().parse_response_with_uninit_headers(&mut response, data, &mut fields);
        let mut more = Vec::new();
        if parsed == Err(httparse::Error::TooManyHeaders) {
            more.resize_with(MOST_FIELDS_EVER, std::mem::MaybeUninit::uninit);
            response = httparse::Response::new(&mut []);
            parsed = as_browsers_read().parse_response_with_uninit_headers(&mut response, data, &mut more);
        }
        let status = parsed.map_err(|error| Failure::new(Fault::Malformed, error.to_string()))?;
        let httparse::Status::Complete(length) = status else {
            return Ok(None);
        };
        self.status = response.code.unwrap_or(0);
        if matches!(self.status, 100..=199) {
            return Ok(Some(length));
        }
        if self.keeps_head {
            self.head = data[..length].to_vec();
        }
        self.keep_alive = response.version == Some(1);
        for field in response.headers.iter() {
            self.read_field(field, cookies)?;
        }
        self.keep_alive &= !self.is_framed_twice;
        if self.body == Body::Never || matches!(self.status, 204 | 304) {
            self.framing = Framing::Length(0);
        }
        self.in_body = true;
        Ok(Some(length))
    }

    fn read_field(&mut self, field: &httparse::Header<'_>, cookies: &mut Cookies<'_>) -> Result<(), Failure> {
        let text = || String::from_utf8_lossy(field.value).into_owned();
        let is = |name: &str| field.name.eq_ignore_ascii_case(name);
        match field.name.len() {
            14 if is("content-length") => {
                let malformed = || Failure::new(Fault::Malformed, format!("content-length `{}`", text()));
                let length = Framing::Length(declared_length(field.value).ok_or_else(malformed)?);
                match self.framing {
                    Framing::UntilClose => self.framing = length,
                    Framing::Length(_) if self.framing != length => {
                        return Err(Failure::new(Fault::Malformed, "two content-length fields that differ"));
                    }
                    Framing::Chunked(_) => self.is_framed_twice = true,
                    Framing::Length(_) => {}
                }
            }
            17 if is("transfer-encoding") && !is_identity(field.value) => {
                // Chunks overrule a length, and the connection is not used again (RFC 9112, section 6.3).
                self.is_framed_twice |= matches!(self.framing, Framing::Length(_));
                self.framing = Framing::Chunked(Chunk::Size(0, false));
            }
            10 if is("connection") => {
                self.keep_alive = match self.keep_alive {
                    true => !contains_token(field.value, b"close"),
                    false => contains_token(field.value, b"keep-alive"),
                };
            }
            _ => self.keep_field(field.name, field.value, cookies),
        }
        Ok(())
    }

    /// Keeps what a user needs of a field, whatever the version spoken.
    pub fn keep_field(&mut self, name: &str, value: &[u8], cookies: &mut Cookies<'_>) {
        let text = || String::from_utf8_lossy(value).into_owned();
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        match name.len() {
            8 if is("location") => self.location = Some(text()),
            13 if self.wants_date && is("last-modified") => self.last_modified = Some(text()),
            16 if is("content-encoding") => self.codings.add(value),
            10 if is("set-cookie") => {
                self.sets_cookie = true;
                cookies.take(&String::from_utf8_lossy(value));
            }
            12 if is("content-type") => self.charset = charset_of(value),
            _ => {}
        }
        if let Some(wanted) = &self.wanted {
            let places = wanted.iter().enumerate().filter(|(_, one)| is(one));
            self.told.extend(places.map(|(place, _)| (place, text())));
        }
    }

    /// Passes body bytes on to the inspector.
    fn feed(&mut self, data: &[u8], inspector: &mut Inspector) -> Result<State, Failure> {
        let complete = match &mut self.framing {
            Framing::UntilClose => {
                inspector.take(data);
                false
            }
            Framing::Length(left) => {
                let (data, behind) = data.split_at(data.len().min(usize::try_from(*left).unwrap_or(usize::MAX)));
                inspector.take(data);
                *left -= data.len() as u64;
                self.keep_alive &= behind.is_empty();
                if !is_line_end(behind) {
                    return Err(Failure::new(Fault::Malformed, "bytes behind the end of the body"));
                }
                *left == 0
            }
            Framing::Chunked(chunk) => {
                let mut rest = data;
                while !rest.is_empty() && *chunk != Chunk::Done {
                    let before = (*chunk, rest.len());
                    rest = step(chunk, rest, inspector)?;
                    let aside = matches!(before.0, Chunk::Trailer(_) | Chunk::Extension(_));
                    self.trailer += if aside { before.1 - rest.len() } else { 0 };
                }
                if self.trailer > MOST_HEAD_BYTES {
                    let detail = format!("trailer and chunk extensions of over {MOST_HEAD_BYTES} bytes");
                    return Err(Failure::new(Fault::HeadTooLarge, detail));
                }
                self.keep_alive &= rest.is_empty();
                if !is_line_end(rest) {
                    return Err(Failure::new(Fault::Malformed, "bytes behind the last chunk"));
                }
                *chunk == Chunk::Done
            }
        };
        Ok(if complete { State::Complete } else { State::Unfinished })
    }
}

/// Whether bytes are line ends alone, which old servers send behind a body: nobody takes them for an answer, but as in a
/// browser the connection is not used again.
fn is_line_end(behind: &[u8]) -> bool {
    behind.iter().all(|byte| matches!(byte, b'\r' | b'\n'))
}

/// Heads as servers write them and browsers read them: blanks before a colon, folded lines, lines without a colon.
fn as_browsers_read() -> httparse::ParserConfig {
    let mut config = httparse::ParserConfig::default();
    config
        .allow_spaces_after_header_name_in_responses(true)
        .allow_obsolete_multiline_headers_in_responses(true)
        .allow_multiple_spaces_in_response_status_delimiters(true)
        .allow_space_before_first_header_name(true)
        .ignore_invalid_headers_in_responses(true);
    config
}

/// The length that a field declares, also several times if it is the same (RFC 9110, section 8.6).
fn declared_length(value: &[u8]) -> Option<u64> {
    let mut lengths = value.split(|&byte| byte == b',').map(|part| {
        let part = part.trim_ascii();
        let is_number = part.iter().all(u8::is_ascii_digit);
        std::str::from_utf8(part).ok().filter(|_| is_number).and_then(|part| part.parse().ok())
    });
    let first = lengths.next()??;
    lengths.all(|length| length == Some(first)).then_some(first)
}

/// Whether a transfer coding changes nothing (RFC 2616, section 3.6).
fn is_identity(value: &[u8]) -> bool {
    value.split(|&byte| byte == b',').all(|part| matches!(part.trim_ascii(), b"") || is_named_identity(part))
}

fn is_named_identity(part: &[u8]) -> bool {
    part.trim_ascii().eq_ignore_ascii_case(b"identity")
}

fn contains_token(value: &[u8], token: &[u8]) -> bool {
    value.split(|&byte| byte == b',').any(|part| part.trim_ascii().eq_ignore_ascii_case(token))
}

/// One step of the chunked coding (RFC 9112, section 7.1); returns what is left of `data`.
fn step<'a>(chunk: &mut Chunk, data: &'a [u8], inspector: &mut Inspector) -> Result<&'a [u8], Failure> {
    let malformed = || Failure::new(Fault::Malformed, "broken chunk");
    let (byte, rest) = (data[0], &data[1..]);
    let after_size = |size| if size == 0 { Chunk::Trailer(true) } else { Chunk::Data(size) };
    *chunk = match *chunk {
        Chunk::Size(size, seen) => match (byte as char).to_digit(16) {
            Some(digit) if size < 1 << 50 => Chunk::Size(size * 16 + u64::from(digit), true),
            Some(_) => return Err(malformed()),
            None if !seen => return Err(malformed()),
            None if byte == b'\n' => after_size(size),
            None if matches!(byte, b'\r' | b';' | b' ' | b'\t') => Chunk::Extension(size),
            None => return Err(malformed()),
        },
        Chunk::Extension(size) if byte == b'\n' => after_size(size),
        Chunk::Extension(size) => Chunk::Extension(size),
        Chunk::Data(size) => {
            let piece = data.len().min(usize::try_from(size).unwrap_or(usize::MAX));
            inspector.take(&data[..piece]);
            let left = size - piece as u64;
            *chunk = if left == 0 { Chunk::DataEnd } else { Chunk::Data(left) };
            return Ok(&data[piece..]);
        }
        Chunk::DataEnd => match byte {
            b'\r' => Chunk::DataEnd,
            b'\n' => Chunk::Size(0, false),
            _ => return Err(malformed()),
        },
        Chunk::Trailer(line_start) => match byte {
            b'\r' => Chunk::Trailer(line_start),
            b'\n' if line_start => Chunk::Done,
            b'\n' => Chunk::Trailer(true),
            _ => Chunk::Trailer(false),
        },
        Chunk::Done => Chunk::Done,
    };
    Ok(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Takes an answer into a reader.
    fn taken(reader: &mut Reader, text: &str) -> Result<State, Failure> {
        let mut cookies = Cookies { jar: &mut Jar::default(), request: b"", is_secure: false };
        reader.take(text.as_bytes(), &mut Inspector::new(), &mut cookies)
    }

    /// What an answer amounts to when it comes in pieces: complete or not, status and body; or the fault.
    fn read(data: &[u8], piece: usize, closes: bool) -> Result<(State, u16, Vec<u8>), Fault> {
        let (mut reader, mut inspector, mut jar) = (Reader::default(), Inspector::new(), Jar::default());
        let mut cookies = Cookies { jar: &mut jar, request: b"", is_secure: false };
        inspector.reset(0, 1000);
        reader.begin(Body::Expected, true);
        let mut state = State::Unfinished;
        for piece in data.chunks(piece) {
            state = reader.take(piece, &mut inspector, &mut cookies).map_err(|failure| failure.fault)?;
        }
        if closes {
            state = reader.take(&[], &mut inspector, &mut cookies).map_err(|failure| failure.fault)?;
        }
        Ok((state, reader.status, inspector.head))
    }

    const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

    #[test]
    fn chunks_are_joined_however_they_are_cut() {
        let body = "4\r\nWiki\r\n6;x=y\r\npedia \r\nE\r\nin \r\n\r\nchunks.\r\n0\r\nTrailer: 1\r\n\r\n";
        let data = format!("{CHUNKED}{body}");
        for piece in [1, 2, 3, 10, 1000] {
            let expected = (State::Complete, 200, b"Wikipedia in \r\n\r\nchunks.".to_vec());
            assert_eq!(read(data.as_bytes(), piece, false), Ok(expected));
        }
    }

    #[test]
    fn broken_chunks_are_refused() {
        for body in ["x\r\n", "\r\n", "1\r\nab", "ffffffffffffffffff\r\n", "0\r\n\r\nmore"] {
            assert_eq!(read(format!("{CHUNKED}{body}").as_bytes(), 1000, false), Err(Fault::Malformed), "{body:?}");
        }
    }

    #[test]
    fn line_ends_behind_a_body_end_its_connection_and_are_no_fault() {
        let chunked = format!("{CHUNKED}2\r\nab\r\n0\r\n\r\n\n");
        for text in ["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab\r\n", &chunked] {
            let (mut reader, mut inspector, mut jar) = (Reader::default(), Inspector::new(), Jar::default());
            let mut cookies = Cookies { jar: &mut jar, request: b"", is_secure: false };
            inspector.reset(0, 1000);
            reader.begin(Body::Expected, true);
            let state = reader.take(text.as_bytes(), &mut inspector, &mut cookies).expect("no fault");
            assert_eq!(
                (state, reader.keep_alive, inspector.head.as_slice()),
                (State::Complete, false, b"ab".as_slice())
            );
        }
        let more = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab\r\nx";
        assert_eq!(read(more.as_bytes(), 1000, false), Err(Fault::Malformed));
    }

    #[test]
    fn heads_say_how_the_body_ends() {
        let state = |text: &str, closes| read(text.as_bytes(), 7, closes).map(|read| read.0);
        assert_eq!(state("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", false), Ok(State::Complete));
        assert_eq!(state("HTTP/1.1 304 Not Modified\r\n\r\n", false), Ok(State::Complete));
        assert_eq!(
            state("HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 204 No\r\n\r\n", false),
            Ok(State::Complete)
        );
        assert_eq!(state("HTTP/1.1 200 OK\r\n\r\nab", false), Ok(State::Unfinished));
        assert_eq!(state("HTTP/1.1 200 OK\r\n\r\nab", true), Ok(State::Complete));
        assert_eq!(state("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", true), Err(Fault::ClosedEarly));
        assert_eq!(state("HTTP/1.1 200 OK\r\nContent-", true), Err(Fault::ClosedEarly));
        let twice = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n";
        assert_eq!(state(twice, false), Err(Fault::Malformed));
    }

    #[test]
    fn heads_are_read_as_browsers_read_them() {
        let chunked = "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n";
        let many: String = (0..3000).map(|number| format!("X-{number}: y\r\n")).collect();
        for rest in [
            "Server : old\r\nContent-Length: 2\r\n\r\nab",
            "Content-Length : 2\r\n\r\nab",
            "X-Long: one,\r\n two\r\n\tthree\r\nContent-Length: 2\r\n\r\nab",
            " X-First: a\r\nContent-Length: 2\r\n\r\nab",
            "Content-Length: 2, 2\r\n\r\nab",
            "Content-Length: 2\r\nContent-Length: 2\r\n\r\nab",
            "Transfer-Encoding: identity\r\nContent-Length: 2\r\n\r\nab",
            "this is no field\r\nContent-Length: 2\r\n\r\nab",
            "X-Control: \u{1}\r\nContent-Length: 2\r\n\r\nab",
            &format!("{many}Content-Length: 2\r\n\r\nab"),
            &format!("X-Large: {}\r\nContent-Length: 2\r\n\r\nab", "y".repeat(100_000)),
            &format!("Transfer-Encoding: identity\r\n{chunked}"),
            &format!("Content-Length: 99\r\n{chunked}"),
            &format!("Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n{}", &chunked[30..]),
        ] {
            for piece in [7, usize::MAX] {
                let data = format!("HTTP/1.1 200 OK\r\n{rest}");
                let expected = (State::Complete, 200, b"ab".to_vec());
                assert_eq!(read(data.as_bytes(), piece, false), Ok(expected), "{}", &rest[..60.min(rest.len())]);
            }
        }
        assert_eq!(read(b"HTTP/1.1  200  OK\r\nContent-Length: 0\r\n\r\n", 7, false).map(|read| read.1), Ok(200));
        for length in ["2, 3", "two", "-1", "+2", ","] {
            let text = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\nab");
            assert_eq!(read(text.as_bytes(), 7, false), Err(Fault::Malformed), "{length}");
        }
    }

    #[test]
    fn a_connection_on_which_an_answer_was_framed_twice_is_not_used_again() {
        let mut reader = Reader::default();
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
        assert_eq!(taken(&mut reader, text).expect("valid"), State::Complete);
        assert!(!reader.keep_alive);
    }

    #[test]
    fn heads_and_trailers_without_end_are_given_up() {
        let endless = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(MOST_HEAD_BYTES));
        assert_eq!(read(endless.as_bytes(), 4096, false), Err(Fault::HeadTooLarge));
        let endless = format!("{CHUNKED}1\r\na\r\n0\r\n{}", "a: b\r\n".repeat(MOST_HEAD_BYTES / 6 + 1));
        assert_eq!(read(endless.as_bytes(), 4096, false), Err(Fault::HeadTooLarge));
        let endless = format!("{CHUNKED}1;{}", "x".repeat(MOST_HEAD_BYTES + 1));
        assert_eq!(read(endless.as_bytes(), 4096, false), Err(Fault::HeadTooLarge));
    }

    #[test]
    fn a_connection_is_kept_when_both_sides_mean_it() {
        let keeps = |text: &str| {
            let mut reader = Reader::default();
            taken(&mut reader, text).map(|_| reader.keep_alive).expect("valid")
        };
        assert!(keeps("HTTP/1.1 204 No\r\n\r\n"));
        assert!(!keeps("HTTP/1.1 204 No\r\nConnection: close\r\n\r\n"));
        assert!(!keeps("HTTP/1.0 204 No\r\n\r\n"));
        assert!(keeps("HTTP/1.0 204 No\r\nConnection: Keep-Alive\r\n\r\n"));
    }

    #[test]
    fn wanted_fields_are_kept_from_answer_to_answer_and_no_others() {
        let mut reader = Reader { wanted: Some(Arc::from(["X-Token".into()])), ..Reader::default() };
        for told in ["a", "b"] {
            reader.begin(Body::Expected, false);
            let text = format!("HTTP/1.1 204 No\r\nx-token: {told}\r\nX-Other: c\r\n\r\n");
            taken(&mut reader, &text).expect("valid");
            assert_eq!(reader.told, [(0, told.to_owned())]);
        }
    }

    /// Answers as a confused server writes them: mostly right, somewhere wrong.
    fn confused() -> impl Strategy<Value = Vec<u8>> {
        let line = prop_oneof![
            Just("HTTP/1.1 200 OK\r\n".to_owned()),
            Just("HTTP/1.1 100 Continue\r\n\r\n".to_owned()),
            Just("Transfer-Encoding: chunked\r\n".to_owned()),
            (0..100u32).prop_map(|length| format!("Content-Length: {length}\r\n")),
            Just("Set-Cookie: a=b; Max-Age=0\r\n".to_owned()),
            Just("\r\n".to_owned()),
            (0..40usize).prop_map(|length| format!("{length:x}\r\n{}\r\n", "d".repeat(length))),
            Just("0\r\n\r\n".to_owned()),
            ".{0,40}",
        ];
        let lines = prop::collection::vec(line, 0..12).prop_map(|lines| lines.concat().into_bytes());
        (lines, prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4)).prop_map(
            |(mut data, changes)| {
                for (at, byte) in changes.into_iter().filter(|_| !data.is_empty()).collect::<Vec<_>>() {
                    let at = at.index(data.len());
                    data[at] = byte;
                }
                data
            },
        )
    }

    proptest! {
        #[test]
        fn an_answer_means_the_same_however_it_is_cut(data in confused(), piece in 1..20usize, closes: bool) {
            // A fault may be seen earlier in small pieces than an excess behind it in one, but it is a fault all the same.
            let (whole, cut) = (read(&data, usize::MAX, closes), read(&data, piece, closes));
            prop_assert_eq!(whole.is_ok(), cut.is_ok());
            if let (Ok(whole), Ok(cut)) = (whole, cut) {
                prop_assert_eq!(whole, cut);
            }
        }
    }
}
