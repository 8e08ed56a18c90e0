//! What a build without the feature `all-roles` answers to those who need more of it: `make demo` makes such a build.

use std::ffi::OsString;

use anyhow::{anyhow, Error};

const REMEDY: &str =
    "`make demo` builds only what the demo needs. Run `make setup` in the project's folder to build everything.";

/// The error for a role that is not in this build, or in none.
pub fn missing_role(words: &[OsString]) -> Error {
    let role = words.first().map(|word| word.to_string_lossy()).unwrap_or_default();
    anyhow!("The role `{role}` is not in this build. {REMEDY}")
}

/// The error for a database server whose client is not in this build.
pub fn missing_client(database: &str) -> Error {
    anyhow!("The client for {database} is not in this build. {REMEDY}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_that_is_left_out_says_how_to_get_it() {
        let words = ["bookstore", "--database", "x"].map(OsString::from);
        let error = missing_role(&words).to_string();
        assert!(error.contains("`bookstore` is not in this build") && error.contains("Run `make setup`"), "{error}");
    }

    #[test]
    fn a_database_whose_client_is_left_out_says_how_to_get_it() {
        let error = missing_client("PostgreSQL").to_string();
        assert!(error.contains("PostgreSQL is not in this build") && error.contains("Run `make setup`"), "{error}");
    }
}
