//! What a user's mailboxes must hold: counts, order, UIDs, flags and digests, kept up with every command and held
//! against every answer. Pure.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::incoming::{Arrivals, IncomingMail};

/// Flags as bits.
pub const SEEN: u8 = 1;
pub const FLAGGED: u8 = 4;
pub const DELETED: u8 = 8;

/// A message that must be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedMessage {
    /// As the server told it; none before it has.
    pub uid: Option<u32>,
    /// Length and digest; none for a message that is only known to be there.
    pub text: Option<(u64, u64)>,
    /// None where they are not known.
    pub flags: Option<u8>,
    /// Whether another user sent it, so that its text is among those that were sent.
    pub is_from_others: bool,
}

impl ExpectedMessage {
    pub fn sent(bytes: u64, digest: u64, flags: u8) -> Self {
        ExpectedMessage { uid: None, text: Some((bytes, digest)), flags: Some(flags), is_from_others: false }
    }
}

/// Whether a mailbox's content is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// It must be as the model says.
    Sure,
    /// A command had no answer, or a difference was reported: it is learned anew when it is selected next.
    Lost,
}

#[derive(Clone, Debug)]
pub struct Folder {
    pub name: String,
    pub validity: Option<u32>,
    pub messages: Vec<ExpectedMessage>,
    pub trust: Trust,
    /// Mail that others send to it; none where nobody does.
    pub incoming: Option<Arc<IncomingMail>>,
    /// How many of the messages that others sent are among `messages` or were: at least, and at most.
    pub noticed: (u64, u64),
}

/// A user's mailboxes.
#[derive(Clone, Debug)]
pub struct MailboxModel {
    pub user: String,
    pub folders: Vec<Folder>,
    /// Number of its next message.
    pub serial: u64,
}

impl MailboxModel {
    /// A user whose folders are known to be empty.
    pub fn new(user: String, folders: &[String]) -> Self {
        let folder = |name: &String| Folder {
            name: name.clone(),
            validity: None,
            messages: Vec::new(),
            trust: Trust::Sure,
            incoming: None,
            noticed: (0, 0),
        };
        MailboxModel { user, folders: folders.iter().map(folder).collect(), serial: 1 }
    }
}

impl Folder {
    /// Messages there must be.
    pub fn count(&self) -> u32 {
        self.messages.len() as u32
    }

    /// Sequence numbers of the messages for which `fits` holds of their flags; none where some are not known.
    pub fn numbers(&self, fits: impl Fn(u8) -> bool) -> Option<Vec<u32>> {
        if self.trust == Trust::Lost || self.messages.iter().any(|held| held.flags.is_none()) {
            return None;
        }
        let numbers = (1..).zip(&self.messages).filter(|(_, held)| held.flags.is_some_and(&fits));
        Some(numbers.map(|(number, _)| number).collect())
    }

    /// The oldest message of others that nobody has read.
    pub fn first_new(&self) -> Option<u32> {
        let is_new = |held: &ExpectedMessage| held.is_from_others && held.flags.is_some_and(|flags| flags & SEEN == 0);
        self.messages.iter().position(is_new).map(|at| at as u32 + 1)
    }

    /// Sets or removes a flag of messages; returns those that are known to change by it. A server need not answer for
    /// the others (RFC 3501, section 6.4.6: STORE returns the updated value).
    pub fn set_flag(&mut self, range: RangeInclusive<u32>, bit: u8, is_set: bool) -> BTreeSet<u32> {
        let mut changed = BTreeSet::new();
        for number in range {
            let held = &mut self.messages[number as usize - 1];
            if held.flags.is_some_and(|flags| (flags & bit != 0) != is_set) {
                changed.insert(number);
            }
            held.flags = held.flags.map(|flags| if is_set { flags | bit } else { flags & !bit });
        }
        changed
    }

    /// Messages that others sent to it so far.
    pub fn arrivals(&self) -> Arrivals {
        self.incoming.as_ref().map_or(Arrivals::default(), |incoming| incoming.arrivals())
    }

