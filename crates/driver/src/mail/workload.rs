//! What all mail users of a workload share, and the commands that they know.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use loadstone_schedule::draw::Weighted;
use loadstone_schedule::plan::{Mailboxes, Operation};
use loadstone_schedule::rng::Stream;
use loadstone_schedule::PlanError;

use super::incoming::IncomingMail;
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
    /// Sends a message to so many hundredths of recipients in the mean.
    Send(u32),
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

/// Command that sends a message, with the mean number of its recipients behind it.
const SEND: &str = "SEND";
/// Recipients that every server must accept (RFC 5321, section 4.5.3.1.8).
const MOST_RECIPIENTS: f64 = 100.0;

/// Reads an operation's command; none for an unknown one.
fn read_verb(path: &str) -> Option<Verb> {
    match path.split_once(' ') {
        None => VERBS.iter().find(|(name, _)| *name == path).map(|(_, verb)| *verb),
        Some((SEND, mean)) => {
            let mean: f64 = mean.parse().ok().filter(|mean| (1.0..=MOST_RECIPIENTS).contains(mean))?;
            Some(Verb::Send((mean * 100.0).round() as u32))
        }
        Some(_) => None,
    }
}

/// What all mail users of a workload share.
pub struct MailWorkload {
    pub scale: Mailboxes,
    /// By operation.
    pub verbs: Vec<Verb>,
    sizes: Weighted,
    pub(super) seed: u64,
    /// Accounts that have been filled and nobody plays yet, by session.
    pub(super) filled: Mutex<HashMap<u64, MailboxModel>>,
    /// Mail on its way, by session of the recipient.
    incoming: Mutex<HashMap<u64, Arc<IncomingMail>>>,
    /// Sessions that this driver plays, by server: they write to each other.
    users: OnceLock<Vec<Vec<u64>>>,
}

impl MailWorkload {
    /// Reads each operation's command; an error names the operation and the commands there are.
    pub fn new(scale: &Mailboxes, operations: &[Operation], seed: u64) -> Result<Self, PlanError> {
        let verb = |operation: &Operation| {
            let place = format!("operation {}", operation.name);
            read_verb(&operation.path).ok_or_else(|| {
                let known: Vec<&str> = VERBS.iter().map(|(name, _)| *name).collect();
                let known = known.join(", ");
                PlanError::invalid(place, format!("`{}` is none of {known}, {SEND} RECIPIENTS", operation.path))
            })
        };
        let verbs: Vec<Verb> = operations.iter().map(verb).collect::<Result<_, _>>()?;
        if verbs.iter().any(|verb| matches!(verb, Verb::Send(_))) && scale.folders.len() < 2 {
            return Err(PlanError::invalid("mailboxes", "needs a second folder, as mail arrives in the first"));
        }
        let sizes = Weighted::new(scale.sizes.iter().map(|size| size.weight));
        Ok(MailWorkload {
            scale: scale.clone(),
            verbs,
            sizes: sizes.ok_or_else(|| PlanError::invalid("mailboxes", "needs message sizes with positive weights"))?,
            seed,
            filled: Mutex::default(),
            incoming: Mutex::default(),
            users: OnceLock::new(),
        })
    }

    pub(super) fn model(&self, session: u64) -> MailboxModel {
        let held = self.filled.lock().ok().and_then(|mut filled| filled.remove(&session));
        let mut model = held.unwrap_or_else(|| {
            let mut model = MailboxModel::new(self.user(session), &self.scale.folders);
            model.folders.iter_mut().for_each(|folder| folder.trust = Trust::Lost);
            model
        });
        if self.sends() {
            model.folders[0].incoming = Some(self.incoming(session));
        }
        model
    }

    /// Whether users send mail to each other.
    pub fn sends(&self) -> bool {
        self.verbs.iter().any(|verb| matches!(verb, Verb::Send(_)))
    }

    /// Notes which sessions this driver plays, by server.
    pub fn note_users(&self, users: Vec<Vec<u64>>) {
        let _ = self.users.set(users); // once, before the run
    }

    /// Mail on its way to a session's user.
    pub(super) fn incoming(&self, session: u64) -> Arc<IncomingMail> {
        self.incoming.lock().unwrap_or_else(PoisonError::into_inner).entry(session).or_default().clone()
    }

    /// Draws different users of a server, in the mean so many hundredths; `sender` alone where nobody else is known.
    pub(super) fn draw_recipients(&self, hundredths: u32, server: usize, sender: u64, stream: &mut Stream) -> Vec<u64> {
        let users = self.users.get().and_then(|users| users.get(server)).map_or(&[][..], Vec::as_slice);
        let count = hundredths / 100 + u32::from(stream.below(100) < u64::from(hundredths % 100));
        let mut drawn = Vec::new();
        for _ in 0..(count as usize).min(users.len()) {
            let mut at = stream.below(users.len() as u64) as usize;
            while drawn.contains(&users[at]) {
                at = (at + 1) % users.len();
            }
            drawn.push(users[at]);
        }
        if drawn.is_empty() {
            drawn.push(sender);
        }
        drawn
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

#[cfg(test)]
mod tests {
    use loadstone_schedule::plan::MessageSize;
    use loadstone_schedule::rng::Purpose;

    use super::*;

    fn workload(folders: &[&str]) -> Result<MailWorkload, PlanError> {
        let scale = Mailboxes {
            user: "user".into(),
            password: "word".into(),
            folders: folders.iter().map(|&name| name.to_owned()).collect(),
            messages: 1,
            sizes: vec![MessageSize { bytes: 600, weight: 1.0 }],
        };
        MailWorkload::new(&scale, &[], 1)
    }

    #[test]
    fn a_command_to_send_says_its_recipients() {
        assert_eq!((read_verb("SEND 3.08"), read_verb("FETCH")), (Some(Verb::Send(308)), Some(Verb::Fetch)));
        for wrong in ["SEND", "SEND 0.9", "SEND 101", "SEND x", "SEND NaN", "FETCH 3", ""] {
            assert_eq!(read_verb(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn recipients_differ_and_have_the_declared_mean() {
        let workload = workload(&["INBOX", "Sent"]).expect("valid");
        workload.note_users(vec![vec![0, 2, 4, 6], vec![1]]);
        let mut stream = Stream::new(7, 0, Purpose::Mail);
        let drawn: Vec<Vec<u64>> = (0..4000).map(|_| workload.draw_recipients(250, 0, 0, &mut stream)).collect();
        for each in &drawn {
            assert!(each.iter().all(|user| user % 2 == 0 && each.iter().filter(|other| *other == user).count() == 1));
        }
        let mean = drawn.iter().map(Vec::len).sum::<usize>() as f64 / 4000.0;
        assert!((mean - 2.5).abs() < 0.05, "{mean}"); // six standard errors
        assert_eq!(workload.draw_recipients(250, 1, 1, &mut stream), [1]);
        assert_eq!(workload.draw_recipients(250, 9, 5, &mut stream), [5]);
    }
}
