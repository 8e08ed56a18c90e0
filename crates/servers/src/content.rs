//! Bodies computed from a seed: files of any size that need no disk, and pages padded to their length.
//!
//! Pages have a declared total length rather than a padding on top of their data, so that mean bytes are exact.
//! Every body carries a marker at each multiple of 4,096 bytes (docs/web-workloads.md, Limits and validity).

use std::pin::Pin;
use std::sync::LazyLock;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use loadstone_schedule::marker::{marker, MARKER_BYTES};
use loadstone_schedule::rng::scramble;

/// Spacing of the markers.
pub const BLOCK_BYTES: usize = 4096;
/// Blocks handed on at a time.
const BLOCKS_A_FRAME: usize = 16;
/// Filler text that files are cut from.
const POOL_BYTES: usize = 64 * 1024;
const FOOTER: &[u8] = b"</div></body></html>";

static POOL: LazyLock<Vec<u8>> = LazyLock::new(|| {
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz    , ";
    let letter = |at: usize| match at % 64 {
        63 => b'\n',
        _ => LETTERS[(scramble(at as u64) >> 32) as usize % LETTERS.len()],
    };
    (0..POOL_BYTES + BLOCK_BYTES).map(letter).collect()
});

/// Fills `out` with a file's bytes from `offset` on; `offset` is a multiple of the block size.
pub fn fill(seed: u64, offset: u64, out: &mut [u8]) {
    let first = offset / BLOCK_BYTES as u64;
    for (block, piece) in (first..).zip(out.chunks_mut(BLOCK_BYTES)) {
        let from = (scramble(seed ^ block) % POOL_BYTES as u64) as usize;
        piece.copy_from_slice(&POOL[from..from + piece.len()]);
        if block > 0 {
            let length = piece.len().min(MARKER_BYTES);
            piece[..length].copy_from_slice(&marker(block)[..length]);
        }
    }
}

/// A seed for a file's name.
pub fn seed_of(name: &str) -> u64 {
    name.bytes().fold(0x10ad_57e0, |seed, byte| scramble(seed ^ u64::from(byte)))
}

/// A file as a response body, made while it is sent.
#[derive(Debug)]
pub struct FileBody {
    seed: u64,
    offset: u64,
    length: u64,
    /// Bytes of the next piece that are not asked for: pieces begin at blocks.
    skipped: usize,
}

impl FileBody {
    /// The content of a file of this name and length, which are all it depends on.
    pub fn new(name: &str, length: u64) -> Self {
        FileBody { seed: seed_of(name), offset: 0, length, skipped: 0 }
    }

    /// The bytes of the file from `first` to `last`, both included.
    pub fn part(name: &str, (first, last): (u64, u64)) -> Self {
        let skipped = first % BLOCK_BYTES as u64;
        FileBody { seed: seed_of(name), offset: first - skipped, length: last + 1, skipped: skipped as usize }
    }

    fn next_piece(&mut self) -> Option<Bytes> {
        let left = self.length - self.offset;
        if left == 0 {
            return None;
        }
        let size = left.min((BLOCKS_A_FRAME * BLOCK_BYTES) as u64) as usize;
        let mut piece = BytesMut::zeroed(size);
        fill(self.seed, self.offset, &mut piece);
        self.offset += size as u64;
        Some(piece.freeze().split_off(std::mem::take(&mut self.skipped)))
    }

    /// The whole file, for writing to disk piece by piece.
    pub fn pieces(mut self) -> impl Iterator<Item = Bytes> {
        std::iter::from_fn(move || self.next_piece())
    }
}

impl Body for FileBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Poll::Ready(self.next_piece().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.offset == self.length
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length - self.offset - self.skipped as u64)
    }
}

/// An HTML page under construction: no piece of text lies across a marker.
#[derive(Debug)]
pub struct Page(Vec<u8>);

impl Page {
    /// An empty page with this title, in memory for so many bytes.
    pub fn new(title: &str, capacity: usize) -> Self {
        let mut page = Page(Vec::with_capacity(capacity.max(1024)));
        page.put("<!doctype html><html><head><title>");
        page.put(&escape(title));
        page.put("</title></head><body>\n");
        page
    }

    /// Adds markup.
    pub fn put(&mut self, text: &str) {
        let mut rest = text.as_bytes();
        let room = |length: usize| BLOCK_BYTES - length % BLOCK_BYTES;
        if rest.len() > room(self.0.len()) && rest.len() <= BLOCK_BYTES - MARKER_BYTES {
            self.0.resize(self.0.len() + room(self.0.len()), b' ');
        }
        while !rest.is_empty() {
            self.mark();
            let piece = rest.len().min(room(self.0.len()));
            self.0.extend_from_slice(&rest[..piece]);
            rest = &rest[piece..];
        }
    }

