//! The command line of `loadstone-pair`.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::agent;

/// The machinery of fault-tolerant pairs of virtual machines.
#[derive(Parser)]
#[command(name = "loadstone-pair", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs beside one machine of a pair: moves its log, holds its outputs, watches the other side
    Agent(agent::Options),
}

/// Runs the program; failures go to the standard error.
pub fn main() -> ExitCode {
    let Command::Agent(options) = Cli::parse().command;
    match agent::run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("loadstone-pair: {error:#}");
            ExitCode::FAILURE
        }
    }
}
