//! How an agent is started: its command line.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{bail, Context, Result};
use clap::Args;

use super::disk::Reads;
use super::network::read_mac;
use super::sealed::Papers;
use crate::store::{shared_key, Store};
use crate::witness::Witness;

/// How an agent is started.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Its name, unlike the other agent's
    #[arg(long)]
    pub name: String,
    /// File of the memory that it shares with QEMU, which it makes; the same path is QEMU's `rrfile` and in its
    /// environment as LOADSTONE_PAIR_MEMORY
    #[arg(long)]
    pub memory: PathBuf,
    /// Folder on storage that both sides share, where the generations are
    #[arg(long, required_unless_present = "witness")]
    pub store: Option<PathBuf>,
    /// Address of the witness that has the generations instead, of sides on hosts of their own
    #[arg(long, conflicts_with_all = ["store", "shared"], requires = "certificate")]
    pub witness: Option<SocketAddr>,
    /// Socket at which QEMU takes frames for the machine (`-netdev dgram,local.path=`)
    #[arg(long)]
    pub inlet: PathBuf,
    /// Socket, which the agent makes, to which QEMU gives the machine's frames (`filter-redirector`)
    #[arg(long)]
    pub outlet: PathBuf,
    /// The tap that is the machine's network
    #[arg(long)]
    pub tap: String,
    /// File of the network namespace that the tap is in, where that is not the agent's own (ip-netns(8))
    #[arg(long)]
    pub tap_in: Option<PathBuf>,
    /// The machine's address on it
    #[arg(long, value_parser = read_mac)]
    pub mac: [u8; 6],
    /// The machine's disk, a file of this side's own
    #[arg(long, requires = "disk_socket")]
    pub disk: Option<PathBuf>,
    /// The disk is the other side's too, on storage that both reach: only the side that serves touches it
    #[arg(long, requires = "disk")]
    pub shared: bool,
    /// How the machine that replays gets what was read from a disk that both share
    #[arg(long, value_enum, default_value_t, requires = "shared")]
    pub reads: Reads,
    /// Socket, which the agent makes, at which QEMU reaches it as a network block device
    #[arg(long)]
    pub disk_socket: Option<PathBuf>,
    /// Follow the agent at this address: be the secondary
    #[arg(long)]
    pub follow: Option<SocketAddr>,
    /// Wait for a secondary at this address; a free port where it has none
    #[arg(long, default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
    #[command(flatten)]
    pub papers: Papers,
    /// Silence after which the other side is suspected, in milliseconds
    #[arg(long, default_value_t = 500)]
    pub patience_ms: u64,
}

impl Options {
    /// Silence after which the other side is suspected.
    pub fn patience(&self) -> Duration {
        Duration::from_millis(self.patience_ms)
    }

    /// Where it asks who may go on alone.
    pub fn generations(&self) -> Result<Store> {
        match (&self.store, self.witness) {
            (_, Some(address)) => {
                let seals = self.papers.read()?.context("a witness answers those alone that have papers")?;
                Ok(Store::at(Arc::new(Witness { address, seals }), &self.name))
            }
            (Some(folder), None) => Ok(Store::new(folder, &self.name)),
            (None, None) => bail!("neither --store nor --witness was given"),
        }
    }

    /// What both sides know that have one store; empty where a witness decides, whose sides have papers.
    pub fn channel_key(&self) -> Result<String> {
        Ok(self.store.as_deref().map(shared_key).transpose()?.unwrap_or_default())
    }
}