    /// The server says that so many messages are there when it is selected, `before` which others had sent so many.
    pub fn selected(
        &mut self,
        exists: u32,
        validity: Option<u32>,
        next: Option<u32>,
        before: Arrivals,
    ) -> Result<(), String> {
        if self.trust == Trust::Lost {
            let unknown = ExpectedMessage { uid: None, text: None, flags: None, is_from_others: false };
            self.messages = vec![unknown; exists as usize];
            (self.validity, self.trust) = (validity, Trust::Sure);
            self.noticed = (before.acknowledged, self.arrivals().started);
            return Ok(());
        }
        self.counted_after(exists, before)?;
        self.admit(exists);
        if self.validity.is_some() && self.validity != validity {
            let before = self.validity.unwrap_or(0);
            return Err(self.lost(format!("its UIDs are no longer valid: {validity:?} instead of {before}")));
        }
        self.validity = validity;
        let last = self.messages.iter().filter_map(|held| held.uid).max();
        match (last, next) {
            (Some(last), Some(next)) if next <= last => {
                Err(self.lost(format!("UIDNEXT {next}, but there is UID {last}")))
            }
            _ => Ok(()),
        }
    }

    /// The server says that so many messages are there. Others may have sent some that it did not tell of before.
    pub fn counted(&mut self, exists: u32) -> Result<(), String> {
        self.counted_after(exists, Arrivals::default())
    }

    /// The same of a server that had to tell of all messages that it acknowledged `before`.
    pub fn counted_after(&mut self, exists: u32, before: Arrivals) -> Result<(), String> {
        let (least, most) = (before.acknowledged.saturating_sub(self.noticed.1), self.most_unnoticed());
        let arrived = u64::from(exists).checked_sub(u64::from(self.count()));
        if self.trust == Trust::Lost || arrived.is_some_and(|count| (least..=most).contains(&count)) {
            return Ok(());
        }
        let count = u64::from(self.count());
        let due = match (count + least, count + most) {
            (least, most) if least == most => format!("{least}"),
            (least, most) => format!("{least} to {most}"),
        };
        Err(self.lost(format!("{exists} messages, {due} must be there")))
    }

    /// Messages that others sent and that may be there beyond those that are known, at most.
    fn most_unnoticed(&self) -> u64 {
        self.arrivals().started.saturating_sub(self.noticed.0)
    }

    /// Whether message `number`, of which the server has not told yet, may be there.
    pub fn may_have(&self, number: u32) -> bool {
        u64::from(number) <= u64::from(self.count()) + self.most_unnoticed()
    }

    /// Takes messages beyond the known ones, as the server told of, for those that others sent: nobody has read them.
    pub fn admit(&mut self, exists: u32) {
        if self.incoming.is_none() || self.trust == Trust::Lost || exists <= self.count() {
            return;
        }
        let arrived = u64::from(exists - self.count());
        let new = ExpectedMessage { uid: None, text: None, flags: Some(0), is_from_others: true };
        self.messages.resize(exists as usize, new);
        self.noticed = (self.noticed.0 + arrived, self.noticed.1 + arrived);
    }

    /// The server says what a message's UID is: it never changes, and follows those before.
    pub fn told_uid(&mut self, number: u32, uid: u32) -> Result<(), String> {
        let at = number as usize - 1;
        let before = self.messages[..at].iter().rev().find_map(|held| held.uid);
        let after = self.messages[at + 1..].iter().find_map(|held| held.uid);
        let wrong = match self.messages[at].uid {
            Some(known) => known != uid,
            None => before.is_some_and(|one| one >= uid) || after.is_some_and(|one| one <= uid),
        };
        if wrong {
            let known = self.messages[at].uid;
            return Err(self.lost(format!("message {number} has UID {uid}, known is {known:?} behind {before:?}")));
        }
        self.messages[at].uid = Some(uid);
        Ok(())
    }

    /// The server says what flags a message has; `may` be added without having been told.
    pub fn told_flags(&mut self, number: u32, flags: u8, may: u8) -> Result<(), String> {
        let held = &mut self.messages[number as usize - 1];
        match held.flags {
            Some(known) if flags & !may != known & !may || known & !flags != 0 => {
                Err(self.lost(format!("message {number} has flags {flags:#07b} instead of {known:#07b}")))
            }
            _ => {
                held.flags = Some(flags);
                Ok(())
            }
        }
    }

