//! Bodies that come compressed (RFC 9110, section 8.4.1), decoded while they stream, as every browser does whatever it
//! asked for. What comes out is bounded: a few kilobytes may stand for gigabytes.

use std::cell::RefCell;
use std::io;
use std::mem::{replace, take};

use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};
use flate2::{Decompress, FlushDecompress, Status};
use zstd::stream::raw::{DParameter, Decoder as Zstd, InBuffer, Operation, OutBuffer};

/// Longest body that is decoded.
pub const MOST_DECODED_BYTES: u64 = 64 << 20;
/// Bytes that are decoded at once.
const ROOM: usize = 16 * 1024;
/// Codings that a body may have one over the other.
const MOST_CODINGS: usize = 4;
/// Window of zstd beyond which no body need be decoded (RFC 9659, section 3): 8 MB.
const ZSTD_WINDOW_LOG: u32 = 23;
/// Window of gzip and deflate (RFC 1951): 32 KB.
const DEFLATE_WINDOW_LOG: u8 = 15;
/// The first byte of nearly all zlib streams (RFC 1950): compression method and window size.
const ZLIB_BEGINS: u8 = 0x78;

/// How a body is coded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

/// The codings of a body, in the order in which they were applied (RFC 9110, section 8.4).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Codings {
    applied: Vec<Coding>,
    /// Whether browsers do not know one of them, such as `aws-chunked` or `utf-8`: they take such a body as it is.
    has_unknown: bool,
}

impl Codings {
    /// None, as at first.
    pub fn clear(&mut self) {
        self.applied.clear();
        self.has_unknown = false;
    }

    /// Adds those that a field names.
    pub fn add(&mut self, value: &[u8]) {
        for name in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
            let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
            match () {
                () if is("") || is("identity") => {}
                () if is("gzip") || is("x-gzip") => self.applied.push(Coding::Gzip),
                () if is("deflate") => self.applied.push(Coding::Deflate),
                () if is("br") => self.applied.push(Coding::Brotli),
                () if is("zstd") => self.applied.push(Coding::Zstd),
                () => self.has_unknown = true,
            }
        }
    }

    /// Adds those of a transfer, which were applied last. Unknown ones are passed over.
    pub fn cover(&mut self, transfer: &Codings) {
        if transfer.applied.is_empty() || transfer.has_unknown {
            return;
        }
        if take(&mut self.has_unknown) {
            self.applied.clear();
        }
        self.applied.extend(&transfer.applied);
    }

    /// Decodes a body that has them; None where the body is taken as it is.
    pub fn decoder(&self) -> Option<Box<Decoder>> {
        let known = if self.has_unknown { &[] } else { self.applied.as_slice() };
        let mut decoder: Option<Box<Decoder>> = None;
        for &coding in known.iter().take(MOST_CODINGS) {
            let mut outer = Box::new(Decoder::new(coding));
            outer.inner = decoder;
            decoder = Some(outer);
        }
        if let (Some(outer), true) = (&mut decoder, known.len() > MOST_CODINGS) {
            outer.failed = Some(format!("it has more than {MOST_CODINGS} codings"));
        }
        decoder
    }
}

type Brotli = BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>;

enum Machine {
    Inflate(Decompress),
    /// `deflate` before its first byte: most send it with the header that the name means, some without.
    Undecided,
    Brotli(Box<Brotli>),
    Zstd(Zstd<'static>),
}

/// Decodes one body from its pieces as they come.
pub struct Decoder {
    coding: Coding,
    machine: Machine,
    out: u64,
    /// Whether nothing came: servers name a coding also where there is nothing to code.
    is_empty: bool,
    is_complete: bool,
    failed: Option<String>,
    /// Decodes what comes out, where the body had another coding before.
    inner: Option<Box<Decoder>>,
}

impl std::fmt::Debug for Decoder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Decoder({:?}, {} bytes)", self.coding, self.out)
    }
}

impl Decoder {
    /// For a new body.
    pub fn new(coding: Coding) -> Self {
        let (machine, failed) = match coding {
            Coding::Gzip => (Machine::Inflate(Decompress::new_gzip(DEFLATE_WINDOW_LOG)), None),
            Coding::Deflate => (Machine::Undecided, None),
            Coding::Brotli => (Machine::Brotli(Box::new(brotli())), None),
            Coding::Zstd => match zstd() {
                Ok(zstd) => (Machine::Zstd(zstd), None),
                Err(error) => (Machine::Undecided, Some(error.to_string())),
            },
        };
        Decoder { coding, machine, out: 0, is_empty: true, is_complete: false, failed, inner: None }
    }

    /// Hands what a piece amounts to on to `sink`, part by part; nothing once something was wrong.
    pub fn take(&mut self, piece: &[u8], mut sink: impl FnMut(&[u8])) {
        self.feed(piece, &mut sink);
    }

