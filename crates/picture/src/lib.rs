//! Pictures: made of noise at any exact length, for users to send and servers to keep, and made small, as sites do with
//! what their users send.

use jpeg_encoder::{ColorType, Encoder};
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    #[error("no picture of {width} x {height} points has only {bytes} bytes")]
    TooShort { width: u16, height: u16, bytes: usize },
    #[error("no JPEG picture: {0}")]
    Unreadable(String),
}

/// Largest picture that is read, in points of a side: 48 MiB of colours, however few bytes say so.
const MOST_POINTS: usize = 4_096;
/// Quality of pictures made small.
const SMALL_QUALITY: u8 = 85;
/// Marker and length of a comment, and the longest one with both (ITU-T T.81, B.2.4.5).
const COMMENT_HEAD: usize = 4;
const COMMENT_MOST: usize = 2 + 0xffff;

/// A JPEG picture of exactly `bytes` bytes: as fine as fits, and a comment for the rest.
pub fn jpeg(width: u16, height: u16, bytes: usize) -> Result<Vec<u8>, PictureError> {
    let points = scene(width, height);
    for quality in (1..=95).rev().step_by(2) {
        let mut coded = Vec::with_capacity(bytes);
        let done = Encoder::new(&mut coded, quality).encode(&points, width, height, ColorType::Rgb);
        done.map_err(|error| PictureError::Unreadable(error.to_string()))?;
        if coded.len() == bytes || coded.len() + COMMENT_HEAD <= bytes {
            return Ok(lengthened(&coded, bytes));
        }
    }
    Err(PictureError::TooShort { width, height, bytes })
}

/// Hills of light with grain, as a camera sees: three bytes a point.
fn scene(width: u16, height: u16) -> Vec<u8> {
    let mut grain = 0x9e37_79b9_u32;
    let mut points = Vec::with_capacity(usize::from(width) * usize::from(height) * 3);
    for y in 0..u32::from(height) {
        for x in 0..u32::from(width) {
            let light = 128.0 + 60.0 * (x as f32 / 97.0).sin() + 50.0 * (y as f32 / 61.0).cos();
            for tint in [0, 20, 40] {
                grain ^= grain << 13;
                grain ^= grain >> 17;
                grain ^= grain << 5;
                points.push((light as i32 + tint - 20 + (grain % 32) as i32 - 16).clamp(0, 255) as u8);
            }
        }
    }
    points
}

/// The picture with comments behind its first marker, so that it has its length.
fn lengthened(coded: &[u8], bytes: usize) -> Vec<u8> {
    let mut longer = Vec::with_capacity(bytes);
    longer.extend_from_slice(&coded[..2]);
    let mut missing = bytes - coded.len();
    while missing > 0 {
        let mut length = missing.min(COMMENT_MOST);
        if (1..COMMENT_HEAD).contains(&(missing - length)) {
            length -= COMMENT_HEAD; // the last one needs its head too
        }
        longer.extend_from_slice(&[0xff, 0xfe]);
        longer.extend_from_slice(&((length - 2) as u16).to_be_bytes());
        longer.resize(longer.len() + length - COMMENT_HEAD, b'.');
        missing -= length;
    }
    longer.extend_from_slice(&coded[2..]);
    longer
}

/// The picture made small: at most so many points wide and high, each the mean of those it stands for.
pub fn thumbnail(picture: &[u8], width: usize, height: usize) -> Result<Vec<u8>, PictureError> {
    let options = DecoderOptions::default()
        .jpeg_set_out_colorspace(ColorSpace::RGB)
        .set_max_width(MOST_POINTS)
        .set_max_height(MOST_POINTS);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(picture), options);
    let unreadable = |error: &dyn std::fmt::Debug| PictureError::Unreadable(format!("{error:?}"));
    let points = decoder.decode().map_err(|error| unreadable(&error))?;
    let (wide, high) = decoder.dimensions().ok_or_else(|| PictureError::Unreadable("it has no size".into()))?;
    let (width, height) = (width.min(wide), height.min(high));
    let mut small = Vec::with_capacity(width * height * 3);
    for y in 0..height {
        let rows = y * high / height..((y + 1) * high / height);
        for x in 0..width {
            let columns = x * wide / width..((x + 1) * wide / width);
            small.extend(mean(&points, wide, rows.clone(), columns));
        }
    }
    let mut coded = Vec::new();
    let encoder = Encoder::new(&mut coded, SMALL_QUALITY);
    let done = encoder.encode(&small, width as u16, height as u16, ColorType::Rgb);
    done.map_err(|error| unreadable(&error))?;
    Ok(coded)
}

