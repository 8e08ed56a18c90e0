//! One way to speak to a SQL database, whatever stands behind it: a file of this process, the database role of another
//! machine, a PostgreSQL or a MariaDB server. Statements use `$1`, `$2` ... in the order they first appear, whole numbers and texts.

pub mod application;
pub mod link;
#[cfg(feature = "all-roles")]
pub mod mariadb;
#[cfg(feature = "all-roles")]
pub mod postgres;
pub mod rows;
pub mod sqlite;
#[cfg(feature = "all-roles")]
pub mod statistics;

use std::path::Path;
use std::sync::{Condvar, Mutex};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// A value of a row or of a statement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    Null,
    Int(i64),
    Text(String),
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Value::Int(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Value::Text(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Value::Text(value)
    }
}

impl Value {
    /// A whole number; 0 for what is none.
    pub fn int(&self) -> i64 {
        if let Value::Int(value) = self {
            *value
        } else {
            0
        }
    }

    /// A text; empty for what is none.
    pub fn text(&self) -> &str {
        if let Value::Text(value) = self {
            value
        } else {
            ""
        }
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Null => Ok(()),
            Value::Int(value) => write!(out, "{value}"),
            Value::Text(text) => out.write_str(text),
        }
    }
}

/// One row of an answer, in the order of the columns asked for.
pub type Row = Vec<Value>;

/// Why a statement did not work.
#[derive(Clone, Debug, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SqlError {
    /// Another transaction was in the way; the whole transaction may be tried again.
    #[error("another transaction was in the way: {0}")]
    Conflict(String),
    /// A row with this key is there already.
    #[error("there is such a row already: {0}")]
    Duplicate(String),
    /// The connection is gone.
    #[error("the database does not answer: {0}")]
    Gone(String),
    #[error("{0}")]
    Other(String),
}

/// What a transaction may begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    Read,
    Write,
}

/// A connection to a database.
pub trait Connection: Send {
    /// Performs one statement; its rows, or one row with the number of rows it changed.
    fn run(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, SqlError>;
    /// Begins a transaction.
    fn begin(&mut self, access: Access) -> Result<(), SqlError>;
    /// Keeps what the transaction did.
    fn commit(&mut self) -> Result<(), SqlError>;
    /// Undoes what the transaction did.
    fn roll_back(&mut self) -> Result<(), SqlError>;
}

/// Tries of a transaction that others are in the way of.
const TRIES: u32 = 8;

/// Performs a transaction; again when another was in the way. `work` says whether its changes are to be kept.
pub fn transact<T>(
    connection: &mut dyn Connection,
    access: Access,
    mut work: impl FnMut(&mut dyn Connection) -> Result<(T, Fate), SqlError>,
) -> Result<T, SqlError> {
    let mut tries = 0;
    loop {
        tries += 1;
        let result = connection.begin(access).and_then(|()| work(connection)).and_then(|(found, fate)| {
            match fate {
                Fate::Kept => connection.commit()?,
                Fate::RolledBack => connection.roll_back()?,
            }
            Ok(found)
        });
        match result {
            Err(SqlError::Conflict(_)) if tries < TRIES => {
                let _ = connection.roll_back();
                std::thread::sleep(std::time::Duration::from_millis(u64::from(tries)));
            }
            Err(error) => {
                let _ = connection.roll_back(); // it may never have begun
                return Err(error);
            }
            Ok(found) => return Ok(found),
        }
    }
}

/// What becomes of a transaction's changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Kept,
    RolledBack,
}

/// Where a database is.
#[derive(Clone, Debug)]
pub enum Database {
    /// A SQLite file.
    File(std::path::PathBuf),
    /// The database role, at host:port.
    Role(String),
    /// A PostgreSQL server, by its URL.
    Postgres(String),
    /// A MariaDB server, by its URL.
    MariaDb(String),
}

