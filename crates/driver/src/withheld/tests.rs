use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use base64::Engine;

use super::*;

const SECRET: &str = "p\u{e4}ss \"w&rd/1+'\u{1f600}<x>";

fn hidden(text: &str) -> String {
    Withheld::new(&[SECRET.to_owned()]).hide(text).into_owned()
}

/// Percent signs before all but letters and digits.
fn percent_encoded(text: &str, is_capital: bool) -> String {
    let encode = |byte: u8| match byte {
        b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => char::from(byte).to_string(),
        _ if is_capital => format!("%{byte:02X}"),
        _ => format!("%{byte:02x}"),
    };
    text.bytes().map(encode).collect()
}

fn json(text: &str, escaped: impl Fn(u16) -> String) -> String {
    text.encode_utf16()
        .map(|unit| if (0x30..0x7b).contains(&unit) { char::from(unit as u8).to_string() } else { escaped(unit) })
        .collect()
}

fn references(text: &str, write: impl Fn(u32) -> String) -> String {
    text.chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter.into() } else { write(letter.into()) })
        .collect()
}

#[test]
fn a_secret_is_withheld_in_every_encoding_that_sites_echo_it_in() {
    let encoded = [
        SECRET.to_owned(),
        SECRET.to_uppercase(),
        SECRET.replace('&', "&amp;"),
        SECRET.replace('&', "&amp;").replace('"', "&#34;").replace('\'', "&#39;").replace('<', "&lt;"),
        SECRET.replace('&', "&amp;").replace('"', "&quot;").replace('\'', "&apos;").replace('\u{e4}', "&auml;"),
        references(SECRET, |letter| format!("&#{letter};")),
        references(SECRET, |letter| format!("&#x{letter:X};")),
        SECRET.replace('"', "\\\"").replace('/', "\\/"),
        json(SECRET, |unit| format!("\\u{unit:04x}")),
        json(SECRET, |unit| format!("\\u{unit:04X}")),
        SECRET.replace('\'', "\\x27").replace('<', "\\x3c").replace('\u{e4}', "\\u{e4}"),
        percent_encoded(SECRET, true),
        percent_encoded(SECRET, false),
        percent_encoded(SECRET, true).replace("%20", "+"),
        percent_encoded(&percent_encoded(SECRET, true), true),
        percent_encoded(&references(SECRET, |letter| format!("&#{letter};")), true),
        json(&percent_encoded(&SECRET.replace('&', "&amp;"), false), |unit| format!("\\u{unit:04x}")),
        SECRET.bytes().map(|byte| format!("{byte:02x}")).collect(),
        SECRET.bytes().map(|byte| format!("{byte:02X}")).collect(),
    ];
    for text in encoded {
        let shown = hidden(&format!("<p class=\"x\">before {text} behind"));
        assert_eq!(shown, "<p class=\"x\">before *** behind", "{text}");
    }
}

#[test]
fn a_secret_is_withheld_in_base64_wherever_it_begins() {
    for before in ["", "a", "user:", "someone:"] {
        for behind in ["", "b", ":more"] {
            let text = format!("{before}{SECRET}{behind}");
            for encoded in [STANDARD.encode(&text), URL_SAFE_NO_PAD.encode(&text)] {
                let shown = hidden(&format!("Basic {encoded}"));
                assert!(
                    shown.contains(SHOWN) && shown.len() < 6 + 3 + 2 * 4 + before.len() * 2 + behind.len() * 2,
                    "{shown}"
                );
            }
        }
    }
}

#[test]
fn pieces_of_eight_letters_are_withheld_and_shorter_ones_are_not() {
    let secret = "abcdefghijklmnopqrstuvwxyz0123456789";
    let withheld = Withheld::new(&[secret.to_owned()]);
    assert_eq!(withheld.hide("got ghijklmn of it"), "got *** of it");
    assert_eq!(withheld.hide("got ghijklm of it"), "got ghijklm of it");
    assert_eq!(withheld.hide("cut after abcde"), "cut after ***");
    assert_eq!(withheld.beginning(&format!("{}{secret}", "-".repeat(190)), 200), format!("{}***", "-".repeat(190)));
    assert_eq!(Withheld::new(&["pass".to_owned()]).hide("the pass"), "the ***");
}

#[test]
fn texts_without_a_secret_stay_as_they_are() {
    let text = "100% of &amp; \\u00e4 %zz \\u{} \\ud800 &#x110000; %";
    assert_eq!(hidden(text), text);
    assert_eq!(Withheld::new(&[]).hide(text), text);
    assert_eq!(Withheld::new(&["".to_owned()]).hide(text), text);
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(text in ".{0,60}", escapes in "[%&\\\\ux#;{}0-9a-fA-F]{0,40}") {
        hidden(&text);
        hidden(&escapes);
    }
}
