//! A web server alone: files through a cache, an answer made in the process, programs by CGI, PHP over FastCGI.

mod environment;
mod files;
mod options;
mod php;
mod program;
pub mod stub;

use std::time::Duration;

use anyhow::Result;
use bytes::Bytes;
use http::{Method, StatusCode};

use crate::front::answer::{refusal, text, Answer};
use crate::front::{Request, Role};
use environment::environment;
use files::Files;
pub use options::Options;
use php::Php;
use program::Programs;

/// Where the environment is told, and where PHP is asked.
const ENVIRONMENT: &str = "/printenv";
const PHP: &str = "/phpinfo.php";
/// Bytes of the answer made in the process, as in published sizing tests of web servers.
const MODULE_BYTES: usize = 2048;

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
