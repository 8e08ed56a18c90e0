//! A connection that leaves the host: TLS, both sides of which show a certificate of one authority (RFC 8446).
//!
//! Two threads read from and write to a connection of the channel, which a TLS session is no thing for: one more thread
//! does that, and the channel has the other end of a pair of sockets.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, TcpStream};
use std::ops::{Deref, DerefMut};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{ensure, Context, Result};
use clap::Args;
use rustix::event::{poll, PollFd, PollFlags};
use rustls::client::verify_server_name;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::version::TLS13;
use rustls::{
    ClientConfig, ClientConnection, Connection, ConnectionCommon, RootCertStore, ServerConfig, ServerConnection,
    SideData, StreamOwned,
};
use serde_json::json;

use super::places::Bounded;
use super::report::report;
use super::threads::spawn;

/// Bytes that are taken at once.
const PIECE: usize = 16 << 10;
/// Longest time for the last bytes of a connection.
const FAREWELL: Duration = Duration::from_secs(1);

/// Threads that move bytes.
static PUMPS: AtomicUsize = AtomicUsize::new(0);

/// Files of a side's certificate, as PEM; without them the channel stays on this host.
#[derive(Args, Clone, Debug)]
pub struct Papers {
    /// This side's certificate, which names the address it is reached at
    #[arg(long, requires_all = ["key", "authority"])]
    pub certificate: Option<PathBuf>,
    /// Its private key
    #[arg(long, requires = "certificate")]
    pub key: Option<PathBuf>,
    /// Certificate of the authority that both sides' are of
    #[arg(long, requires = "certificate")]
    pub authority: Option<PathBuf>,
}

/// What a side proves who it is with, and whom it believes.
#[derive(Clone)]
pub struct Seals {
    server: Arc<ServerConfig>,
    client: Arc<ClientConfig>,
}

impl Papers {
    /// Reads them, where there are any.
    pub fn read(&self) -> Result<Option<Seals>> {
        let (Some(certificate), Some(key), Some(authority)) = (&self.certificate, &self.key, &self.authority) else {
            return Ok(None);
        };
        let mut roots = RootCertStore::empty();
        certificates(authority)?.into_iter().try_for_each(|one| roots.add(one))?;
        let (roots, provider) = (Arc::new(roots), Arc::new(default_provider()));
        let chain = certificates(certificate)?;
        let key = || PrivateKeyDer::from_pem_file(key).with_context(|| key.display().to_string());
        ensure!(
            !roots.is_empty() && !chain.is_empty(),
            "{} or {}: no certificate",
            authority.display(),
            certificate.display()
        );
        let peers = WebPkiClientVerifier::builder_with_provider(roots.clone(), provider.clone()).build()?;
        let server = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&TLS13])?
            .with_client_cert_verifier(peers)
            .with_single_cert(chain.clone(), key()?)
            .with_context(|| certificate.display().to_string())?;
        let client = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])?
            .with_root_certificates(roots)
            .with_client_auth_cert(chain, key()?)?;
        Ok(Some(Seals { server: Arc::new(server), client: Arc::new(client) }))
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    read.with_context(|| path.display().to_string())
}

impl Seals {
    /// Of a connection that was accepted, from an address that the other side's certificate names; shaken by then.
    pub fn accepted(&self, tcp: TcpStream, until: Instant) -> Result<UnixStream> {
        let session = self.answering(&tcp, until)?.conn;
        sealed(session.into(), tcp)
    }

    /// The same for a single question, without a thread.
    pub fn answering<'tcp>(
        &self,
        tcp: &'tcp TcpStream,
        until: Instant,
    ) -> Result<StreamOwned<ServerConnection, Bounded<'tcp, TcpStream>>> {
        let from = tcp.peer_addr()?.ip();
        let mut line = Bounded::new(tcp, until);
        let session = shaken(ServerConnection::new(self.server.clone())?, &mut line)?;
        let shown = session.peer_certificates().and_then(<[_]>::first).context("no certificate was shown")?;
        verify_server_name(&ParsedCertificate::try_from(shown)?, &ServerName::from(from))
            .with_context(|| format!("the certificate that was shown does not name {from}"))?;
        Ok(StreamOwned::new(session, line))
    }

    /// Of a connection to this address, shaken by then.
    pub fn connected(&self, tcp: TcpStream, to: IpAddr, until: Instant) -> Result<UnixStream> {
        let session = self.asking(&tcp, to, until)?.conn;
        sealed(session.into(), tcp)
    }

    /// The same for a single question, without a thread.
    pub fn asking<'tcp>(
        &self,
        tcp: &'tcp TcpStream,
        to: IpAddr,
        until: Instant,
    ) -> Result<StreamOwned<ClientConnection, Bounded<'tcp, TcpStream>>> {
        let session = ClientConnection::new(self.client.clone(), ServerName::from(to))?;
        let mut line = Bounded::new(tcp, until);
        Ok(StreamOwned::new(shaken(session, &mut line)?, line))
    }
}

