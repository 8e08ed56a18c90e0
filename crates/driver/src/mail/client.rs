//! The client of a mail user: its commands as operations of the workload, counted as all others are.

use std::sync::Arc;

use loadstone_record::counts::ConnectionStats;
use loadstone_record::Fault;
use loadstone_schedule::plan::Scheme;

use super::user::{Addresses, ImapUser};
use super::workload::{Delivery, MailWorkload};
use crate::client::progress::Progress;
use crate::shared::Shared;
use crate::transport::Failure;

/// One user's connection and mailboxes, and the machine they are on.
pub struct MailClient {
    workload: Arc<MailWorkload>,
    user: ImapUser,
    server: usize,
}

impl MailClient {
    /// Of session number `session`.
    pub fn new(workload: &Arc<MailWorkload>, session: u64) -> Self {
        MailClient { workload: workload.clone(), user: ImapUser::new(workload, session), server: 0 }
    }

    /// The same user goes on: its mailboxes are its own, and LOGIN opens its connection.
    pub fn renew(&mut self, shared: &Shared, server: usize) {
        if !shared.job.policy().kept_between_users || self.server != server {
            self.close(shared);
        }
        self.server = server;
    }

    /// Hangs up.
    pub fn close(&mut self, shared: &Shared) {
        if self.user.close() {
            shared.open.set(shared.open.get().saturating_sub(1));
        }
    }

    /// Performs the command that an operation is.
    pub async fn command(&mut self, shared: &Shared, operation: usize, progress: &Progress) -> Result<(), Failure> {
        let destination = shared.job.servers[self.server].destination(Scheme::Http);
        let address =
            destination.map(|to| to.address(0)).ok_or_else(|| Failure::new(Fault::Driver, "there is no server"))?;
        let delivery_side = shared.job.servers[self.server].delivery;
        let addresses = Addresses { imap: address, delivery: delivery_side, server: self.server };
        let had = self.user.is_connected();
        let delivery = Delivery::default();
        shared.recorder.borrow_mut().request(shared.now());
        let done = self.user.perform(&self.workload, self.workload.verbs[operation], addresses, &delivery).await;
        let now_ns = shared.now();
        let change = ConnectionStats { connections: delivery.connections.get(), ..ConnectionStats::default() };
        shared.recorder.borrow_mut().connections(now_ns, change);
        let (before, after) = (u64::from(had), u64::from(self.user.is_connected()));
        shared.open.set((shared.open.get() + after).saturating_sub(before));
        progress.bytes.set(delivery.bytes.get());
        progress.end_ns.set(now_ns);
        done
    }
}
