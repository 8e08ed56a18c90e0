//! QEMU's monitor, for the one thing that an agent asks of it: that a machine continues whose keeper is gone.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use anyhow::{bail, Result};

/// Longest wait for an answer.
const ANSWERED: Duration = Duration::from_secs(5);
/// Of QEMU's machine protocol: what a session begins with, and the order to continue.
const COMMANDS: [&str; 2] = ["qmp_capabilities", "cont"];

/// Has QEMU continue its machine, where that stands still.
pub fn continue_machine(monitor: &Path) -> Result<()> {
    let mut line = UnixStream::connect(monitor)?;
    line.set_read_timeout(Some(ANSWERED))?;
    let mut answers = BufReader::new(line.try_clone()?).lines();
    for command in COMMANDS {
        writeln!(line, "{{\"execute\": \"{command}\"}}")?;
        // It may close the session before it has done what it was asked and not answered.
        loop {
            let Some(answer) = answers.next().transpose()? else { bail!("QEMU closed its monitor") };
            if answer.contains("\"return\"") || answer.contains("\"error\"") {
                break;
            }
        }
    }
    Ok(())
}