/// Makes the handshake, all of it within the line's time limit.
fn shaken<Session, Data>(mut session: Session, line: &mut Bounded<'_, TcpStream>) -> Result<Session>
where
    Session: DerefMut + Deref<Target = ConnectionCommon<Data>>,
    Data: SideData,
{
    while session.is_handshaking() {
        session.complete_io(line).context("the handshake with the other side failed")?;
    }
    Ok(session)
}

/// Starts the thread.
fn sealed(session: Connection, tcp: TcpStream) -> Result<UnixStream> {
    let (here, there) = UnixStream::pair()?;
    PUMPS.fetch_add(1, Ordering::AcqRel);
    spawn("tls", move || {
        if let Err(error) = pump(session, &tcp, &there) {
            report(&json!({ "event": "unsealed", "why": error.to_string() }));
        }
        let _ = tcp.shutdown(Shutdown::Both); // whoever reads from the channel finds it ended too
        PUMPS.fetch_sub(1, Ordering::AcqRel);
    })?;
    Ok(here)
}

/// Waits until what was said last has left, before the process ends.
pub fn settle() {
    let until = Instant::now() + FAREWELL;
    while PUMPS.load(Ordering::Acquire) > 0 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Moves bytes between the session's connection and the channel, until either has ended.
fn pump(mut session: Connection, mut tcp: &TcpStream, mut inner: &UnixStream) -> io::Result<()> {
    tcp.set_nonblocking(true)?;
    inner.set_nonblocking(true)?;
    let (mut decrypted, mut piece) = (Vec::new(), vec![0; PIECE]);
    decrypt(&mut session, &mut decrypted)?; // what came with the end of the handshake
    loop {
        let (line, channel) = wanted(session.wants_write(), !decrypted.is_empty());
        let mut ready = [PollFd::new(tcp, line), PollFd::new(inner, channel)];
        poll(&mut ready, None)?;
        let (line, channel) = (ready[0].revents(), ready[1].revents());
        if line.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR) {
            let has_ended = now(session.read_tls(&mut tcp))? == Some(0);
            decrypt(&mut session, &mut decrypted)?;
            if has_ended {
                inner.set_nonblocking(false)?;
                inner.set_write_timeout(Some(FAREWELL))?;
                return inner.write_all(&decrypted);
            }
        }
        if channel.contains(PollFlags::HUP) {
            return farewell(&mut session, tcp, inner);
        }
        if channel.contains(PollFlags::IN) && !session.wants_write() {
            match now(inner.read(&mut piece))? {
                Some(0) => return farewell(&mut session, tcp, inner),
                Some(count) => session.writer().write_all(&piece[..count])?,
                None => {}
            }
        }
        if !decrypted.is_empty() {
            let count = now(inner.write(&decrypted))?.unwrap_or(0);
            decrypted.drain(..count);
        }
        if session.wants_write() {
            now(session.write_tls(&mut tcp))?;
        }
    }
}

/// Takes from the session what it has for the channel.
fn decrypt(session: &mut Connection, into: &mut Vec<u8>) -> io::Result<()> {
    let count = session.process_new_packets().map_err(io::Error::other)?.plaintext_bytes_to_read();
    let before = into.len();
    into.resize(before + count, 0);
    session.reader().read_exact(&mut into[before..])
}

/// Sends what the channel still has, and that nothing more comes: what is cut off looks otherwise.
fn farewell(session: &mut Connection, mut tcp: &TcpStream, mut inner: &UnixStream) -> io::Result<()> {
    tcp.set_nonblocking(false)?;
    tcp.set_write_timeout(Some(FAREWELL))?;
    let mut piece = vec![0; PIECE];
    while let Some(count @ 1..) = now(inner.read(&mut piece))? {
        session.writer().write_all(&piece[..count])?;
        while session.wants_write() {
            session.write_tls(&mut tcp)?;
        }
    }
    session.send_close_notify();
    while session.wants_write() {
        session.write_tls(&mut tcp)?;
    }
    Ok(())
}

/// What is waited for at the line and at the channel; neither is read from while what it gave has not left.
fn wanted(has_encrypted: bool, has_decrypted: bool) -> (PollFlags, PollFlags) {
    let one = |may_read: bool, has_more: bool| {
        let read = if may_read { PollFlags::IN } else { PollFlags::empty() };
        if has_more {
            read | PollFlags::OUT
        } else {
            read
        }
    };
    (one(!has_decrypted, has_encrypted), one(!has_encrypted, has_decrypted))
}

/// What was done, unless it cannot be done now.
fn now<T>(done: io::Result<T>) -> io::Result<Option<T>> {
    match done {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        other => other.map(Some),
    }
}

/// Papers for tests.
#[cfg(test)]
pub(crate) mod papers {
    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

    use super::*;

    /// A side's seals, of an authority, for this host's own address.
    pub fn sealed_by(authority: &CertifiedIssuer<'_, KeyPair>, folder: &Path, name: &str) -> Seals {
        let (key, address) = (KeyPair::generate().expect("a key"), "127.0.0.1".to_owned());
        let params = CertificateParams::new(vec![address]).expect("a name");
        let certificate = params.signed_by(&key, authority).expect("signed");
        let kept = |what: &str, pem: String| {
            let path = folder.join(format!("{name}.{what}"));
            std::fs::write(&path, pem).expect("written");
            Some(path)
        };
        let papers = Papers {
            certificate: kept("certificate", certificate.pem()),
            key: kept("key", key.serialize_pem()),
            authority: kept("authority", authority.pem()),
        };
        papers.read().expect("readable").expect("there")
    }

    /// A new authority.
    pub fn authority() -> CertifiedIssuer<'static, KeyPair> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("signed")
    }
}