    /// Adds rows as a table.
    pub fn table<T: std::fmt::Display>(&mut self, rows: &[Vec<T>]) {
        self.put("<table>\n");
        for row in rows {
            let cells: String = row.iter().map(|cell| format!("<td>{}</td>", escape(&cell.to_string()))).collect();
            self.put(&format!("<tr>{cells}</tr>\n"));
        }
        self.put("</table>\n");
    }

    /// Ends the page with filler so that it is `length` bytes long; longer if it already is.
    pub fn finish(mut self, length: usize) -> Bytes {
        self.put("<div>\n");
        let start = self.0.len();
        let end = length.max(start + FOOTER.len() + MARKER_BYTES);
        self.0.resize(end, b'\n');
        let footer = footer_place(end);
        let filler = POOL.iter().cycle().skip(start % POOL_BYTES);
        self.0[start..footer].iter_mut().zip(filler).for_each(|(byte, &letter)| *byte = letter);
        self.0[footer..footer + FOOTER.len()].copy_from_slice(FOOTER);
        for block in start.div_ceil(BLOCK_BYTES).max(1)..=(end - 1) / BLOCK_BYTES {
            let at = block * BLOCK_BYTES;
            let stop = end.min(at + MARKER_BYTES);
            self.0[at..stop].copy_from_slice(&marker(block as u64)[..stop - at]);
        }
        Bytes::from(self.0)
    }

    fn mark(&mut self) {
        if !self.0.is_empty() && self.0.len().is_multiple_of(BLOCK_BYTES) {
            let block = self.0.len() / BLOCK_BYTES;
            self.0.extend_from_slice(&marker(block as u64));
        }
    }
}

/// Where the footer begins so that it ends the page, or the last block when a marker would cut it.
fn footer_place(end: usize) -> usize {
    let last_marker = (end - 1) / BLOCK_BYTES * BLOCK_BYTES;
    match last_marker > 0 && last_marker + MARKER_BYTES > end - FOOTER.len() {
        true => last_marker - FOOTER.len(),
        false => end - FOOTER.len(),
    }
}

/// Text made safe to stand in HTML.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_marked(body: &[u8]) {
        for block in 1..=(body.len().saturating_sub(1)) / BLOCK_BYTES {
            let at = block * BLOCK_BYTES;
            let end = body.len().min(at + MARKER_BYTES);
            assert_eq!(body[at..end], marker(block as u64)[..end - at], "block {block} of {} bytes", body.len());
        }
    }

    #[test]
    fn pages_have_their_exact_length_and_all_markers() {
        for length in [500, 4090, 4096, 4097, 4100, 4111, 4120, 8192, 8200, 20_000] {
            let mut page = Page::new("Title", length);
            page.put("<p>hello</p>");
            let body = page.finish(length);
            assert_eq!(body.len(), length);
            assert_marked(&body);
        }
    }

    #[test]
    fn text_never_lies_across_a_marker() {
        let mut page = Page::new("Title", 0);
        for row in 0..500 {
            page.put(&format!("<tr><td>row number {row:04}</td></tr>"));
        }
        let body = page.finish(0);
        assert_marked(&body);
        let text = String::from_utf8_lossy(&body);
        assert!((0..500).all(|row| text.contains(&format!("<td>row number {row:04}</td>"))));
    }

    #[test]
    fn a_file_is_the_same_in_one_piece_and_in_many() {
        let whole: Vec<u8> = FileBody::new("x", 200_001).pieces().flat_map(|piece| piece.to_vec()).collect();
        assert_eq!(whole.len(), 200_001);
        assert_marked(&whole);
        let mut part = vec![0; 5000];
        fill(seed_of("x"), 8192, &mut part);
        assert_eq!(whole[8192..13_192], part[..]);
        for (first, last) in [(0, 0), (5000, 150_000), (8192, 200_000), (200_000, 200_000)] {
            let part = FileBody::part("x", (first, last));
            assert_eq!(part.size_hint().exact(), Some(last - first + 1));
            let bytes: Vec<u8> = part.pieces().flat_map(|piece| piece.to_vec()).collect();
            assert_eq!(bytes, whole[first as usize..=last as usize], "{first} to {last}");
        }
    }
}
