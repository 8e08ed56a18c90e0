//! Machines of the system under test, as users reach them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One machine of the system under test, as users reach it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    pub http: Option<Endpoint>,
    pub https: Option<Endpoint>,
    pub trust: Trust,
    /// The client's certificate, for a server that demands one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
    /// Which addresses of a name take load.
    #[serde(default)]
    pub addresses: Addresses,
    /// Where mail is delivered, for a workload that sends some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<MailDelivery>,
}

/// Where a server accepts mail.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MailDelivery {
    pub protocol: DeliveryProtocol,
    pub endpoint: Endpoint,
}

/// How mail is handed to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryProtocol {
    /// RFC 2033: a reply for each recipient.
    Lmtp,
    /// RFC 5321: one reply for all of them.
    Smtp,
}

/// Files of a client's certificate, in PEM form. The driver reads them; a plan holds their paths alone.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// The certificate, and those between it and its authority.
    pub certificate: String,
    pub key: String,
}

/// Which addresses of a name take load, of those that accept connections and are of one family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Addresses {
    /// Each session takes the next.
    #[default]
    All,
    /// The first takes all.
    First,
}

/// A host and a port.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    pub host: String,
    pub port: u16,
}

/// Which certificates the driver believes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Trust {
    /// The machine's own list.
    System,
    /// A private authority, in PEM form.
    Authority { pem: String },
    /// Any certificate; disclosed in the report.
    Anything,
}
