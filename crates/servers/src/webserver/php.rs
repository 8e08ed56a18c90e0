//! PHP over FastCGI, some of whose connections are kept.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{ensure, Context, Result};
use bytes::Bytes;
use fastcgi_client::conn::KeepAlive;
use fastcgi_client::io::TokioCompat;
use fastcgi_client::{Client, Params, Request as FastCgi};
use tokio::net::UnixStream;

use super::program::read;
use crate::front::answer::Answer;
use crate::front::Request;

type Line = Client<TokioCompat<UnixStream>, KeepAlive>;

/// The process manager's socket, and connections that nobody uses at this moment.
pub struct Php {
    socket: PathBuf,
    folder: PathBuf,
    kept: Mutex<Vec<Line>>,
    most_kept: usize,
}

/// Time in which PHP must have come up.
const START: Duration = Duration::from_secs(30);

/// Waits for PHP: a server without it would answer, and with errors.
pub fn wait_for(socket: &Path) -> Result<()> {
    let until = Instant::now() + START;
    while std::os::unix::net::UnixStream::connect(socket).is_err() {
        ensure!(Instant::now() < until, "PHP does not listen at {}", socket.display());
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

impl Php {
    /// None is open yet.
    pub fn new(socket: PathBuf, folder: &Path, most_kept: usize) -> Self {
        Php { socket, folder: folder.to_owned(), kept: Mutex::default(), most_kept }
    }

    /// What PHP says to a request.
    pub async fn answer(&self, request: &Request) -> Result<Answer> {
        let script = self.folder.join(request.path.trim_start_matches('/'));
        let script = script.to_str().context("the folder's name is not valid text")?;
        let params = Params::default()
            .request_method(request.method.as_str())
            .script_name(request.path.as_str())
            .script_filename(script)
            .request_uri(request.path.as_str())
            .query_string(request.query.as_str())
            .server_protocol("HTTP/1.1");
        let said = if self.most_kept == 0 {
            Client::new_tokio(self.open().await?).execute_once(asked(params)).await?
        } else {
            self.ask(params).await?
        };
        read(Bytes::from(said.stdout.context("PHP sent no response")?))
    }

    /// Over a kept connection, or a new one where the child behind that has ended: each ends after so many requests.
    async fn ask(&self, params: Params<'_>) -> Result<fastcgi_client::Response> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(mut line) = kept {
            if let Ok(said) = line.execute(asked(params.clone())).await {
                return Ok(self.keep(line, said));
            }
        }
        let mut line = Client::new_keep_alive_tokio(self.open().await?);
        let said = line.execute(asked(params)).await?;
        Ok(self.keep(line, said))
    }

    fn keep(&self, line: Line, said: fastcgi_client::Response) -> fastcgi_client::Response {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < self.most_kept {
            kept.push(line);
        }
        said
    }

    async fn open(&self) -> Result<UnixStream> {
        UnixStream::connect(&self.socket).await.context("PHP cannot be reached")
    }
}

/// A request without a body, as all of the published tests' are.
fn asked(params: Params<'_>) -> FastCgi<'_, fastcgi_client::io::Empty> {
    FastCgi::new(params, fastcgi_client::io::empty())
}
