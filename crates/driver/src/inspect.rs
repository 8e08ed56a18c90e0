//! Looking at a body while it streams by: markers, length, and a bounded head for titles and texts.

use loadstone_schedule::marker::{marker, MARKER_BYTES};

use crate::coding::{Coding, Decoder};

/// How much of a body's beginning is kept to look for texts in.
pub const HEAD_BYTES: usize = 16 * 1024;
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
    /// Of a body that comes compressed: what is looked at is what it stands for.
    decoder: Option<Box<Decoder>>,
}

impl Inspector {
    /// Looks for nothing until it is reset.
    pub fn new() -> Self {
        Inspector { every: 0, keep: 0, from: 0, offset: 0, misplaced: None, head: Vec::new(), decoder: None }
    }

    /// Starts over for the next body, keeping memory.
    pub fn reset(&mut self, markers_every: u32, keep: usize) {
        self.every = u64::from(markers_every);
        self.keep = keep;
        self.from = 0;
        self.offset = 0;
        self.misplaced = None;
        self.head.clear();
        self.decoder = None;
    }

    /// The body is coded so.
    pub fn decode(&mut self, coding: Option<Coding>) {
        self.decoder = coding.map(|coding| Box::new(Decoder::new(coding)));
    }

    /// Whether all of the body could be decoded; what was wrong where not.
    pub fn end(&mut self) -> Result<(), String> {
        self.decoder.take().map_or(Ok(()), |mut decoder| decoder.end())
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
        let room = self.keep.saturating_sub(self.head.len());
        self.head.extend_from_slice(&piece[..piece.len().min(room)]);
        if self.every > 0 && self.misplaced.is_none() {
            self.check_markers(piece);
        }
        self.offset += piece.len() as u64;
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
        match self.offset > self.head.len() as u64 {
            true => format!(" in the first {} of {} bytes", self.head.len(), self.offset),
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
