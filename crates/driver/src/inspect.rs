//! Looking at a body while it streams by: markers, length, and a bounded head for titles and texts.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use loadstone_schedule::marker::{marker, MARKER_BYTES};

use crate::coding::{Codings, Decoder};
use crate::text::find_tag;

/// How much of a body's beginning is kept to look for texts in.
pub const HEAD_BYTES: usize = 16 * 1024;
/// How much is kept where a title is looked for that does not stand in that.
pub const TITLE_BYTES: usize = 64 * 1024;
/// Where a page must name its charset (HTML, section 4.2.5.4).
const CHARSET_BYTES: usize = 1024;
/// How much is kept of bodies that values are taken from.
pub const BODY_BYTES: usize = 1024 * 1024;
/// How much is kept of pages whose pictures are looked for.
pub const PAGE_BYTES: usize = 128 * 1024;

/// Follows one body.
#[derive(Debug)]
pub struct Inspector {
    every: u64,
    keep: usize,
    /// Where in the body what comes begins, and how far it has come, decoded.
    from: u64,
    offset: u64,
    misplaced: Option<u64>,
    pub head: Vec<u8>,
    /// How much of the body stands in the head.
    seen: usize,
    /// Whether more is kept where no title has ended in what is.
    seeks_title: bool,
    /// Charset that the head of the answer names.
    charset: Option<&'static Encoding>,
    /// Of a body that comes compressed: what is looked at is what it stands for.
    decoder: Option<Box<Decoder>>,
}

impl Inspector {
    /// Looks for nothing until it is reset.
    pub fn new() -> Self {
        Inspector {
            every: 0,
            keep: 0,
            from: 0,
            offset: 0,
            misplaced: None,
            head: Vec::new(),
            seen: 0,
            seeks_title: false,
            charset: None,
            decoder: None,
        }
    }

    /// Starts over for the next body, keeping memory.
    pub fn reset(&mut self, markers_every: u32, keep: usize) {
        self.every = u64::from(markers_every);
        self.keep = keep;
        self.from = 0;
        self.offset = 0;
        self.misplaced = None;
        self.head.clear();
        (self.seen, self.seeks_title, self.charset) = (0, false, None);
        self.decoder = None;
    }

    /// Starts over for another answer to the same request.
    pub fn restart(&mut self) {
        self.begin_at(self.from);
        self.misplaced = None;
        self.head.clear();
        self.seen = 0;
    }

    /// The body is coded so; None where it is not.
    pub fn decode(&mut self, codings: Option<&Codings>) {
        self.decoder = codings.and_then(Codings::decoder);
    }

    /// The head of the answer names this charset of the body; none where it names none.
    pub fn read_as(&mut self, charset: Option<&'static Encoding>) {
        self.charset = charset;
    }

    /// A title is looked for: it may stand behind more than is kept otherwise.
    pub fn seek_title(&mut self) {
        self.seeks_title = true;
    }

    /// Whether all of the body could be decoded; what was wrong where not. What is kept is UTF-8 from then on.
    pub fn end(&mut self) -> Result<(), String> {
        let ended = self.decoder.take().map_or(Ok(()), |mut decoder| decoder.end());
        if let Some(charset) = self.foreign_charset() {
            self.head = charset.decode(&self.head).0.into_owned().into_bytes();
        }
        ended
    }

