//! Tables of the site and what stands in them at the beginning, in the numbers that its public documents give
//! (docs/applications.md, Events): people with addresses, friends and invitations; events with tags, attendees and comments.

use loadstone_schedule::rng::scramble;

use crate::sql::rows::{insert, DataSet};
use crate::sql::{Connection, Row, SqlError, Value};

/// How much there is at the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    pub users: i64,
    pub tags: i64,
    pub events: i64,
}

/// The moment that the data is of, in minutes; events lie ahead of it.
pub const NOW: i64 = 30_000_000;
/// Days ahead within which events are held.
const DAYS_AHEAD: u64 = 540;
/// Of each: the fewest, and how many more there may be.
const FRIENDS: (i64, u64) = (2, 27);
const INVITATIONS: (i64, u64) = (2, 9);
const ATTENDEES: (i64, u64) = (10, 91);
const COMMENTS: (i64, u64) = (0, 21);
const TAGS: (i64, u64) = (1, 7);
/// The mean place of the tags of an event, as a share of all tags: the first are the most usual.
const TAG_MEAN: f64 = 0.1;
/// Ids of what is added begin here, beyond all that a database is filled with.
pub const FIRST_ADDED: i64 = 1 << 40;

const TABLES: [&str; 10] = [
    "CREATE TABLE scale (users BIGINT PRIMARY KEY, tags BIGINT NOT NULL, events BIGINT NOT NULL)",
    "CREATE TABLE addresses (id BIGINT PRIMARY KEY, street TEXT NOT NULL, city TEXT NOT NULL, state TEXT NOT NULL, \
     zip TEXT NOT NULL, country TEXT NOT NULL, latitude BIGINT NOT NULL, longitude BIGINT NOT NULL)",
    "CREATE TABLE people (id BIGINT PRIMARY KEY, name TEXT NOT NULL, password TEXT NOT NULL, email TEXT NOT NULL, \
     phone TEXT NOT NULL, summary VARCHAR(4000) NOT NULL, address BIGINT NOT NULL)",
    "CREATE TABLE friends (person BIGINT NOT NULL, friend BIGINT NOT NULL, PRIMARY KEY (person, friend))",
    "CREATE TABLE invitations (person BIGINT NOT NULL, invited BIGINT NOT NULL, accepted BIGINT NOT NULL, \
     PRIMARY KEY (person, invited))",
    "CREATE TABLE tags (id BIGINT PRIMARY KEY, name TEXT NOT NULL, uses BIGINT NOT NULL)",
    "CREATE TABLE events (id BIGINT PRIMARY KEY, title TEXT NOT NULL, summary VARCHAR(4000) NOT NULL, \
     description VARCHAR(4000) NOT NULL, phone TEXT NOT NULL, submitter BIGINT NOT NULL, held BIGINT NOT NULL, \
     created BIGINT NOT NULL, address BIGINT NOT NULL)",
    "CREATE TABLE event_tags (event BIGINT NOT NULL, tag BIGINT NOT NULL, PRIMARY KEY (event, tag))",
    "CREATE TABLE attendees (event BIGINT NOT NULL, person BIGINT NOT NULL, added BIGINT NOT NULL, \
     PRIMARY KEY (event, person))",
    "CREATE TABLE comments (event BIGINT NOT NULL, place BIGINT NOT NULL, person BIGINT NOT NULL, \
     rating BIGINT NOT NULL, words VARCHAR(4000) NOT NULL, PRIMARY KEY (event, place))",
];

const INDEXES: [&str; 7] = [
    "CREATE UNIQUE INDEX people_by_name ON people (name)",
    "CREATE UNIQUE INDEX tags_by_name ON tags (name)",
    "CREATE INDEX tags_by_use ON tags (uses)",
    "CREATE INDEX events_by_time ON events (held)",
    "CREATE INDEX events_of_submitter ON events (submitter)",
    "CREATE INDEX events_of_tag ON event_tags (tag)",
    "CREATE INDEX events_of_attendee ON attendees (person)",
];

