//! A driver that has joined its leader, and how far its clock is from the leader's.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{bail, Context, Result};
use loadstone_record::event::EVENT_SCHEMA;
use rustix::time::ClockId;
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_rustls::server::TlsStream;

use super::line::{Hearing, Said, Saying, Word};
use crate::clock::kernel_ns;

/// How often a joiner's clock is asked for.
const QUESTIONS: u32 = 20;
/// Longest time that joiners may take to prepare: as long as the laboratory waits for its own drivers.
const PREPARE: Duration = Duration::from_secs(1800);

/// A driver that has joined its leader.
pub struct Member {
    pub name: SocketAddr,
    pub hearing: Hearing<TlsStream<TcpStream>>,
    pub saying: Saying,
    /// Its clock less ours, in nanoseconds, and by how much that may be wrong at most.
    pub ahead_ns: i64,
    pub bound_ns: u64,
}

impl Member {
    /// Asks for its clock once it is ready, by four time stamps each (RFC 5905, section 8).
    pub async fn compare_clocks(&mut self) -> Result<()> {
        let mut shortest = u64::MAX;
        for _ in 0..QUESTIONS {
            let asked_ns = kernel_ns(ClockId::Monotonic);
            self.saying.say(&Word::Clock).await?;
            let (heard_ns, said_ns) = self.hear_clock().await?;
            let back_ns = kernel_ns(ClockId::Monotonic);
            let round_ns = (back_ns - asked_ns).saturating_sub(said_ns.saturating_sub(heard_ns));
            if round_ns < shortest {
                shortest = round_ns;
                let (there, back) = (heard_ns as i128 - asked_ns as i128, said_ns as i128 - back_ns as i128);
                self.bound_ns = round_ns.div_ceil(2);
                self.ahead_ns = i64::try_from((there + back) / 2).context("its clock is from another age")?;
            }
        }
        Ok(())
    }

    async fn hear_clock(&mut self) -> Result<(u64, u64)> {
        let until = Instant::now() + PREPARE;
        while Instant::now() < until {
            match self.hearing.hear().await? {
                Said::Alive => {}
                Said::Now { schema: EVENT_SCHEMA, heard_ns, now_ns } => return Ok((heard_ns, now_ns)),
                Said::Now { schema, .. } => {
                    bail!("it speaks event schema {schema}, this one {EVENT_SCHEMA}; install the same version on both")
                }
                Said::Event(_) => bail!("it sent an event before the run began"),
            }
        }
        bail!("it was not ready within {} s", PREPARE.as_secs())
    }
}
