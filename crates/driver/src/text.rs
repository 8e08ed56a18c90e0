//! Texts in answers' bodies: tags, what stands between two texts, values as they are meant.

use std::borrow::Cow;

use base64::alphabet;
use base64::engine::{DecodePaddingMode, Engine, GeneralPurpose, GeneralPurposeConfig};
use html5gum::{Token, Tokenizer};
use loadstone_schedule::plan::Decode;
use memchr::memmem;
use percent_encoding::percent_decode;
use serde_json::Value;

/// Either end of a text by 64 letters may be left out.
const BASE64: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, BASE64);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, BASE64);

/// Where a tag begins that is given in small letters and without its end.
pub fn find_tag(text: &[u8], tag: &[u8]) -> Option<usize> {
    let ends = |at: usize| text.get(at).is_none_or(|byte| matches!(byte, b'>' | b'/' | b' ' | b'\t' | b'\n' | b'\r'));
    memchr::memchr_iter(b'<', text).find(|&at| {
        let begin = text.get(at..at + tag.len());
        begin.is_some_and(|begin| begin.eq_ignore_ascii_case(tag)) && ends(at + tag.len())
    })
}

/// A value of JSON as it stands there, a text without its quotes.
pub fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// All that stands between the two texts, one after the other.
pub fn all_between<'a, 'b>(
    text: &'a [u8],
    after: &'b [u8],
    before: &'b [u8],
) -> impl Iterator<Item = &'a [u8]> + use<'a, 'b> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let from = memmem::find(rest, after)? + after.len();
        let length = memmem::find(&rest[from..], before)?;
        let found = &rest[from..from + length];
        rest = &rest[from + length..];
        Some(found)
    })
}

/// What was found, as it is meant.
pub fn decoded(found: Cow<'_, [u8]>, how: Option<Decode>) -> Cow<'_, [u8]> {
    match how {
        None => found,
        Some(Decode::Url) => Cow::Owned(percent_decode(&found).collect()),
        Some(Decode::Html) => {
            let mut text = Vec::new();
            for Ok(token) in Tokenizer::new(found.as_ref()) {
                if let Token::String(part) = token {
                    text.extend_from_slice(&part);
                }
            }
            Cow::Owned(text)
        }
        Some(Decode::Json) => {
            let quoted = [b"\"", found.as_ref(), b"\""].concat();
            serde_json::from_slice::<String>(&quoted).map_or(found, |text| Cow::Owned(text.into_bytes()))
        }
        Some(Decode::Base64) => {
            let is_url_safe = found.iter().any(|letter| matches!(letter, b'-' | b'_'));
            let alphabet = if is_url_safe { &URL_SAFE } else { &STANDARD };
            alphabet.decode(found.as_ref()).map_or(found, Cow::Owned)
        }
    }
}