/// The mean colour of a part of a picture that is `wide` points wide.
fn mean(points: &[u8], wide: usize, rows: std::ops::Range<usize>, columns: std::ops::Range<usize>) -> [u8; 3] {
    let count = (rows.len() * columns.len()).max(1) as u32;
    let mut sums = [0u32; 3];
    for row in rows {
        let line = &points[(row * wide + columns.start) * 3..(row * wide + columns.end) * 3];
        for point in line.chunks_exact(3) {
            sums.iter_mut().zip(point).for_each(|(sum, &colour)| *sum += u32::from(colour));
        }
    }
    sums.map(|sum| (sum / count) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_its_exact_length_and_can_be_made_small() {
        for bytes in [669_128, 671_520] {
            let picture = jpeg(1600, 1200, bytes).expect("a picture");
            assert_eq!(picture.len(), bytes);
            let small = thumbnail(&picture, 133, 100).expect("readable");
            assert!((1024..20_000).contains(&small.len()), "{} bytes", small.len());
        }
        let small = jpeg(133, 100, 5_895).expect("a picture");
        assert_eq!(small.len(), 5_895);
        assert!(thumbnail(&small, 133, 100).is_ok());
    }

    #[test]
    fn a_comment_fills_up_to_the_last_byte() {
        let picture = jpeg(64, 48, 3_000).expect("a picture");
        for more in [4, 5, COMMENT_MOST, COMMENT_MOST + 1, COMMENT_MOST + 3, COMMENT_MOST + 4, 200_000] {
            let longer = lengthened(&picture, picture.len() + more);
            assert_eq!(longer.len(), picture.len() + more);
            assert!(thumbnail(&longer, 8, 6).is_ok(), "{more}");
        }
    }

    #[test]
    fn small_pictures_keep_the_colours_of_their_places() {
        let mut points = vec![0u8; 64 * 64 * 3];
        for (at, byte) in points.iter_mut().enumerate() {
            *byte = if at / 3 % 64 < 32 { 20 } else { 220 };
        }
        let mut coded = Vec::new();
        Encoder::new(&mut coded, 95).encode(&points, 64, 64, ColorType::Rgb).expect("a picture");
        let small = thumbnail(&coded, 2, 1).expect("readable");
        let mut decoder = JpegDecoder::new(ZCursor::new(&small[..]));
        let seen = decoder.decode().expect("readable");
        assert!(seen[0] < 60 && seen[3] > 180, "{seen:?}");
    }

    #[test]
    fn a_picture_of_very_many_points_is_refused_before_it_is_read() {
        let (wide, high) = (MOST_POINTS + 8, 8);
        let mut coded = Vec::new();
        let points = vec![7; wide * high * 3];
        Encoder::new(&mut coded, 50).encode(&points, wide as u16, high as u16, ColorType::Rgb).expect("a picture");
        assert!(matches!(thumbnail(&coded, 10, 10), Err(PictureError::Unreadable(_))));
    }

    #[test]
    fn what_is_no_picture_is_refused() {
        assert!(matches!(jpeg(1600, 1200, 1000), Err(PictureError::TooShort { .. })));
        assert!(matches!(thumbnail(b"GIF89a", 10, 10), Err(PictureError::Unreadable(_))));
        assert!(thumbnail(&[], 10, 10).is_err());
        let whole = jpeg(64, 48, 3_000).expect("a picture");
        let _ = thumbnail(&whole[..100], 10, 10); // read or refused, but no panic
    }
}