    /// The server gives a message's text.
    pub fn told_text(&mut self, number: u32, bytes: u64, digest: u64) -> Result<(), String> {
        let held = &mut self.messages[number as usize - 1];
        match held.text {
            Some((length, _)) if length != bytes => {
                Err(self.lost(format!("message {number} has {bytes} bytes, {length} were sent")))
            }
            Some((_, sent)) if sent != digest => Err(self.lost(format!("message {number} is not as it was sent"))),
            _ => {
                held.text = Some((bytes, digest));
                Ok(())
            }
        }
    }

    /// Whether the text of a message is to be compared with what other users sent: it was not given before.
    pub fn is_due_as_sent(&self, number: u32) -> bool {
        let held = &self.messages[number as usize - 1];
        self.incoming.is_some() && held.is_from_others && held.text.is_none()
    }

    /// The server gives the text of a message as another user sent it, without what servers add; none where that is not
    /// to be found.
    pub fn told_sent_text(&mut self, number: u32, sent: Option<(u64, u64)>) -> Result<(), String> {
        let incoming = self.incoming.as_ref();
        let is_known = |(bytes, digest)| incoming.is_some_and(|incoming| incoming.has_sent(bytes, digest));
        match !self.is_due_as_sent(number) || sent.is_some_and(is_known) {
            true => Ok(()),
            false => Err(self.lost(format!("message {number} is not as it was sent"))),
        }
    }

    /// The server says that a message is gone: only those marked as deleted may be.
    pub fn expunged(&mut self, number: u32) -> Result<(), String> {
        let held = self.messages.get(number as usize - 1);
        match held.map(|held| held.flags) {
            Some(Some(flags)) if flags & DELETED == 0 => {
                Err(self.lost(format!("message {number} is gone without a deletion")))
            }
            Some(_) => {
                self.messages.remove(number as usize - 1);
                Ok(())
            }
            None => Err(self.lost(format!("message {number} is gone, which was never there"))),
        }
    }

