//! Reference servers: one program, one role a command; they make every web workload runnable with nothing installed.

#[cfg(feature = "all-roles")]
pub mod agent;
pub mod backend;
#[cfg(feature = "all-roles")]
pub mod bookstore;
#[cfg(feature = "all-roles")]
pub mod cache;
pub mod content;
pub mod dealership;
pub mod echo;
#[cfg(feature = "all-roles")]
pub mod events;
pub mod fileset;
pub mod front;
#[cfg(feature = "all-roles")]
mod further;
pub mod idle;
pub mod infra;
#[cfg(any(test, not(feature = "all-roles")))]
mod left_out;
pub mod mail;
mod serving;
pub mod site;
pub mod sql;
pub mod station;
pub mod web;
#[cfg(feature = "all-roles")]
pub mod webserver;

#[cfg(not(feature = "all-roles"))]
use std::ffi::OsString;
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use clap::{Parser, Subcommand};

use serving::{local_names, ready, run, serve_both_ways, serve_plain, Common, Secure};
use web::store::FileStore;

/// Reference servers for Loadstone's workloads.
#[derive(Debug, Parser)]
#[command(name = "loadstone-server", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the bank, shop and support web sites
    Web {
        #[command(flatten)]
        common: Common,
        #[command(flatten)]
        secure: Secure,
        /// Back-end simulator, HOST:PORT
        #[arg(long)]
        backend: String,
        /// Infra role that stores the downloads, HOST:PORT. Default: this server generates them
        #[arg(long)]
        store: Option<String>,
        /// Folder of the downloads, which another machine shares
        #[arg(long, conflicts_with = "store")]
        store_folder: Option<PathBuf>,
        /// Names and addresses of a certificate generated in memory
        #[arg(long = "name", default_values_t = local_names())]
        names: Vec<String>,
    },
    /// Serve the back-end simulator that the web sites query
    Backend {
        #[command(flatten)]
        common: Common,
    },
    /// Serve the back-end simulator and the store of files of a tile
    Infra {
        #[command(flatten)]
        common: Common,
    },
    /// Answer heartbeats and do nothing else
    Idle {
        #[command(flatten)]
        common: Common,
        /// Wake-ups per second of a thread that sleeps, counted at /ticks. Default: no such thread
        #[arg(long)]
        ticks_per_s: Option<NonZeroU32>,
    },
    /// Serve the dealership: dealers, works, suppliers over one database
    Dealership {
        #[command(flatten)]
        common: Common,
        /// The database: a file, role://HOST:PORT of the database role, or postgresql://USER@HOST:PORT/NAME
        #[arg(long)]
        database: String,
        /// Injection rate that sizes the initial content of an empty database
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        injection_rate: u32,
        /// Fill the database and end
        #[arg(long)]
        only_fill: bool,
    },
    /// Serve a SQLite file to the application of another machine
    Database {
        #[command(flatten)]
        common: Common,
        /// File of the database, created if missing
        #[arg(long)]
        file: PathBuf,
    },
    /// Serve mail by IMAP4rev1, and accept it by LMTP, messages on disk
    Mail {
        #[command(flatten)]
        common: Common,
        /// Folder of the mailboxes
        #[arg(long)]
        folder: PathBuf,
        /// Every user's password
        #[arg(long, default_value = "loadstone")]
        password: String,
        /// Address that accepts mail by LMTP (RFC 2033); port 0 takes a free port. Default: none is accepted
        #[arg(long)]
        listen_lmtp: Option<SocketAddr>,
        #[command(flatten)]
        faults: mail::Faults,
    },
    /// Send every byte back (RFC 862), for the echo protocol
    Echo {
        #[command(flatten)]
        common: Common,
    },
    /// Serve requests like k workers with a known service time, to check measurements against theory
    Station {
        #[command(flatten)]
        common: Common,
        #[command(flatten)]
        options: station::Options,
    },
    /// Print the declared pages of the three web sites: lengths and embedded files
    Pages,
    /// Write a workload's files to disk, for servers that serve files
    Fileset {
        /// Workload of the files
        set: fileset::Set,
        /// Number of sessions the files are for
        #[arg(long)]
        sessions: u64,
        /// Folder to write to
        folder: PathBuf,
        /// Print the number of files and bytes only
        #[arg(long)]
        dry_run: bool,
    },
    #[cfg(feature = "all-roles")]
    #[command(flatten)]
    Further(further::Command),
    #[cfg(not(feature = "all-roles"))]
    #[command(external_subcommand)]
    Absent(Vec<OsString>),
    /// Write a private CA, a server certificate and its key into a folder
    Certificate {
        folder: PathBuf,
        /// Names and addresses of the server
        #[arg(long = "name", default_values_t = local_names())]
        names: Vec<String>,
    },
}

