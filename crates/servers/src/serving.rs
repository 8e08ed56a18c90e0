//! How roles are served: addresses, threads, TLS, the line that says that they are ready, and their end.

use std::future::Future;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use clap::Args;
use tokio::signal::unix::{signal, SignalKind};

use crate::front;

/// This program, to start it once more: in a virtual machine its file may be hidden below the root of a distribution.
#[cfg(feature = "all-roles")]
pub(crate) const THIS_PROGRAM: &str = "/proc/self/exe";

/// How a role is served over HTTP.
#[derive(Debug, Args)]
pub struct Common {
    /// Address for HTTP; port 0 takes a free port, reported in the ready line
    #[arg(long, default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
    /// Worker threads
    #[arg(long, default_value_t = 2)]
    pub threads: usize,
    /// End when standard input ends, so that no server outlives what started it
    #[arg(long)]
    pub until_stdin_ends: bool,
}

/// How a role is served over TLS.
#[derive(Debug, Default, Args)]
pub struct Secure {
    /// Address for HTTPS
    #[arg(long)]
    pub listen_tls: Option<SocketAddr>,
    /// Folder with the server's certificate and key (see `certificate`). Default: new ones in memory, whose CA
    /// certificate is in the ready line
    #[arg(long)]
    pub certificates: Option<PathBuf>,
}

/// Serves a role over HTTP alone.
pub fn serve_plain(common: &Common, role: impl front::Role) -> Result<()> {
    run(common, async {
        let listener = front::listen(common.listen)?;
        ready(Some(listener.local_addr()?), None, None)?;
        front::serve(listener, Arc::new(role), None).await;
        Ok(())
    })
}

/// Serves a role over HTTP, and over HTTPS where it has an address; the role is made once there is a runtime.
pub fn serve_both_ways<R: front::Role>(
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
pub fn local_names() -> Vec<String> {
    ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec()
}

/// Says on standard output, as one line of JSON, that requests will be answered from now on, where, and which authority
/// (a certificate in PEM form) signed the server's certificate.
pub fn ready(http: Option<SocketAddr>, https: Option<SocketAddr>, authority: Option<&str>) -> Result<()> {
    let text = |address: Option<SocketAddr>| address.map(|address| address.to_string());
    let line =
        serde_json::json!({ "event": "ready", "http": text(http), "https": text(https), "authority": authority });
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// Says the same of a mail server: where it answers, and where it accepts mail.
pub fn mail_ready(imap: SocketAddr, lmtp: Option<SocketAddr>) -> Result<()> {
    let mut line = serde_json::json!({ "event": "ready", "http": imap.to_string(), "https": null, "authority": null });
    if let Some(lmtp) = lmtp {
        line["lmtp"] = lmtp.to_string().into();
    }
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// Runs a role with these options, until it ends or is told to.
pub fn run(common: &Common, role: impl Future<Output = Result<()>>) -> Result<()> {
    run_until(common.until_stdin_ends, common.threads.max(1), role)
}

/// Runs a role until it ends, a signal comes, or standard input ends where that is watched.
pub fn run_until(until_stdin_ends: bool, threads: usize, role: impl Future<Output = Result<()>>) -> Result<()> {
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
