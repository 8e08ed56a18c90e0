//! Secrets of a workload, kept out of all that the driver writes: also pieces of them, and in other encodings.

use std::borrow::Cow;
use std::ops::Range;

use aho_corasick::AhoCorasick;
use html5gum::{Token, Tokenizer};
use loadstone_record::event::{Event, Exchange};

/// Letters of a secret that are enough to be withheld; of a shorter secret all of them.
const PIECE: usize = 8;
/// Letters of base64 in which a piece is found: it has nine whole ones at least, wherever it begins.
const BASE64_PIECE: usize = 9;
/// Letters at the end of a text that are withheld where a secret begins with them, since the text may be cut there.
const LEAST_AT_END: usize = 4;
/// How often a text may be encoded, one encoding around the other.
const MOST_ENCODINGS: usize = 3;
/// Letters of a text that are searched before it is cut, far more than stay of it.
const MOST_SEARCHED: usize = 64 << 10;
/// Longest reference to a character in HTML, such as `&CounterClockwiseContourIntegral;`.
const LONGEST_REFERENCE: usize = 34;
/// Stands for what was withheld.
const SHOWN: &str = "***";

/// Finds secrets in texts.
#[derive(Debug, Default)]
pub struct Withheld {
    patterns: Option<Patterns>,
    secrets: Vec<Vec<char>>,
}

#[derive(Debug)]
struct Patterns {
    /// Pieces as text and as hexadecimal, in capitals or not.
    text: AhoCorasick,
    base64: AhoCorasick,
}

/// A character, and the bytes of the text that it was decoded from.
#[derive(Clone, Debug)]
struct Unit {
    letter: char,
    from: Range<usize>,
}

/// Decodes the character that begins here; how many units that takes. None where nothing is encoded.
type Decode = fn(&[Unit]) -> Option<(String, usize)>;

const ENCODINGS: [Decode; 3] = [percent, reference, escape];

impl Withheld {
    /// Of these secrets.
    pub fn new(secrets: &[String]) -> Self {
        let secrets: Vec<&String> = secrets.iter().filter(|secret| !secret.is_empty()).collect();
        if secrets.is_empty() {
            return Withheld::default();
        }
        let (mut text, mut base64) = (Vec::new(), Vec::new());
        for secret in &secrets {
            text.extend(pieces(&folded(secret), PIECE));
            for bytes in [Some(secret.as_bytes().to_vec()), latin1(secret)].into_iter().flatten() {
                text.extend(pieces(&in_hexadecimal(&bytes), 2 * PIECE));
                (0..3).for_each(|offset| base64.extend(pieces(&in_base64(&bytes, offset), BASE64_PIECE)));
            }
        }
        let patterns =
            (|| Some(Patterns { text: AhoCorasick::new(&text).ok()?, base64: AhoCorasick::new(&base64).ok()? }))();
        Withheld { patterns, secrets: secrets.into_iter().map(|secret| folded(secret)).collect() }
    }

