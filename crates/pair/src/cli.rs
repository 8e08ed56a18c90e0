//! The command line of `loadstone-pair`.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::{agent, witness};

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
    Agent(Box<agent::Options>),
    /// Decides which side goes on, for sides on hosts of their own; until its standard input ends
    Witness(witness::Options),
}

/// Runs the program; failures go to the standard error.
pub fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Agent(options) => agent::run(&options),
        Command::Witness(options) => witness::run(&options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("loadstone-pair: {error:#}");
            ExitCode::FAILURE
        }
    }
}
