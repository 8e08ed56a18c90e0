//! Messages as users send them: made from who sends it and a number, of an exact length, with a digest of its own text.
//! Pure.

use std::io::Write;

use loadstone_schedule::ledger::hash_words;

/// The field that holds the digest of all that follows the header.
const DIGEST: &[u8] = b"X-Loadstone-Digest: ";
const LINE: &[u8; 78] = b"The quick onyx goblin jumps over the lazy dwarf; pack my box with five jugs.\r\n";
/// First field of every message.
const START: &[u8] = b"From: ";
const END: &[u8] = b"\r\n\r\n";
/// Shortest message: the header and a line.
pub const LEAST_BYTES: usize = 512;
/// Shortest text below the header: its number and a line.
const LEAST_TEXT_BYTES: usize = 100;

/// Domain of all users' addresses.
const DOMAIN: &str = "loadstone.example";

/// Returns a user's address.
pub fn address_of(user: &str) -> String {
    format!("{user}@{DOMAIN}")
}

/// Writes message number `serial` of a user's to itself, `bytes` long (at least the shortest); returns its digest.
pub fn write(user: &str, serial: u64, bytes: usize, out: &mut Vec<u8>) -> u64 {
    write_to(user, &[address_of(user)], serial, bytes, out)
}

/// Writes message number `serial` of a user's to these addresses; as long as the header where `bytes` are fewer.
pub fn write_to(user: &str, to: &[String], serial: u64, bytes: usize, out: &mut Vec<u8>) -> u64 {
    out.clear();
    let _ = write!(
        out, // a Vec takes all
        "From: {user}@{DOMAIN}\r\nTo: {}\r\nSubject: Message {serial} of {user}\r\nDate: Thu, 01 Jan 2026 00:00:00 +0000\r\n\
         Message-ID: <{serial}.{user}@{DOMAIN}>\r\n",
        to.join(",\r\n ")
    );
    let header = out.len() + DIGEST.len() + 16 + END.len();
    let length = bytes.max(LEAST_BYTES).max(header + LEAST_TEXT_BYTES) - header;
    let mut text = Vec::with_capacity(length);
    let _ = write!(text, "{serial:020}\r\n");
    while text.len() < length {
        let piece = (length - text.len()).min(LINE.len());
        text.extend_from_slice(&LINE[..piece]);
    }
    let end = text.len();
    text[end - 2..].copy_from_slice(b"\r\n");
    if text[end - 3] == b'\r' {
        text[end - 3] = b'.'; // no line may end twice
    }
    let _ = write!(out, "{}{:016x}\r\n\r\n", String::from_utf8_lossy(DIGEST), hash_words(&text));
    out.extend_from_slice(&text);
    hash_words(out)
}

/// Returns a delivered message as it was sent: without the lines that servers add on its top (RFC 5321, section 4.4). None
/// for a message that was not written here.
pub fn without_trace(message: &[u8]) -> Option<&[u8]> {
    if message.starts_with(START) {
        return Some(message);
    }
    let header = &message[..memchr::memmem::find(message, END)?];
    memchr::memmem::find_iter(header, START).find(|&at| header[at - 1] == b'\n').map(|at| &message[at..])
}

/// Whether a message's text is the one that its own digest was made of.
pub fn is_whole(message: &[u8]) -> bool {
    let Some(header) = memchr::memmem::find(message, END) else { return false };
    let said = memchr::memmem::find(&message[..header], DIGEST).map(|at| at + DIGEST.len());
    let said = said.and_then(|at| message.get(at..at + 16)).and_then(|text| std::str::from_utf8(text).ok());
    said.and_then(|text| u64::from_str_radix(text, 16).ok()) == Some(hash_words(&message[header + END.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_their_exact_length_and_every_changed_byte_of_the_text_shows() {
        let mut out = Vec::new();
        for bytes in [LEAST_BYTES, 513, 590, 1000, 65_537] {
            let digest = write("user7", 3, bytes, &mut out);
            assert_eq!((out.len(), digest), (bytes, hash_words(&out)));
            assert!(is_whole(&out) && out.ends_with(b"\r\n") && !out.ends_with(b"\r\r\n"));
            assert!(!memchr::memmem::find_iter(&out, b"\n").any(|at| out[at - 1] != b'\r'));
            let middle = bytes - 100;
            out[middle] ^= 1;
            assert!(!is_whole(&out));
        }
    }

    #[test]
    fn a_message_to_many_is_longer_where_its_header_needs_it() {
        let to: Vec<String> = (0..50).map(|number| address_of(&format!("user{number}"))).collect();
        let mut out = Vec::new();
        write_to("user1", &to, 1, 600, &mut out);
        assert!(out.len() > 1500 && is_whole(&out));
        write_to("user1", &to[..3], 1, 600, &mut out);
        assert!(out.len() == 600 && is_whole(&out));
    }

    #[test]
    fn lines_that_a_server_adds_on_top_are_taken_off() {
        let mut out = Vec::new();
        write("user7", 3, 600, &mut out);
        let delivered = [b"Return-Path: <a@b>\r\nX-From: x\r\n".as_slice(), &out].concat();
        assert_eq!(without_trace(&delivered), Some(out.as_slice()));
        assert!(is_whole(&delivered));
        assert_eq!(without_trace(&out), Some(out.as_slice()));
        assert_eq!(without_trace(b"Subject: From: nobody\r\n\r\nFrom: below"), None);
    }
}
