//! ENVELOPE, BODYSTRUCTURE and dates. Messages are parsed by a library.

use chrono::{DateTime, NaiveDate};
use mail_parser::{Address, MessageParser, MimeHeaders};

use super::words::{header_length, quoted};

/// A time as INTERNALDATE writes it.
pub fn internal_date(seconds: i64) -> String {
    moment(seconds).format("%e-%b-%Y %H:%M:%S %z").to_string()
}

/// The day of a time.
pub fn day_of(seconds: i64) -> NaiveDate {
    moment(seconds).date_naive()
}

fn moment(seconds: i64) -> DateTime<chrono::Utc> {
    DateTime::from_timestamp(seconds, 0).unwrap_or_default()
}

fn nil_or(text: Option<&str>) -> String {
    text.map_or("NIL".to_owned(), |text| quoted(&text.replace(['\r', '\n'], "")))
}

/// Date, subject, from, sender, reply-to, to, cc, bcc, in-reply-to, message id.
pub fn envelope(content: &[u8]) -> String {
    let Some(message) = MessageParser::new().parse_headers(content) else {
        return format!("({})", ["NIL"; 10].join(" "));
    };
    let date = message.date().map(|date| date.to_rfc822());
    let from = addresses(message.from());
    let or_from = |given: Option<&Address<'_>>| if given.is_some() { addresses(given) } else { from.clone() };
    let parts = [
        nil_or(date.as_deref()),
        nil_or(message.subject()),
        from.clone(),
        or_from(message.sender()),
        or_from(message.reply_to()),
        addresses(message.to()),
        addresses(message.cc()),
        addresses(message.bcc()),
        nil_or(message.in_reply_to().as_text()),
        nil_or(message.message_id().map(|id| format!("<{id}>")).as_deref()),
    ];
    format!("({})", parts.join(" "))
}

fn addresses(given: Option<&Address<'_>>) -> String {
    let one = |address: &mail_parser::Addr<'_>| {
        let (user, host) = address.address().and_then(|text| text.split_once('@')).unzip();
        format!("({} NIL {} {})", nil_or(address.name()), nil_or(user), nil_or(host))
    };
    let all: Vec<String> = given.into_iter().flat_map(|address| address.iter()).map(one).collect();
    if all.is_empty() {
        "NIL".to_owned()
    } else {
        format!("({})", all.concat())
    }
}

/// The structure of a message of one part; one of several parts is told as the bytes it is.
pub fn structure(content: &[u8], extended: bool) -> String {
    let text = &content[header_length(content)..];
    let parsed = MessageParser::new().parse_headers(content);
    let kind = parsed.as_ref().and_then(|message| message.content_type());
    let (kind, below) = kind.map_or(("text", "plain"), |kind| (kind.ctype(), kind.subtype().unwrap_or("plain")));
    let encoding = parsed.as_ref().and_then(|message| message.content_transfer_encoding()).unwrap_or("7bit");
    let lines =
        if kind == "text" { format!(" {}", text.iter().filter(|&&byte| byte == b'\n').count()) } else { String::new() };
    let more = if extended { " NIL NIL NIL" } else { "" };
    let (kind, below, encoding) = (quoted(kind), quoted(below), quoted(encoding));
    format!("({kind} {below} (\"charset\" \"us-ascii\") NIL NIL {encoding} {}{lines}{more})", text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGE: &[u8] = b"From: Ann <ann@a.example>\r\nTo: bob@b.example\r\nSubject: a \"word\"\r\n\
        Date: Thu, 01 Jan 2026 10:00:00 +0000\r\nMessage-ID: <1@a.example>\r\n\r\none\r\ntwo\r\n";

    #[test]
    fn an_envelope_has_ten_parts() {
        let found = envelope(MESSAGE);
        assert!(found.contains("\"a \\\"word\\\"\" ((\"Ann\" NIL \"ann\" \"a.example\"))"), "{found}");
        assert!(found.ends_with("((NIL NIL \"bob\" \"b.example\")) NIL NIL NIL \"<1@a.example>\")"), "{found}");
    }

    #[test]
    fn a_structure_counts_bytes_and_lines_of_the_body() {
        let found = structure(MESSAGE, false);
        assert_eq!(found, "(\"text\" \"plain\" (\"charset\" \"us-ascii\") NIL NIL \"7bit\" 10 2)");
    }

    #[test]
    fn dates_are_written_as_the_protocol_wants_them() {
        assert_eq!(internal_date(1_767_225_600), " 1-Jan-2026 00:00:00 +0000");
    }
}
