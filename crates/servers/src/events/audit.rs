//! The audit: what was added, and whether people, events, tags and those who come agree with each other.

use serde::Serialize;

use super::schema::FIRST_ADDED;
use crate::sql::rows::{self, held, Held, Rule};
use crate::sql::{transact, Access, Connection, Fate, SqlError};

#[derive(Debug, Serialize)]
pub struct Audit {
    /// People by name and events by title, those that were not there at the beginning.
    pub additions: Held,
    pub rules: Vec<Rule>,
}

const RULES: [(&str, &str); 4] = [
    (
        "a tag is used as often as events have it",
        "SELECT COUNT(*) FROM tags t WHERE t.uses <> (SELECT COUNT(*) FROM event_tags x WHERE x.tag = t.id)",
    ),
    (
        "an event has somebody who submitted it",
        "SELECT COUNT(*) FROM events e LEFT JOIN people p ON p.id = e.submitter WHERE p.id IS NULL",
    ),
    (
        "an event has its place",
        "SELECT COUNT(*) FROM events e LEFT JOIN addresses a ON a.id = e.address WHERE a.id IS NULL",
    ),
    (
        "the person and the event of an attendance exist",
        "SELECT COUNT(*) FROM attendees x LEFT JOIN people p ON p.id = x.person LEFT JOIN events e ON e.id = x.event \
         WHERE p.id IS NULL OR e.id IS NULL",
    ),
];

/// Looks at everything in one transaction.
pub fn audit(connection: &mut dyn Connection) -> Result<Audit, SqlError> {
    transact(connection, Access::Read, |c| {
        let rules = rows::rules(c, RULES.into_iter())?;
        let sql = format!(
            "SELECT name FROM people WHERE id >= {FIRST_ADDED} UNION ALL SELECT title FROM events WHERE id >= {FIRST_ADDED}"
        );
        Ok((Audit { additions: held(c, &sql)?, rules }, Fate::Kept))
    })
}
