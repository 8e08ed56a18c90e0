//! What a database server counts of itself, told over HTTP by a program beside it: whoever watches then needs no client
//! of the database's own.

use std::collections::BTreeMap;

use anyhow::Result;
use bytes::Bytes;
use http::{Method, StatusCode};
use serde::Serialize;

use super::application::Store;
use super::database::Database;
use super::pool::Pool;
use super::value::Row;
use crate::front::answer::{refusal, text, Answer};
use crate::front::{Request, Role};

/// Where it is asked.
pub const STATUS: &str = "/loadstone-status";

/// One figure: the server's name for it, ours, and whether it is a counter.
type Known = (&'static str, &'static str, bool);

/// Of this database (postgresql.org, the cumulative statistics system, pg_stat_database); blocks are of 8 KiB.
const POSTGRES: &[Known] = &[
    ("numbackends", "connections", false),
    ("xact_commit", "commits", true),
    ("xact_rollback", "rollbacks", true),
    ("blks_hit", "blocks found in memory", true),
    ("blks_read", "blocks read", true),
    ("tup_fetched", "rows fetched", true),
    ("tup_inserted", "rows inserted", true),
    ("tup_updated", "rows updated", true),
    ("deadlocks", "deadlocks", true),
];
const ASKING_POSTGRES: &str =
    "SELECT key, value FROM pg_stat_database d, jsonb_each_text(to_jsonb(d)) WHERE datname = current_database()";

/// Of the whole server (mariadb.com, server status variables); pages are of 16 KiB.
const MARIADB: &[Known] = &[
    ("THREADS_CONNECTED", "connections", false),
    ("THREADS_RUNNING", "running statements", false),
    ("QUESTIONS", "statements", true),
    ("COM_COMMIT", "commits", true),
    ("COM_ROLLBACK", "rollbacks", true),
    ("INNODB_BUFFER_POOL_READ_REQUESTS", "pages asked for", true),
    ("INNODB_BUFFER_POOL_READS", "pages read", true),
    ("INNODB_ROWS_READ", "rows read", true),
    ("INNODB_ROWS_INSERTED", "rows inserted", true),
    ("INNODB_ROWS_UPDATED", "rows updated", true),
    ("INNODB_ROW_LOCK_WAITS", "waits for a row's lock", true),
];
const ASKING_MARIADB: &str = "SELECT VARIABLE_NAME, VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS";

/// What is, and what only grows.
#[derive(Debug, Default, PartialEq, Serialize)]
struct Figures {
    now: BTreeMap<&'static str, f64>,
    grown: BTreeMap<&'static str, f64>,
}

/// The role: one connection, which is made anew when it fails.
pub struct Statistics {
    store: Store,
    asking: &'static str,
    known: &'static [Known],
}

impl Statistics {
    /// Of a database server; an error where the database has none.
    pub fn new(database: Database) -> Result<Self> {
        let (asking, known) = match database {
            Database::Postgres(_) => (ASKING_POSTGRES, POSTGRES),
            Database::MariaDb(_) => (ASKING_MARIADB, MARIADB),
            _ => anyhow::bail!("only PostgreSQL and MariaDB count what they do"),
        };
        Ok(Statistics { store: Store::new(Pool::new(database)), asking, known })
    }

    async fn look(&self) -> Result<Answer> {
        let asking = self.asking;
        let rows = self.store.with(move |connection| connection.run(asking, &[])).await?;
        let figures = serde_json::to_vec(&told(&rows, self.known))?;
        Ok(text(StatusCode::OK, "application/json", Bytes::from(figures)))
    }
}

impl Role for Statistics {
    async fn answer(&self, request: Request) -> Answer {
        if (&request.method, request.path.as_str()) != (&Method::GET, STATUS) {
            return refusal(StatusCode::NOT_FOUND);
        }
        self.look().await.unwrap_or_else(|error| {
            eprintln!("loadstone-server statistics: {error:#}");
            refusal(StatusCode::SERVICE_UNAVAILABLE)
        })
    }
}

/// The known figures among rows of names and numbers in digits.
fn told(rows: &[Row], known: &[Known]) -> Figures {
    let mut figures = Figures::default();
    for row in rows {
        let [name, number] = row.as_slice() else { continue };
        let found = known.iter().find(|(own, _, _)| *own == name.text());
        let (Some((_, title, grows)), Ok(number)) = (found, number.to_string().parse()) else { continue };
        let part = if *grows { &mut figures.grown } else { &mut figures.now };
        part.insert(title, number);
    }
    figures
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_figures_are_told_and_what_is_no_number_is_not() {
        let rows: Vec<Row> = [("numbackends", "3"), ("xact_commit", "41"), ("stats_reset", "2026"), ("blks_hit", "")]
            .map(|(name, number)| vec![name.into(), number.into()])
            .to_vec();
        let expected =
            Figures { now: BTreeMap::from([("connections", 3.0)]), grown: BTreeMap::from([("commits", 41.0)]) };
        assert_eq!(told(&rows, POSTGRES), expected);
    }

    #[test]
    fn a_file_counts_nothing() {
        assert!(Statistics::new(Database::parse("folder/data.db")).is_err());
    }
}