/// The program.
pub fn main() -> ExitCode {
    #[cfg(feature = "all-roles")]
    let first = further::first_process().map(Command::Further);
    #[cfg(not(feature = "all-roles"))]
    let first = None;
    let command = first.unwrap_or_else(|| Arguments::parse().command);
    match dispatch(command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("loadstone-server: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn dispatch(command: Command) -> Result<()> {
    match command {
        Command::Backend { common } => serve_plain(&common, backend::Backend::default()),
        Command::Station { common, options } => serve_plain(&common, station::Waiting::new(&options)?),
        Command::Infra { common } => serve_plain(&common, infra::Infra::default()),
        Command::Idle { common, ticks_per_s } => serve_plain(&common, idle::Idle::new(ticks_per_s)?),
        Command::Dealership { common, database, injection_rate, only_fill } => {
            let (database, rate) = (sql::Database::parse(&database), i64::from(injection_rate));
            if only_fill {
                return Ok(dealership::schema::prepare(database.connect()?.as_mut(), rate)?);
            }
            let role = Arc::new(dealership::Dealership::new(database, rate)?);
            run(&common, async {
                let listener = front::listen(common.listen)?;
                role.listens_at(listener.local_addr()?);
                ready(Some(listener.local_addr()?), None, None)?;
                front::serve(listener, role, None).await;
                Ok(())
            })
        }
        Command::Database { common, file } => {
            sql::sqlite::Sqlite::open(&file)?;
            run(&common, async {
                let listener = std::net::TcpListener::bind(common.listen)?;
                ready(Some(listener.local_addr()?), None, None)?;
                tokio::task::spawn_blocking(move || sql::link::serve(&listener, &file)).await?;
                Ok(())
            })
        }
        Command::Mail { common, folder, password, listen_lmtp, faults } => {
            let store = Arc::new(mail::store::Store::new(&folder)?);
            run(&common, async {
                let listener = front::listen(common.listen)?;
                let delivery = listen_lmtp.map(front::listen).transpose()?;
                let address = delivery.as_ref().map(tokio::net::TcpListener::local_addr).transpose()?;
                serving::mail_ready(listener.local_addr()?, address)?;
                if let Some(delivery) = delivery {
                    tokio::spawn(mail::lmtp::serve(delivery, store.clone(), faults));
                }
                mail::serve(listener, store, password.into(), faults).await;
                Ok(())
            })
        }
        Command::Web { common, secure, backend, store, store_folder, names } => {
            let there = store.as_deref().map(FileStore::there);
            let kept = there.or(store_folder.map(FileStore::Folder));
            let make = || web::Web::new(&backend, kept.clone());
            serve_both_ways(&common, &secure, &names, make)
        }
        Command::Echo { common } => run(&common, async {
            let listener = front::listen(common.listen)?;
            ready(Some(listener.local_addr()?), None, None)?;
            echo::serve(listener).await;
            Ok(())
        }),
        Command::Pages => {
            println!("{}", serde_json::to_string(&site::pages()?)?);
            Ok(())
        }
        Command::Fileset { set, sessions, folder, dry_run } => write_files(set, sessions, &folder, dry_run),
        #[cfg(feature = "all-roles")]
        Command::Further(command) => further::dispatch(command),
        #[cfg(not(feature = "all-roles"))]
        Command::Absent(words) => Err(left_out::missing_role(&words)),
        Command::Certificate { folder, names } => front::certificate::write(&folder, &names),
    }
}

fn write_files(set: fileset::Set, sessions: u64, folder: &std::path::Path, dry_run: bool) -> Result<()> {
    if dry_run {
        let (count, bytes) =
            fileset::files(set, sessions)?.fold((0u64, 0u64), |(n, sum), (_, length)| (n + 1, sum + length));
        println!("{count} files, {bytes} bytes");
        return Ok(());
    }
    let live = std::io::stderr().is_terminal();
    let mut shown = 101;
    let (count, bytes) = fileset::write(set, sessions, folder, |done, total| {
        let percent = done * 100 / total.max(1);
        if live && percent != shown {
            shown = percent;
            eprint!("\r{percent:3} % of {} MB", total / 1_000_000);
        }
    })?;
    if live {
        eprintln!();
    }
    println!("{count} files, {bytes} bytes in {}", folder.display());
    Ok(())
}
