//! How requests name the machine that they go to.

use loadstone_record::Fault;
use loadstone_schedule::plan::{Protocol, Scheme};

use crate::server::Server;
use crate::transport::Failure;

/// The name of a machine's side.
pub(super) fn host(protocol: Protocol, server: &Server, scheme: Scheme) -> Result<&str, Failure> {
    if protocol == Protocol::Null {
        return Ok("");
    }
    let missing = || Failure::new(Fault::Redirect, format!("the target has no {scheme:?} side"));
    Ok(&server.destination(scheme).ok_or_else(missing)?.host)
}
