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
pub mod site;
pub mod sql;
pub mod station;
pub mod web;
#[cfg(feature = "all-roles")]
pub mod webserver;

#[cfg(not(feature = "all-roles"))]
use std::ffi::OsString;
use std::future::Future;
use std::io::{IsTerminal, Read, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use tokio::signal::unix::{signal, SignalKind};

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
        /// host:port of the back-end simulator
        #[arg(long)]
        backend: String,
        /// host:port of the infra role that keeps the downloads; without it they are made here
        #[arg(long)]
        store: Option<String>,
        /// Folder of the downloads, which another machine shares
        #[arg(long, conflicts_with = "store")]
        store_folder: Option<PathBuf>,
        /// Names and addresses that a certificate made in memory is for
        #[arg(long = "name", default_values_t = local_names())]
        names: Vec<String>,
    },
    /// Serve the back-end simulator that the web sites ask
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
    },
    /// Serve the dealership: dealers, works, suppliers over one database
    Dealership {
        #[command(flatten)]
        common: Common,
        /// The database: a file, role://HOST:PORT of the database role, or postgresql://USER@HOST:PORT/NAME
        #[arg(long)]
        database: String,
        /// Injection rate that an empty database is filled for
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        injection_rate: u32,
    },
    /// Serve a SQLite file to the application of another machine
    Database {
        #[command(flatten)]
        common: Common,
        /// The file; made when it is not there
        #[arg(long)]
        file: PathBuf,
    },
    /// Serve mail by IMAP4rev1, messages on disk
    Mail {
        #[command(flatten)]
        common: Common,
        /// Folder of the mailboxes
        #[arg(long)]
        folder: PathBuf,
        /// Every user's password
        #[arg(long, default_value = "loadstone")]
        password: String,
        #[command(flatten)]
        faults: mail::Faults,
    },
    /// Send every byte back (RFC 862), for the echo protocol
    Echo {
        #[command(flatten)]
        common: Common,
    },
    /// Serve requests as k workers with a known service time would, for checking measurements against theory
    Station {
        #[command(flatten)]
        common: Common,
        #[command(flatten)]
        options: station::Options,
    },
    /// Print what the three web sites declare of their pages: lengths and embedded files
    Pages,
    /// Write a workload's files to disk, for servers that serve files
    Fileset {
        /// Which workload's files
        set: fileset::Set,
        /// Number of sessions the files are for
        #[arg(long)]
        sessions: u64,
        /// Where to write them
        folder: PathBuf,
        /// Only say how many files and bytes it would be
        #[arg(long)]
        dry_run: bool,
    },
    #[cfg(feature = "all-roles")]
    #[command(flatten)]
    Further(further::Command),
    #[cfg(not(feature = "all-roles"))]
    #[command(external_subcommand)]
    Absent(Vec<OsString>),
    /// Write a private authority, and a server certificate and key, into a folder
    Certificate {
        folder: PathBuf,
        /// Names and addresses the server is known by
        #[arg(long = "name", default_values_t = local_names())]
        names: Vec<String>,
    },
}

#[derive(Debug, Args)]
struct Common {
    /// Address for HTTP; port 0 takes a free one, told in the ready line
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Worker threads
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// End when standard input ends, so that no server outlives what started it
    #[arg(long)]
    until_stdin_ends: bool,
}

/// How a role is served over TLS.
#[derive(Debug, Default, Args)]
pub struct Secure {
    /// Address for HTTPS
    #[arg(long)]
    listen_tls: Option<SocketAddr>,
    /// Folder with the server's certificate and key (see `certificate`); without one they are made new, in memory, and
    /// the ready line tells the authority's certificate
    #[arg(long)]
    certificates: Option<PathBuf>,
}

/// The program.
pub fn main() -> ExitCode {
    #[cfg(feature = "all-roles")]
    let first = further::first_process();
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
        Command::Idle { common } => serve_plain(&common, idle::Idle),
        Command::Dealership { common, database, injection_rate } => {
            let role =
                Arc::new(dealership::Dealership::new(sql::Database::parse(&database), i64::from(injection_rate))?);
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
        Command::Mail { common, folder, password, faults } => {
            let store = Arc::new(mail::store::Store::new(&folder)?);
            run(&common, async {
                let listener = front::listen(common.listen)?;
                ready(Some(listener.local_addr()?), None, None)?;
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

/// Serves a role over HTTP alone.
fn serve_plain(common: &Common, role: impl front::Role) -> Result<()> {
    run(common, async {
        let listener = front::listen(common.listen)?;
        ready(Some(listener.local_addr()?), None, None)?;
        front::serve(listener, Arc::new(role), None).await;
        Ok(())
    })
}

/// Serves a role over HTTP, and over HTTPS where it has an address; the role is made once there is a runtime.
fn serve_both_ways<R: front::Role>(
    common: &Common,
    secure: &Secure,
    names: &[String],
    make: impl FnOnce() -> Result<R>,
) -> Result<()> {
    run(common, async {
        let role = Arc::new(make()?);
        let plain = front::listen(common.listen)?;
        let secure = secure.listen_tls.map(|address| {
            let made = match secure.certificates.as_deref() {
                Some(folder) => front::certificate::from_folder(folder),
                None => front::certificate::fresh(names),
            };
            made.and_then(|(acceptor, authority)| Ok((front::listen(address)?, acceptor, authority)))
        });
        let secure = secure.transpose()?;
        let secure_address = secure.as_ref().map(|(listener, _, _)| listener.local_addr()).transpose()?;
        let authority = secure.as_ref().map(|(_, _, authority)| authority.as_str());
        ready(Some(plain.local_addr()?), secure_address, authority)?;
        if let Some((listener, acceptor, _)) = secure {
            tokio::spawn(front::serve(listener, role.clone(), Some(acceptor)));
        }
        front::serve(plain, role, None).await;
        Ok(())
    })
}

/// Names and addresses a server on this machine is reached by.
fn local_names() -> Vec<String> {
    ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec()
}

/// Says on standard output, as one line of JSON, that requests will be answered from now on, where, and which authority
/// (a certificate in PEM form) signed the server's certificate.
fn ready(http: Option<SocketAddr>, https: Option<SocketAddr>, authority: Option<&str>) -> Result<()> {
    let text = |address: Option<SocketAddr>| address.map(|address| address.to_string());
    let line =
        serde_json::json!({ "event": "ready", "http": text(http), "https": text(https), "authority": authority });
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

fn run(common: &Common, role: impl Future<Output = Result<()>>) -> Result<()> {
    run_until(common.until_stdin_ends, common.threads.max(1), role)
}

fn run_until(until_stdin_ends: bool, threads: usize, role: impl Future<Output = Result<()>>) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()?;
    let result = runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        tokio::select! {
            result = role => result,
            _ = terminate.recv() => Ok(()),
            _ = interrupt.recv() => Ok(()),
            () = stdin_end(until_stdin_ends) => Ok(()),
        }
    });
    runtime.shutdown_background();
    result
}

async fn stdin_end(watched: bool) {
    if !watched {
        return std::future::pending().await;
    }
    let wait = || {
        let mut scrap = [0u8; 64];
        while matches!(std::io::stdin().read(&mut scrap), Ok(count) if count > 0) {}
    };
    let _ = tokio::task::spawn_blocking(wait).await;
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
