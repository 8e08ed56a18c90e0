//! What visitors look at: a few statements each.

use super::schema::NOW;
use crate::sql::{Connection, Row, SqlError};

/// Events of a page.
const LISTED: i64 = 10;
/// Tags of the cloud.
const CLOUD: i64 = 50;
/// Events that a visitor who is signed in is reminded of.
const REMINDED: i64 = 3;

/// What is coming up: events (id, title, when), how many there are, and the most used tags (name, uses).
pub struct ComingUp {
    pub events: Vec<Row>,
    pub count: i64,
    pub tags: Vec<Row>,
}

/// What the home page tells everybody.
pub fn coming_up(c: &mut dyn Connection) -> Result<ComingUp, SqlError> {
    let sql = format!("SELECT id, title, held FROM events WHERE held >= $1 ORDER BY held, id LIMIT {LISTED}");
    let events = c.run(&sql, &[NOW.into()])?;
    let count = c.run("SELECT COUNT(*) FROM events WHERE held >= $1", &[NOW.into()])?[0][0].int();
    let tags = c.run(&format!("SELECT name, uses FROM tags ORDER BY uses DESC, id LIMIT {CLOUD}"), &[])?;
    Ok(ComingUp { events, count, tags })
}

/// The next events that a person goes to (id, title, when).
pub fn own(c: &mut dyn Connection, person: i64) -> Result<Vec<Row>, SqlError> {
    let sql = format!(
        "SELECT e.id, e.title, e.held FROM attendees a JOIN events e ON e.id = a.event WHERE a.person = $1 AND e.held >= $2 \
         ORDER BY e.held, e.id LIMIT {REMINDED}"
    );
    c.run(&sql, &[person.into(), NOW.into()])
}

/// A person's id, by name and password; none where they are wrong.
pub fn log_in(c: &mut dyn Connection, name: &str, password: &str) -> Result<Option<i64>, SqlError> {
    let rows = c.run("SELECT id FROM people WHERE name = $1 AND password = $2", &[name.into(), password.into()])?;
    Ok(rows.first().map(|row| row[0].int()))
}

/// What somebody is called; none where there is nobody of that id.
pub fn name(c: &mut dyn Connection, person: i64) -> Result<Option<String>, SqlError> {
    let rows = c.run("SELECT name FROM people WHERE id = $1", &[person.into()])?;
    Ok(rows.first().map(|row| row[0].text().to_owned()))
}

/// The next events of a tag, and how many it has; none where there is no such tag.
pub fn tagged(c: &mut dyn Connection, tag: &str) -> Result<Option<(Vec<Row>, i64)>, SqlError> {
    let Some(row) = c.run("SELECT id, uses FROM tags WHERE name = $1", &[tag.into()])?.into_iter().next() else {
        return Ok(None);
    };
    let sql = format!(
        "SELECT e.id, e.title, e.held FROM event_tags t JOIN events e ON e.id = t.event WHERE t.tag = $1 AND e.held >= $2 \
         ORDER BY e.held, e.id LIMIT {LISTED}"
    );
    Ok(Some((c.run(&sql, &[row[0].clone(), NOW.into()])?, row[1].int())))
}

/// An event: title, summary, description, phone, when, who submitted it (id, name), where (street, city, zip, country);
/// and its tags.
pub fn event(c: &mut dyn Connection, id: i64) -> Result<Option<(Row, Vec<Row>)>, SqlError> {
    let sql =
        "SELECT e.title, e.summary, e.description, e.phone, e.held, p.id, p.name, a.street, a.city, a.zip, a.country \
               FROM events e JOIN people p ON p.id = e.submitter JOIN addresses a ON a.id = e.address WHERE e.id = $1";
    let Some(row) = c.run(sql, &[id.into()])?.into_iter().next() else { return Ok(None) };
    let sql = "SELECT t.name FROM event_tags x JOIN tags t ON t.id = x.tag WHERE x.event = $1 ORDER BY t.id";
    Ok(Some((row, c.run(sql, &[id.into()])?)))
}

/// What was said of an event: by whom, rating, words.
pub fn comments(c: &mut dyn Connection, event: i64) -> Result<Vec<Row>, SqlError> {
    let sql = "SELECT p.name, c.rating, c.words FROM comments c JOIN people p ON p.id = c.person WHERE c.event = $1 \
               ORDER BY c.place";
    c.run(sql, &[event.into()])
}

/// Names of those who come.
pub fn attendees(c: &mut dyn Connection, event: i64) -> Result<Vec<Row>, SqlError> {
    let sql = "SELECT p.name FROM attendees a JOIN people p ON p.id = a.person WHERE a.event = $1 ORDER BY p.id";
    c.run(sql, &[event.into()])
}

/// What a page of a person tells: name, e-mail, phone, summary, where (street, city, zip, country); friends (id, name);
/// own events (id, title); invitations that wait.
pub struct Portrait {
    pub person: Row,
    pub friends: Vec<Row>,
    pub events: Vec<Row>,
    pub waiting: i64,
}

/// A person's page.
pub fn person(c: &mut dyn Connection, id: i64) -> Result<Option<Portrait>, SqlError> {
    let sql = "SELECT p.name, p.email, p.phone, p.summary, a.street, a.city, a.zip, a.country \
               FROM people p JOIN addresses a ON a.id = p.address WHERE p.id = $1";
    let Some(person) = c.run(sql, &[id.into()])?.into_iter().next() else { return Ok(None) };
    let sql = "SELECT p.id, p.name FROM friends f JOIN people p ON p.id = f.friend WHERE f.person = $1 ORDER BY p.id";
    let friends = c.run(sql, &[id.into()])?;
    let sql = format!("SELECT id, title FROM events WHERE submitter = $1 ORDER BY held, id LIMIT {LISTED}");
    let events = c.run(&sql, &[id.into()])?;
    let sql = "SELECT COUNT(*) FROM invitations WHERE invited = $1 AND accepted = 0";
    let waiting = c.run(sql, &[id.into()])?[0][0].int();
    Ok(Some(Portrait { person, friends, events, waiting }))
}
