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
    /// Run next to a machine of a pair: move its log, hold its outputs, watch the other side
    Agent(Box<agent::Options>),
    /// Decide which side continues, for sides on separate hosts, until standard input or its lease ends
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