    /// The text without them.
    pub fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Some(patterns) = &self.patterns else {
            return if self.secrets.is_empty() { Cow::Borrowed(text) } else { Cow::Borrowed(SHOWN) };
        };
        let plain: Vec<Unit> =
            text.char_indices().map(|(at, letter)| Unit { letter, from: at..at + letter.len_utf8() }).collect();
        let mut hidden = vec![false; text.len()];
        self.search(patterns, &plain, MOST_ENCODINGS, &mut hidden);
        if !hidden.contains(&true) {
            return Cow::Borrowed(text);
        }
        let mut shown = String::new();
        for (at, letter) in text.char_indices() {
            if !hidden[at] {
                shown.push(letter);
            } else if at == 0 || !hidden[at - 1] {
                shown.push_str(SHOWN);
            }
        }
        Cow::Owned(shown)
    }

    /// The beginning of a text, at most so many letters of it; they are withheld before it is cut.
    pub fn beginning(&self, text: &str, most: usize) -> String {
        let end = text.char_indices().nth(MOST_SEARCHED.max(most)).map_or(text.len(), |(at, _)| at);
        self.hide(&text[..end]).chars().take(most).collect()
    }

    /// An event of a traced visit without them.
    pub fn hide_in(&self, mut event: Event) -> Event {
        let hide = |text: &mut String| {
            if let Cow::Owned(shown) = self.hide(text) {
                *text = shown;
            }
        };
        match &mut event {
            Event::Exchange(exchange) => {
                let Exchange { request, head, body, fault, .. } = &mut **exchange;
                [request, head, body, fault].into_iter().for_each(hide);
            }
            Event::Performed { detail, values, .. } => {
                hide(detail);
                values.iter_mut().for_each(|(_, value)| hide(value));
            }
            _ => {}
        }
        event
    }

    /// Marks what is found, in the text as it is and with each encoding taken off.
    fn search(&self, patterns: &Patterns, units: &[Unit], encodings: usize, hidden: &mut [bool]) {
        let text = Searched::of(units, |letter| Some(fold(letter)));
        text.mark(&patterns.text, hidden);
        Searched::of(units, base64_letter).mark(&patterns.base64, hidden);
        self.mark_end(units, hidden);
        if encodings > 0 {
            for decode in ENCODINGS {
                if let Some(decoded) = decoded(units, decode) {
                    self.search(patterns, &decoded, encodings - 1, hidden);
                }
            }
        }
    }

    /// Marks the end of a text where a secret begins like it.
    fn mark_end(&self, units: &[Unit], hidden: &mut [bool]) {
        for secret in &self.secrets {
            let longest = secret.len().min(units.len());
            for length in (LEAST_AT_END..=longest).rev() {
                let end = &units[units.len() - length..];
                let is_equal = |(unit, letter): (&Unit, &char)| fold(unit.letter) == *letter;
                if end.iter().zip(secret).all(is_equal) {
                    end.iter().for_each(|unit| hidden[unit.from.clone()].fill(true));
                    break;
                }
            }
        }
    }
}

/// A text to search, and for each of its bytes the unit that it is of.
struct Searched<'a> {
    units: &'a [Unit],
    text: String,
    of: Vec<usize>,
}

impl<'a> Searched<'a> {
    fn of(units: &'a [Unit], folded: impl Fn(char) -> Option<char>) -> Self {
        let (mut text, mut of) = (String::new(), Vec::new());
        for (at, unit) in units.iter().enumerate() {
            if let Some(letter) = folded(unit.letter) {
                text.push(letter);
                of.resize(text.len(), at);
            }
        }
        Searched { units, text, of }
    }

    fn mark(&self, patterns: &AhoCorasick, hidden: &mut [bool]) {
        for found in patterns.find_overlapping_iter(&self.text) {
            for at in &self.of[found.range()] {
                hidden[self.units[*at].from.clone()].fill(true);
            }
        }
    }
}

fn folded(secret: &str) -> Vec<char> {
    secret.chars().map(fold).collect()
}

/// The same letter whether capital or not; a space may be written as a plus.
fn fold(letter: char) -> char {
    let mut lower = letter.to_lowercase();
    match (letter, lower.next(), lower.next()) {
        ('+', ..) => ' ',
        (_, Some(one), None) => one,
        _ => letter,
    }
}

/// A letter of the standard alphabet for one of either; none where lines are broken.
fn base64_letter(letter: char) -> Option<char> {
    match letter {
        '-' | ' ' => Some('+'),
        '_' => Some('/'),
        '\r' | '\n' => None,
        other => Some(other),
    }
}

/// All pieces of that length; the whole where it is shorter.
fn pieces(letters: &[char], length: usize) -> Vec<String> {
    letters.windows(length.min(letters.len()).max(1)).map(|piece| piece.iter().collect()).collect()
}

/// Its bytes in Latin-1; none where they are those of UTF-8, or where it has other letters.
fn latin1(secret: &str) -> Option<Vec<u8>> {
    if secret.is_ascii() {
        return None;
    }
    secret.chars().map(|letter| u8::try_from(u32::from(letter)).ok()).collect()
}

fn in_hexadecimal(bytes: &[u8]) -> Vec<char> {
    bytes.iter().flat_map(|byte| format!("{byte:02x}").chars().collect::<Vec<_>>()).collect()
}

/// The letters of base64 that the bytes alone decide, where so many others stand before them.
fn in_base64(bytes: &[u8], before: usize) -> Vec<char> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bit = |at: usize| usize::from(bytes[at / 8 - before] >> (7 - at % 8) & 1);
    let whole = (before * 8).div_ceil(6)..(before + bytes.len()) * 8 / 6;
    whole
        .map(|letter| (letter * 6..letter * 6 + 6).fold(0, |value, at| value << 1 | bit(at)))
        .map(|value| char::from(ALPHABET[value]))
        .collect()
}

