//! The words that the answers of an operation have in common: another text of the same size shows in them.

use crate::total::{Total, Unreadable};

/// Answers of an operation that a thread looks at.
pub const MOST_ANSWERS: u32 = 8;
/// Hashes in a record: those of the smallest are a fair draw of all (Broder, "On the resemblance and containment of
/// documents", 1997).
pub const MOST_RECORDED: usize = 64;
/// Hashes that are held meanwhile.
const MOST_HELD: usize = 4096;
/// Bytes of a word: shorter ones stand in every text.
const SHORTEST: usize = 3;

/// Hashes of the words that stand in every answer so far, in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommonWords {
    /// Whether any answer was looked at.
    has_begun: bool,
    hashes: Vec<u32>,
}

impl CommonWords {
    /// Takes another answer.
    pub fn take(&mut self, text: &[u8]) {
        let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || *byte >= 0x80;
        let words = text.split(|byte| !is_letter(byte)).filter(|word| word.len() >= SHORTEST);
        let mut hashes: Vec<u32> = words.map(hash).collect();
        hashes.sort_unstable();
        hashes.dedup();
        hashes.truncate(MOST_HELD);
        self.keep(&hashes);
    }

    fn keep(&mut self, hashes: &[u32]) {
        if self.has_begun {
            self.hashes.retain(|hash| hashes.binary_search(hash).is_ok());
        } else {
            (self.has_begun, self.hashes) = (true, hashes.to_vec());
        }
    }
}

impl Total for CommonWords {
    type Record = Vec<u32>;

    /// Keeps what another thread or driver saw too.
    fn merge(&mut self, other: &CommonWords) {
        if other.has_begun {
            self.keep(&other.hashes);
        }
    }

    /// The smallest of them.
    fn to_record(&self) -> Vec<u32> {
        self.hashes.iter().take(MOST_RECORDED).copied().collect()
    }

    /// Without any, nothing is known.
    fn from_record(record: Vec<u32>) -> Result<Self, Unreadable> {
        Ok(CommonWords { has_begun: !record.is_empty(), hashes: record })
    }
}

/// FNV-1a of 32 bits (RFC 9923).
fn hash(word: &[u8]) -> u32 {
    word.iter().fold(0x811c_9dc5, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(texts: &[&str]) -> CommonWords {
        let mut words = CommonWords::default();
        texts.iter().for_each(|text| words.take(text.as_bytes()));
        words
    }

    #[test]
    fn what_is_another_in_each_answer_is_left_out() {
        let page = |user: &str| format!("<title>Orders of {user}</title><p>Your balance is {}", user.len());
        let (alice, robert) = (page("alice"), page("robert"));
        let texts: [&str; 2] = [&alice, &robert];
        assert_eq!(of(&texts), of(&["title Orders Your balance"]));
        assert_ne!(of(&texts[..1]), of(&texts[1..]));
    }

    #[test]
    fn another_text_has_other_words_and_short_ones_count_for_nothing() {
        let (own, other) = (of(&["Welcome to our shop"]), of(&["Sorry, we are shut"]));
        assert!(own.to_record().iter().all(|hash| !other.to_record().contains(hash)));
        assert!(of(&["a to we 12"]).to_record().is_empty());
    }

    #[test]
    fn threads_keep_what_all_of_them_saw_and_who_saw_nothing_changes_nothing() {
        let mut both = of(&["our shop sells books"]);
        both.merge(&CommonWords::default());
        assert_eq!(both, of(&["our shop sells books"]));
        both.merge(&of(&["our shop sells pens"]));
        assert_eq!(both, of(&["our shop sells"]));
        let mut none = CommonWords::default();
        none.merge(&both);
        assert_eq!(none, both);
    }

    #[test]
    fn a_record_has_the_smallest_and_gives_them_back() {
        let text: String = (0..1000).map(|number| format!("word{number} ")).collect();
        let smallest = of(&[&text]).to_record();
        assert_eq!(smallest.len(), MOST_RECORDED);
        assert!(smallest.is_sorted());
        assert_eq!(CommonWords::from_record(smallest.clone()).expect("hashes").to_record(), smallest);
        assert_eq!(hash(b"foobar"), 0xbf9c_f968, "the published value");
    }
}