/// Makes and fills the tables, or restores those that are filled.
pub fn prepare(connection: &mut dyn Connection, scale: Scale) -> Result<(), SqlError> {
    let Scale { users, tags, events } = scale;
    let data = DataSet {
        scale: [("users", users), ("tags", tags), ("events", events)],
        tables: &TABLES,
        indexes: &INDEXES,
        fill: &|c| fill(c, scale),
        restore: &restore,
    };
    data.prepare(connection)
}

/// Takes away what was added since the beginning.
fn restore(c: &mut dyn Connection) -> Result<(), SqlError> {
    let first = [Value::Int(FIRST_ADDED)];
    let used = c.run("SELECT tag, COUNT(*) FROM event_tags WHERE event >= $1 GROUP BY tag", &first)?;
    for row in &used {
        c.run("UPDATE tags SET uses = uses - $1 WHERE id = $2", &[row[1].clone(), row[0].clone()])?;
    }
    c.run("DELETE FROM event_tags WHERE event >= $1", &first)?;
    c.run("DELETE FROM attendees WHERE added = 1", &[])?;
    for table in ["events", "people", "addresses"] {
        c.run(&format!("DELETE FROM {table} WHERE id >= $1"), &first)?;
    }
    Ok(())
}

fn fill(c: &mut dyn Connection, scale: Scale) -> Result<(), SqlError> {
    let Scale { users, tags, events } = scale;
    let into = "addresses (id, street, city, state, zip, country, latitude, longitude)";
    insert(c, into, (1..=users + events).map(address))?;
    insert(c, "people (id, name, password, email, phone, summary, address)", (1..=users).map(person))?;
    let pairs = |purpose, range| (1..=users).flat_map(move |id| others(id, purpose, range, users));
    let rows = pairs(1, FRIENDS).map(|(id, other)| vec![id.into(), other.into()]);
    insert(c, "friends (person, friend)", rows)?;
    let rows = pairs(2, INVITATIONS).map(|(id, other)| vec![id.into(), other.into(), (other % 2).into()]);
    insert(c, "invitations (person, invited, accepted)", rows)?;
    insert(c, "events (id, title, summary, description, phone, submitter, held, created, address)", {
        (1..=events).map(|id| event(id, scale))
    })?;
    let mut uses = vec![0i64; tags as usize + 1];
    for tag in (1..=events).flat_map(|id| tags_of(id, tags)) {
        uses[tag as usize] += 1;
    }
    let tag = |id: i64| vec![id.into(), tag_name(id).into(), uses[id as usize].into()];
    insert(c, "tags (id, name, uses)", (1..=tags).map(tag))?;
    let rows = (1..=events).flat_map(|id| tags_of(id, tags).into_iter().map(move |tag| vec![id.into(), tag.into()]));
    insert(c, "event_tags (event, tag)", rows)?;
    let rows = (1..=events).flat_map(|id| others(id, 3, ATTENDEES, users));
    insert(c, "attendees (event, person, added)", rows.map(|(id, person)| vec![id.into(), person.into(), 0.into()]))?;
    insert(c, "comments (event, place, person, rating, words)", (1..=events).flat_map(|id| comments(id, users)))
}

fn address(id: i64) -> Row {
    let (latitude, longitude) = (number(id, 10, 133_120_000) - 66_560_000, number(id, 11, 360_000_000) - 180_000_000);
    let country = if number(id, 12, 2) == 0 { "United States" } else { "Elsewhere" };
    vec![
        id.into(),
        format!("{} {} Street", 1 + number(id, 13, 999), word(id, 14)).into(),
        format!("{}ton", word(id, 15)).into(),
        format!("{:02}", number(id, 16, 50)).into(),
        format!("{:05}", number(id, 17, 100_000)).into(),
        country.into(),
        latitude.into(),
        longitude.into(),
    ]
}

