//! The one read buffer of a thread. It is used between two waits and never across one, so all connections share it.

/// Read size on a line of limited speed: small enough that the server feels the line.
const LIMITED_READ: usize = 16 * 1024;
/// Read size without a limit.
const READ: usize = 256 * 1024;
/// What the kernel is told to throw away at once. Pages nobody writes to take no memory.
const DISCARD: usize = 4 * 1024 * 1024;

/// Memory to read into.
#[derive(Debug)]
pub struct Scratch(Vec<u8>);

impl Default for Scratch {
    fn default() -> Self {
        Scratch(vec![0; DISCARD])
    }
}

impl Scratch {
    /// Room for the next piece.
    pub fn room(&mut self, limited: bool) -> &mut [u8] {
        &mut self.0[..if limited { LIMITED_READ } else { READ }]
    }

    /// Room that stands for up to `most` bytes nobody wants.
    pub fn nowhere(&mut self, most: u64) -> &mut [u8] {
        &mut self.0[..usize::try_from(most).unwrap_or(usize::MAX).min(DISCARD)]
    }

    /// The first bytes, as they were read.
    pub fn read(&self, count: usize) -> &[u8] {
        &self.0[..count]
    }
}
