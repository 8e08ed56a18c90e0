//! A MariaDB server, by its own protocol.

use std::collections::HashMap;
use std::sync::LazyLock;

use anyhow::{Context, Result};
use mysql::consts::{CapabilityFlags, ColumnType};
use mysql::prelude::Queryable;
use mysql::{Conn, Opts, OptsBuilder, Params, Statement};
use regex::{Captures, Regex};

use super::connection::{Access, Connection, SqlError};
use super::value::{Row, Value};

/// Errors of the server (mariadb.com, MariaDB error codes): a deadlock, a lock that was waited for too long, a row with
/// this key.
const DEADLOCK: u16 = 1213;
const LOCK_WAIT: u16 = 1205;
const DUPLICATE: u16 = 1062;

/// Where its dialect differs from the statements', by what to look for and what stands there instead. A text that is a
/// key needs a length, and no two keys together may take more than 3,072 bytes.
static DIALECT: LazyLock<[(Regex, &str); 4]> = LazyLock::new(|| {
    let made = |pattern: &str| Regex::new(pattern).expect("a pattern of ours");
    [
        (made(r" TEXT\b"), " VARCHAR(190)"),
        (made(r"ON CONFLICT \([^)]*\) DO UPDATE SET"), "ON DUPLICATE KEY UPDATE"),
        (made(r"excluded\.(\w+)"), "VALUES($1)"),
        (made(r" AS BIGINT\)"), " AS SIGNED)"),
    ]
});
static PLACE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\$(\d+)").expect("a pattern of ours"));

/// A connection to MariaDB.
pub struct MariaDb {
    client: Conn,
    prepared: HashMap<String, (Statement, Vec<usize>)>,
}

impl MariaDb {
    /// Connects by a URL: `mysql://user@host:port/name`.
    pub fn open(url: &str) -> Result<Self> {
        let opts = Opts::from_url(url).with_context(|| format!("{url} is not a valid database address"))?;
        // A row that an update finds counts, as elsewhere, also where it holds what it held.
        let opts = OptsBuilder::from_opts(opts)
            .additional_capabilities(CapabilityFlags::CLIENT_FOUND_ROWS)
            .prefer_socket(false)
            // Statements are kept here; the client's own keeping would close those that it has too many of.
            .stmt_cache_size(Some(0))
            .tcp_nodelay(true);
        let client = Conn::new(opts).with_context(|| format!("cannot connect to {url}"))?;
        Ok(MariaDb { client, prepared: HashMap::new() })
    }

    fn word(&mut self, sql: &str) -> Result<(), SqlError> {
        self.client.query_drop(sql).map_err(failure)
    }
}

impl Connection for MariaDb {
    fn run(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, SqlError> {
        if !self.prepared.contains_key(sql) {
            let (own, places) = translated(sql);
            let statement = self.client.prep(own).map_err(failure)?;
            self.prepared.insert(sql.to_owned(), (statement, places));
        }
        let (statement, places) = &self.prepared[sql];
        let given: Vec<mysql::Value> =
            places.iter().map(|&place| values.get(place).map_or(mysql::Value::NULL, put)).collect();
        let given = if given.is_empty() { Params::Empty } else { Params::Positional(given) };
        let mut found = self.client.exec_iter(statement, given).map_err(failure)?;
        let kinds: Vec<ColumnType> = found.columns().as_ref().iter().map(|column| column.column_type()).collect();
        if kinds.is_empty() {
            return Ok(vec![vec![Value::Int(found.affected_rows() as i64)]]);
        }
        let mut rows = Vec::new();
        for row in found.by_ref() {
            let cells = row.map_err(failure)?.unwrap();
            rows.push(cells.into_iter().zip(&kinds).map(|(cell, kind)| read(cell, *kind)).collect());
        }
        Ok(rows)
    }

    fn begin(&mut self, access: Access) -> Result<(), SqlError> {
        self.word(if access == Access::Write { "START TRANSACTION" } else { "START TRANSACTION READ ONLY" })
    }

    fn commit(&mut self) -> Result<(), SqlError> {
        self.word("COMMIT")
    }

    fn roll_back(&mut self) -> Result<(), SqlError> {
        self.word("ROLLBACK")
    }
}

/// A statement in its dialect, and which value stands at each of its places.
fn translated(sql: &str) -> (String, Vec<usize>) {
    let mut own = sql.to_owned();
    for (pattern, instead) in DIALECT.iter() {
        own = pattern.replace_all(&own, *instead).into_owned();
    }
    let mut places = Vec::new();
    let own = PLACE.replace_all(&own, |found: &Captures<'_>| {
        places.push(found[1].parse::<usize>().unwrap_or(1).saturating_sub(1));
        "?"
    });
    (own.into_owned(), places)
}

fn put(value: &Value) -> mysql::Value {
    match value {
        Value::Null => mysql::Value::NULL,
        Value::Int(value) => mysql::Value::Int(*value),
        Value::Text(text) => mysql::Value::Bytes(text.clone().into_bytes()),
    }
}

/// Sums come as decimal numbers, in digits.
fn read(cell: mysql::Value, kind: ColumnType) -> Value {
    match cell {
        mysql::Value::Int(value) => Value::Int(value),
        mysql::Value::UInt(value) => Value::Int(value as i64),
        mysql::Value::Bytes(text) => {
            let text = String::from_utf8_lossy(&text).into_owned();
            let is_number = matches!(kind, ColumnType::MYSQL_TYPE_NEWDECIMAL | ColumnType::MYSQL_TYPE_DECIMAL);
            text.parse().ok().filter(|_| is_number).map_or(Value::Text(text), Value::Int)
        }
        _ => Value::Null,
    }
}

fn failure(error: mysql::Error) -> SqlError {
    match error {
        mysql::Error::MySqlError(said) => match said.code {
            DEADLOCK | LOCK_WAIT => SqlError::Conflict(said.message),
            DUPLICATE => SqlError::Duplicate(said.message),
            _ => SqlError::Other(said.message),
        },
        other => SqlError::Gone(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_said_in_its_dialect() {
        let said = |sql: &str| translated(sql).0;
        assert_eq!(
            said("CREATE TABLE t (a TEXT PRIMARY KEY, b BIGINT)"),
            "CREATE TABLE t (a VARCHAR(190) PRIMARY KEY, b BIGINT)"
        );
        assert_eq!(
            translated("INSERT INTO t (a, b) VALUES ($1, $2) ON CONFLICT (a) DO UPDATE SET b = t.b + excluded.b"),
            ("INSERT INTO t (a, b) VALUES (?, ?) ON DUPLICATE KEY UPDATE b = t.b + VALUES(b)".to_owned(), vec![0, 1])
        );
        assert_eq!(translated("SELECT $2, $1, $2").1, [1, 0, 1]);
        assert_eq!(said("SELECT CAST(SUM(a) AS BIGINT) FROM t"), "SELECT CAST(SUM(a) AS SIGNED) FROM t");
    }
}
