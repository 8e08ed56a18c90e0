//! A ledger of what was acknowledged: how many, and a sum of hashes in which one lost or doubled entry shows.

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0100_0000_01b3;

/// FNV-1a, 64 bits (Fowler, Noll, Vo; draft-eastlake-fnv).
pub fn hash(text: &str) -> u64 {
    go_on(OFFSET, text.as_bytes())
}

fn go_on(held: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(held, |held, &byte| (held ^ u64::from(byte)).wrapping_mul(PRIME))
}

/// The same idea eight bytes at a time, for whole messages: any changed byte changes it.
pub fn hash_words(bytes: &[u8]) -> u64 {
    let mut words = bytes.chunks_exact(8);
    let mut held = OFFSET ^ bytes.len() as u64;
    for word in words.by_ref() {
        let word = word.try_into().map_or(0, u64::from_le_bytes);
        held = (held ^ word).wrapping_mul(PRIME).rotate_left(23);
    }
    go_on(held, words.remainder())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_the_published_ones() {
        assert_eq!(hash(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(hash("foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn hashes_of_words_stay_as_they_are() {
        assert_eq!(hash_words(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash_words(b"loadstone"), 0xb1e7_49fb_b45b_d288);
        assert_eq!(hash_words(&[0; 37]), 0x8da9_d0c2_d7da_4418);
    }

    #[test]
    fn any_changed_byte_changes_the_hash_of_words() {
        let text: Vec<u8> = (0..=250).collect();
        for at in 0..text.len() {
            let mut other = text.clone();
            other[at] ^= 1;
            assert_ne!(hash_words(&text), hash_words(&other));
        }
        assert_ne!(hash_words(&[0; 8]), hash_words(&[0; 16]));
    }

    #[test]
    fn a_bit_that_is_set_in_the_hash_already_changes_it_too() {
        let words: Vec<u64> = (0..64).map(|bit| hash_words(&(1u64 << bit).to_le_bytes())).collect();
        let mut different = words.clone();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), 64);
        assert!(!words.contains(&hash_words(&[0; 8])));
    }
}
