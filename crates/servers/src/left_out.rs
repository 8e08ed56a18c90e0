//! In place of `further`, in a build without its roles: asked for one, the program says how to get it.

use std::ffi::OsString;

use anyhow::{bail, Result};

use crate::{Command, LEFT_OUT};

/// None: virtual machines need the role `agent`, which is not in this build.
pub fn first_process() -> Option<Command> {
    None
}

/// Refuses a role that is not in this build, or in none.
pub fn dispatch(words: &[OsString]) -> Result<()> {
    let role = words.first().map(|word| word.to_string_lossy()).unwrap_or_default();
    bail!("the role `{role}` is not in this build. {LEFT_OUT}")
}
