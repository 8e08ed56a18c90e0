//! One mail user: performs commands on its mailboxes, keeps the model, and holds every answer against it.

use std::net::SocketAddr;
use std::sync::Arc;

use imap_codec::imap_types::fetch::MessageDataItem;
use imap_codec::imap_types::flag::{Flag, FlagFetch};
use imap_codec::imap_types::mailbox::Mailbox;
use imap_codec::imap_types::response::{Code, Data, Response, Status};
use imap_codec::imap_types::status::StatusDataItem;
use loadstone_record::Fault;
use loadstone_schedule::ledger::hash_words;
use loadstone_schedule::plan::DeliveryProtocol;
use loadstone_schedule::rng::{Purpose, Stream};

use super::incoming::{Arrivals, IncomingMail};
use super::link::Link;
use super::mailbox::{ExpectedMessage, Folder, MailboxModel, Trust, DELETED, FLAGGED, SEEN};
use super::message;
use super::smtp::{Envelope, SmtpLink};
use super::workload::{Delivery, MailWorkload, Verb};
use crate::transport::Failure;

/// Share of selections that go to the first mailbox, where most mail is read.
const INBOX_SHARE: f64 = 0.7;

/// A word of SEARCH, and the flags it finds.
type Searched = (&'static str, fn(u8) -> bool);

/// Where a user's server answers.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    pub imap: SocketAddr,
    /// Where it accepts mail.
    pub delivery: Option<(SocketAddr, DeliveryProtocol)>,
    /// Its number.
    pub server: usize,
}

/// One mail user.
pub struct ImapUser {
    session: u64,
    model: MailboxModel,
    link: Option<Link>,
    selected: Option<usize>,
    stream: Stream,
    draft: Vec<u8>,
    /// The mailbox that a command under way changes.
    touched: Option<usize>,
}

impl ImapUser {
    /// The user of a session, with its mailboxes as they were filled; not connected.
    pub fn new(workload: &MailWorkload, session: u64) -> Self {
        ImapUser {
            session,
            model: workload.model(session),
            link: None,
            selected: None,
            stream: Stream::new(workload.seed, session, Purpose::Mail),
            draft: Vec::new(),
            touched: None,
        }
    }

    /// Whether its connection is open.
    pub fn is_connected(&self) -> bool {
        self.link.is_some()
    }

    /// Hangs up; what was under way has an unknown end. Returns whether there was a connection.
    pub fn close(&mut self) -> bool {
        self.selected = None;
        if let Some(touched) = self.touched.take() {
            self.model.folders[touched].trust = Trust::Lost;
        }
        self.link.take().is_some()
    }

    /// Performs a command.
    pub async fn perform(
        &mut self,
        workload: &MailWorkload,
        verb: Verb,
        addresses: Addresses,
        delivery: &Delivery,
    ) -> Result<(), Failure> {
        if verb == Verb::Login {
            self.close();
            self.link = Some(Link::open(addresses.imap).await?);
            delivery.connections.set(1);
        }
        let before = self.link.as_ref().map_or(0, |link| link.received);
        let done = match verb {
            Verb::Send(hundredths) => self.send(workload, hundredths, addresses, delivery).await,
            verb => self.carry_out(workload, verb).await,
        };
        let received = self.link.as_ref().map_or(0, |link| link.received);
        delivery.bytes.set(delivery.bytes.get() + received.saturating_sub(before));
        done?;
        self.touched = None;
        if verb == Verb::Logout {
            self.close();
        }
        Ok(())
    }

    async fn carry_out(&mut self, workload: &MailWorkload, verb: Verb) -> Result<(), Failure> {
        match verb {
            Verb::Login => self.plain(&format!("LOGIN {} {}", self.model.user, workload.scale.password)).await,
            Verb::Logout => self.plain("LOGOUT").await,
            Verb::Noop => self.plain("NOOP").await,
            Verb::Check => self.plain("CHECK").await,
            Verb::Capability => self.plain("CAPABILITY").await,
            Verb::List => self.list().await,
            Verb::Select => self.select().await,
            Verb::Status => self.status().await,
            Verb::Search => self.search().await,
            Verb::Fetch => self.fetch().await,
            Verb::Append => self.append(workload).await,
            Verb::Store => self.store(workload).await,
            Verb::Copy => self.copy().await,
            Verb::Expunge => self.expunge().await,
            Verb::Send(_) => Err(Failure::new(Fault::Driver, "mail is sent on a connection of its own")),
        }
    }

