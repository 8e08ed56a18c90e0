//! One way to speak to a SQL database, whatever stands behind it: a file of this process, the database role of another
//! machine, a PostgreSQL or a MariaDB server. Statements use `$1`, `$2` ... in the order they first appear, whole numbers and texts.

pub mod application;
mod connection;
mod database;
pub mod link;
#[cfg(feature = "all-roles")]
pub mod mariadb;
mod pool;
#[cfg(feature = "all-roles")]
pub mod postgres;
pub mod rows;
pub mod sqlite;
#[cfg(feature = "all-roles")]
pub mod statistics;
#[cfg(test)]
mod tests;
mod transaction;
mod value;

pub use connection::{Access, Connection, SqlError};
pub use database::Database;
pub use pool::Pool;
pub use transaction::{transact, Fate};
pub use value::{Row, Value};
