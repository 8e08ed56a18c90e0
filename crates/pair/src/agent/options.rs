//! How an agent is started: its command line.

use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{bail, Context, Result};
use clap::Args;

use super::disk::Reads;
use super::network::read_mac;
use super::sealed::Papers;
use super::slowing::Slowing;
use crate::store::{shared_key, Store};
use crate::witness::Witness;

/// How an agent is started.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Its name, unlike the other agent's
    #[arg(long)]
    pub name: String,
    /// File of the memory shared with QEMU, created by the agent; QEMU has the same path as `rrfile` and in
    /// LOADSTONE_PAIR_MEMORY
    #[arg(long)]
    pub memory: PathBuf,
    /// Folder on storage that both sides share, where the generations are
    #[arg(long, required_unless_present = "witness")]
    pub store: Option<PathBuf>,
    /// Address of the witness that stores the generations instead, for sides on separate hosts
    #[arg(long, conflicts_with_all = ["store", "shared"], requires = "certificate")]
    pub witness: Option<SocketAddr>,
    /// Socket at which QEMU takes frames for the machine (`-netdev dgram,local.path=`)
    #[arg(long)]
    pub inlet: PathBuf,
    /// Socket that the agent creates and QEMU writes the machine's frames to (`filter-redirector`)
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
    /// Share the disk with the other side, on storage that both reach: only the active side uses it
    #[arg(long, requires = "disk")]
    pub shared: bool,
    /// Source of data read from a shared disk, for the machine that replays
    #[arg(long, value_enum, default_value_t, requires = "shared")]
    pub reads: Reads,
    /// Socket that the agent creates and QEMU uses as a network block device
    #[arg(long)]
    pub disk_socket: Option<PathBuf>,
    /// Follow the agent at this address: be the secondary
    #[arg(long)]
    pub follow: Option<SocketAddr>,
    /// Microseconds added to each direction of the channel to the agent that it follows, for experiments
    #[arg(long, default_value_t = 0, requires = "follow")]
    pub delay_us: u64,
    /// Bytes per second of each direction of that channel, for experiments. Default: as fast as it is
    #[arg(long, requires = "follow")]
    pub link_bytes_per_s: Option<NonZeroU64>,
    /// Wait for a secondary at this address; a free port where it has none
    #[arg(long, default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
    #[command(flatten)]
    pub papers: Papers,
    /// Socket that the agent creates, at which one keeper after another sends orders and reads reports. Default: standard
    /// input and output
    #[arg(long)]
    pub control: Option<PathBuf>,
    /// Seconds without a keeper after which the machine is ended; 0: at once. Default: never
    #[arg(long, requires = "control")]
    pub lease_s: Option<u64>,
    /// QEMU's monitor socket: a machine that stands still when its keeper goes is continued there
    #[arg(long, requires = "control")]
    pub monitor: Option<PathBuf>,
    /// Silence after which the other side is suspected, in milliseconds
    #[arg(long, default_value_t = 500)]
    pub patience_ms: u64,
}

impl Options {
    /// What the channel to the agent that it follows is slowed by.
    pub fn slowing(&self) -> Slowing {
        let bytes_per_s = self.link_bytes_per_s.map(NonZeroU64::get);
        Slowing { delay: Duration::from_micros(self.delay_us), bytes_per_s }
    }

    /// Silence after which the other side is suspected.
    pub fn patience(&self) -> Duration {
        Duration::from_millis(self.patience_ms)
    }

    /// For how long it may be without a keeper; none for good.
    pub fn lease(&self) -> Option<Duration> {
        self.lease_s.map(Duration::from_secs)
    }

    /// Where it asks who may go on alone.
    pub fn generations(&self) -> Result<Store> {
        match (&self.store, self.witness) {
            (_, Some(address)) => {
                let seals = self
                    .papers
                    .read()?
                    .context("a witness requires credentials: --certificate, --key and --authority")?;
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
