//! The back end as a FastCGI responder: a web server asks it over a socket, and each of its processes serves one
//! request at a time, as in published setups (fifty processes).

use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{bail, Context, Result};
use http::{header, HeaderMap, Method};
use http_body_util::BodyExt;
use rustix::process::{set_parent_process_death_signal, Signal};
use tokio::net::UnixStream;
use tokio_fastcgi::{Request as FastCgi, RequestResult, Requests};

use super::Backend;
use crate::front::{Request, Role};
use crate::serving::THIS_PROGRAM;

/// Time between two looks at whether all processes are there.
const LOOK: Duration = Duration::from_secs(1);

/// What the responder is told.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Socket to listen on; an existing one is replaced
    #[arg(long)]
    socket: PathBuf,
    /// Processes, each with one request at a time
    #[arg(long, default_value_t = 50)]
    processes: usize,
    /// End when standard input ends, so that no server outlives what started it
    #[arg(long)]
    pub until_stdin_ends: bool,
}

/// Starts the processes, and stays for as long as all of them are there.
pub async fn manage(options: &Options) -> Result<()> {
    let mut children = Children(start(options)?);
    loop {
        tokio::time::sleep(LOOK).await;
        for child in &mut children.0 {
            if let Some(status) = child.try_wait()? {
                bail!("a responder ended: {status}");
            }
        }
    }
}

struct Children(Vec<Child>);

impl Drop for Children {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
        }
        for child in &mut self.0 {
            let _ = child.wait();
        }
    }
}

fn start(options: &Options) -> Result<Vec<Child>> {
    let listener = listen(&options.socket)?;
    (0..options.processes.max(1))
        .map(|_| {
            // By the protocol's own rule the socket that it listens at is a responder's standard input.
            let socket = listener.as_fd().try_clone_to_owned()?;
            Ok(Command::new(THIS_PROGRAM).arg("responder-process").stdin(Stdio::from(socket)).spawn()?)
        })
        .collect()
}

fn listen(socket: &Path) -> Result<UnixListener> {
    let _ = std::fs::remove_file(socket); // of a run before
    let listener = UnixListener::bind(socket).with_context(|| format!("cannot listen at {}", socket.display()))?;
    std::fs::set_permissions(socket, std::fs::Permissions::from_mode(0o666))?;
    Ok(listener)
}

/// One of the processes: serves connections of its standard input one after the other, for ever.
pub fn serve() -> Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let listener = UnixListener::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let backend = Arc::new(Backend::default());
    loop {
        let (stream, _) = listener.accept()?;
        stream.set_nonblocking(true)?;
        if let Err(error) = runtime.block_on(converse(stream, &backend)) {
            eprintln!("loadstone-server responder: {error:#}");
        }
    }
}

async fn converse(stream: std::os::unix::net::UnixStream, backend: &Arc<Backend>) -> Result<()> {
    let halves = UnixStream::from_std(stream)?.into_split();
    let mut requests = Requests::from_split_socket(halves, 1, 1);
    while let Some(request) = requests.next().await? {
        let backend = Arc::clone(backend);
        request.process(|asked| async move { answer(&backend, &asked).await }).await?;
    }
    Ok(())
}

async fn answer<W: tokio::io::AsyncWrite + Unpin + Send>(backend: &Backend, asked: &FastCgi<W>) -> RequestResult {
    let told = |name: &str| asked.get_str_param(name).unwrap_or_default().to_owned();
    let request = Request {
        method: told("REQUEST_METHOD").parse().unwrap_or(Method::GET),
        path: told("SCRIPT_NAME"),
        query: told("QUERY_STRING"),
        headers: HeaderMap::new(),
        body: Vec::new(),
        secure: false,
    };
    let said = backend.answer(request).await;
    let kind = said.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let head = format!("Status: {}\r\nContent-Type: {kind}\r\n", said.status().as_u16());
    let Ok(body) = said.into_body().collect().await.map(http_body_util::Collected::to_bytes) else {
        return RequestResult::Complete(1);
    };
    let head = format!("{head}Content-Length: {}\r\n\r\n", body.len());
    let mut out = asked.get_stdout();
    let is_told = out.write(head.as_bytes()).await.is_ok() && out.write(&body).await.is_ok();
    RequestResult::Complete(u32::from(!is_told))
}
