//! A look at a target before a run, by the same name service, connections, TLS and HTTP/2 as the run's: what this cannot
//! do, the run cannot do either.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use loadstone_record::Fault;
use loadstone_schedule::plan::{Endpoint, Protocol, Scheme, Target};
use rustls::ClientConfig;
use serde::{Deserialize, Serialize};

use crate::server::Destination;
use crate::transport::http2::Http2;
use crate::transport::stream::{connect, secure, Intake, Stream};
use crate::transport::{tls, Failure};

/// Longest time for a connection and its handshake.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest time for the first answer over HTTP/2.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// What is to be looked at.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Look {
    target: Target,
    protocol: Protocol,
    /// Method and path of a request that is sent where HTTP/2 is spoken.
    request: String,
}

/// What a look saw of each side of the target.
#[derive(Debug, Serialize)]
pub struct Seen {
    sides: Vec<Side>,
}

/// What a look saw of one side of a target.
#[derive(Debug, Serialize)]
struct Side {
    is_secure: bool,
    /// Addresses that take load.
    addresses: Vec<String>,
    /// Further addresses of the name, which accepted no connection.
    silent: Vec<String>,
    /// How far the look came when it failed; none where all went well.
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<Step>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<Fault>,
    detail: String,
}

/// A step of a look.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Step {
    Name,
    Connection,
    Handshake,
    Http2,
}

/// Looks at all sides of a target.
pub fn look(text: &str) -> Result<Seen> {
    let look: Look = serde_json::from_str(text)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let local = tokio::task::LocalSet::new();
    let sides = [(Scheme::Http, &look.target.http), (Scheme::Https, &look.target.https)];
    let sides = sides.into_iter().filter_map(|(scheme, endpoint)| Some((scheme, endpoint.as_ref()?)));
    let seen = sides.map(|(scheme, endpoint)| local.block_on(&runtime, look_at(&look, scheme, endpoint)));
    Ok(Seen { sides: seen.collect::<Result<_>>()? })
}

async fn look_at(look: &Look, scheme: Scheme, endpoint: &Endpoint) -> Result<Side> {
    let config = match scheme {
        Scheme::Https => {
            Some(Arc::new(tls::shared_config(&look.target.trust, look.target.identity.as_ref(), look.protocol)?))
        }
        Scheme::Http => None,
    };
    let destination = match Destination::resolve(endpoint, scheme, look.target.addresses) {
        Ok(destination) => destination,
        Err(error) => {
            let failure = Failure::new(Fault::Unreachable, format!("{error:#}"));
            return Ok(side(scheme, None, Err((Step::Name, failure))));
        }
    };
    let mut seen = Ok(());
    for turn in 0..destination.addresses.len() as u64 {
        if seen.is_ok() {
            seen = visit(look, &destination, turn, config.clone()).await;
        }
    }
    Ok(side(scheme, Some(&destination), seen))
}

/// Connects to an address as users do, and asks for something where HTTP/2 is spoken.
async fn visit(
    look: &Look,
    destination: &Destination,
    turn: u64,
    config: Option<Arc<ClientConfig>>,
) -> Result<(), (Step, Failure)> {
    let late = |limit: Duration| Failure::too_late(limit.as_secs_f64(), false);
    let connecting = connect(destination.address(turn), Intake::Unlimited, 1);
    let tcp = tokio::time::timeout(CONNECT_TIMEOUT, connecting).await;
    let tcp = tcp.unwrap_or_else(|_| Err(late(CONNECT_TIMEOUT))).map_err(|failure| (Step::Connection, failure))?;
    let stream = match (config, &destination.name) {
        (Some(config), Some(name)) => {
            let shaking = tokio::time::timeout(CONNECT_TIMEOUT, secure(tcp, name.clone(), config)).await;
            let shaken = shaking.unwrap_or_else(|_| Err(late(CONNECT_TIMEOUT)));
            shaken.map_err(|failure| (Step::Handshake, failure))?.0
        }
        _ => Stream::Plain(tcp),
    };
    if look.protocol != Protocol::Http2 {
        return Ok(());
    }
    let head = format!("{} HTTP/1.1\r\nHost: {}\r\nUser-Agent: loadstone\r\n\r\n", look.request, destination.host);
    let asking = async { Http2::open(stream).await?.greet(head.as_bytes()).await };
    let asked = tokio::time::timeout(ANSWER_TIMEOUT, asking).await.unwrap_or_else(|_| Err(late(ANSWER_TIMEOUT)));
    asked.map_err(|failure| (Step::Http2, failure))
}

fn side(scheme: Scheme, destination: Option<&Destination>, seen: Result<(), (Step, Failure)>) -> Side {
    let texts = |addresses: &[std::net::SocketAddr]| addresses.iter().map(ToString::to_string).collect();
    let (failed, fault, detail) = match seen {
        Ok(()) => (None, None, String::new()),
        Err((step, failure)) => (Some(step), Some(failure.fault), failure.detail),
    };
    Side {
        is_secure: scheme == Scheme::Https,
        addresses: destination.map_or_else(Vec::new, |to| texts(&to.addresses)),
        silent: destination.map_or_else(Vec::new, |to| texts(&to.silent)),
        failed,
        fault,
        detail,
    }
}
