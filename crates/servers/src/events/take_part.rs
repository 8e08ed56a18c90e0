//! What visitors add: that they come, themselves, events. One transaction each.

use super::geocoder::Place;
use crate::sql::{transact, Access, Connection, Fate, SqlError};

/// Tags of an event at most.
const MOST_TAGS: usize = 20;

/// Somebody comes to an event; false where there is no such event.
pub fn attend(connection: &mut dyn Connection, event: i64, person: i64) -> Result<bool, SqlError> {
    transact(connection, Access::Write, |c| {
        if c.run("SELECT id FROM events WHERE id = $1", &[event.into()])?.is_empty() {
            return Ok((false, Fate::RolledBack));
        }
        let sql = "INSERT INTO attendees (event, person, added) VALUES ($1, $2, 1) \
                   ON CONFLICT (event, person) DO UPDATE SET person = excluded.person";
        c.run(sql, &[event.into(), person.into()])?;
        Ok((true, Fate::Kept))
    })
}

/// Where something is.
pub struct Address {
    pub street: String,
    pub city: String,
    pub state: String,
    pub zip: String,
    pub country: String,
    pub place: Place,
}

/// Somebody new.
pub struct NewPerson {
    pub id: i64,
    pub name: String,
    pub password: String,
    pub email: String,
    pub phone: String,
    pub summary: String,
    pub address: Address,
}

/// Adds a person; an error where the name is taken.
pub fn add_person(connection: &mut dyn Connection, new: &NewPerson) -> Result<(), SqlError> {
    transact(connection, Access::Write, |c| {
        add_address(c, new.id, &new.address)?;
        let sql = "INSERT INTO people (id, name, password, email, phone, summary, address) \
                   VALUES ($1, $2, $3, $4, $5, $6, $7)";
        let NewPerson { id, name, password, email, phone, summary, .. } = new;
        let texts = [name, password, email, phone, summary].map(|text| text.as_str().into());
        c.run(sql, &[&[(*id).into()], &texts[..], &[(*id).into()]].concat())?;
        Ok(((), Fate::Kept))
    })
}

/// A new event.
pub struct NewEvent {
    pub id: i64,
    pub title: String,
    pub summary: String,
    pub description: String,
    pub phone: String,
    pub submitter: i64,
    pub held: i64,
    pub created: i64,
    pub tags: Vec<String>,
    pub address: Address,
}

/// Adds an event with its tags, of which unknown ones are left out.
pub fn add_event(connection: &mut dyn Connection, new: &NewEvent) -> Result<(), SqlError> {
    transact(connection, Access::Write, |c| {
        add_address(c, new.id, &new.address)?;
        let sql = "INSERT INTO events (id, title, summary, description, phone, submitter, held, created, address) \
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
        let NewEvent { id, title, summary, description, phone, .. } = new;
        let texts = [title, summary, description, phone].map(|text| text.as_str().into());
        let numbers = [new.submitter, new.held, new.created, *id].map(Into::into);
        c.run(sql, &[&[(*id).into()], &texts[..], &numbers[..]].concat())?;
        for tag in known_tags(c, &new.tags)? {
            c.run("INSERT INTO event_tags (event, tag) VALUES ($1, $2)", &[(*id).into(), tag.into()])?;
            c.run("UPDATE tags SET uses = uses + 1 WHERE id = $1", &[tag.into()])?;
        }
        Ok(((), Fate::Kept))
    })
}

/// Ids of tags in their order, in which all who add take them: two never wait for each other.
fn known_tags(c: &mut dyn Connection, names: &[String]) -> Result<Vec<i64>, SqlError> {
    let mut ids = Vec::new();
    for name in names.iter().take(MOST_TAGS) {
        let rows = c.run("SELECT id FROM tags WHERE name = $1", &[name.as_str().into()])?;
        ids.extend(rows.first().map(|row| row[0].int()));
    }
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

fn add_address(c: &mut dyn Connection, id: i64, address: &Address) -> Result<(), SqlError> {
    let sql = "INSERT INTO addresses (id, street, city, state, zip, country, latitude, longitude) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    let Address { street, city, state, zip, country, place } = address;
    let texts = [street, city, state, zip, country].map(|text| text.as_str().into());
    let places = [place.latitude, place.longitude].map(Into::into);
    c.run(sql, &[&[id.into()], &texts[..], &places[..]].concat()).map(drop)
}
