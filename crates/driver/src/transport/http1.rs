//! HTTP/1.1: one request, one answer, read at the speed of the user's line.
//!
//! The answer's head is parsed by `httparse`; the body streams through an inspector and is never collected.

use std::pin::Pin;
use std::task::Poll;

use loadstone_record::Fault;
use loadstone_schedule::line::Line;
use tokio::io::{AsyncRead, AsyncWriteExt, ReadBuf};

use super::stream::Stream;
use super::Failure;
use crate::clock::Clock;
use crate::cookies::Jar;
use crate::inspect::Inspector;
use crate::timer::Timer;

/// Longest head of an answer the driver accepts.
pub const MOST_HEAD_BYTES: usize = 64 * 1024;
/// Most header fields of an answer.
const MOST_FIELDS: usize = 100;
/// Read size on a line of limited speed: small enough that the server feels the line.
const LIMITED_READ: usize = 16 * 1024;
/// Read size without a limit.
pub const BUFFER_BYTES: usize = 64 * 1024;

/// The parts of an answer a user reacts to. Times on the run's clock.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    pub status: u16,
    /// Bytes received, head included.
    pub bytes: u64,
    pub first_byte_ns: u64,
    pub end_ns: u64,
    pub keep_alive: bool,
    pub location: Option<String>,
    pub last_modified: Option<String>,
}

/// What an exchange needs beside the stream.
pub struct Ways<'a> {
    pub clock: Clock,
    pub timer: &'a Timer,
    pub line: &'a mut Line,
    pub buffer: &'a mut Vec<u8>,
    pub inspector: &'a mut Inspector,
    pub jar: &'a mut Jar,
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
    Size(u64, bool),
    Extension(u64),
    Data(u64),
    DataEnd,
    /// In the trailer; true at the beginning of a line.
    Trailer(bool),
    Done,
}

struct Head {
    length: usize,
    answer: Answer,
    framing: Framing,
}

/// Sends `request` and reads the answer to its end; `bodiless` for HEAD.
pub async fn exchange(
    stream: &mut Stream,
    ways: &mut Ways<'_>,
    request: &[u8],
    bodiless: bool,
) -> Result<Answer, Failure> {
    stream.write_all(request).await.map_err(|error| Failure::from_io(&error))?;
    stream.flush().await.map_err(|error| Failure::from_io(&error))?;
    read_answer(stream, ways, bodiless).await
}

async fn read_answer(stream: &mut Stream, ways: &mut Ways<'_>, bodiless: bool) -> Result<Answer, Failure> {
    let mut received = 0u64;
    ways.buffer.clear();
    let mut first_byte_ns = None;
    let head = loop {
        let before = ways.buffer.len();
        let count = read(stream, ways, before, first_byte_ns.is_none()).await?;
        first_byte_ns.get_or_insert_with(|| ways.clock.now());
        received += count as u64;
        if count == 0 {
            return Err(Failure::new(Fault::ClosedEarly, "closed before the head of the answer was complete"));
        }
        let mut head = parse_head(ways.buffer, ways.jar, bodiless)?;
        while let Some(interim) = head.take_if(|head| matches!(head.answer.status, 100..=199)) {
            ways.buffer.drain(..interim.length); // an interim answer (RFC 9110, section 15.2); the final one follows
            head = parse_head(ways.buffer, ways.jar, bodiless)?;
        }
        if let Some(head) = head {
            break head;
        }
        if ways.buffer.len() >= MOST_HEAD_BYTES {
            return Err(Failure::new(Fault::HeadTooLarge, format!("head of over {MOST_HEAD_BYTES} bytes")));
        }
    };
    let mut framing = head.framing;
    let mut complete = feed(&mut framing, &ways.buffer[head.length..], ways.inspector)?;
    while !complete {
        ways.buffer.clear();
        let count = read(stream, ways, 0, false).await?;
        received += count as u64;
        complete = match count {
            0 if framing == Framing::UntilClose => true,
            0 => return Err(Failure::new(Fault::ClosedEarly, "closed before the body was complete")),
            _ => feed(&mut framing, ways.buffer, ways.inspector)?,
        };
    }
    let end_ns = match ways.line.is_limited() {
        true => ways.line.free_at(),
        false => ways.clock.now(),
    };
    if ways.line.is_limited() {
        ways.timer.sleep_until(end_ns).await;
    }
    let keep_alive = head.answer.keep_alive && framing != Framing::UntilClose;
    let first_byte_ns = first_byte_ns.unwrap_or(end_ns);
    Ok(Answer { bytes: received, first_byte_ns, end_ns, keep_alive, ..head.answer })
}

/// Reads the next piece behind `at` in the buffer, when the line has delivered what came before.
async fn read(stream: &mut Stream, ways: &mut Ways<'_>, at: usize, first: bool) -> Result<usize, Failure> {
    let limited = ways.line.is_limited();
    if limited && !first {
        ways.timer.sleep_until(ways.line.free_at()).await;
    }
    let most = if limited { LIMITED_READ } else { BUFFER_BYTES };
    ways.buffer.resize(at + most, 0);
    let mut waited = false;
    let buffer = &mut ways.buffer[at..];
    let read = std::future::poll_fn(|context| {
        let mut space = ReadBuf::new(buffer);
        match Pin::new(&mut *stream).poll_read(context, &mut space) {
            Poll::Pending => {
                waited = true;
                Poll::Pending
            }
            Poll::Ready(Ok(())) => Poll::Ready(Ok(space.filled().len())),
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
        }
    });
    let count = read.await.map_err(|error| Failure::from_io(&error))?;
    ways.buffer.truncate(at + count);
    if limited {
        // What needed no waiting had been in the buffer while the line was busy.
        let arrived = if waited || first { ways.clock.now() } else { ways.line.free_at() };
        ways.line.deliver(arrived, count);
    }
    Ok(count)
}

