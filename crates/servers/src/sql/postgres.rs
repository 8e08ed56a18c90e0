//! A PostgreSQL server, by its own protocol.

use std::collections::HashMap;
use std::error::Error;

use anyhow::{Context, Result};
use bytes::BytesMut;
use postgres::error::SqlState;
use postgres::types::{IsNull, ToSql, Type};
use postgres::{Client, NoTls, Statement};

use super::connection::{Access, Connection, SqlError};
use super::value::{Row, Value};

/// A connection to PostgreSQL.
pub struct Postgres {
    /// None only once it is being dropped.
    client: Option<Client>,
    prepared: HashMap<String, Statement>,
}

impl Postgres {
    /// Connects by a URL: `postgresql://user@host:port/name`.
    pub fn open(url: &str) -> Result<Self> {
        let client = Client::connect(url, NoTls).with_context(|| format!("cannot connect to {url}"))?;
        Ok(Postgres { client: Some(client), prepared: HashMap::new() })
    }

    fn batch(&mut self, words: &str) -> Result<(), SqlError> {
        self.client.as_mut().ok_or_else(closed)?.batch_execute(words).map_err(failure)
    }
}

impl Drop for Postgres {
    /// Closes the connection on a separate thread: the client blocks, and panics on a thread of an asynchronous runtime.
    fn drop(&mut self) {
        let client = self.client.take();
        let _ = std::thread::spawn(move || drop(client)).join();
    }
}

fn closed() -> SqlError {
    SqlError::Gone("the connection is closed".into())
}

impl ToSql for Value {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Value::Null => Ok(IsNull::Yes),
            Value::Int(value) if *kind == Type::INT4 => i32::try_from(*value)?.to_sql(kind, out),
            Value::Int(value) => value.to_sql(kind, out),
            Value::Text(text) => text.to_sql(kind, out),
        }
    }

    fn accepts(kind: &Type) -> bool {
        [Type::INT8, Type::INT4, Type::TEXT, Type::VARCHAR].contains(kind)
    }

    postgres::types::to_sql_checked!();
}

impl Connection for Postgres {
    fn run(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, SqlError> {
        let client = self.client.as_mut().ok_or_else(closed)?;
        if !self.prepared.contains_key(sql) {
            let made = client.prepare(sql).map_err(failure)?;
            self.prepared.insert(sql.to_owned(), made);
        }
        let statement = &self.prepared[sql];
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
        if statement.columns().is_empty() {
            let changed = client.execute(statement, &values).map_err(failure)?;
            return Ok(vec![vec![Value::Int(changed as i64)]]);
        }
        let rows = client.query(statement, &values).map_err(failure)?;
        rows.iter().map(|row| (0..row.len()).map(|at| read(row, at)).collect()).collect()
    }

    fn begin(&mut self, access: Access) -> Result<(), SqlError> {
        self.batch(if access == Access::Write { "BEGIN" } else { "BEGIN READ ONLY" })
    }

    fn commit(&mut self) -> Result<(), SqlError> {
        self.batch("COMMIT")
    }

    fn roll_back(&mut self) -> Result<(), SqlError> {
        self.batch("ROLLBACK")
    }
}

fn read(row: &postgres::Row, at: usize) -> Result<Value, SqlError> {
    let kind = row.columns()[at].type_();
    let value = if *kind == Type::INT8 {
        row.try_get::<_, Option<i64>>(at).map(|value| value.map_or(Value::Null, Value::Int))
    } else {
        row.try_get::<_, Option<String>>(at).map(|value| value.map_or(Value::Null, Value::Text))
    };
    value.map_err(failure)
}

fn failure(error: postgres::Error) -> SqlError {
    let text = error.as_db_error().map_or_else(|| error.to_string(), |error| error.message().to_owned());
    match error.code() {
        Some(code) if [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED].contains(code) => {
            SqlError::Conflict(text)
        }
        Some(code) if *code == SqlState::UNIQUE_VIOLATION => SqlError::Duplicate(text),
        None => SqlError::Gone(text),
        Some(_) if error.is_closed() => SqlError::Gone(text),
        Some(_) => SqlError::Other(text),
    }
}
