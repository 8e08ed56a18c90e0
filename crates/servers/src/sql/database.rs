//! Where a database is, and connections to it.

use std::path::Path;

use anyhow::Result;

use super::connection::Connection;
use super::link::Link;
#[cfg(feature = "all-roles")]
use super::mariadb::MariaDb;
#[cfg(feature = "all-roles")]
use super::postgres::Postgres;
use super::sqlite::Sqlite;

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
            Database::File(path) => Box::new(Sqlite::open(path)?),
            Database::Role(address) => Box::new(Link::open(address)?),
            #[cfg(feature = "all-roles")]
            Database::Postgres(url) => Box::new(Postgres::open(url)?),
            #[cfg(feature = "all-roles")]
            Database::MariaDb(url) => Box::new(MariaDb::open(url)?),
            #[cfg(not(feature = "all-roles"))]
            Database::Postgres(_) => return Err(crate::left_out::missing_client("PostgreSQL")),
            #[cfg(not(feature = "all-roles"))]
            Database::MariaDb(_) => return Err(crate::left_out::missing_client("MariaDB")),
        })
    }
}