fn parse_head(data: &[u8], jar: &mut Jar, bodiless: bool) -> Result<Option<Head>, Failure> {
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut response = httparse::Response::new(&mut fields);
    let status = response.parse(data).map_err(|error| Failure::new(Fault::Malformed, error.to_string()))?;
    let httparse::Status::Complete(length) = status else {
        return Ok(None);
    };
    let status = response.code.unwrap_or(0);
    let mut answer = Answer { status, keep_alive: response.version == Some(1), ..Answer::default() };
    let mut framing = Framing::UntilClose;
    for field in response.headers.iter() {
        read_field(field, &mut answer, &mut framing, jar)?;
    }
    if bodiless || matches!(status, 100..=199 | 204 | 304) {
        framing = Framing::Length(0);
    }
    Ok(Some(Head { length, answer, framing }))
}

fn read_field(
    field: &httparse::Header<'_>,
    answer: &mut Answer,
    framing: &mut Framing,
    jar: &mut Jar,
) -> Result<(), Failure> {
    let text = || String::from_utf8_lossy(field.value).into_owned();
    let is = |name: &str| field.name.eq_ignore_ascii_case(name);
    if is("content-length") {
        let length = std::str::from_utf8(field.value).ok().and_then(|value| value.trim().parse().ok());
        let length = length.ok_or_else(|| Failure::new(Fault::Malformed, format!("content-length `{}`", text())))?;
        if *framing == Framing::UntilClose {
            *framing = Framing::Length(length);
        }
    } else if is("transfer-encoding") {
        *framing = Framing::Chunked(Chunk::Size(0, false));
    } else if is("connection") {
        answer.keep_alive = match answer.keep_alive {
            true => !contains_token(field.value, b"close"),
            false => contains_token(field.value, b"keep-alive"),
        };
    } else if is("location") {
        answer.location = Some(text());
    } else if is("last-modified") {
        answer.last_modified = Some(text());
    } else if is("set-cookie") {
        jar.take(&text());
    }
    Ok(())
}

fn contains_token(value: &[u8], token: &[u8]) -> bool {
    value.split(|&byte| byte == b',').any(|part| part.trim_ascii().eq_ignore_ascii_case(token))
}

/// Passes body bytes on to the inspector; true when the body is complete.
fn feed(framing: &mut Framing, data: &[u8], inspector: &mut Inspector) -> Result<bool, Failure> {
    match framing {
        Framing::UntilClose => {
            inspector.take(data);
            Ok(false)
        }
        Framing::Length(left) => {
            if data.len() as u64 > *left {
                return Err(Failure::new(Fault::Malformed, "bytes behind the end of the body"));
            }
            inspector.take(data);
            *left -= data.len() as u64;
            Ok(*left == 0)
        }
        Framing::Chunked(chunk) => {
            let mut rest = data;
            while !rest.is_empty() && *chunk != Chunk::Done {
                rest = step(chunk, rest, inspector)?;
            }
            match rest.is_empty() {
                true => Ok(*chunk == Chunk::Done),
                false => Err(Failure::new(Fault::Malformed, "bytes behind the last chunk")),
            }
        }
    }
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

    fn fed(data: &[u8], piece: usize) -> Result<(bool, Vec<u8>), Fault> {
        let mut inspector = Inspector::new();
        inspector.reset(0, 1000);
        let mut framing = Framing::Chunked(Chunk::Size(0, false));
        let mut complete = false;
        for piece in data.chunks(piece) {
            complete = feed(&mut framing, piece, &mut inspector).map_err(|failure| failure.fault)?;
        }
        Ok((complete, inspector.head))
    }

    #[test]
    fn chunks_are_joined_however_they_are_cut() {
        let data = b"4\r\nWiki\r\n6;x=y\r\npedia \r\nE\r\nin \r\n\r\nchunks.\r\n0\r\nTrailer: 1\r\n\r\n";
        for piece in [1, 2, 3, 10, 100] {
            assert_eq!(fed(data, piece), Ok((true, b"Wikipedia in \r\n\r\nchunks.".to_vec())));
        }
    }

    #[test]
    fn broken_chunks_are_refused() {
        for data in ["x\r\n", "\r\n", "1\r\nab", "ffffffffffffffffff\r\n", "0\r\n\r\nmore"] {
            assert_eq!(fed(data.as_bytes(), 100), Err(Fault::Malformed), "{data:?}");
        }
    }

    #[test]
    fn heads_say_how_the_body_ends() {
        let parse =
            |text: &str| parse_head(text.as_bytes(), &mut Jar::default(), false).expect("valid").expect("whole");
        assert_eq!(parse("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n").framing, Framing::Length(5));
        assert_eq!(parse("HTTP/1.1 304 Not Modified\r\n\r\n").framing, Framing::Length(0));
        assert_eq!(parse("HTTP/1.1 200 OK\r\n\r\n").framing, Framing::UntilClose);
        assert!(!parse("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n").answer.keep_alive);
        assert!(!parse("HTTP/1.0 200 OK\r\n\r\n").answer.keep_alive);
    }
}
