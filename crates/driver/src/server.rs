//! The machines a workload's users are dealt to: addresses resolved, trust made ready.

use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use loadstone_schedule::plan::{Endpoint, Protocol, Scheme, Target};
use rustls::pki_types::ServerName;
use rustls::ClientConfig;

use crate::transport::tls;

/// Time given to each of a name's addresses to accept a connection.
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);

/// One machine of the system under test.
#[derive(Default)]
pub struct Server {
    http: Option<Destination>,
    https: Option<Destination>,
    /// Without a session memory: connections made with it make a full handshake.
    pub tls: Option<Arc<ClientConfig>>,
}

impl Server {
    /// All machines of a target, in order; one that is nowhere when there is none.
    pub fn all(targets: &[Target], protocol: Protocol) -> Result<Vec<Server>> {
        match targets {
            [] => Ok(vec![Server::default()]),
            _ => targets.iter().map(|target| Server::prepare(target, protocol)).collect(),
        }
    }

    fn prepare(target: &Target, protocol: Protocol) -> Result<Server> {
        let http = target.http.as_ref().map(|endpoint| resolve(endpoint, Scheme::Http)).transpose()?;
        let https = target.https.as_ref().map(|endpoint| resolve(endpoint, Scheme::Https)).transpose()?;
        let tls = https.as_ref().map(|_| tls::shared_config(&target.trust, protocol)).transpose()?;
        Ok(Server { http, https, tls: tls.map(Arc::new) })
    }

    /// Where its plain or its secure side is; none when it has none.
    pub fn destination(&self, scheme: Scheme) -> Option<&Destination> {
        match scheme {
            Scheme::Http => self.http.as_ref(),
            Scheme::Https => self.https.as_ref(),
        }
    }
}

/// Where one scheme's requests go.
#[derive(Clone, Debug)]
pub struct Destination {
    pub address: SocketAddr,
    /// Value of the `Host` field.
    pub host: String,
    pub port: u16,
    pub name: Option<ServerName<'static>>,
}

impl Destination {
    /// Whether `authority` (host, or host and port) is this side of the target.
    pub fn is_called(&self, authority: &str) -> bool {
        let bare = self.host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
        let host = bare.map_or(self.host.as_str(), |(host, _)| host);
        authority.eq_ignore_ascii_case(&self.host) || authority.eq_ignore_ascii_case(&format!("{host}:{}", self.port))
    }
}

fn resolve(endpoint: &Endpoint, scheme: Scheme) -> Result<Destination> {
    let Endpoint { host, port } = endpoint;
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let addresses = (bare, *port).to_socket_addrs().with_context(|| format!("cannot look up `{host}`"))?;
    let addresses: Vec<SocketAddr> = addresses.collect();
    // A name may have addresses of which only some are served; when none is, the first tells how.
    let answers = |address: &&SocketAddr| TcpStream::connect_timeout(address, PROBE_TIMEOUT).is_ok();
    let served = if addresses.len() > 1 { addresses.iter().find(answers) } else { None };
    let address = *served.or(addresses.first()).with_context(|| format!("`{host}` has no address"))?;
    let usual = if scheme == Scheme::Https { 443 } else { 80 };
    let name = match scheme {
        Scheme::Https => {
            Some(ServerName::try_from(bare.to_owned()).with_context(|| format!("`{host}` is no server name"))?)
        }
        Scheme::Http => None,
    };
    let field = if *port == usual { host.clone() } else { format!("{host}:{port}") };
    Ok(Destination { address, host: field, port: *port, name })
}
