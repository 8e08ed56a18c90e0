//! Drawing the values a session fills into its requests, from named generators.

use std::collections::HashSet;

use crate::draw::{zipf, Weighted};
use crate::plan::{Generator, GeneratorKind, Scope, TimeForm, UniqueForm};
use crate::rng::Stream;
use crate::slots::{Slot, Slots, Values};
use crate::template::Template;
use crate::PlanError;

/// Who draws: needed by generators that give every session its own share of the data.
#[derive(Clone, Copy, Debug)]
pub struct Drawer {
    /// Index of the session, from 0.
    pub session: u64,
    /// How many user sessions this one has started before.
    pub visit: u64,
    /// How often this session has drawn the value before.
    pub drawn: u64,
    /// Milliseconds since 1970-01-01 at which the operation is due.
    pub unix_ms: u64,
}

/// Ranks of a Zipf distribution; each takes eight bytes.
const MOST_RANKS: u64 = 10_000_000;
const MOST_WORDS: u32 = 1_000;
/// Days before or after 1970 that a date may lie.
const MOST_DAYS: u64 = 365_000_000;

#[derive(Clone, Debug)]
enum Draw {
    Uniform { min: i64, span: u64, digits: usize },
    Exponential { max: u64, mean: f64 },
    Ranked { weights: Weighted, first: u64, digits: usize },
    Choice { values: Vec<String>, weights: Weighted },
    Table { slots: Vec<Slot>, rows: Vec<Vec<String>>, weights: Weighted, own: bool },
    Words { words: Vec<String>, count: u32, separator: String },
    Date { from: i64, span: u64 },
    User { per_session: u64, first: u64, digits: usize, any: bool },
    Text(Template),
    Counter { first: u64, digits: usize },
    Unique { form: UniqueForm, prefix: String, salt: u64 },
    Now(TimeForm),
}

/// Digits of a number to the base of 32, without those that are mistaken for others (Crockford).
const BASE32: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Bits of such a digit.
const DIGIT_BITS: u32 = 5;

/// A generator compiled for fast drawing into its slot (a table fills several).
#[derive(Clone, Debug)]
pub struct Source {
    slot: Slot,
    scope: Scope,
    states: Vec<u32>,
    draw: Draw,
}

impl Source {
    /// Reserves the slots a generator fills: `name`, or `name.column` for tables.
    pub fn reserve(generator: &Generator, slots: &mut Slots) {
        match &generator.kind {
            GeneratorKind::Table { columns, .. } => columns.iter().for_each(|column| {
                slots.intern(&format!("{}.{column}", generator.name));
            }),
            _ => {
                slots.intern(&generator.name);
            }
        }
    }

