//! The whole of the parsing of an answer in HTTP/1.1, and what of its fields a user needs, whatever the version spoken.
//!
//! It does no reading of its own: bytes go in as they come. The head is parsed by `httparse`; the body streams through an
//! inspector and is never collected.

use std::sync::Arc;

use loadstone_record::Fault;

use super::failure::Failure;
use super::framing::{contains_token, declared_length, step, Chunk, Framing};
use super::head::{as_browsers_read, is_line_end, mend_head};
use super::stream::Stream;
use crate::client::cookies::{Jar, Origin};
use crate::coding::Codings;
use crate::inspect::{charset_of, Inspector};

/// Longest head of an answer the driver accepts.
pub const MOST_HEAD_BYTES: usize = 256 * 1024;
/// The end of a chunked body (RFC 9112, section 7.1).
const NO_CHUNKS: &[u8] = b"0\r\n\r\n";
/// Header fields of nearly all heads; what has more is read with memory of its own.
pub const MOST_FIELDS: usize = 128;
/// Most header fields of an answer: more do not fit into the longest head.
const MOST_FIELDS_EVER: usize = MOST_HEAD_BYTES / 4;

/// Whether an answer may have a body.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Body {
    /// As its head says.
    #[default]
    Expected,
    /// None, whatever its head says (HEAD; RFC 9112, section 6.3).
    Never,
}

/// How far an answer has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum State {
    Unfinished,
    Complete,
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
    /// How the body was coded for its transfer, but for chunks (RFC 9112, section 6.1).
    transfer: Codings,
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
            transfer: Codings::default(),
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
        // Field by field: this is done for each answer, and most of them hold no memory.
        (self.body, self.wants_date) = (body, wants_date);
        (self.status, self.keep_alive, self.received) = (0, false, 0);
        (self.location, self.last_modified, self.charset, self.sets_cookie) = (None, None, None, false);
        self.codings.clear();
        self.transfer.clear();
        self.told.clear();
        self.head.clear();
        (self.framing, self.is_framed_twice, self.in_body) = (Framing::UntilClose, false, false);
        (self.trailer, self.low_water) = (0, 1);
        self.partial.clear();
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
            return Err(head_too_large());
        }
        Ok(State::Unfinished)
    }

    /// How the body is coded; none where there is none.
    pub fn body_codings(&self) -> Option<&Codings> {
        Some(&self.codings).filter(|_| self.framing != Framing::Length(0))
    }

    /// Whether the connection is good for another message: nothing ends it, nor does its end end the body.
    pub fn leaves_open(&self) -> bool {
        self.keep_alive && self.framing != Framing::UntilClose
    }

    /// Sets from how many bytes on the kernel wakes the reader, where that changes. It may refuse: then it wakes earlier.
    pub fn wake_at(&mut self, bytes: u32, stream: &Stream) {
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
    pub fn skip(&mut self, count: u64, inspector: &mut Inspector) -> Result<State, Failure> {
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

    /// Reads a head; what browsers read otherwise than the grammar is mended first.
    fn take_head(&mut self, data: &[u8], cookies: &mut Cookies<'_>) -> Result<Option<usize>, Failure> {
        self.parse_head(data, cookies).or_else(|failure| match mend_head(data) {
            Some(text) if failure.fault == Fault::Malformed => self.parse_head(&text, cookies),
            _ => Err(failure),
        })
    }

    fn parse_head(&mut self, data: &[u8], cookies: &mut Cookies<'_>) -> Result<Option<usize>, Failure> {
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
        if length > MOST_HEAD_BYTES {
            return Err(head_too_large());
        }
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
        self.codings.cover(&self.transfer);
        if self.body == Body::Never || matches!(self.status, 204 | 304) {
            // Servers that announce chunks behind a 204 may send their end, now or later (RFC 9110, section 15.3.5).
            self.keep_alive &= self.status != 204 || !matches!(self.framing, Framing::Chunked(_));
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
            17 if is("transfer-encoding") => {
                field.value.split(|&byte| byte == b',').for_each(|part| self.transfer(part))
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

    /// Takes in one transfer coding, with or without parameters.
    fn transfer(&mut self, coding: &[u8]) {
        let name = coding.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii();
        if !name.eq_ignore_ascii_case(b"chunked") {
            return self.transfer.add(name);
        }
        // Chunks overrule a length, and the connection is not used again (RFC 9112, section 6.3).
        self.is_framed_twice |= matches!(self.framing, Framing::Length(_));
        self.framing = Framing::Chunked(Chunk::Size(0, false));
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
                let is_end = is_line_end(behind) || (self.status == 204 && behind == NO_CHUNKS);
                if !is_end {
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

fn head_too_large() -> Failure {
    Failure::new(Fault::HeadTooLarge, format!("head of over {MOST_HEAD_BYTES} bytes"))
}

#[cfg(test)]
mod tests;
