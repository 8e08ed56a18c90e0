//! How IMAP writes texts and flags, names messages, and where their header ends.

use std::num::NonZeroU32;

use imap_codec::imap_types::sequence::SequenceSet;

use super::store::{ANSWERED, DELETED, DRAFT, FLAGGED, SEEN};

/// A text in quotes.
pub fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Flags as IMAP writes them.
pub fn flag_list(flags: u8) -> String {
    let named = [(SEEN, "Seen"), (ANSWERED, "Answered"), (FLAGGED, "Flagged"), (DELETED, "Deleted"), (DRAFT, "Draft")];
    let held: Vec<String> =
        named.iter().filter(|(bit, _)| flags & bit != 0).map(|(_, name)| format!("\\{name}")).collect();
    format!("({})", held.join(" "))
}

/// Length of the header with the empty line that ends it.
pub fn header_length(content: &[u8]) -> usize {
    content.windows(4).position(|four| four == b"\r\n\r\n").map_or(content.len(), |at| at + 4)
}

/// Sequence numbers and UIDs of the messages that a set names, of those the client knows.
pub fn chosen(set: &SequenceSet, view: &[u32], uid: bool) -> Vec<(usize, u32)> {
    let last = if uid { view.last().copied().unwrap_or(0) } else { view.len() as u32 };
    let Some(largest) = NonZeroU32::new(last) else { return Vec::new() };
    let mut numbers: Vec<u32> = set.iter_naive(largest).map(NonZeroU32::get).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let place = |number: u32| match uid {
        true => view.binary_search(&number).ok().map(|at| (at + 1, number)),
        false => view.get(number as usize - 1).map(|&id| (number as usize, id)),
    };
    numbers.into_iter().filter_map(place).collect()
}