    /// Compiles a generator whose slots are reserved.
    pub fn compile(generator: &Generator, slots: &Slots) -> Result<Self, PlanError> {
        let place = format!("value {}", generator.name);
        let bad = |message: &str| PlanError::invalid(place.clone(), message);
        let draw = match &generator.kind {
            GeneratorKind::Uniform { min, max, digits } if min <= max => {
                Draw::Uniform { min: *min, span: max.abs_diff(*min).saturating_add(1), digits: usize::from(*digits) }
            }
            GeneratorKind::Uniform { .. } => return Err(bad("min is above max")),
            GeneratorKind::Exponential { max, mean_share }
                if *max > 0 && *mean_share > 0.0 && mean_share.is_finite() =>
            {
                Draw::Exponential { max: *max, mean: *mean_share * *max as f64 }
            }
            GeneratorKind::Exponential { .. } => return Err(bad("needs max of at least 1 and a mean above 0")),
            GeneratorKind::Zipf { n, .. } if *n > MOST_RANKS => return Err(bad("needs n of at most 10,000,000")),
            GeneratorKind::Zipf { n, alpha, first, digits } => Draw::Ranked {
                weights: zipf(*n, *alpha).ok_or_else(|| bad("needs n of at least 1 and a finite alpha"))?,
                first: *first,
                digits: usize::from(*digits),
            },
            GeneratorKind::Choice { values, weights } => Draw::Choice {
                weights: weights_for(values.len(), weights).ok_or_else(|| bad("needs one weight a value"))?,
                values: values.clone(),
            },
            GeneratorKind::Table { columns, rows, weights, own } => {
                if rows.iter().any(|row| row.len() != columns.len()) {
                    return Err(bad("every row needs one entry a column"));
                }
                let names = columns.iter().map(|column| format!("{}.{column}", generator.name));
                Draw::Table {
                    slots: names.filter_map(|name| slots.get(&name)).collect(),
                    rows: rows.clone(),
                    weights: weights_for(rows.len(), weights).ok_or_else(|| bad("needs one weight a row"))?,
                    own: *own,
                }
            }
            GeneratorKind::Words { words, .. } if words.is_empty() => return Err(bad("needs at least one word")),
            GeneratorKind::Words { count, .. } if *count > MOST_WORDS => return Err(bad("needs at most 1,000 words")),
            GeneratorKind::Words { words, count, separator } => {
                Draw::Words { words: words.clone(), count: *count, separator: separator.clone() }
            }
            GeneratorKind::Date { from_days, to_days }
                if from_days.unsigned_abs().max(to_days.unsigned_abs()) > MOST_DAYS =>
            {
                return Err(bad("dates are within a million years"));
            }
            GeneratorKind::Date { from_days, to_days } if from_days <= to_days => {
                Draw::Date { from: *from_days, span: to_days.abs_diff(*from_days) + 1 }
            }
            GeneratorKind::Date { .. } => return Err(bad("from_days is above to_days")),
            GeneratorKind::User { per_session, first, digits, any } => {
                let digits = usize::from(*digits);
                Draw::User { per_session: (*per_session).max(1), first: *first, digits, any: *any }
            }
            GeneratorKind::Secret { value, .. } => Draw::Choice {
                weights: weights_for(1, &None).ok_or_else(|| bad("needs a value"))?,
                values: vec![value.clone().unwrap_or_default()],
            },
            GeneratorKind::Text { text } => Draw::Text(Template::compile(text, slots, &place)?),
            GeneratorKind::Counter { first, digits } => Draw::Counter { first: *first, digits: usize::from(*digits) },
            GeneratorKind::Unique { form, prefix, salt } => {
                Draw::Unique { form: *form, prefix: prefix.clone(), salt: *salt }
            }
            GeneratorKind::Now { form } => Draw::Now(*form),
        };
        let slot = slots.get(&generator.name).unwrap_or(usize::MAX);
        Ok(Source { slot, scope: generator.scope, states: generator.states.clone(), draw })
    }

    /// Whether it is drawn once, when a user session begins.
    pub fn is_of_session(&self) -> bool {
        self.scope == Scope::Session
    }

    /// Whether it is drawn before `state`, whose operation and drawn values refer to `used`.
    pub fn is_due(&self, state: usize, used: &HashSet<Slot>) -> bool {
        match self.scope {
            Scope::Session => false,
            Scope::States => self.states.contains(&(state as u32)),
            Scope::Operation => self.fills().iter().any(|slot| used.contains(slot)),
        }
    }

