//! The machines a workload's users are dealt to: addresses resolved, trust made ready.

use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use loadstone_schedule::plan::{Addresses, DeliveryProtocol, Endpoint, Protocol, Scheme, Target};
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
    /// Where it accepts mail.
    pub delivery: Option<(SocketAddr, DeliveryProtocol)>,
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
        let side = |endpoint: &Option<Endpoint>, scheme| {
            endpoint.as_ref().map(|endpoint| Destination::resolve(endpoint, scheme, target.addresses)).transpose()
        };
        let (http, https) = (side(&target.http, Scheme::Http)?, side(&target.https, Scheme::Https)?);
        let config = || tls::shared_config(&target.trust, target.identity.as_ref(), protocol);
        let tls = https.as_ref().map(|_| config()).transpose()?;
        let delivery = target.delivery.as_ref().map(|delivery| {
            let to = Destination::resolve(&delivery.endpoint, Scheme::Http, target.addresses)?;
            anyhow::Ok((to.address(0), delivery.protocol))
        });
        Ok(Server { http, https, delivery: delivery.transpose()?, tls: tls.map(Arc::new) })
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
    /// Those that take load: of one family, and each accepted a connection where there are several.
    pub addresses: Vec<SocketAddr>,
    /// Those of the same family that accepted none.
    pub silent: Vec<SocketAddr>,
    /// Value of the `Host` field.
    pub host: String,
    pub port: u16,
    pub name: Option<ServerName<'static>>,
}

impl Destination {
    /// The address of the user whose turn this is.
    pub fn address(&self, turn: u64) -> SocketAddr {
        self.addresses[(turn % self.addresses.len() as u64) as usize]
    }

    /// Whether `authority` (host, or host and port) is this side of the target.
    pub fn is_called(&self, authority: &str) -> bool {
        let bare = self.host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
        let host = bare.map_or(self.host.as_str(), |(host, _)| host);
        authority.eq_ignore_ascii_case(&self.host) || authority.eq_ignore_ascii_case(&format!("{host}:{}", self.port))
    }

    /// Looks up a side of a target. Of several addresses those are chosen that accept connections, of the family of the
    /// first that does; when none does, the first tells why.
    pub fn resolve(endpoint: &Endpoint, scheme: Scheme, which: Addresses) -> Result<Destination> {
        let Endpoint { host, port } = endpoint;
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let looked_up = (bare, *port).to_socket_addrs().with_context(|| format!("cannot look up `{host}`"))?;
        let mut known = Vec::new();
        looked_up.for_each(|address| known.extend((!known.contains(&address)).then_some(address)));
        let first = *known.first().with_context(|| format!("`{host}` has no address"))?;
        let answers = |address: &SocketAddr| TcpStream::connect_timeout(address, PROBE_TIMEOUT).is_ok();
        let (mut addresses, mut silent): (Vec<_>, Vec<_>) = match known.len() {
            1 => (known, Vec::new()),
            _ => known.into_iter().partition(answers),
        };
        let is_ipv4 = addresses.first().unwrap_or(&first).is_ipv4();
        addresses.retain(|address| address.is_ipv4() == is_ipv4);
        silent.retain(|address| address.is_ipv4() == is_ipv4);
        if addresses.is_empty() {
            (addresses, silent) = (vec![first], Vec::new());
        }
        if which == Addresses::First {
            addresses.truncate(1);
        }
        let usual = if scheme == Scheme::Https { 443 } else { 80 };
        let name = match scheme {
            Scheme::Https => Some(
                ServerName::try_from(bare.to_owned())
                    .with_context(|| format!("`{host}` is not a valid server name"))?,
            ),
            Scheme::Http => None,
        };
        let field = if *port == usual { host.clone() } else { format!("{host}:{port}") };
        Ok(Destination { addresses, silent, host: field, port: *port, name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_take_the_addresses_of_a_name_in_turn() {
        let endpoint = Endpoint { host: "127.0.0.1".into(), port: 80 };
        let mut destination = Destination::resolve(&endpoint, Scheme::Http, Addresses::All).expect("an address");
        assert_eq!(destination.addresses, [SocketAddr::from(([127, 0, 0, 1], 80))]);
        destination.addresses.push(SocketAddr::from(([127, 0, 0, 2], 80)));
        let taken = [0, 1, 2, 3].map(|turn| destination.address(turn).ip().to_string());
        assert_eq!(taken, ["127.0.0.1", "127.0.0.2", "127.0.0.1", "127.0.0.2"]);
    }
}