fn person(id: i64) -> Row {
    vec![
        id.into(),
        user_name(id).into(),
        id.to_string().into(),
        format!("{}@example.org", user_name(id)).into(),
        phone(id).into(),
        words(id, 18, 250, 2_500).into(),
        id.into(),
    ]
}

fn event(id: i64, scale: Scale) -> Row {
    // On the quarters of hours from 7 to 21.
    let held = NOW + number(id, 20, DAYS_AHEAD) * 1440 + 420 + 15 * number(id, 21, 57);
    vec![
        id.into(),
        words(id, 22, 15, 20).into(),
        words(id, 23, 50, 200).into(),
        words(id, 24, 50, 495).into(),
        phone(id).into(),
        (1 + number(id, 25, scale.users as u64)).into(),
        held.into(),
        (NOW - number(id, 26, DAYS_AHEAD * 1440)).into(),
        (scale.users + id).into(),
    ]
}

/// A run of people beside one, itself never among them, each once.
fn others(id: i64, purpose: u64, (least, more): (i64, u64), users: i64) -> impl Iterator<Item = (i64, i64)> {
    let count = (least + number(id, purpose, more)).min(users - 1);
    let first = number(id, purpose + 4, (users - count) as u64);
    (0..count).map(move |place| (id, 1 + (id + first + place) % users))
}

/// The tags of an event, in the order of their ids.
fn tags_of(id: i64, tags: i64) -> Vec<i64> {
    let count = TAGS.0 + number(id, 30, TAGS.1);
    let tag = |place: i64| {
        let chance = draw(id, 31 + place as u64) as f64 / u64::MAX as f64;
        1 + ((-(1.0 - chance).ln() * TAG_MEAN * tags as f64) as i64).clamp(0, tags - 1)
    };
    let mut chosen: Vec<i64> = (0..count).map(tag).collect();
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}

fn comments(event: i64, users: i64) -> impl Iterator<Item = Row> {
    (0..COMMENTS.0 + number(event, 40, COMMENTS.1)).map(move |place| {
        let id = event * 64 + place;
        let (person, rating) = (1 + number(id, 41, users as u64), 2 + number(id, 42, 4));
        let text: Value = words(id, 43, 10, 1_000).into();
        vec![event.into(), place.into(), person.into(), rating.into(), text]
    })
}

/// What people call themselves; their password is their number.
pub fn user_name(id: i64) -> String {
    format!("user{id}")
}

/// What a tag is called.
pub fn tag_name(id: i64) -> String {
    format!("tag{id}")
}

fn phone(id: i64) -> String {
    format!("+1 {:03} {:07}", 200 + number(id, 50, 700), number(id, 51, 10_000_000))
}

/// Words of together so many characters, from the fewest to the most.
fn words(id: i64, purpose: u64, least: i64, most: i64) -> String {
    let length = (least + number(id, purpose, (most - least + 1) as u64)) as usize;
    let mut text = String::with_capacity(length + 16);
    let mut place = 0;
    while text.len() < length {
        text.push_str(word(id.wrapping_mul(257).wrapping_add(place), purpose));
        text.push(' ');
        place += 1;
    }
    text.truncate(length);
    text
}

fn word(id: i64, purpose: u64) -> &'static str {
    WORDS[number(id, purpose.wrapping_add(1000), WORDS.len() as u64) as usize]
}

/// A whole number from 0 to below `below`, always the same for an id and a purpose.
fn number(id: i64, purpose: u64, below: u64) -> i64 {
    (draw(id, purpose) % below.max(1)) as i64
}

fn draw(id: i64, purpose: u64) -> u64 {
    scramble(scramble(id as u64) ^ (purpose + 1))
}

const WORDS: [&str; 24] = [
    "Alder", "Brook", "Candle", "Dance", "Evening", "Fiddle", "Garden", "Harvest", "Island", "Jazz", "Kitchen",
    "Lantern", "Market", "Night", "Orchard", "Picnic", "Quartet", "River", "Supper", "Theatre", "Upstairs", "Village",
    "Winter", "Yard",
];
