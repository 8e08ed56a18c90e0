//! The load driver: reads a plan, plays its sessions with honest timing, writes events.

pub mod awaited;
pub mod client;
pub mod clock;
pub mod coding;
pub mod discrete_event;
pub mod ending;
pub mod engine;
pub mod gate;
pub mod input;
pub mod inspect;
pub mod job;
pub mod join;
pub mod ledger;
pub mod look;
pub mod mail;
pub mod needle;
pub mod operation;
pub mod record_writer;
pub mod report;
pub mod scratch;
pub mod server;
pub mod session;
pub mod shared;
pub mod simulate;
pub mod start;
pub mod text;
pub mod timer;
pub mod transport;
pub mod upload;
pub mod wheel;
pub mod windows;
pub mod withheld;
pub mod worker;

use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use loadstone_record::event::{EndReason, Event};
use loadstone_schedule::plan::Plan;

use awaited::awaited_plan;
use discrete_event::DiscreteEvents;
use engine::Unread;
use input::{check_schema, input, read_plan};
use join::{Joiner, Leader, Setting, Share, StartWord, Token};
use start::{Alone, Told};

/// Exit code after an interruption, as shells use it for SIGINT.
const INTERRUPTED: u8 = 130;

/// Plays a load plan against a server. Reads one JSON plan from standard input, writes one JSON event a line.
#[derive(Debug, Parser)]
#[command(name = "loadstone-driver", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the plan on standard input and write events to standard output
    Run {
        /// Lead other drivers, which join at this address (HOST:PORT) and know the token in LOADSTONE_JOIN_TOKEN, and
        /// merge their events into one record
        #[arg(long, requires = "joining", value_name = "ADDRESS")]
        listen: Option<String>,
        /// Number of other drivers that will join
        #[arg(long, requires = "listen", value_parser = clap::value_parser!(u32).range(1..=1000))]
        joining: Option<u32>,
        /// Only lead the other drivers and merge their events, without a share of the load
        #[arg(long, requires = "listen")]
        merge_only: bool,
        /// Read the plan as one line, and report when all is prepared. The next line has the start on this machine's
        /// monotonic clock: {"origin_ns": N}
        #[arg(long)]
        await_start: bool,
        #[command(flatten)]
        patience: Patience,
    },
    /// Join the driver that leads at this address (HOST:PORT) and play a share of its plan; the variable
    /// LOADSTONE_JOIN_TOKEN has the run's token
    Join {
        address: String,
        #[command(flatten)]
        patience: Patience,
    },
    /// Play the simulation on standard input in virtual time and write its result
    Simulate,
    /// Play the plan on standard input in virtual time against a modelled station and write events
    DiscreteEvents,
    /// Compile the plan on standard input, and report its errors: patterns, selectors, references to values
    Check,
    /// Examine the target on standard input as a run would see it, and write the result
    Look,
    /// Print a JSON schema: plan, events, simulation, simulated, discrete-events
    Schema { document: Document },
}

#[derive(Clone, Copy, Debug, clap::Args)]
struct Patience {
    /// Seconds of silence after which a driver at the other end counts as lost
    #[arg(long, value_name = "SECONDS", default_value = "3", value_parser = read_silence)]
    silence_s: Duration,
}

/// Reads a length of silence: two beats at least.
fn read_silence(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    if !(1.0..=3600.0).contains(&seconds) {
        return Err("use 1 to 3600 seconds".into());
    }
    Ok(Duration::from_secs_f64(seconds))
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Document {
    Plan,
    Events,
    Simulation,
    Simulated,
    DiscreteEvents,
}

/// The program.
pub fn main() -> ExitCode {
    match dispatch(Arguments::parse().command) {
        Ok(EndReason::Completed) => ExitCode::SUCCESS,
        Ok(EndReason::Interrupted) => ExitCode::from(INTERRUPTED),
        Err(error) => {
            eprintln!("loadstone-driver: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn dispatch(command: Command) -> Result<EndReason> {
    let mut out = std::io::stdout().lock();
    match command {
        Command::Run { listen, joining, merge_only, await_start, patience } => {
            let setting: Box<dyn Setting> = match (listen.zip(joining), await_start) {
                (None, true) => Box::new(Told),
                (None, false) => Box::new(Alone(read_plan)),
                (Some((address, joining)), awaits) => Box::new(Leader {
                    read_plan: if awaits { awaited_plan } else { read_plan },
                    address,
                    joining,
                    token: Token::from_environment()?,
                    share: if merge_only { Share::None } else { Share::Own },
                    start: if awaits { StartWord::Awaited } else { StartWord::Own },
                    silence: patience.silence_s,
                }),
            };
            return engine::run(setting, &mut out, Unread::of_stdout()?);
        }
        Command::Join { address, patience } => {
            let joiner = Joiner::connect(&address, &Token::from_environment()?, patience.silence_s)?;
            let mut events = joiner.events();
            let reason = engine::run(Box::new(joiner), &mut events, Unread::never())?;
            events.finish();
            return Ok(reason);
        }
        Command::DiscreteEvents => {
            let simulation: DiscreteEvents = serde_json::from_str(&input()?).context("the simulation is not valid")?;
            check_schema(&simulation.plan)?;
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
            return discrete_event::play(&simulation, now, &mut std::io::BufWriter::new(out));
        }
        Command::Simulate => {
            let simulation = serde_json::from_str(&input()?).context("the simulation is not valid")?;
            serde_json::to_writer(&mut out, &simulate::simulate(&simulation)?)?;
        }
        Command::Check => {
            job::Job::check(&read_plan()?)?;
            return Ok(EndReason::Completed);
        }
        Command::Look => serde_json::to_writer(&mut out, &look::look(&input()?)?)?,
        Command::Schema { document } => {
            let schema = match document {
                Document::Plan => schemars::schema_for!(Plan),
                Document::Events => schemars::schema_for!(Event),
                Document::DiscreteEvents => schemars::schema_for!(DiscreteEvents),
                Document::Simulation => schemars::schema_for!(simulate::Simulation),
                Document::Simulated => schemars::schema_for!(simulate::Simulated),
            };
            serde_json::to_writer_pretty(&mut out, &schema)?;
        }
    }
    writeln!(out)?;
    Ok(EndReason::Completed)
}
