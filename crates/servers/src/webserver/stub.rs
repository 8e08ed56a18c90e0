//! A process that starts programs for a server: small, so that a start is cheap, and there before it is needed.
//!
//! It reads a request as one line of JSON (program and environment), and writes the length of the program's output as
//! eight bytes, then the output; a program that cannot be started, or fails, has none.

use std::io::{BufRead, Write};
use std::process::{Command, Stdio};

use anyhow::Result;
use serde::{Deserialize, Serialize};

/// What is asked of it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Order {
    pub program: std::path::PathBuf,
    pub environment: Vec<(String, String)>,
}

/// Serves until its standard input ends.
pub fn serve() -> Result<()> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let order: Order = serde_json::from_str(&line?)?;
        let said = run(&order).unwrap_or_default();
        out.write_all(&(said.len() as u64).to_be_bytes())?;
        out.write_all(&said)?;
        out.flush()?;
    }
    Ok(())
}

fn run(order: &Order) -> Result<Vec<u8>> {
    let mut command = Command::new(&order.program);
    command.env_clear().envs(order.environment.iter().map(|(name, value)| (name, value)));
    command.env("PATH", "/usr/bin:/bin").stdin(Stdio::null()).stderr(Stdio::inherit());
    let done = command.output()?;
    anyhow::ensure!(done.status.success(), "{} ended with {}", order.program.display(), done.status);
    Ok(done.stdout)
}
