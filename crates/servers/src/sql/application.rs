//! What applications over a database have in common: a pool that requests may wait for, and what clients are told when a
//! statement fails.

use std::sync::Arc;

use anyhow::Result;
use http::StatusCode;

use super::connection::{Connection, SqlError};
use super::pool::Pool;
use crate::front::answer::{refusal, Answer};

/// A pool for requests that wait without holding a thread of the server's.
#[derive(Clone)]
pub struct Store(Arc<Pool>);

impl Store {
    /// Over this pool.
    pub fn new(pool: Pool) -> Self {
        Store(Arc::new(pool))
    }

    /// Does something with a connection, on a thread that may wait.
    pub async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn Connection) -> Result<T, SqlError> + Send + 'static,
    ) -> Result<T> {
        let pool = self.0.clone();
        tokio::task::spawn_blocking(move || pool.with(work)).await?
    }
}

/// Says on standard error why a request of a role failed; what its client is told.
pub fn failure(role: &str, path: &str, error: &anyhow::Error) -> Answer {
    eprintln!("loadstone-server {role}: {path}: {error:#}");
    refusal(match error.downcast_ref::<SqlError>() {
        Some(SqlError::Duplicate(_)) => StatusCode::CONFLICT,
        Some(SqlError::Gone(_)) => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    })
}