    /// Notes that the model says no more; returns the reason with the mailbox's name.
    fn lost(&mut self, reason: String) -> String {
        self.trust = Trust::Lost;
        format!("{}: {reason}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> Folder {
        let mut folder = MailboxModel::new("user1".into(), &["INBOX".into()]).folders.remove(0);
        folder.messages = vec![
            ExpectedMessage::sent(600, 11, 0),
            ExpectedMessage::sent(700, 12, SEEN),
            ExpectedMessage::sent(800, 13, DELETED),
        ];
        folder
    }

    #[test]
    fn a_wrong_count_is_reported_once_and_then_learned() {
        let mut folder = folder();
        assert_eq!(folder.counted(2), Err("INBOX: 2 messages, 3 must be there".into()));
        assert_eq!(folder.counted(2), Ok(()));
        assert_eq!(folder.selected(2, Some(1), Some(9), Arrivals::default()), Ok(()));
        assert_eq!((folder.count(), folder.counted(3).is_err()), (2, true));
    }

    #[test]
    fn mail_of_others_may_arrive_when_it_was_sent_and_must_be_there_once_acknowledged() {
        let mut folder = folder();
        let incoming = Arc::new(IncomingMail::default());
        folder.incoming = Some(incoming.clone());
        assert!(folder.clone().counted(4).is_err_and(|why| why.ends_with("4 messages, 3 must be there")));
        incoming.start(600, 21);
        incoming.start(700, 22);
        incoming.acknowledge();
        let before = folder.arrivals();
        assert_eq!((before.acknowledged, before.started), (1, 2));
        assert_eq!(folder.counted(3), Ok(()), "it was not told of any yet");
        assert!(folder.clone().selected(3, None, None, before).is_err_and(|why| why.contains("4 to 5 must be there")));
        assert!(folder.clone().selected(6, None, None, before).is_err());
        assert_eq!(folder.selected(4, None, None, before), Ok(()));
        assert_eq!((folder.count(), folder.numbers(|flags| flags & SEEN == 0)), (4, Some(vec![1, 3, 4])));
        assert!(folder.may_have(5) && !folder.may_have(6));
        incoming.acknowledge();
        let before = folder.arrivals();
        assert!(folder.clone().counted_after(4, before).is_err_and(|why| why.ends_with("4 messages, 5 must be there")));
        assert_eq!(folder.counted_after(5, before), Ok(()));
        folder.admit(5);
        assert!(folder.clone().counted(6).is_err() && folder.clone().told_sent_text(5, Some((700, 21))).is_err());
        assert!(folder.clone().told_sent_text(5, None).is_err());
        assert_eq!(folder.told_sent_text(5, Some((700, 22))), Ok(()));
        assert_eq!(folder.told_sent_text(1, None), Ok(()), "it is the user's own");
    }

    #[test]
    fn a_refused_message_must_not_be_there_and_one_in_doubt_may() {
        let mut folder = folder();
        let incoming = Arc::new(IncomingMail::default());
        folder.incoming = Some(incoming.clone());
        incoming.start(600, 21);
        incoming.refuse();
        assert!(folder.clone().counted(4).is_err());
        incoming.start(600, 22);
        folder.trust = Trust::Lost;
        assert_eq!(folder.selected(3, None, None, folder.arrivals()), Ok(()));
        // Whether the three hold the one in doubt is not known: it may come later.
        assert_eq!((folder.noticed, folder.counted(4)), ((0, 1), Ok(())));
        assert!(folder.counted(5).is_err());
    }

    #[test]
    fn uids_ascend_and_never_change() {
        let mut folder = folder();
        assert_eq!(folder.told_uid(2, 7), Ok(()));
        assert!(folder.clone().told_uid(2, 8).is_err());
        assert!(folder.clone().told_uid(1, 7).is_err());
        assert!(folder.clone().told_uid(3, 6).is_err());
        assert!(folder.clone().selected(3, Some(1), Some(7), Arrivals::default()).is_err());
        assert_eq!((folder.told_uid(1, 2), folder.told_uid(3, 8)), (Ok(()), Ok(())));
    }

    #[test]
    fn altered_and_shortened_texts_show() {
        assert!(folder().told_text(1, 600, 11).is_ok());
        assert!(folder().told_text(1, 600, 12).is_err_and(|why| why.contains("not as it was sent")));
        assert!(folder().told_text(1, 599, 11).is_err_and(|why| why.contains("599 bytes")));
    }

    #[test]
    fn only_deleted_messages_may_go_and_only_reading_adds_a_flag() {
        assert!(folder().expunged(1).is_err() && folder().expunged(4).is_err());
        let mut kept = folder();
        assert_eq!((kept.expunged(3), kept.count()), (Ok(()), 2));
        assert!(folder().told_flags(1, SEEN, SEEN).is_ok() && folder().told_flags(1, SEEN, 0).is_err());
        assert!(folder().told_flags(2, 0, SEEN).is_err());
    }

    #[test]
    fn an_answer_is_due_only_for_messages_whose_flags_change() {
        let mut kept = folder();
        assert_eq!(Vec::from_iter(kept.set_flag(1..=3, DELETED, true)), [1, 2], "the third is deleted already");
        assert_eq!(kept.set_flag(1..=3, DELETED, true).len(), 0);
        assert_eq!(Vec::from_iter(kept.set_flag(3..=3, DELETED, false)), [3]);
        kept.messages[0].flags = None;
        assert_eq!(kept.set_flag(1..=1, FLAGGED, true).len(), 0, "its flags are not known");
        assert_eq!(kept.messages[1].flags, Some(SEEN | DELETED));
    }

    #[test]
    fn searches_are_known_only_where_all_flags_are() {
        assert_eq!(folder().numbers(|flags| flags & SEEN == 0), Some(vec![1, 3]));
        let mut folder = folder();
        folder.messages[0].flags = None;
        assert_eq!(folder.numbers(|_| true), None);
    }
}