    /// The charset of what is kept, as browsers find it, where it is another than UTF-8.
    fn foreign_charset(&self) -> Option<&'static Encoding> {
        let begin = &self.head[..self.head.len().min(CHARSET_BYTES)];
        let marked = Encoding::for_bom(&self.head).map(|(charset, _)| charset);
        let charset = match marked.or(self.charset) {
            Some(charset) => Some(charset),
            None if is_utf8(&self.head) => None,
            None => named_charset(begin).or_else(|| is_page(begin).then_some(WINDOWS_1252)),
        };
        charset.filter(|&charset| charset != UTF_8 && !self.head.is_empty())
    }

    /// Keeps more of the body than its checks need.
    pub fn keep_at_least(&mut self, bytes: usize) {
        self.keep = self.keep.max(bytes);
    }

    /// What comes is the rest of the body from this byte on.
    pub fn begin_at(&mut self, offset: u64) {
        self.from = offset;
        self.offset = offset;
    }

    /// Takes memory for the kept head from `heads`, so that only bodies under way hold some.
    pub fn lend(&mut self, heads: &mut Vec<Vec<u8>>) {
        if self.keep > 0 && self.head.capacity() == 0 {
            self.head = heads.pop().unwrap_or_default();
        }
    }

    /// Gives that memory back.
    pub fn give_back(&mut self, heads: &mut Vec<Vec<u8>>) {
        let mut head = std::mem::take(&mut self.head);
        head.clear();
        if head.capacity() > 0 {
            heads.push(head);
        }
    }

    /// The next piece of the body.
    pub fn take(&mut self, piece: &[u8]) {
        match self.decoder.take() {
            None => self.see(piece),
            Some(mut decoder) => {
                decoder.take(piece, |part| self.see(part));
                self.decoder = Some(decoder);
            }
        }
    }

    fn see(&mut self, piece: &[u8]) {
        let mut kept = self.keep_some(piece);
        if self.seeks_title && self.head.len() >= self.keep {
            self.seeks_title = false;
            if find_tag(&self.head, b"</title").is_none() {
                self.keep = self.keep.max(TITLE_BYTES);
                kept += self.keep_some(&piece[kept..]);
            }
        }
        self.seen += kept;
        if self.every > 0 && self.misplaced.is_none() {
            self.check_markers(piece);
        }
        self.offset += piece.len() as u64;
    }

    /// Keeps as much of a piece as there is room for; returns how much.
    fn keep_some(&mut self, piece: &[u8]) -> usize {
        let kept = piece.len().min(self.keep.saturating_sub(self.head.len()));
        self.head.extend_from_slice(&piece[..kept]);
        kept
    }

    /// Whether what is still to come of the body need only be counted.
    pub fn is_blind(&self) -> bool {
        self.decoder.is_none() && self.head.len() >= self.keep && (self.every == 0 || self.misplaced.is_some())
    }

    /// Bytes of the body that nobody has seen.
    pub fn skip(&mut self, bytes: u64) {
        self.offset += bytes;
    }

    /// Bytes that came, decoded.
    pub fn body_bytes(&self) -> u64 {
        self.offset - self.from
    }

    /// How far the body has come.
    pub fn bytes(&self) -> u64 {
        self.offset
    }

    /// That some of the body was not looked at; empty where all was.
    pub fn unseen_told(&self) -> String {
        match self.offset > self.seen as u64 {
            true => format!(" in the first {} of {} bytes", self.seen, self.offset),
            false => String::new(),
        }
    }

    /// Offset of the first marker that is wrong.
    pub fn misplaced(&self) -> Option<u64> {
        self.misplaced
    }

    fn check_markers(&mut self, piece: &[u8]) {
        let end = self.offset + piece.len() as u64;
        // A marker may have begun in the piece before.
        let mut block = (self.offset.saturating_sub(MARKER_BYTES as u64) / self.every).max(1);
        while block * self.every < end {
            let at = block * self.every;
            let from = at.max(self.offset);
            let to = (at + MARKER_BYTES as u64).min(end);
            if from < to {
                let expected = &marker(block)[(from - at) as usize..(to - at) as usize];
                if piece[(from - self.offset) as usize..(to - self.offset) as usize] != *expected {
                    self.misplaced = Some(at);
                    return;
                }
            }
            block += 1;
        }
    }
}

/// Whether a text is UTF-8, but for a letter that is cut at its end.
fn is_utf8(text: &[u8]) -> bool {
    text.is_ascii() || std::str::from_utf8(text).map_or_else(|error| error.error_len().is_none(), |_| true)
}

/// Whether a text is a page by its first tags: browsers read one without a charset by windows-1252.
fn is_page(head: &[u8]) -> bool {
    [b"<!doctype".as_slice(), b"<html", b"<head", b"<title", b"<body"].iter().any(|tag| find_tag(head, tag).is_some())
}

/// The charset that a page names in a meta element, or at the beginning of its XML (HTML, section 13.2.3.2).
fn named_charset(head: &[u8]) -> Option<&'static Encoding> {
    const XML: &[u8] = b"encoding=";
    if head.starts_with(b"<?xml") {
        let declared = &head[..memchr::memchr(b'>', head).unwrap_or(head.len())];
        if let Some(at) = memchr::memmem::find(declared, XML) {
            let label = declared[at + XML.len()..].split(|byte| matches!(byte, b'"' | b'\'')).nth(1)?;
            return Encoding::for_label(label);
        }
    }
    let at = find_tag(head, b"<meta").and_then(|meta| charset_at(&head[meta..]).map(|at| meta + at))?;
    let label = head[at..].iter().skip_while(|byte| matches!(byte, b'"' | b'\'' | b' '));
    let label: Vec<u8> = label.copied().take_while(|byte| !b"\"'>;/ ".contains(byte)).collect();
    Encoding::for_label(&label)
}

/// Where the label of a charset begins.
fn charset_at(text: &[u8]) -> Option<usize> {
    const NAME: &[u8] = b"charset=";
    let places = text.windows(NAME.len()).position(|place| place.eq_ignore_ascii_case(NAME));
    places.map(|at| at + NAME.len())
}

/// The charset that the value of a Content-Type field names (RFC 9110, section 8.3.2).
pub fn charset_of(content_type: &[u8]) -> Option<&'static Encoding> {
    let label = &content_type[charset_at(content_type)?..];
    let label = label.split(|&byte| byte == b';').next()?;
    Encoding::for_label(label.trim_ascii().strip_prefix(b"\"").unwrap_or(label).split(|&byte| byte == b'"').next()?)
}

