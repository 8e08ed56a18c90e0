//! FETCH: which items of a message are written, and how.

use std::sync::atomic::AtomicU64;

use imap_codec::imap_types::core::{AString, Vec1};
use imap_codec::imap_types::fetch::{Macro, MacroOrMessageDataItemNames, MessageDataItemName, Section};

use super::faults::is_due;
use super::store::{Mailbox, SEEN};
use super::structure;
use super::words::{flag_list, header_length};

static FETCHES: AtomicU64 = AtomicU64::new(0);

/// A piece of the message's text: all of it, its header, its body, some fields.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    All,
    Header,
    Text,
    /// Of the header, the fields of these names, or all but these.
    Fields {
        names: Vec<String>,
        only: bool,
    },
}

/// One thing asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Item {
    Flags,
    Uid,
    Size,
    InternalDate,
    Envelope,
    Structure(&'static str),
    Text { name: String, part: Part, range: Option<(u32, u32)>, marks: bool },
}

/// What a FETCH asks for.
pub struct Fetching {
    items: Vec<Item>,
    /// Whether reading a text marks the message as seen.
    may_mark: bool,
    alter_every: u64,
}

impl Fetching {
    /// None when something is asked for that is not known here.
    pub fn new(
        asked: &MacroOrMessageDataItemNames<'_>,
        uid: bool,
        is_read_only: bool,
        alter_every: u64,
    ) -> Option<Self> {
        let mut items = match asked {
            MacroOrMessageDataItemNames::Macro(which) => {
                let mut items = vec![Item::Flags, Item::InternalDate, Item::Size];
                items.extend((*which != Macro::Fast).then_some(Item::Envelope));
                items.extend((*which == Macro::Full).then_some(Item::Structure("BODY")));
                items
            }
            MacroOrMessageDataItemNames::MessageDataItemNames(names) => {
                names.iter().map(item).collect::<Option<Vec<_>>>()?
            }
        };
        if uid && !items.contains(&Item::Uid) {
            items.push(Item::Uid);
        }
        Some(Fetching { items, may_mark: !is_read_only, alter_every })
    }

    /// Writes the answer for one message.
    pub fn write(&self, mailbox: &mut Mailbox, number: usize, uid: u32, out: &mut Vec<u8>) -> std::io::Result<()> {
        let marks = self.may_mark && self.items.iter().any(|item| matches!(item, Item::Text { marks: true, .. }));
        let before = mailbox.find(uid).map(|message| message.flags);
        if marks {
            mailbox.set_flags(uid, |held| held | SEEN)?;
        }
        let Some(message) = mailbox.find(uid).cloned() else { return Ok(()) };
        let reads =
            self.items.iter().any(|item| !matches!(item, Item::Flags | Item::Uid | Item::Size | Item::InternalDate));
        let mut content = if reads { mailbox.content(uid)? } else { Vec::new() };
        if reads && is_due(&FETCHES, self.alter_every) {
            let middle = content.len() / 2;
            content[middle..].iter_mut().filter(|byte| byte.is_ascii_alphabetic()).take(1).for_each(|byte| *byte ^= 1);
        }
        out.extend_from_slice(format!("* {number} FETCH (").as_bytes());
        let shows_flags = before != Some(message.flags) && !self.items.contains(&Item::Flags);
        for (at, item) in self.items.iter().chain(shows_flags.then_some(&Item::Flags)).enumerate() {
            if at > 0 {
                out.push(b' ');
            }
            match item {
                Item::Flags => out.extend_from_slice(format!("FLAGS {}", flag_list(message.flags)).as_bytes()),
                Item::Uid => out.extend_from_slice(format!("UID {uid}").as_bytes()),
                Item::Size => out.extend_from_slice(format!("RFC822.SIZE {}", message.size).as_bytes()),
                Item::InternalDate => {
                    let date = structure::internal_date(message.received);
                    out.extend_from_slice(format!("INTERNALDATE \"{date}\"").as_bytes());
                }
                Item::Envelope => {
                    out.extend_from_slice(format!("ENVELOPE {}", structure::envelope(&content)).as_bytes());
                }
                Item::Structure(name) => {
                    let extended = *name == "BODYSTRUCTURE";
                    out.extend_from_slice(format!("{name} {}", structure::structure(&content, extended)).as_bytes());
                }
                Item::Text { name, part, range, .. } => write_text(name, &cut(&content, part), *range, out),
            }
        }
        out.extend_from_slice(b")\r\n");
        Ok(())
    }
}

