//! The marker that stands in every body at each multiple of a spacing: `<!--NNNNNNNN-->`, the number of the block.
//!
//! Written by the reference servers and the file set, checked by the driver: a body that is cut, shifted or
//! patched together shows.

/// Length of a marker in bytes.
pub const MARKER_BYTES: usize = 15;

/// The marker of block `block` (counted from 1; block 0 has none): the last eight digits of its number.
pub fn marker(block: u64) -> [u8; MARKER_BYTES] {
    let mut text = *b"<!--00000000-->";
    let mut rest = block;
    for at in (4..12).rev() {
        text[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_is_the_number_of_its_block_in_eight_digits() {
        assert_eq!(&marker(1), b"<!--00000001-->");
        assert_eq!(&marker(12_345_678), b"<!--12345678-->");
        assert_eq!(&marker(112_345_678), b"<!--12345678-->");
        assert_eq!(marker(0).len(), MARKER_BYTES);
    }
}