impl Database {
    /// Reads `postgresql://USER@HOST:PORT/NAME`, `mysql://USER@HOST:PORT/NAME`, `role://HOST:PORT` or the path of a file.
    pub fn parse(text: &str) -> Self {
        match text.split_once("://") {
            Some(("postgresql" | "postgres", _)) => Database::Postgres(text.to_owned()),
            Some(("mysql", _)) => Database::MariaDb(text.to_owned()),
            Some(("role", address)) => Database::Role(address.to_owned()),
            _ => Database::File(Path::new(text).to_owned()),
        }
    }

    /// A new connection to it.
    pub fn connect(&self) -> Result<Box<dyn Connection>> {
        Ok(match self {
            Database::File(path) => Box::new(sqlite::Sqlite::open(path)?),
            Database::Role(address) => Box::new(link::Link::open(address)?),
            #[cfg(feature = "all-roles")]
            Database::Postgres(url) => Box::new(postgres::Postgres::open(url)?),
            #[cfg(feature = "all-roles")]
            Database::MariaDb(url) => Box::new(mariadb::MariaDb::open(url)?),
            #[cfg(not(feature = "all-roles"))]
            Database::Postgres(_) => return Err(crate::left_out::missing_client("PostgreSQL")),
            #[cfg(not(feature = "all-roles"))]
            Database::MariaDb(_) => return Err(crate::left_out::missing_client("MariaDB")),
        })
    }
}

/// Transactions under way at once, as in a usual application server's pool.
const CONNECTIONS: usize = 16;

/// Connections that are lent out, as many as there are at most.
pub struct Pool {
    database: Database,
    free: Mutex<Vec<Option<Box<dyn Connection>>>>,
    returned: Condvar,
}

impl Pool {
    /// No connection is open yet.
    pub fn new(database: Database) -> Self {
        let free = (0..CONNECTIONS).map(|_| None).collect();
        Pool { database, free: Mutex::new(free), returned: Condvar::new() }
    }

    /// Lends a connection to `work`; blocks until one is free. A connection that fails is made anew next time.
    pub fn with<T>(&self, work: impl FnOnce(&mut dyn Connection) -> Result<T, SqlError>) -> Result<T> {
        let mut free = self.free.lock().map_err(|_| anyhow::anyhow!("the pool is broken"))?;
        let held = loop {
            match free.pop() {
                Some(held) => break held,
                None => free = self.returned.wait(free).map_err(|_| anyhow::anyhow!("the pool is broken"))?,
            }
        };
        drop(free);
        let mut lent = Lent { pool: self, held };
        if lent.held.is_none() {
            lent.held = Some(self.database.connect()?);
        }
        let connection = lent.held.as_mut().context("no connection")?;
        let result = work(connection.as_mut());
        if matches!(result, Err(SqlError::Gone(_))) {
            lent.held = None;
        }
        Ok(result?)
    }
}

/// A place of the pool, given back whatever happens.
struct Lent<'a> {
    pool: &'a Pool,
    held: Option<Box<dyn Connection>>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        if let Ok(mut free) = self.pool.free.lock() {
            free.push(self.held.take());
            self.pool.returned.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_tells_what_kind_of_database_it_is() {
        assert!(matches!(Database::parse("postgresql://a@h:1/x"), Database::Postgres(_)));
        assert!(matches!(Database::parse("mysql://a@h:1/x"), Database::MariaDb(_)));
        assert!(matches!(Database::parse("role://h:1"), Database::Role(address) if address == "h:1"));
        assert!(matches!(Database::parse("folder/data.db"), Database::File(_)));
    }

    #[test]
    fn what_is_rolled_back_leaves_nothing() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let mut connection = Database::File(folder.path().join("a.db")).connect()?;
        connection.run("CREATE TABLE t (a BIGINT PRIMARY KEY)", &[])?;
        for (value, fate) in [(1, Fate::Kept), (2, Fate::RolledBack)] {
            transact(connection.as_mut(), Access::Write, |c| {
                c.run("INSERT INTO t (a) VALUES ($1)", &[value.into()])?;
                Ok(((), fate))
            })?;
        }
        assert_eq!(connection.run("SELECT a FROM t", &[])?, [[Value::Int(1)]]);
        let again = connection.run("INSERT INTO t (a) VALUES (1)", &[]);
        assert!(matches!(again, Err(SqlError::Duplicate(_))));
        Ok(())
    }
}
