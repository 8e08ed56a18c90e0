//! What all mail users of a workload share, and the commands that they know.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Mutex;

use loadstone_schedule::draw::Weighted;
use loadstone_schedule::plan::{Mailboxes, Operation};
use loadstone_schedule::rng::Stream;
use loadstone_schedule::PlanError;

use super::mailbox::{MailboxModel, Trust};

/// A command of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Login,
    Logout,
    Noop,
    Check,
    Capability,
    List,
    Select,
    Status,
    Search,
    Fetch,
    Append,
    Store,
    Copy,
    Expunge,
}

impl Verb {
    /// Whether later commands on the same connection build on it.
    pub fn is_of_connection(self) -> bool {
        matches!(self, Verb::Login | Verb::Select)
    }
}

const VERBS: [(&str, Verb); 14] = [
    ("LOGIN", Verb::Login),
    ("LOGOUT", Verb::Logout),
    ("NOOP", Verb::Noop),
    ("CHECK", Verb::Check),
    ("CAPABILITY", Verb::Capability),
    ("LIST", Verb::List),
    ("SELECT", Verb::Select),
    ("STATUS", Verb::Status),
    ("SEARCH", Verb::Search),
    ("FETCH", Verb::Fetch),
    ("APPEND", Verb::Append),
    ("STORE", Verb::Store),
    ("COPY", Verb::Copy),
    ("EXPUNGE", Verb::Expunge),
];

/// What all mail users of a workload share.
pub struct MailWorkload {
    pub scale: Mailboxes,
    /// By operation.
    pub verbs: Vec<Verb>,
    sizes: Weighted,
    pub(super) seed: u64,
    /// Accounts that have been filled and nobody plays yet, by session.
    pub(super) filled: Mutex<HashMap<u64, MailboxModel>>,
}

impl MailWorkload {
    /// Reads each operation's command; an error names the operation and the commands there are.
    pub fn new(scale: &Mailboxes, operations: &[Operation], seed: u64) -> Result<Self, PlanError> {
        let verb = |operation: &Operation| {
            let found = VERBS.iter().find(|(name, _)| *name == operation.path);
            let place = format!("operation {}", operation.name);
            found.map(|(_, verb)| *verb).ok_or_else(|| {
                let known: Vec<&str> = VERBS.iter().map(|(name, _)| *name).collect();
                PlanError::invalid(place, format!("`{}` is none of {}", operation.path, known.join(", ")))
            })
        };
        let sizes = Weighted::new(scale.sizes.iter().map(|size| size.weight));
        Ok(MailWorkload {
            scale: scale.clone(),
            verbs: operations.iter().map(verb).collect::<Result<_, _>>()?,
            sizes: sizes.ok_or_else(|| PlanError::invalid("mailboxes", "needs message sizes with positive weights"))?,
            seed,
            filled: Mutex::default(),
        })
    }

    pub(super) fn model(&self, session: u64) -> MailboxModel {
        let held = self.filled.lock().ok().and_then(|mut filled| filled.remove(&session));
        held.unwrap_or_else(|| {
            let mut model = MailboxModel::new(self.user(session), &self.scale.folders);
            model.folders.iter_mut().for_each(|folder| folder.trust = Trust::Lost);
            model
        })
    }

    pub(super) fn user(&self, session: u64) -> String {
        format!("{}{}", self.scale.user, session + 1)
    }

    pub(super) fn draw_size(&self, stream: &mut Stream) -> usize {
        self.scale.sizes[self.sizes.pick(stream)].bytes as usize
    }
}

/// What a command amounted to so far.
#[derive(Default)]
pub struct Delivery {
    pub bytes: Cell<u64>,
    pub connections: Cell<u64>,
}
