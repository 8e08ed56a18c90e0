//! A database in a file of this process, by SQLite: write-ahead log, every commit on disk before it is acknowledged.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{ffi, params_from_iter, ErrorCode};

use super::connection::{Access, Connection, SqlError};
use super::value::{Row, Value};

/// Time a writer waits for another.
const BUSY: Duration = Duration::from_secs(10);

/// A connection to a file of SQLite.
pub struct Sqlite(rusqlite::Connection);

impl Sqlite {
    /// Opens the file; makes it when it is not there.
    pub fn open(path: &Path) -> Result<Self> {
        let connection = rusqlite::Connection::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        connection.busy_timeout(BUSY)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.set_prepared_statement_cache_capacity(128);
        Ok(Sqlite(connection))
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Value::Null => ToSqlOutput::Borrowed(ValueRef::Null),
            Value::Int(value) => ToSqlOutput::from(*value),
            Value::Text(text) => ToSqlOutput::from(text.as_str()),
        })
    }
}

impl Connection for Sqlite {
    fn run(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, SqlError> {
        let mut statement = self.0.prepare_cached(sql).map_err(failure)?;
        let columns = statement.column_count();
        if columns == 0 {
            let changed = statement.execute(params_from_iter(values)).map_err(failure)?;
            return Ok(vec![vec![Value::Int(changed as i64)]]);
        }
        let mut rows = statement.query(params_from_iter(values)).map_err(failure)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next().map_err(failure)? {
            let value = |at| row.get_ref(at).map_err(failure).map(read);
            found.push((0..columns).map(value).collect::<Result<Row, _>>()?);
        }
        Ok(found)
    }

    fn begin(&mut self, access: Access) -> Result<(), SqlError> {
        // A reader that turned writer would find itself behind others.
        let word = if access == Access::Write { "BEGIN IMMEDIATE" } else { "BEGIN" };
        self.0.execute_batch(word).map_err(failure)
    }

    fn commit(&mut self) -> Result<(), SqlError> {
        self.0.execute_batch("COMMIT").map_err(failure)
    }

    fn roll_back(&mut self) -> Result<(), SqlError> {
        self.0.execute_batch("ROLLBACK").map_err(failure)
    }
}

fn read(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null | ValueRef::Blob(_) => Value::Null,
        ValueRef::Integer(value) => Value::Int(value),
        ValueRef::Real(value) => Value::Int(value as i64),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
    }
}

fn failure(error: rusqlite::Error) -> SqlError {
    let text = error.to_string();
    match error.sqlite_error() {
        Some(ffi::Error { code: ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, .. }) => SqlError::Conflict(text),
        Some(ffi::Error { code: ErrorCode::ConstraintViolation, .. }) => SqlError::Duplicate(text),
        _ => SqlError::Other(text),
    }
}
