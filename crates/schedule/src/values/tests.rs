use super::*;
use crate::rng::Purpose;

fn drawn(kind: GeneratorKind, session: u64, visit: u64) -> String {
    let generator = Generator { name: "v".into(), scope: Scope::Operation, states: vec![], kind };
    let mut slots = Slots::default();
    Source::reserve(&generator, &mut slots);
    let source = Source::compile(&generator, &slots).expect("valid");
    let mut values = Values::new(slots.len());
    source.draw(
        Drawer { session, visit, drawn: 3, unix_ms: 1_709_164_800_007 },
        &mut Stream::new(1, session, Purpose::Values),
        &mut values,
    );
    values.get(0).to_owned()
}

#[test]
fn every_session_owns_its_user_ids_and_walks_through_them() {
    let user = |session, visit| {
        drawn(GeneratorKind::User { per_session: 50, first: 1, digits: 10, any: false }, session, visit)
    };
    assert_eq!(user(0, 0), "0000000001");
    assert_eq!(user(0, 49), "0000000050");
    assert_eq!(user(0, 50), "0000000001");
    assert_eq!(user(1, 0), "0000000051");
}

#[test]
fn dates_are_real_ones() {
    assert_eq!(civil_date(0), (1970, 1, 1));
    assert_eq!(civil_date(19_782), (2024, 2, 29));
    assert_eq!(drawn(GeneratorKind::Date { from_days: 20_454, to_days: 20_454 }, 0, 0), "2026-01-01");
}

#[test]
fn a_counter_goes_on_from_where_its_session_was() {
    assert_eq!(drawn(GeneratorKind::Counter { first: 10, digits: 4 }, 0, 0), "0013");
}

#[test]
fn unique_texts_differ_by_session_and_by_salt_and_stay_the_same_otherwise() {
    let unique = |form, salt, session| drawn(GeneratorKind::Unique { form, prefix: "x-".into(), salt }, session, 0);
    let text = unique(UniqueForm::Text, 7, 0);
    assert_eq!((text.len(), &text[..2]), (15, "x-"));
    assert_eq!(unique(UniqueForm::Text, 7, 0), text);
    assert_ne!(unique(UniqueForm::Text, 7, 1), text);
    assert_ne!(unique(UniqueForm::Text, 8, 0), text);
    let id = unique(UniqueForm::Uuid, 7, 0);
    let parts: Vec<usize> = id[2..].split('-').map(str::len).collect();
    assert_eq!((parts, &id[16..17]), (vec![8, 4, 4, 4, 12], "4"), "{id}");
    assert!("89ab".contains(&id[21..22]), "{id}");
}

#[test]
fn a_moment_is_written_in_four_ways() {
    let now = |form| drawn(GeneratorKind::Now { form }, 0, 0);
    assert_eq!(now(TimeForm::S), "1709164800");
    assert_eq!(now(TimeForm::Ms), "1709164800007");
    assert_eq!(now(TimeForm::Iso), "2024-02-29T00:00:00.007Z");
    assert_eq!(now(TimeForm::IsoS), "2024-02-29T00:00:00Z");
}

fn refused(kind: GeneratorKind) -> String {
    let generator = Generator { name: "v".into(), scope: Scope::Operation, states: vec![], kind };
    Source::compile(&generator, &Slots::default()).err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn what_cannot_be_drawn_is_refused_with_its_reason() {
    let uniform = |min, max| refused(GeneratorKind::Uniform { min, max, digits: 0 });
    assert_eq!([uniform(1, 1), uniform(-5, 5)], ["", ""]);
    assert!(uniform(2, 1).contains("min is above max"));
    let zipf = |n| refused(GeneratorKind::Zipf { n, alpha: 1.0, first: 0, digits: 0 });
    assert_eq!(zipf(1), "");
    assert!(zipf(0).contains("at least 1") && zipf(MOST_RANKS + 1).contains("at most 10,000,000"));
    let choice = |weights| refused(GeneratorKind::Choice { values: vec!["a".into(), "b".into()], weights });
    assert_eq!([choice(None), choice(Some(vec![1.0, 2.0]))], ["", ""]);
    assert!(choice(Some(vec![1.0])).contains("one weight a value"));
    let table = |row: &[&str], weights| {
        let rows = vec![row.iter().map(|text| (*text).to_owned()).collect()];
        refused(GeneratorKind::Table { columns: vec!["a".into(), "b".into()], rows, weights, own: false })
    };
    assert_eq!(table(&["1", "2"], None), "");
    assert!(table(&["1"], None).contains("one entry a column"));
    assert!(table(&["1", "2"], Some(vec![1.0, 1.0])).contains("one weight a row"));
    let words = |words: &[&str], count| {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        refused(GeneratorKind::Words { words, count, separator: " ".into() })
    };
    assert_eq!([words(&["a"], 0), words(&["a"], MOST_WORDS)], ["", ""]);
    assert!(words(&[], 1).contains("at least one word") && words(&["a"], MOST_WORDS + 1).contains("1,000 words"));
    let date = |from_days, to_days| refused(GeneratorKind::Date { from_days, to_days });
    assert_eq!([date(5, 5), date(-(MOST_DAYS as i64), MOST_DAYS as i64)], ["", ""]);
    assert!(date(6, 5).contains("from_days is above"));
    assert!(date(-(MOST_DAYS as i64) - 1, 0).contains("million years"));
    assert!(date(0, MOST_DAYS as i64 + 1).contains("million years"));
}

#[test]
fn ranks_of_zipf_may_be_ten_millions_and_no_more() {
    assert_eq!(MOST_RANKS, 10_000_000);
    assert_eq!(drawn(GeneratorKind::Zipf { n: 1, alpha: 1.0, first: 7, digits: 3 }, 0, 0), "007");
}

#[test]
fn words_stand_between_separators() {
    let words = |count| drawn(GeneratorKind::Words { words: vec!["ab".into()], count, separator: "-".into() }, 0, 0);
    assert_eq!([0, 1, 3].map(words), ["", "ab", "ab-ab-ab"]);
}

#[test]
fn every_day_of_a_range_is_drawn_and_none_beyond() {
    let mut seen: Vec<String> =
        (0..200).map(|session| drawn(GeneratorKind::Date { from_days: -1, to_days: 1 }, session, 0)).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, ["1969-12-31", "1970-01-01", "1970-01-02"]);
}

