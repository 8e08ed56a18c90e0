//! SEARCH: which messages fit.

use std::io;

use imap_codec::imap_types::core::AString;
use imap_codec::imap_types::search::SearchKey;

use super::store::{Mailbox, Message, ANSWERED, DELETED, DRAFT, FLAGGED, SEEN};
use super::structure::day_of;
use super::words::{chosen, header_length};

/// A mailbox as a client sees it.
pub struct Search<'a> {
    pub mailbox: &'a Mailbox,
    pub view: &'a [u32],
}

impl Search<'_> {
    /// Numbers, or UIDs, of the messages that fit all keys.
    pub fn all(&self, keys: &[SearchKey<'_>], uid: bool) -> io::Result<Vec<u32>> {
        let mut found = Vec::new();
        for (at, &id) in self.view.iter().enumerate() {
            let Some(message) = self.mailbox.find(id) else { continue };
            if self.fits_all(keys, at + 1, message)? {
                found.push(if uid { id } else { at as u32 + 1 });
            }
        }
        Ok(found)
    }

    fn fits_all(&self, keys: &[SearchKey<'_>], number: usize, message: &Message) -> io::Result<bool> {
        for key in keys {
            if !self.fits(key, number, message)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn fits(&self, key: &SearchKey<'_>, number: usize, message: &Message) -> io::Result<bool> {
        let has = |flag: u8| message.flags & flag != 0;
        let day = || day_of(message.received);
        Ok(match key {
            SearchKey::All | SearchKey::Old => true,
            SearchKey::And(keys) => self.fits_all(keys.as_ref(), number, message)?,
            SearchKey::Or(one, other) => self.fits(one, number, message)? || self.fits(other, number, message)?,
            SearchKey::Not(key) => !self.fits(key, number, message)?,
            SearchKey::SequenceSet(set) => chosen(set, self.view, false).iter().any(|&(one, _)| one == number),
            SearchKey::Uid(set) => chosen(set, self.view, true).iter().any(|&(_, one)| one == message.uid),
            SearchKey::Answered => has(ANSWERED),
            SearchKey::Unanswered => !has(ANSWERED),
            SearchKey::Deleted => has(DELETED),
            SearchKey::Undeleted => !has(DELETED),
            SearchKey::Draft => has(DRAFT),
            SearchKey::Undraft => !has(DRAFT),
            SearchKey::Flagged => has(FLAGGED),
            SearchKey::Unflagged => !has(FLAGGED),
            SearchKey::Seen => has(SEEN),
            SearchKey::Unseen => !has(SEEN),
            SearchKey::Larger(size) => message.size > u64::from(*size),
            SearchKey::Smaller(size) => message.size < u64::from(*size),
            SearchKey::Before(date) => day() < *date.as_ref(),
            SearchKey::On(date) => day() == *date.as_ref(),
            SearchKey::Since(date) => day() >= *date.as_ref(),
            SearchKey::Subject(text) => self.field(message, "subject", text)?,
            SearchKey::From(text) => self.field(message, "from", text)?,
            SearchKey::To(text) => self.field(message, "to", text)?,
            SearchKey::Cc(text) => self.field(message, "cc", text)?,
            SearchKey::Header(name, text) => {
                self.field(message, &String::from_utf8_lossy(name.as_ref()).to_lowercase(), text)?
            }
            SearchKey::Text(text) => holds(&self.mailbox.content(message.uid)?, text),
            SearchKey::Body(text) => {
                let content = self.mailbox.content(message.uid)?;
                holds(&content[header_length(&content)..], text)
            }
            _ => false, // none is recent, new, or has a keyword here
        })
    }

    fn field(&self, message: &Message, name: &str, text: &AString<'_>) -> io::Result<bool> {
        let content = self.mailbox.content(message.uid)?;
        let header = String::from_utf8_lossy(&content[..header_length(&content)]).replace("\r\n ", " ").to_lowercase();
        let start = format!("{name}:");
        Ok(header.lines().filter(|line| line.starts_with(&start)).any(|line| holds(line.as_bytes(), text)))
    }
}

/// Whether a text holds another, whatever the case.
fn holds(text: &[u8], wanted: &AString<'_>) -> bool {
    let wanted = String::from_utf8_lossy(wanted.as_ref()).to_lowercase();
    String::from_utf8_lossy(text).to_lowercase().contains(&wanted)
}
