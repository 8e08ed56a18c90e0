//! A web server alone: files through a cache, an answer made in the process, programs by CGI, PHP over FastCGI.

mod files;
mod php;
mod program;
pub mod stub;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use bytes::Bytes;
use http::{Method, StatusCode};

use crate::front::answer::{refusal, text, Answer};
use crate::front::{Request, Role};
use files::Files;
use php::Php;
use program::Programs;

/// Where the environment is told, and where PHP is asked.
const ENVIRONMENT: &str = "/printenv";
const PHP: &str = "/phpinfo.php";
/// Bytes of the answer made in the process, as in published sizing tests of web servers.
const MODULE_BYTES: usize = 2048;

/// What it serves, and how.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Folder of the files to serve
    #[arg(long)]
    pub folder: PathBuf,
    /// Files kept in memory, 0 for none
    #[arg(long, default_value_t = 1024)]
    pub cache_entries: u64,
    /// Bytes of memory for files
    #[arg(long, default_value_t = 10 << 20)]
    pub cache_bytes: u64,
    /// Bytes of the largest file that is kept
    #[arg(long, default_value_t = 512 << 10)]
    pub cache_file_bytes: u64,
    /// Seconds after which a file is looked at again
    #[arg(long, default_value_t = 30)]
    pub cache_age: u64,
    /// Program that tells the environment, started for each request (RFC 3875); without one this process tells it
    #[arg(long)]
    pub program: Option<PathBuf>,
    /// Processes that start programs, there from the start
    #[arg(long, default_value_t = 0)]
    pub least_stubs: usize,
    /// The same, at most
    #[arg(long, default_value_t = 16)]
    pub most_stubs: usize,
    /// Seconds after which one that nobody needs ends
    #[arg(long, default_value_t = 30)]
    pub stub_idle: u64,
    /// Socket of PHP's process manager
    #[arg(long)]
    pub php: Option<PathBuf>,
    /// Connections to it that are kept
    #[arg(long, default_value_t = 0)]
    pub php_kept: usize,
}

/// The role.
pub struct WebServer {
    files: Files,
    programs: Option<Programs>,
    php: Option<Php>,
}

impl WebServer {
    /// Starts what is to be there from the start.
    pub fn new(options: &Options) -> Result<Self> {
        let idle = Duration::from_secs(options.stub_idle);
        let programs = options
            .program
            .as_ref()
            .map(|program| Programs::new(program.clone(), options.least_stubs, options.most_stubs.max(1), idle));
        if let Some(socket) = &options.php {
            php::wait_for(socket)?;
        }
        Ok(WebServer {
            files: Files::new(options),
            programs: programs.transpose()?,
            php: options.php.as_ref().map(|socket| Php::new(socket.clone(), &options.folder, options.php_kept)),
        })
    }

    async fn tell(&self, request: &Request) -> Answer {
        match &self.programs {
            None => text(StatusCode::OK, "text/plain", own_account(request)),
            Some(programs) => programs.answer(request).await.unwrap_or_else(|error| failed(&request.path, &error)),
        }
    }
}

impl Role for WebServer {
    async fn answer(&self, request: Request) -> Answer {
        if !matches!(request.method, Method::GET | Method::HEAD) {
            return refusal(StatusCode::METHOD_NOT_ALLOWED);
        }
        match (request.path.as_str(), &self.php) {
            (ENVIRONMENT, _) => self.tell(&request).await,
            (PHP, Some(php)) => php.answer(&request).await.unwrap_or_else(|error| failed(PHP, &error)),
            _ => self.files.answer(&request).await,
        }
    }
}

fn failed(path: &str, error: &anyhow::Error) -> Answer {
    eprintln!("loadstone-server webserver: {path}: {error:#}");
    refusal(StatusCode::BAD_GATEWAY)
}

/// The request as programs see theirs (RFC 3875, section 4.1).
fn environment(request: &Request) -> Vec<(String, String)> {
    let scheme = if request.secure { "on" } else { "off" };
    let mut told = vec![
        ("GATEWAY_INTERFACE".to_owned(), "CGI/1.1".to_owned()),
        ("REQUEST_METHOD".to_owned(), request.method.to_string()),
        ("SCRIPT_NAME".to_owned(), request.path.clone()),
        ("QUERY_STRING".to_owned(), request.query.clone()),
        ("SERVER_PROTOCOL".to_owned(), "HTTP/1.1".to_owned()),
        ("SERVER_SOFTWARE".to_owned(), concat!("Loadstone/", env!("CARGO_PKG_VERSION")).to_owned()),
        ("HTTPS".to_owned(), scheme.to_owned()),
    ];
    // A header `Proxy` would become the variable that programs take their proxy from.
    let given = request.headers.iter().filter(|(name, _)| *name != "proxy");
    told.extend(given.filter_map(|(name, value)| {
        let name = name.as_str().to_ascii_uppercase().replace('-', "_");
        value.to_str().ok().map(|value| (format!("HTTP_{name}"), value.to_owned()))
    }));
    told
}

fn own_account(request: &Request) -> Bytes {
    const END: &str = "\nend of environment\n";
    let mut told = String::with_capacity(MODULE_BYTES);
    for (name, value) in environment(request) {
        told.push_str(&name);
        told.push('=');
        told.push_str(&value);
        told.push('\n');
    }
    let filler = MODULE_BYTES.saturating_sub(told.len() + END.len());
    told.extend(std::iter::repeat_n('-', filler));
    told.push_str(END);
    Bytes::from(told)
}