#[test]
fn days_at_the_turn_of_months_years_and_centuries_are_right() {
    // Days from `date -d DAY +%s` divided by 86400.
    for (days, date) in [
        (-719_468, (0, 3, 1)),
        (-25_509, (1900, 2, 28)),
        (-25_508, (1900, 3, 1)),
        (-25_508 - 36_524, (1800, 3, 1)),
        (11_016, (2000, 2, 29)),
        (11_017, (2000, 3, 1)),
        (10_956, (1999, 12, 31)),
        (10_957, (2000, 1, 1)),
        (20_819, (2027, 1, 1)),
        (47_540, (2100, 2, 28)),
        (47_541, (2100, 3, 1)),
    ] {
        assert_eq!(civil_date(days), date, "{days}");
    }
}

#[test]
fn a_table_fills_all_of_its_columns_from_one_row() {
    let row = |a: &str, b: &str| vec![a.to_owned(), b.to_owned()];
    let kind = GeneratorKind::Table {
        columns: vec!["a".into(), "b".into()],
        rows: vec![row("1", "one"), row("2", "two")],
        weights: Some(vec![0.0, 1.0]),
        own: false,
    };
    let generator = Generator { name: "t".into(), scope: Scope::Operation, states: vec![], kind };
    let mut slots = Slots::default();
    Source::reserve(&generator, &mut slots);
    let source = Source::compile(&generator, &slots).expect("valid");
    let (a, b) = (slots.get("t.a").expect("reserved"), slots.get("t.b").expect("reserved"));
    assert!(source.is_due(0, &HashSet::from([b])) && !source.is_due(0, &HashSet::new()));
    let mut values = Values::new(slots.len());
    source.draw(
        Drawer { session: 0, visit: 0, drawn: 0, unix_ms: 0 },
        &mut Stream::new(1, 1, Purpose::Values),
        &mut values,
    );
    assert_eq!([values.get(a), values.get(b)], ["2", "two"]);
}

#[test]
fn a_session_has_its_own_row_at_every_visit() {
    let rows = ["ann", "ben", "cleo"].map(|name| vec![name.to_owned()]).to_vec();
    let kind = GeneratorKind::Table { columns: vec!["name".into()], rows, weights: None, own: true };
    let generator = Generator { name: "t".into(), scope: Scope::Session, states: vec![], kind };
    let mut slots = Slots::default();
    Source::reserve(&generator, &mut slots);
    let source = Source::compile(&generator, &slots).expect("valid");
    let mut values = Values::new(slots.len());
    let mut stream = Stream::new(1, 1, Purpose::Values);
    let mut of = |session, visit| {
        source.draw(Drawer { session, visit, drawn: 0, unix_ms: 0 }, &mut stream, &mut values);
        values.get(0).to_owned()
    };
    assert_eq!([of(0, 0), of(0, 9), of(1, 0), of(2, 5)], ["ann", "ann", "ben", "cleo"]);
}

#[test]
fn a_text_needs_what_stands_in_it() {
    let mut slots = Slots::default();
    let (_, wanted) = (slots.intern("first"), slots.intern("wanted"));
    let kind = GeneratorKind::Text { text: "x{wanted}".into() };
    let generator = Generator { name: "v".into(), scope: Scope::Session, states: vec![], kind };
    let source = Source::compile(&generator, &slots).expect("valid");
    assert_eq!(source.needs().collect::<Vec<_>>(), [wanted]);
    assert!(source.is_of_session() && !source.is_due(0, &HashSet::from([wanted])));
}