    /// A command that changes nothing and of which only the end matters; new counts must be right.
    async fn plain(&mut self, words: &str) -> Result<(), Failure> {
        self.ask(words, None, |_, _| Ok(())).await
    }

    /// Sends a command; `hear` takes what is said beside counts of the selected mailbox, which must be right.
    async fn ask(
        &mut self,
        words: &str,
        literal: Option<&[u8]>,
        mut hear: impl FnMut(&mut Folder, &Data<'_>) -> Result<(), String>,
    ) -> Result<(), Failure> {
        let link = self.link.as_mut().ok_or_else(|| Failure::new(Fault::Driver, "the mix sends this before LOGIN"))?;
        let mut nowhere = MailboxModel::new(String::new(), &[String::new()]).folders.remove(0);
        let folder = self.selected.map_or(&mut nowhere, |at| &mut self.model.folders[at]);
        let mut exists = None;
        link.command(words, literal, |response| {
            match response {
                Response::Data(Data::Exists(count)) => exists = Some(*count),
                Response::Data(data) => hear(folder, data).map_err(wrong)?,
                _ => {}
            }
            Ok(())
        })
        .await?;
        match (exists, self.selected) {
            // An append to the selected mailbox is counted by who sent it. Where others send to, nobody appends.
            (Some(count), Some(at)) if self.touched != Some(at) || self.model.folders[at].incoming.is_some() => {
                let folder = &mut self.model.folders[at];
                folder.counted(count).map_err(wrong)?;
                folder.admit(count);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    async fn list(&mut self) -> Result<(), Failure> {
        let mut found = Vec::new();
        self.ask("LIST \"\" \"*\"", None, |_, data| {
            if let Data::List { mailbox, .. } = data {
                found.push(name_of(mailbox));
            }
            Ok(())
        })
        .await?;
        let missing = self.model.folders.iter().find(|folder| !found.contains(&folder.name));
        missing.map_or(Ok(()), |folder| Err(wrong(format!("{} is not listed", folder.name))))
    }

    async fn select(&mut self) -> Result<(), Failure> {
        let folders = self.model.folders.len() as u64;
        let others = folders > 1 && self.stream.unit() >= INBOX_SHARE;
        let at = if others { 1 + self.stream.below(folders - 1) as usize } else { 0 };
        self.selected = None;
        let link = self.link.as_mut().ok_or_else(|| Failure::new(Fault::Driver, "the mix sends this before LOGIN"))?;
        let (mut exists, mut validity, mut next) = (None, None, None);
        let words = format!("SELECT {}", self.model.folders[at].name);
        let before = self.model.folders[at].arrivals();
        link.command(&words, None, |response| {
            match response {
                Response::Data(Data::Exists(count)) => exists = Some(*count),
                Response::Status(Status::Untagged(body)) => match &body.code {
                    Some(Code::UidValidity(value)) => validity = Some(value.get()),
                    Some(Code::UidNext(value)) => next = Some(value.get()),
                    _ => {}
                },
                _ => {}
            }
            Ok(())
        })
        .await?;
        let exists = exists.ok_or_else(|| wrong("SELECT does not say how many messages there are".to_owned()))?;
        self.model.folders[at].selected(exists, validity, next, before).map_err(wrong)?;
        self.selected = Some(at);
        Ok(())
    }

    async fn status(&mut self) -> Result<(), Failure> {
        let at = self.stream.below(self.model.folders.len() as u64) as usize;
        let words = format!("STATUS {} (MESSAGES UNSEEN)", self.model.folders[at].name);
        let (mut messages, mut unseen) = (None, None);
        // A server need not look for new messages in the mailbox that is selected.
        let is_selected = self.selected == Some(at);
        let before = if is_selected { Arrivals::default() } else { self.model.folders[at].arrivals() };
        self.ask(&words, None, |_, data| {
            let Data::Status { items, .. } = data else { return Ok(()) };
            for item in items.iter() {
                match item {
                    StatusDataItem::Messages(count) => messages = Some(*count),
                    StatusDataItem::Unseen(count) => unseen = Some(*count),
                    _ => {}
                }
            }
            Ok(())
        })
        .await?;
        let folder = &mut self.model.folders[at];
        let (Some(messages), Some(unseen)) = (messages, unseen) else {
            return Err(wrong(format!("{}: STATUS lacks what was asked for", folder.name)));
        };
        let expected = folder.numbers(|flags| flags & SEEN == 0).map(|numbers| numbers.len() as u32);
        folder.counted_after(messages, before).map_err(wrong)?;
        // Nobody has read those that others sent meanwhile.
        let expected = expected.map(|count| count + messages.saturating_sub(folder.count()));
        match expected {
            Some(expected) if expected != unseen => {
                folder.trust = Trust::Lost;
                Err(wrong(format!("{}: {unseen} unseen messages, {expected} must be there", folder.name)))
            }
            _ => Ok(()),
        }
    }

    async fn search(&mut self) -> Result<(), Failure> {
        let kinds: [Searched; 4] = [
            ("ALL", |_| true),
            ("UNSEEN", |flags| flags & SEEN == 0),
            ("FLAGGED", |flags| flags & FLAGGED != 0),
            ("DELETED", |flags| flags & DELETED != 0),
        ];
        let (word, fits) = kinds[self.stream.below(kinds.len() as u64) as usize];
        let (known, expected) = (self.opened()?.count(), self.opened()?.numbers(fits));
        let mut found = None;
        self.ask(&format!("SEARCH {word}"), None, |_, data| {
            if let Data::Search(numbers, ..) = data {
                let held = found.get_or_insert_with(Vec::new);
                held.extend(numbers.iter().map(|number| number.get()));
                held.sort_unstable();
            }
            Ok(())
        })
        .await?;
        let folder = self.opened()?;
        let found = found.ok_or_else(|| wrong(format!("{}: SEARCH found not even nothing", folder.name)))?;
        // Messages that others sent meanwhile may be found.
        let (found, new): (Vec<u32>, Vec<u32>) = found.into_iter().partition(|&number| number <= known);
        match expected {
            Some(expected) if expected != found || !new.iter().all(|&number| folder.may_have(number)) => {
                folder.trust = Trust::Lost;
                let (name, count) = (&folder.name, expected.len());
                Err(wrong(format!(
                    "{name}: SEARCH {word} finds {} messages, {count} others must be found",
                    found.len() + new.len()
                )))
            }
            _ => Ok(()),
        }
    }

    async fn fetch(&mut self) -> Result<(), Failure> {
        let Some(number) = self.some_message()? else { return self.plain("NOOP").await };
        let number = self.opened()?.first_new().unwrap_or(number);
        let mut is_whole = false;
        self.ask(&format!("FETCH {number} (UID FLAGS RFC822.SIZE BODY[])"), None, |folder, data| {
            let Data::Fetch { seq, items } = data else { return Ok(()) };
            if seq.get() != number {
                return Ok(());
            }
            for item in items.as_ref() {
                is_whole |= hear_item(folder, number, item, SEEN)?;
            }
            Ok(())
        })
        .await?;
        let folder = self.opened()?;
        if !is_whole {
            return Err(wrong(format!("{}: message {number} did not come", folder.name)));
        }
        let held = &mut folder.messages[number as usize - 1];
        held.flags = held.flags.map(|flags| flags | SEEN);
        Ok(())
    }

    async fn append(&mut self, workload: &MailWorkload) -> Result<(), Failure> {
        let at = self.draw_own_folder();
        let bytes = workload.draw_size(&mut self.stream);
        self.touched = Some(at);
        let mut draft = std::mem::take(&mut self.draft);
        let held = write_next(&mut self.model, bytes, SEEN, &mut draft);
        let words = format!("APPEND {} (\\Seen)", self.model.folders[at].name);
        let sent = self.ask(&words, Some(&draft), |_, _| Ok(())).await;
        self.draft = draft;
        sent?;
        self.model.folders[at].messages.push(held);
        Ok(())
    }

    /// Marks the oldest messages beyond the usual number as deleted, or turns the flag of one.
    async fn store(&mut self, workload: &MailWorkload) -> Result<(), Failure> {
        let Some(number) = self.some_message()? else { return self.plain("NOOP").await };
        let usual = workload.scale.messages.div_ceil(self.model.folders.len().max(1) as u32).max(1);
        let folder = self.opened()?;
        let excess = folder.count().saturating_sub(usual);
        let flagged = folder.messages[number as usize - 1].flags.unwrap_or(0) & FLAGGED != 0;
        let (range, sign, name, bit) = match (excess, flagged) {
            (0, false) => (number..=number, '+', "\\Flagged", FLAGGED),
            (0, true) => (number..=number, '-', "\\Flagged", FLAGGED),
            _ => (1..=excess, '+', "\\Deleted", DELETED),
        };
        let mut unanswered = folder.set_flag(range.clone(), bit, sign == '+');
        let changed = unanswered.len();
        self.touched = self.selected;
        let words = format!("STORE {}:{} {sign}FLAGS ({name})", range.start(), range.end());
        self.ask(&words, None, |folder, data| {
            let Data::Fetch { seq, items } = data else { return Ok(()) };
            if range.contains(&seq.get()) {
                unanswered.remove(&seq.get());
                items.as_ref().iter().try_for_each(|item| hear_item(folder, seq.get(), item, 0).map(drop))?;
            }
            Ok(())
        })
        .await?;
        match unanswered.len() {
            0 => Ok(()),
            missing => Err(wrong(format!("STORE changed {changed} messages, and {missing} of them were not answered"))),
        }
    }

    async fn copy(&mut self) -> Result<(), Failure> {
        let Some(number) = self.some_message()? else { return self.plain("NOOP").await };
        let to = self.draw_own_folder();
        let copy = ExpectedMessage { uid: None, ..self.opened()?.messages[number as usize - 1].clone() };
        self.touched = Some(to);
        let words = format!("COPY {number} {}", self.model.folders[to].name);
        self.plain(&words).await?;
        self.model.folders[to].messages.push(copy);
        Ok(())
    }

    async fn expunge(&mut self) -> Result<(), Failure> {
        self.touched = self.selected;
        self.ask("EXPUNGE", None, |folder, data| match data {
            Data::Expunge(number) => folder.expunged(number.get()),
            _ => Ok(()),
        })
        .await?;
        let folder = self.opened()?;
        match folder.numbers(|flags| flags & DELETED != 0) {
            Some(left) if !left.is_empty() => {
                folder.trust = Trust::Lost;
                Err(wrong(format!("{}: {} deleted messages are still there", folder.name, left.len())))
            }
            _ => Ok(()),
        }
    }

    /// Sends a message to some users; each acknowledgment is noted for its recipient, who must find the message.
    async fn send(
        &mut self,
        workload: &MailWorkload,
        hundredths: u32,
        addresses: Addresses,
        delivery: &Delivery,
    ) -> Result<(), Failure> {
        let Some((address, protocol)) = addresses.delivery else {
            return Err(Failure::new(Fault::Driver, "there is no server that accepts mail"));
        };
        let recipients = workload.draw_recipients(hundredths, addresses.server, self.session, &mut self.stream);
        let bytes = workload.draw_size(&mut self.stream);
        let incoming: Vec<Arc<IncomingMail>> = recipients.iter().map(|&session| workload.incoming(session)).collect();
        let to: Vec<String> = recipients.iter().map(|&session| message::address_of(&workload.user(session))).collect();
        let mut draft = std::mem::take(&mut self.draft);
        let digest = message::write_to(&self.model.user, &to, self.model.serial, bytes, &mut draft);
        self.model.serial += 1;
        let from = message::address_of(&self.model.user);
        let envelope = Envelope { from: &from, to: &to, text: &draft };
        let length = draft.len() as u64;
        let start = || incoming.iter().for_each(|recipient| recipient.start(length, digest));
        let mut link = SmtpLink::open(address, protocol).await?;
        delivery.connections.set(delivery.connections.get() + 1);
        let sent = link.send(&envelope, start).await;
        self.draft = draft;
        delivery.bytes.set(delivery.bytes.get() + link.received);
        let mut refused = None;
        for (recipient, receipt) in incoming.iter().zip(sent?) {
            match receipt {
                Ok(()) => recipient.acknowledge(),
                Err(failure) => {
                    if failure.fault == Fault::Status {
                        recipient.refuse();
                    }
                    refused.get_or_insert(failure);
                }
            }
        }
        match refused {
            Some(failure) => Err(failure),
            None => link.quit().await,
        }
    }

    /// A folder to which nobody else sends.
    fn draw_own_folder(&mut self) -> usize {
        let shared = usize::from(self.model.folders[0].incoming.is_some());
        shared + self.stream.below((self.model.folders.len() - shared) as u64) as usize
    }

    fn opened(&mut self) -> Result<&mut Folder, Failure> {
        let at = self.selected.ok_or_else(|| Failure::new(Fault::Driver, "the mix sends this before SELECT"))?;
        Ok(&mut self.model.folders[at])
    }

    /// A message of the selected mailbox; none when it is empty.
    fn some_message(&mut self) -> Result<Option<u32>, Failure> {
        let count = self.opened()?.count();
        Ok((count > 0).then(|| 1 + self.stream.below(u64::from(count)) as u32))
    }
}

/// Writes an model's next message; returns what must then be there.
pub fn write_next(model: &mut MailboxModel, bytes: usize, flags: u8, draft: &mut Vec<u8>) -> ExpectedMessage {
    let digest = message::write(&model.user, model.serial, bytes, draft);
    model.serial += 1;
    ExpectedMessage::sent(draft.len() as u64, digest, flags)
}

/// Holds one item of a message against the model; true when it was the text.
fn hear_item(folder: &mut Folder, number: u32, item: &MessageDataItem<'_>, may: u8) -> Result<bool, String> {
    if number > folder.count() {
        return folder.counted(number).map(|()| false);
    }
    match item {
        MessageDataItem::Uid(uid) => folder.told_uid(number, uid.get())?,
        MessageDataItem::Flags(flags) => folder.told_flags(number, bits(flags), may)?,
        MessageDataItem::Rfc822Size(size) => {
            let known = folder.messages[number as usize - 1].text;
            if known.is_some_and(|(bytes, _)| bytes != u64::from(*size)) {
                return folder.told_text(number, u64::from(*size), 0).map(|()| false);
            }
        }
        MessageDataItem::BodyExt { section: None, data, .. } => {
            let Some(text) = &data.0 else { return Err(format!("{}: message {number} is NIL", folder.name)) };
            let text = text.as_ref();
            if folder.is_due_as_sent(number) {
                let sent = message::without_trace(text).map(|sent| (sent.len() as u64, hash_words(sent)));
                folder.told_sent_text(number, sent)?;
            }
            folder.told_text(number, text.len() as u64, hash_words(text))?;
            if !message::is_whole(text) {
                return Err(format!("{}: message {number} is not as it was sent", folder.name));
            }
            return Ok(true);
        }
        _ => {}
    }
    Ok(false)
}

fn bits(flags: &[FlagFetch<'_>]) -> u8 {
    flags.iter().fold(0, |held, flag| {
        held | match flag {
            FlagFetch::Flag(Flag::Seen) => SEEN,
            FlagFetch::Flag(Flag::Flagged) => FLAGGED,
            FlagFetch::Flag(Flag::Deleted) => DELETED,
            _ => 0,
        }
    })
}

fn name_of(mailbox: &Mailbox<'_>) -> String {
    match mailbox {
        Mailbox::Inbox => "INBOX".to_owned(),
        Mailbox::Other(other) => String::from_utf8_lossy(other.inner().as_ref()).into_owned(),
    }
}

/// An answer that is not what it must be.
fn wrong(detail: impl Into<String>) -> Failure {
    Failure::new(Fault::Content, detail)
}
