//! Requests to a network block device, one at a time (the transmission phase of doc/proto.md of NetworkBlockDevice/nbd).
//!
//! The library that shakes hands has a loop for this too, which takes a write in the pieces that its line brings and
//! ends the line where a disk fails; a request is held, told of and refused as a whole here.

use std::io::{self, Read, Write};

/// Begins a request.
const REQUEST: u32 = 0x2560_9513;
/// Begins an answer.
const ANSWER: u32 = 0x6744_6698;
/// The longest a client may ask for whom nothing else was told ("maximum block size").
pub const LONGEST: u32 = 32 << 20;
const HEADER: usize = 28;
const READ: u16 = 0;
const WRITE: u16 = 1;
const DISCONNECT: u16 = 2;
const FLUSH: u16 = 3;
/// EIO, EINVAL and ENOSPC, as the protocol numbers them.
const FAILED: u32 = 5;
const INVALID: u32 = 22;
const FULL: u32 = 28;

/// What is asked of a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// So many bytes.
    Read(u32),
    Write(Vec<u8>),
    Flush,
    /// What was not offered.
    Other,
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    handle: [u8; 8],
    pub at: u64,
    pub ask: Ask,
}

impl Request {
    #[cfg(test)]
    pub fn new(at: u64, ask: Ask) -> Request {
        Request { handle: [0; 8], at, ask }
    }

    /// Does it to bytes in memory.
    #[cfg(test)]
    pub fn done_to(&self, disk: &mut [u8]) -> Vec<u8> {
        let place = &mut disk[self.at as usize..(self.at + self.length()) as usize];
        match &self.ask {
            Ask::Write(bytes) => place.copy_from_slice(bytes),
            _ => return place.to_vec(),
        }
        Vec::new()
    }

    /// Bytes that are read or written.
    pub fn length(&self) -> u64 {
        match &self.ask {
            Ask::Read(length) => u64::from(*length),
            Ask::Write(bytes) => bytes.len() as u64,
            Ask::Flush | Ask::Other => 0,
        }
    }

    /// Whether a disk of so many bytes can do it.
    pub fn is_for(&self, disk: u64) -> bool {
        self.ask != Ask::Other && self.at.checked_add(self.length()).is_some_and(|end| end <= disk)
    }
}

/// The next request; none when the client goes.
pub fn next(line: &mut impl Read) -> io::Result<Option<Request>> {
    let mut head = [0; HEADER];
    line.read_exact(&mut head)?;
    if number(&head[..4]) != u64::from(REQUEST) {
        return Err(invalid("this is not a disk request"));
    }
    let (kind, at) = (number(&head[6..8]) as u16, number(&head[16..24]));
    let length = number(&head[24..]) as u32;
    let mut handle = [0; 8];
    handle.copy_from_slice(&head[8..16]);
    if length > LONGEST && matches!(kind, READ | WRITE) {
        return Err(invalid(&format!("{length} bytes are asked for at once")));
    }
    let ask = match kind {
        READ => Ask::Read(length),
        WRITE => Ask::Write(body(line, length)?),
        FLUSH => Ask::Flush,
        DISCONNECT => return Ok(None),
        _ => Ask::Other,
    };
    Ok(Some(Request { handle, at, ask }))
}

/// Answers a request with what was read, or why it was not done.
pub fn answer(line: &mut impl Write, request: &Request, done: &io::Result<Vec<u8>>) -> io::Result<()> {
    let error = done.as_ref().err().map_or(0, number_of);
    line.write_all(&ANSWER.to_be_bytes())?;
    line.write_all(&error.to_be_bytes())?;
    line.write_all(&request.handle)?;
    line.write_all(done.as_deref().unwrap_or_default())?;
    line.flush()
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn body(line: &mut impl Read, length: u32) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length as usize];
    line.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn number_of(error: &io::Error) -> u32 {
    match error.kind() {
        io::ErrorKind::StorageFull => FULL,
        io::ErrorKind::InvalidInput => INVALID,
        _ => FAILED,
    }
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