fn item(name: &MessageDataItemName<'_>) -> Option<Item> {
    let whole = |name: &str, part, marks| Item::Text { name: name.to_owned(), part, range: None, marks };
    Some(match name {
        MessageDataItemName::Flags => Item::Flags,
        MessageDataItemName::Uid => Item::Uid,
        MessageDataItemName::Rfc822Size => Item::Size,
        MessageDataItemName::InternalDate => Item::InternalDate,
        MessageDataItemName::Envelope => Item::Envelope,
        MessageDataItemName::Body => Item::Structure("BODY"),
        MessageDataItemName::BodyStructure => Item::Structure("BODYSTRUCTURE"),
        MessageDataItemName::Rfc822 => whole("RFC822", Part::All, true),
        MessageDataItemName::Rfc822Header => whole("RFC822.HEADER", Part::Header, false),
        MessageDataItemName::Rfc822Text => whole("RFC822.TEXT", Part::Text, true),
        MessageDataItemName::BodyExt { section, partial, peek } => {
            let (text, part) = section_of(section.as_ref())?;
            let range = partial.map(|(from, length)| (from, length.get()));
            let name = format!("BODY[{text}]{}", range.map_or(String::new(), |(from, _)| format!("<{from}>")));
            Item::Text { name, part, range, marks: !peek }
        }
        _ => return None,
    })
}

/// A section's name as it is answered, and what it is. Parts of a multipart message are not told apart here.
fn section_of(section: Option<&Section<'_>>) -> Option<(String, Part)> {
    let fields = |names: &Vec1<AString<'_>>, only: bool| {
        let names: Vec<String> =
            names.as_ref().iter().map(|name| String::from_utf8_lossy(name.as_ref()).to_uppercase()).collect();
        let word = if only { "HEADER.FIELDS" } else { "HEADER.FIELDS.NOT" };
        (format!("{word} ({})", names.join(" ")), Part::Fields { names, only })
    };
    Some(match section {
        None => (String::new(), Part::All),
        Some(Section::Header(None)) => ("HEADER".to_owned(), Part::Header),
        Some(Section::Text(None)) => ("TEXT".to_owned(), Part::Text),
        Some(Section::HeaderFields(None, names)) => fields(names, true),
        Some(Section::HeaderFieldsNot(None, names)) => fields(names, false),
        Some(Section::Part(part)) if part.0.as_ref().len() == 1 && part.0.as_ref()[0].get() == 1 => {
            ("1".to_owned(), Part::Text)
        }
        _ => return None,
    })
}

fn cut(content: &[u8], part: &Part) -> Vec<u8> {
    let (header, text) = content.split_at(header_length(content));
    match part {
        Part::All => content.to_vec(),
        Part::Header => header.to_vec(),
        Part::Text => text.to_vec(),
        Part::Fields { names, only } => {
            let mut taken = Vec::new();
            let mut takes = false;
            for line in header.split_inclusive(|&byte| byte == b'\n').filter(|line| *line != b"\r\n") {
                if !matches!(line.first(), Some(b' ' | b'\t')) {
                    let name = line.split(|&byte| byte == b':').next().unwrap_or_default();
                    let name = String::from_utf8_lossy(name).trim().to_uppercase();
                    takes = names.contains(&name) == *only;
                }
                if takes {
                    taken.extend_from_slice(line);
                }
            }
            taken.extend_from_slice(b"\r\n");
            taken
        }
    }
}

fn write_text(name: &str, text: &[u8], range: Option<(u32, u32)>, out: &mut Vec<u8>) {
    let (from, length) = range.unwrap_or((0, u32::MAX));
    let from = (from as usize).min(text.len());
    let to = from.saturating_add(length as usize).min(text.len());
    out.extend_from_slice(format!("{name} {{{}}}\r\n", to - from).as_bytes());
    out.extend_from_slice(&text[from..to]);
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGE: &[u8] = b"From: a@b\r\nSubject: long\r\n line\r\nX-Other: 1\r\n\r\nbody\r\n";

    #[test]
    fn parts_are_cut_where_the_header_ends_and_fields_keep_their_folded_lines() {
        assert_eq!(cut(MESSAGE, &Part::Text), b"body\r\n");
        let only = Part::Fields { names: vec!["SUBJECT".into()], only: true };
        assert_eq!(cut(MESSAGE, &only), b"Subject: long\r\n line\r\n\r\n");
        let others = Part::Fields { names: vec!["SUBJECT".into()], only: false };
        assert_eq!(cut(MESSAGE, &others), b"From: a@b\r\nX-Other: 1\r\n\r\n");
    }

    #[test]
    fn a_range_beyond_the_end_is_empty() {
        let mut out = Vec::new();
        write_text("BODY[]<900>", MESSAGE, Some((900, 10)), &mut out);
        assert_eq!(out, b"BODY[]<900> {0}\r\n");
    }
}
