//! Transactions, which are tried again where another was in the way.

use super::connection::{Access, Connection, SqlError};

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