/// The text with an encoding taken off; none where nothing is encoded so.
fn decoded(units: &[Unit], decode: Decode) -> Option<Vec<Unit>> {
    let (mut result, mut at, mut has_changed) = (Vec::with_capacity(units.len()), 0, false);
    while at < units.len() {
        match decode(&units[at..]) {
            Some((letters, taken)) => {
                let from = units[at].from.start..units[at + taken - 1].from.end;
                result.extend(letters.chars().map(|letter| Unit { letter, from: from.clone() }));
                (at, has_changed) = (at + taken, true);
            }
            None => {
                result.push(units[at].clone());
                at += 1;
            }
        }
    }
    has_changed.then_some(result)
}

/// `%XX`, in UTF-8 or Latin-1, and `%uXXXX`.
fn percent(units: &[Unit]) -> Option<(String, usize)> {
    if units[0].letter != '%' {
        return None;
    }
    if units.get(1).is_some_and(|unit| unit.letter == 'u') {
        return Some((char::from_u32(hexadecimal(units.get(2..6)?)?)?.into(), 6));
    }
    let byte = |at: usize| match units.get(at..at + 3) {
        Some(three) if three[0].letter == '%' => hexadecimal(&three[1..]).map(|value| value as u8),
        _ => None,
    };
    let first = byte(0)?;
    let length = match first {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => 1,
    };
    let bytes: Option<Vec<u8>> = (0..length).map(|at| byte(3 * at)).collect();
    match bytes.and_then(|bytes| String::from_utf8(bytes).ok()) {
        Some(text) => Some((text, 3 * length)),
        None => Some((char::from(first).into(), 3)),
    }
}

/// A reference to a character in HTML: `&amp;`, `&#39;`, `&#x27;`.
fn reference(units: &[Unit]) -> Option<(String, usize)> {
    if units[0].letter != '&' {
        return None;
    }
    let end = units
        .iter()
        .take(LONGEST_REFERENCE)
        .skip(1)
        .position(|unit| !unit.letter.is_ascii_alphanumeric() && unit.letter != '#');
    let end = end.map_or(units.len().min(LONGEST_REFERENCE), |at| at + 1);
    let end = if units.get(end).is_some_and(|unit| unit.letter == ';') { end + 1 } else { end };
    let text: String = units[..end].iter().map(|unit| unit.letter).collect();
    let mut letters = String::new();
    for Ok(token) in Tokenizer::new(text.as_str()) {
        if let Token::String(part) = token {
            letters.push_str(&String::from_utf8_lossy(&part));
        }
    }
    (letters != text).then_some((letters, end))
}

/// An escape of JSON or JavaScript: `\u00e9`, `\u{e9}`, `\xe9`, `\/`, `\n`.
fn escape(units: &[Unit]) -> Option<(String, usize)> {
    if units[0].letter != '\\' {
        return None;
    }
    let plain = |letter: char, taken: usize| Some((String::from(letter), taken));
    match units.get(1)?.letter {
        'u' => unicode(units),
        'x' => plain(char::from_u32(hexadecimal(units.get(2..4)?)?)?, 4),
        'n' => plain('\n', 2),
        'r' => plain('\r', 2),
        't' => plain('\t', 2),
        'b' => plain('\u{8}', 2),
        'f' => plain('\u{c}', 2),
        other => plain(other, 2),
    }
}

fn unicode(units: &[Unit]) -> Option<(String, usize)> {
    if units.get(2)?.letter == '{' {
        let length = units.iter().take(10).position(|unit| unit.letter == '}')?;
        return Some((char::from_u32(hexadecimal(&units[3..length])?)?.into(), length + 1));
    }
    let high = hexadecimal(units.get(2..6)?)?;
    if let Some(letter) = char::from_u32(high) {
        return Some((letter.into(), 6));
    }
    let is_pair = units.get(6)?.letter == '\\' && units.get(7)?.letter == 'u';
    let low = if is_pair { hexadecimal(units.get(8..12)?)? } else { return None };
    let letter = char::decode_utf16([high as u16, low as u16]).next()?.ok()?;
    Some((letter.into(), 12))
}

fn hexadecimal(units: &[Unit]) -> Option<u32> {
    let digits = units.iter().try_fold(0_u32, |value, unit| Some(value.checked_mul(16)? + unit.letter.to_digit(16)?));
    digits.filter(|_| !units.is_empty())
}

#[cfg(test)]
mod tests;
