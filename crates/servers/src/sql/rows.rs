//! Rows in bulk, and looks at all rows: how an application's tables are filled, and how an audit holds them against what
//! drivers say that they brought.

use serde::Serialize;

use super::{Connection, Row, SqlError};

/// Rows of one statement: the way to the database may be long.
const ROWS_AT_ONCE: usize = 200;

/// Makes tables; those that a broken-off filling left are made anew.
pub fn make_anew(c: &mut dyn Connection, tables: &[&str]) -> Result<(), SqlError> {
    for statement in tables {
        if let Some(name) = statement.split(' ').nth(2) {
            let _ = c.run(&format!("DROP TABLE {name}"), &[]); // mostly there is none
        }
        c.run(statement, &[])?;
    }
    Ok(())
}

/// Inserts rows into a table with its columns, many at once.
pub fn insert(c: &mut dyn Connection, into: &str, mut rows: impl Iterator<Item = Row>) -> Result<(), SqlError> {
    loop {
        let chunk: Vec<Row> = rows.by_ref().take(ROWS_AT_ONCE).collect();
        if chunk.is_empty() {
            return Ok(());
        }
        let mut number = 0;
        let mut places = |row: &Row| {
            let places: Vec<String> = (number + 1..=number + row.len()).map(|place| format!("${place}")).collect();
            number += row.len();
            format!("({})", places.join(", "))
        };
        let places: Vec<String> = chunk.iter().map(&mut places).collect();
        c.run(&format!("INSERT INTO {into} VALUES {}", places.join(", ")), &chunk.concat())?;
    }
}

/// Things as the driver counts them: how many, and the sum of the hashes of their ids.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Held {
    pub count: u64,
    /// Sum of FNV-1a hashes, 64 bits, wrapping; in hexadecimal, since JSON has no such numbers.
    pub sum: String,
}

/// A rule that holds in every state of the tables, and how many rows break it.
#[derive(Debug, Serialize)]
pub struct Rule {
    pub rule: &'static str,
    pub broken: i64,
}

/// Rules by the statements that count what breaks them.
pub fn rules<'a>(
    c: &mut dyn Connection,
    counting: impl Iterator<Item = (&'static str, &'a str)>,
) -> Result<Vec<Rule>, SqlError> {
    counting.map(|(rule, sql)| Ok(Rule { rule, broken: count(c, sql)? })).collect()
}

/// The one number that a statement gives.
pub fn count(c: &mut dyn Connection, sql: &str) -> Result<i64, SqlError> {
    Ok(c.run(sql, &[])?[0][0].int())
}

/// All ids that a statement gives.
pub fn held(c: &mut dyn Connection, sql: &str) -> Result<Held, SqlError> {
    let rows = c.run(sql, &[])?;
    let sum = rows.iter().fold(0u64, |sum, row| sum.wrapping_add(loadstone_schedule::ledger::hash(row[0].text())));
    Ok(Held { count: rows.len() as u64, sum: format!("{sum:016x}") })
}
