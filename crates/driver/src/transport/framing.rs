//! How the end of a body is found (RFC 9112, section 6), and the fields of a head that say so.

use loadstone_record::Fault;

use super::failure::Failure;
use crate::inspect::Inspector;

/// How the end of a body is found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Framing {
    Length(u64),
    Chunked(Chunk),
    UntilClose,
}

/// Where in a chunked body a reader is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Chunk {
    /// In the size; true when it has a digit.
    Size(u64, bool),
    Extension(u64),
    Data(u64),
    DataEnd,
    /// In the trailer; true at the beginning of a line.
    Trailer(bool),
    Done,
}

/// The length that a field declares, also several times if it is the same (RFC 9110, section 8.6).
pub fn declared_length(value: &[u8]) -> Option<u64> {
    if let Some(length) = short_number(value) {
        return Some(length);
    }
    let mut lengths = value.split(|&byte| byte == b',').map(|part| {
        let part = part.trim_ascii();
        let is_number = part.iter().all(u8::is_ascii_digit);
        std::str::from_utf8(part).ok().filter(|_| is_number).and_then(|part| part.parse().ok())
    });
    let first = lengths.next()??;
    lengths.all(|length| length == Some(first)).then_some(first)
}

/// A number of digits alone that cannot overflow, as nearly all lengths are.
fn short_number(text: &[u8]) -> Option<u64> {
    let digits = (1..=18).contains(&text.len()) && text.iter().all(u8::is_ascii_digit);
    digits.then(|| text.iter().fold(0, |number, digit| 10 * number + u64::from(digit - b'0')))
}

/// Whether a list of tokens has this one.
pub fn contains_token(value: &[u8], token: &[u8]) -> bool {
    value.split(|&byte| byte == b',').any(|part| part.trim_ascii().eq_ignore_ascii_case(token))
}

/// One step of the chunked coding (RFC 9112, section 7.1); returns what is left of `data`.
pub fn step<'a>(chunk: &mut Chunk, data: &'a [u8], inspector: &mut Inspector) -> Result<&'a [u8], Failure> {
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
