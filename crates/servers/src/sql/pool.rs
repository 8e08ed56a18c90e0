//! Connections that are lent out, a limited number at once.

use std::sync::{Condvar, Mutex};

use anyhow::{Context, Result};

use super::connection::{Connection, SqlError};
use super::database::Database;

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