impl Default for Inspector {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(length: usize) -> Vec<u8> {
        let mut body = vec![b'x'; length];
        for block in 1..=(length / 100) as u64 {
            let at = block as usize * 100;
            let end = (at + MARKER_BYTES).min(length);
            body[at..end].copy_from_slice(&marker(block)[..end - at]);
        }
        body
    }

    fn misplaced(body: &[u8], piece: usize) -> Option<u64> {
        let mut inspector = Inspector::new();
        inspector.reset(100, 0);
        body.chunks(piece).for_each(|piece| inspector.take(piece));
        inspector.misplaced()
    }

    #[test]
    fn a_right_body_passes_however_it_is_cut() {
        for length in [99, 100, 101, 107, 350, 1000] {
            for piece in [1, 7, 15, 16, 100, 333, 2000] {
                assert_eq!(misplaced(&body(length), piece), None, "{length} bytes in pieces of {piece}");
            }
        }
    }

    /// What is kept of a body that came in pieces of this length.
    fn kept(body: &[u8], charset: Option<&str>, piece: usize) -> String {
        String::from_utf8(kept_bytes(body, charset, piece)).expect("UTF-8")
    }

    fn kept_bytes(body: &[u8], charset: Option<&str>, piece: usize) -> Vec<u8> {
        let mut inspector = Inspector::new();
        inspector.reset(0, HEAD_BYTES);
        inspector.read_as(charset.and_then(|label| charset_of(format!("text/html; charset={label}").as_bytes())));
        inspector.seek_title();
        body.chunks(piece).for_each(|piece| inspector.take(piece));
        inspector.end().expect("no coding");
        inspector.head
    }

    #[test]
    fn what_is_kept_of_a_page_in_another_charset_is_read_as_it_is() {
        let latin = b"<title>B\xfccher</title>";
        assert_eq!(kept(latin, Some("iso-8859-1"), 3), "<title>B\u{fc}cher</title>");
        assert_eq!(kept(b"<title>\x96{\x89\xae</title>", Some("\"Shift_JIS\""), 1), "<title>\u{672c}\u{5c4b}</title>");
        let named = [b"<META http-equiv=x content='text/html; charset=windows-1252'>".as_slice(), latin].concat();
        assert!(kept(&named, None, 100).ends_with("<title>B\u{fc}cher</title>"));
        assert_eq!(kept("<title>Bücher</title>".as_bytes(), None, 2), "<title>Bücher</title>");
        assert_eq!(kept(latin, None, 4), "<title>B\u{fc}cher</title>", "no charset is windows-1252");
        let declared = [b"<?xml version='1.0' encoding='iso-8859-2'?>".as_slice(), b"<title>\xb1</title>"].concat();
        assert!(kept(&declared, None, 9).ends_with("<title>\u{105}</title>"));
        assert_eq!(kept_bytes(b"{\"a\": \"\xff\"}", None, 9), b"{\"a\": \"\xff\"}", "no page is left as it is");
    }

    #[test]
    fn a_byte_order_mark_goes_before_what_the_head_says() {
        let little: Vec<u8> = "\u{feff}<title>Bücher</title>".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = "\u{feff}<title>Bücher</title>".encode_utf16().flat_map(u16::to_be_bytes).collect();
        for charset in [None, Some("iso-8859-1"), Some("utf-8")] {
            assert_eq!(kept(&little, charset, 7), "<title>Bücher</title>");
            assert_eq!(kept(&big, charset, 7), "<title>Bücher</title>");
            assert!(kept("\u{feff}<title>Bücher</title>".as_bytes(), charset, 7).ends_with("<title>Bücher</title>"));
        }
    }

    #[test]
    fn what_was_kept_of_one_answer_is_not_kept_of_the_next() {
        let mut inspector = Inspector::new();
        inspector.reset(0, HEAD_BYTES);
        inspector.take(b"Request Time-out");
        inspector.restart();
        inspector.take(b"<title>Shop</title>");
        assert_eq!((inspector.head.as_slice(), inspector.bytes()), (b"<title>Shop</title>".as_slice(), 19));
    }

    #[test]
    fn more_is_kept_where_a_title_comes_late() {
        let styles = "a{}".repeat(7000);
        let late = format!("<style>{styles}</style><TITLE>Shop</TITLE>");
        for piece in [1, 1000, HEAD_BYTES, 30_000] {
            assert_eq!(kept(late.as_bytes(), None, piece), late);
            assert_eq!(kept(format!("<title>Shop</title>{late}").as_bytes(), None, piece).len(), HEAD_BYTES);
        }
        assert_eq!(kept(&b"x".repeat(2 * TITLE_BYTES), None, 999).len(), TITLE_BYTES);
    }

    #[test]
    fn a_changed_missing_or_shifted_marker_is_found_however_it_is_cut() {
        for piece in [1, 7, 15, 100, 2000] {
            let mut changed = body(1000);
            changed[509] ^= 1;
            assert_eq!(misplaced(&changed, piece), Some(500));
            let mut shifted = body(1000);
            shifted.remove(250);
            assert_eq!(misplaced(&shifted, piece), Some(300));
        }
    }
}
