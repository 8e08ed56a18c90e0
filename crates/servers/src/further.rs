//! The roles that a tile does not need: other workloads' applications, web servers alone, figures of databases and hosts.
//! Their crates take half of a fresh build, so `make demo` leaves them out.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Result;
use clap::Subcommand;

use crate::serving::{local_names, run_until, serve_both_ways, serve_plain, Common, Secure};
use crate::{agent, backend, bookstore, events, sql, webserver};

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve files and short responses, as a plain web server
    Webserver {
        #[command(flatten)]
        common: Common,
        #[command(flatten)]
        secure: Secure,
        #[command(flatten)]
        options: webserver::Options,
    },
    /// Start programs for a web server, as ordered on standard input
    #[command(hide = true)]
    Stub,
    /// Serve the back-end simulator to a web server, as a FastCGI responder of many processes
    Responder {
        #[command(flatten)]
        options: backend::responder::Options,
    },
    /// One process of a responder
    #[command(hide = true)]
    ResponderProcess,
    /// Serve the bookstore over one database
    Bookstore {
        #[command(flatten)]
        common: Common,
        /// The database: a file, role://HOST:PORT of the database role, postgresql:// or mysql://USER@HOST:PORT/NAME
        #[arg(long)]
        database: String,
        /// Initial content of an empty database
        #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(10..=100_000_000))]
        items: u32,
        #[arg(long, default_value_t = 1_440, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
        customers: u32,
        #[arg(long, default_value_t = 38_000, value_parser = clap::value_parser!(u32).range(0..=2_000_000_000))]
        orders: u32,
        /// Fill the database and end
        #[arg(long)]
        only_fill: bool,
    },
    /// Serve the events site over one database
    Events {
        #[command(flatten)]
        common: Common,
        /// The database: a file, role://HOST:PORT of the database role, postgresql:// or mysql://USER@HOST:PORT/NAME
        #[arg(long)]
        database: String,
        /// Initial content of an empty database
        #[arg(long, default_value_t = 2_500, value_parser = clap::value_parser!(u32).range(100..=100_000_000))]
        users: u32,
        #[arg(long, default_value_t = 622, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        tags: u32,
        #[arg(long, default_value_t = 1_866, value_parser = clap::value_parser!(u32).range(10..=100_000_000))]
        events: u32,
        #[command(flatten)]
        services: events::Services,
        /// Fill the database, or restore its initial content, and end
        #[arg(long)]
        only_fill: bool,
    },
    /// Store the pictures of the events site for its servers
    Pictures {
        #[command(flatten)]
        common: Common,
        /// Folder of added pictures
        #[arg(long, default_value = "pictures")]
        folder: PathBuf,
        /// Write the initial pictures there, for servers that share the folder, and end
        #[arg(long)]
        only_fill: bool,
    },
    /// Geocode addresses for the events site: all of them at one place
    Geocoder {
        #[command(flatten)]
        common: Common,
    },
    /// Print the counters of a PostgreSQL or MariaDB server
    Statistics {
        #[command(flatten)]
        common: Common,
        /// postgresql://USER@HOST:PORT/NAME or mysql://USER@HOST:PORT/NAME
        #[arg(long)]
        database: String,
    },
    /// Serve the figures of this host, or run a machine of the laboratory. Beyond loopback the figures require HTTPS and
    /// the token in the variable LOADSTONE_TOKEN. In a machine, the agent carries out orders over a serial channel; as
    /// the first process it also sets the machine up
    Agent {
        /// Device of the channel. Default: found by its name
        #[arg(long)]
        channel: Option<PathBuf>,
        #[command(flatten)]
        watch: agent::watch::Options,
    },
}

/// The command of a kernel's first process: a kernel starts it with arguments of its own.
pub fn first_process() -> Option<Command> {
    let agent = || Command::Agent { channel: None, watch: agent::watch::Options::default() };
    agent::is_init().then(agent)
}

/// Runs a role until it ends.
pub fn dispatch(command: Command) -> Result<()> {
    match command {
        Command::Responder { options } => run_until(options.until_stdin_ends, 1, backend::responder::manage(&options)),
        Command::ResponderProcess => backend::responder::serve(),
        Command::Bookstore { common, database, items, customers, orders, only_fill } => {
            let scale = bookstore::schema::Scale {
                items: i64::from(items),
                customers: i64::from(customers),
                orders: i64::from(orders),
            };
            let role = bookstore::Bookstore::new(sql::Database::parse(&database), scale)?;
            if only_fill {
                return Ok(());
            }
            serve_plain(&common, role)
        }
        Command::Events { common, database, users, tags, events, services, only_fill } => {
            let scale =
                events::schema::Scale { users: i64::from(users), tags: i64::from(tags), events: i64::from(events) };
            let database = sql::Database::parse(&database);
            if only_fill {
                return Ok(events::schema::prepare(database.connect()?.as_mut(), scale)?);
            }
            serve_plain(&common, events::Events::new(database, scale, &services)?)
        }
        Command::Pictures { folder, only_fill: true, .. } => events::pictures::fill(&folder),
        Command::Pictures { common, folder, .. } => {
            serve_plain(&common, events::pictures::PictureStore(events::pictures::Folder::new(folder)?))
        }
        Command::Geocoder { common } => serve_plain(&common, events::geocoder::GeocoderService),
        Command::Statistics { common, database } => {
            serve_plain(&common, sql::statistics::Statistics::new(sql::Database::parse(&database))?)
        }
        Command::Webserver { common, secure, options } => {
            let make = || webserver::WebServer::new(&options);
            serve_both_ways(&common, &secure, &local_names(), make)
        }
        Command::Stub => webserver::stub::serve(),
        Command::Agent { channel, watch } if !watch.is_wanted() => agent::serve(channel.as_deref()),
        Command::Agent { watch, .. } if watch.by_line => agent::watch::by_line(),
        Command::Agent { watch, .. } => tell_figures(&watch),
    }
}

/// Tells figures of this host over HTTP on its loopback network, and over HTTPS where that is asked for.
fn tell_figures(options: &agent::watch::Options) -> Result<()> {
    let token = options.token()?;
    let listen = options.listen.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 0)));
    let common = Common { listen, threads: 1, until_stdin_ends: options.until_stdin_ends };
    let names = if options.names.is_empty() { local_names() } else { options.names.clone() };
    let make = || Ok(agent::watch::Watch::new(token));
    serve_both_ways(&common, &options.secure, &names, make)
}
