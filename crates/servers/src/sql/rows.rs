//! Rows in bulk, and looks at all rows: how an application's tables are filled, and how an audit holds them against what
//! drivers say that they brought.

use serde::Serialize;

use super::connection::{Access, Connection, SqlError};
use super::transaction::{transact, Fate};
use super::value::Row;

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

/// An application's tables: how they are made, filled and restored.
pub struct DataSet<'a> {
    /// What tells how much there is: a table `scale` with these columns, whose one row says these numbers.
    pub scale: [(&'a str, i64); 3],
    pub tables: &'a [&'a str],
    pub indexes: &'a [&'a str],
    pub fill: &'a dyn Fn(&mut dyn Connection) -> Result<(), SqlError>,
    pub restore: &'a dyn Fn(&mut dyn Connection) -> Result<(), SqlError>,
}

impl DataSet<'_> {
    /// Makes and fills the tables, all or nothing; one that is filled already is restored to what it was at the
    /// beginning, and one that was filled for another scale is an error.
    pub fn prepare(&self, connection: &mut dyn Connection) -> Result<(), SqlError> {
        let wanted = self.scale.map(|(_, count)| count);
        match self.held(connection) {
            Some(held) if held == wanted => {
                return transact(connection, Access::Write, |c| (self.restore)(c).map(|()| ((), Fate::Kept)))
            }
            Some(held) => {
                let names = self.columns();
                return Err(SqlError::Other(format!(
                    "the database was filled for {held:?}, not for {wanted:?} ({names})"
                )));
            }
            None => {}
        }
        make_anew(connection, self.tables)?;
        transact(connection, Access::Write, |c| (self.fill)(c).map(|()| ((), Fate::Kept)))?;
        for statement in self.indexes {
            connection.run(statement, &[])?;
        }
        // Told last: what was broken off is filled anew.
        let told = format!("INSERT INTO scale ({}) VALUES ($1, $2, $3)", self.columns());
        connection.run(&told, &wanted.map(Into::into)).map(drop)
    }

    /// What a database was filled for; none where it is not filled.
    fn held(&self, connection: &mut dyn Connection) -> Option<[i64; 3]> {
        let rows = connection.run(&format!("SELECT {} FROM scale", self.columns()), &[]).ok()?;
        rows.first().map(|row| [row[0].int(), row[1].int(), row[2].int()])
    }

    fn columns(&self) -> String {
        self.scale.map(|(name, _)| name).join(", ")
    }
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