    fn feed(&mut self, mut piece: &[u8], sink: &mut dyn FnMut(&[u8])) {
        let mut room = [0; ROOM];
        self.is_empty &= piece.is_empty();
        while self.failed.is_none() {
            let (used, made) = match self.step(piece, &mut room) {
                Ok(counts) => counts,
                Err(why) => {
                    self.failed = Some(why);
                    return;
                }
            };
            match &mut self.inner {
                Some(inner) if made > 0 => inner.feed(&room[..made], sink),
                Some(_) => {}
                None => sink(&room[..made]),
            }
            piece = &piece[used..];
            self.out += made as u64;
            if self.out > MOST_DECODED_BYTES {
                self.failed = Some(format!("more than {MOST_DECODED_BYTES} bytes decoded"));
            }
            if used == 0 && made == 0 {
                return;
            }
        }
    }

    /// Whether the whole body came and was decoded; what was wrong where not.
    pub fn end(&mut self) -> Result<(), String> {
        let why = match take(&mut self.failed) {
            Some(why) => why,
            None if self.is_complete || self.is_empty => {
                return self.inner.as_mut().map_or(Ok(()), |inner| inner.end());
            }
            None => "it ends too early".to_owned(),
        };
        let name = format!("{:?}", self.coding).to_lowercase();
        Err(format!("the body's content coding, {name}: {why}"))
    }

    /// Bytes used, and bytes made of them.
    fn step(&mut self, piece: &[u8], room: &mut [u8]) -> Result<(usize, usize), String> {
        if self.is_complete {
            // A gzip file may have further members (RFC 1952, section 2.2); a body's padding is passed over.
            return Ok((piece.len(), 0));
        }
        if let (Machine::Undecided, Some(&first)) = (&self.machine, piece.first()) {
            self.machine = Machine::Inflate(Decompress::new(first & 0x0f == ZLIB_BEGINS & 0x0f));
        }
        match &mut self.machine {
            Machine::Undecided => Ok((0, 0)),
            Machine::Inflate(inflate) => {
                let before = (inflate.total_in(), inflate.total_out());
                let status =
                    inflate.decompress(piece, room, FlushDecompress::None).map_err(|error| error.to_string())?;
                self.is_complete = status == Status::StreamEnd;
                let counts = (inflate.total_in() - before.0, inflate.total_out() - before.1);
                Ok((counts.0 as usize, counts.1 as usize))
            }
            Machine::Brotli(state) => {
                let (mut left, mut used, mut free, mut made, mut total) = (piece.len(), 0, room.len(), 0, 0);
                match BrotliDecompressStream(&mut left, &mut used, piece, &mut free, &mut made, room, &mut total, state)
                {
                    BrotliResult::ResultFailure => return Err("broken".to_owned()),
                    BrotliResult::ResultSuccess => self.is_complete = true,
                    BrotliResult::NeedsMoreInput | BrotliResult::NeedsMoreOutput => {}
                }
                Ok((used, made))
            }
            Machine::Zstd(zstd) => {
                let (mut input, mut output) = (InBuffer::around(piece), OutBuffer::around(room));
                let left = zstd.run(&mut input, &mut output).map_err(|error| error.to_string())?;
                self.is_complete = left == 0 && (input.pos() > 0 || output.pos() > 0);
                Ok((input.pos(), output.pos()))
            }
        }
    }
}

fn brotli() -> Brotli {
    BrotliState::new(StandardAlloc::default(), StandardAlloc::default(), StandardAlloc::default())
}

thread_local! {
    /// Decoders of zstd that are laid aside: to make one takes longer than to decode a page.
    static IDLE: RefCell<Vec<Zstd<'static>>> = const { RefCell::new(Vec::new()) };
}

impl Drop for Decoder {
    fn drop(&mut self) {
        if let Machine::Zstd(mut zstd) = replace(&mut self.machine, Machine::Undecided) {
            if zstd.reinit().is_ok() {
                let _ = IDLE.try_with(|idle| idle.borrow_mut().push(zstd)); // a thread that ends keeps none
            }
        }
    }
}