    /// The values it refers to itself.
    pub fn needs(&self) -> impl Iterator<Item = Slot> + '_ {
        let text = if let Draw::Text(template) = &self.draw { Some(template) } else { None };
        text.into_iter().flat_map(Template::slots)
    }

    fn fills(&self) -> &[Slot] {
        match &self.draw {
            Draw::Table { slots, .. } => slots,
            _ => std::slice::from_ref(&self.slot),
        }
    }

    /// Draws once and stores the result.
    pub fn draw(&self, who: Drawer, stream: &mut Stream, values: &mut Values) {
        match &self.draw {
            Draw::Uniform { min, span, digits } => {
                let drawn = min.wrapping_add(stream.below(*span) as i64);
                values.format(self.slot, format_args!("{drawn:0digits$}"));
            }
            Draw::Exponential { max, mean } => {
                // Cut off beyond the last.
                let kept = 1.0 - (-(*max as f64) / mean).exp();
                let drawn = -(1.0 - stream.unit() * kept).ln() * mean;
                values.format(self.slot, format_args!("{}", (drawn as u64).min(max - 1) + 1));
            }
            Draw::Ranked { weights, first, digits } => {
                let drawn = first.saturating_add(weights.pick(stream) as u64);
                values.format(self.slot, format_args!("{drawn:0digits$}"));
            }
            Draw::Choice { values: choices, weights } => values.set(self.slot, &choices[weights.pick(stream)]),
            Draw::Table { slots, rows, weights, own } => {
                let row = match own {
                    true => &rows[(who.session % rows.len() as u64) as usize],
                    false => &rows[weights.pick(stream)],
                };
                slots.iter().zip(row).for_each(|(&slot, text)| values.set(slot, text));
            }
            Draw::Words { words, count, separator } => {
                let mut text = String::new();
                for index in 0..*count {
                    text.push_str(if index > 0 { separator } else { "" });
                    text.push_str(&words[stream.below(words.len() as u64) as usize]);
                }
                values.set(self.slot, &text);
            }
            Draw::Date { from, span } => {
                let (year, month, day) = civil_date(from + stream.below(*span) as i64);
                values.format(self.slot, format_args!("{year:04}-{month:02}-{day:02}"));
            }
            Draw::User { per_session, first, digits, any } => {
                let own = if *any { stream.below(*per_session) } else { who.visit % per_session };
                let user = who.session.wrapping_mul(*per_session).wrapping_add(own).wrapping_add(*first);
                values.format(self.slot, format_args!("{user:0digits$}"));
            }
            Draw::Text(template) => {
                let text = template.text(values);
                values.set(self.slot, &text);
            }
            Draw::Counter { first, digits } => {
                let number = first.wrapping_add(who.drawn);
                values.format(self.slot, format_args!("{number:0digits$}"));
            }
            Draw::Unique { form, prefix, salt } => {
                let bits = u128::from(stream.bits() ^ salt) << 64 | u128::from(stream.bits());
                match form {
                    UniqueForm::Text => values.set(self.slot, &format!("{prefix}{}", base32((bits >> 64) as u64))),
                    UniqueForm::Uuid => values.set(self.slot, &format!("{prefix}{}", uuid(bits))),
                }
            }
            Draw::Now(form) => {
                let (seconds, ms) = (who.unix_ms / 1000, who.unix_ms % 1000);
                match form {
                    TimeForm::S => values.format(self.slot, format_args!("{seconds}")),
                    TimeForm::Ms => values.format(self.slot, format_args!("{}", who.unix_ms)),
                    TimeForm::Iso | TimeForm::IsoS => {
                        let (year, month, day) = civil_date((seconds / 86_400) as i64);
                        let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
                        let moment = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
                        match form {
                            TimeForm::IsoS => values.format(self.slot, format_args!("{moment}Z")),
                            _ => values.format(self.slot, format_args!("{moment}.{ms:03}Z")),
                        }
                    }
                }
            }
        }
    }
}

/// A number in 13 letters and digits.
fn base32(number: u64) -> String {
    let shifts = (0..u64::BITS.div_ceil(DIGIT_BITS)).rev().map(|place| place * DIGIT_BITS);
    shifts.map(|shift| char::from(BASE32[(number >> shift) as usize % BASE32.len()])).collect()
}

/// A UUID of version 4 made of these bits (RFC 9562, section 5.4).
fn uuid(bits: u128) -> String {
    let marked = bits & !(0xf << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62;
    let text = format!("{marked:032x}");
    [&text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..]].join("-")
}

fn weights_for(n: usize, weights: &Option<Vec<f64>>) -> Option<Weighted> {
    match weights {
        Some(weights) if weights.len() != n => None,
        Some(weights) => Weighted::new(weights.iter().copied()),
        None => Weighted::new(std::iter::repeat_n(1.0, n)),
    }
}

/// Year, month and day of a day number counted from 1970-01-01 (Howard Hinnant's `civil_from_days`).
fn civil_date(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_index + 2) / 5 + 1;
    let month = if month_index < 10 { month_index + 3 } else { month_index - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests;