fn zstd() -> io::Result<Zstd<'static>> {
    if let Some(idle) = IDLE.with(|idle| idle.borrow_mut().pop()) {
        return Ok(idle);
    }
    let mut decoder = Zstd::new()?;
    decoder.set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG))?;
    Ok(decoder)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const KNOWN: [&str; 4] = ["gzip", "deflate", "br", "zstd"];

    fn coded(name: &str, body: &[u8]) -> Vec<u8> {
        let level = flate2::Compression::new(6);
        let mut out = Vec::new();
        match name {
            "gzip" => {
                let mut writer = flate2::write::GzEncoder::new(&mut out, level);
                writer.write_all(body).expect("memory");
                writer.finish().expect("memory");
            }
            "deflate" => {
                let mut writer = flate2::write::ZlibEncoder::new(&mut out, level);
                writer.write_all(body).expect("memory");
                writer.finish().expect("memory");
            }
            "raw" => {
                let mut writer = flate2::write::DeflateEncoder::new(&mut out, level);
                writer.write_all(body).expect("memory");
                writer.finish().expect("memory");
            }
            "br" => brotli::CompressorWriter::new(&mut out, 4096, 5, 22).write_all(body).expect("memory"),
            "zstd" => out = zstd::encode_all(body, 3).expect("memory"),
            other => panic!("no coding {other}"),
        }
        out
    }

    fn decoder_of(names: &str) -> Option<Box<Decoder>> {
        let mut codings = Codings::default();
        names.split(';').for_each(|value| codings.add(value.as_bytes()));
        codings.decoder()
    }

    fn decoded(name: &str, data: &[u8], piece: usize) -> Result<Vec<u8>, String> {
        let mut decoder = decoder_of(name).expect("a coding");
        let mut out = Vec::new();
        data.chunks(piece).for_each(|piece| decoder.take(piece, |part| out.extend_from_slice(part)));
        decoder.end().map(|()| out)
    }

    fn page(bytes: usize) -> Vec<u8> {
        (0..bytes).map(|at| b"<p>a page of some words</p>\n"[at * at % 28]).collect()
    }

    #[test]
    fn a_body_comes_out_as_it_went_in_however_it_is_cut() {
        for name in KNOWN {
            for bytes in [0, 1, 1000, 200_000] {
                for piece in [1, 7, 1000, 1 << 20] {
                    let data = coded(name, &page(bytes));
                    assert_eq!(decoded(name, &data, piece), Ok(page(bytes)), "{name}, {bytes} in pieces of {piece}");
                }
            }
        }
        assert_eq!(decoded("deflate", &coded("raw", &page(500)), 7), Ok(page(500)), "without its header");
    }

    #[test]
    fn a_body_that_is_cut_or_changed_is_a_fault() {
        for name in KNOWN {
            let whole = coded(name, &page(5000));
            assert!(decoded(name, &whole[..whole.len() - 5], 64).is_err(), "{name} cut");
            let mut changed = whole.clone();
            changed[0] ^= 0xff;
            assert!(decoded(name, &changed, 64).is_err(), "{name} changed");
            assert_eq!(decoded(name, b"", 64), Ok(Vec::new()), "{name} of nothing");
        }
    }

    #[test]
    fn several_codings_are_decoded_from_the_last_to_the_first() {
        let twice = coded("gzip", &coded("deflate", &page(5000)));
        for piece in [1, 64, 1 << 20] {
            assert_eq!(decoded("deflate, GZIP", &twice, piece), Ok(page(5000)), "pieces of {piece}");
            assert_eq!(decoded("deflate;identity;x-gzip", &twice, piece), Ok(page(5000)), "three fields");
        }
        let inner = coded("br", &page(5000));
        let cut = coded("gzip", &inner[..inner.len() - 3]);
        let error = decoded("br, gzip", &cut, 64).expect_err("cut");
        assert_eq!(error, "the body's content coding, brotli: it ends too early");
        assert_eq!(decoded("br, gzip", b"", 64), Ok(Vec::new()));
        let error = decoded("gzip, gzip, gzip, gzip, gzip", b"abc", 64).expect_err("too many");
        assert_eq!(error, "the body's content coding, gzip: it has more than 4 codings");
    }

    #[test]
    fn a_bomb_is_given_up() {
        for name in KNOWN {
            let bomb = coded(name, &vec![0; MOST_DECODED_BYTES as usize + 1]);
            assert!(bomb.len() < 100_000, "{name} is small: {}", bomb.len());
            let mut decoder = decoder_of(name).expect("a coding");
            let mut longest = 0;
            decoder.take(&bomb, |part| longest = longest.max(part.len()));
            assert!(longest <= ROOM);
            assert!(decoder.end().expect_err("too long").contains("decoded"), "{name}");
        }
    }

    #[test]
    fn codings_are_known_by_their_names() {
        let named = |names: &str| decoder_of(names).map(|decoder| decoder.coding);
        assert_eq!(named(" GZIP "), Some(Coding::Gzip));
        assert_eq!(named("identity"), None);
        assert_eq!(named("identity, br"), Some(Coding::Brotli));
        for unknown in ["aws-chunked", "utf-8", "none", "aws-chunked, gzip"] {
            assert_eq!(named(unknown), None, "{unknown}");
        }
    }
}
