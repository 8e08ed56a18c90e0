//! One client's session: what it has selected, as it sees it, and what each command does. Answers are texts.

use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use imap_codec::imap_types::command::{Command, CommandBody};
use imap_codec::imap_types::core::AString;
use imap_codec::imap_types::extensions::binary::LiteralOrLiteral8;
use imap_codec::imap_types::flag::{Flag, StoreResponse, StoreType};
use imap_codec::imap_types::mailbox::{ListMailbox, Mailbox as Name};
use imap_codec::imap_types::sequence::SequenceSet;
use imap_codec::imap_types::status::StatusDataItemName;

use super::faults::{is_due, Faults};
use super::fetch::Fetching;
use super::search::Search;
use super::store::{self, Account, Mailbox, Store, INBOX};
use super::words::{chosen, flag_list, quoted};

/// Whether the client may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    Next,
    Over,
}

/// What is said to a command.
pub struct Said {
    pub bytes: Vec<u8>,
    pub turn: Turn,
}

/// How a command ended.
enum End {
    Ok(&'static str),
    OkCode(&'static str, &'static str),
    No(String),
    Bad(&'static str),
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> Self {
        End::No(format!("[UNAVAILABLE] {error}"))
    }
}

/// The selected mailbox as this client has been told of it.
struct Selected {
    name: String,
    /// UIDs by sequence number.
    view: Vec<u32>,
    is_read_only: bool,
}

pub struct Session {
    store: Arc<Store>,
    password: Arc<str>,
    faults: Faults,
    account: Option<Arc<Mutex<Account>>>,
    selected: Option<Selected>,
    out: Vec<u8>,
}

pub(super) static APPENDS: AtomicU64 = AtomicU64::new(0);
static COUNTS: AtomicU64 = AtomicU64::new(0);

impl Session {
    pub fn new(store: Arc<Store>, password: Arc<str>, faults: Faults) -> Self {
        Session { store, password, faults, account: None, selected: None, out: Vec::new() }
    }

    /// Performs a command; may wait for the disk.
    pub fn perform(&mut self, command: &Command<'_>) -> Said {
        let end = self.dispatch(&command.body).unwrap_or_else(|end| end);
        // RFC 3501, 5.5: sequence numbers may not change while they are spoken of.
        let by_number = matches!(
            command.body,
            CommandBody::Fetch { uid: false, .. }
                | CommandBody::Store { uid: false, .. }
                | CommandBody::Search { uid: false, .. }
        );
        self.catch_up(!by_number);
        let (word, text) = match end {
            End::Ok(name) => ("OK", format!("{name} done")),
            End::OkCode(name, code) => ("OK", format!("[{code}] {name} done")),
            End::No(why) => ("NO", why),
            End::Bad(why) => ("BAD", why.to_owned()),
        };
        self.say(&format!("{} {word} {text}", command.tag.inner()));
        let turn = if matches!(command.body, CommandBody::Logout) { Turn::Over } else { Turn::Next };
        Said { bytes: std::mem::take(&mut self.out), turn }
    }

    fn say(&mut self, line: &str) {
        self.out.extend_from_slice(line.as_bytes());
        self.out.extend_from_slice(b"\r\n");
    }

    fn dispatch(&mut self, body: &CommandBody<'_>) -> Result<End, End> {
        match body {
            CommandBody::Capability => self.say("* CAPABILITY IMAP4rev1"),
            CommandBody::Noop | CommandBody::Check => {}
            CommandBody::Logout => self.say("* BYE until next time"),
            CommandBody::Login { username, password } => return self.login(username, password.declassify()),
            CommandBody::Select { mailbox, .. } => return self.select(mailbox, false),
            CommandBody::Examine { mailbox, .. } => return self.select(mailbox, true),
            CommandBody::Create { mailbox } => return self.create(mailbox),
            CommandBody::Delete { mailbox } => return self.delete(mailbox),
            CommandBody::Subscribe { .. } | CommandBody::Unsubscribe { .. } => drop(self.locked()?),
            CommandBody::List { reference, mailbox_wildcard } | CommandBody::Lsub { reference, mailbox_wildcard } => {
                let word = body.name();
                return self.list(word, &name_of(reference), mailbox_wildcard);
            }
            CommandBody::Status { mailbox, item_names } => return self.status(mailbox, item_names),
            CommandBody::Append { mailbox, flags, date, message } => {
                let received = date.as_ref().map_or_else(now, |date| date.as_ref().timestamp());
                return self.append(mailbox, flags, received, message);
            }
            CommandBody::Close => {
                self.expunge(false)?;
                self.selected = None;
            }
            CommandBody::Expunge => self.expunge(true)?,
            CommandBody::Search { criteria, uid, .. } => {
                let (account, selected) = self.opened()?;
                let account = lock(&account);
                let mailbox = mailbox_of(&account, &selected.name)?;
                let found = Search { mailbox, view: &selected.view }.all(criteria.as_ref(), *uid)?;
                let numbers: String = found.iter().map(|number| format!(" {number}")).collect();
                self.say(&format!("* SEARCH{numbers}"));
            }
            CommandBody::Fetch { sequence_set, macro_or_item_names, uid, .. } => {
                let (account, selected) = self.opened()?;
                let mut account = lock(&account);
                let chosen = chosen(sequence_set, &selected.view, *uid);
                let is_read_only = selected.is_read_only;
                let mailbox = mailbox_of_mut(&mut account, &selected.name)?;
                let fetching = Fetching::new(macro_or_item_names, *uid, is_read_only, self.faults.alter_every)
                    .ok_or(End::Bad("these items are not known here"))?;
                for (number, id) in chosen {
                    fetching.write(mailbox, number, id, &mut self.out)?;
                }
            }
            CommandBody::Store { sequence_set, kind, response, flags, uid, .. } => {
                return self.store(sequence_set, *kind, *response == StoreResponse::Answer, flags, *uid)
            }
            CommandBody::Copy { sequence_set, mailbox, uid } => return self.copy(sequence_set, mailbox, *uid),
            _ => return Err(End::Bad("not known here")),
        }
        Ok(End::Ok(body.name()))
    }

    fn login(&mut self, user: &AString<'_>, password: &AString<'_>) -> Result<End, End> {
        if self.account.is_some() {
            return Err(End::Bad("logged in already"));
        }
        let user = String::from_utf8_lossy(user.as_ref()).into_owned();
        if password.as_ref() != self.password.as_bytes() {
            return Err(End::No("[AUTHENTICATIONFAILED] wrong user or password".into()));
        }
        self.account = self.store.account(&user)?;
        match self.account {
            Some(_) => Ok(End::Ok("LOGIN")),
            None => Err(End::No("[AUTHENTICATIONFAILED] wrong user or password".into())),
        }
    }

    fn select(&mut self, name: &Name<'_>, is_read_only: bool) -> Result<End, End> {
        self.selected = None;
        let (name, account) = (name_of(name), self.account()?);
        let account = lock(&account);
        let mailbox = mailbox_of(&account, &name)?;
        let view: Vec<u32> = mailbox.messages.iter().map(|message| message.uid).collect();
        let unseen = mailbox.messages.iter().position(|message| message.flags & store::SEEN == 0);
        self.say("* FLAGS (\\Answered \\Flagged \\Deleted \\Seen \\Draft)");
        self.say(&format!("* {} EXISTS", view.len()));
        self.say("* 0 RECENT");
        if let Some(first) = unseen {
            self.say(&format!("* OK [UNSEEN {}] the first", first + 1));
        }
        self.say("* OK [PERMANENTFLAGS (\\Answered \\Flagged \\Deleted \\Seen \\Draft)] kept");
        self.say(&format!("* OK [UIDVALIDITY {}] valid", mailbox.validity));
        self.say(&format!("* OK [UIDNEXT {}] next", mailbox.next));
        self.selected = Some(Selected { name, view, is_read_only });
        Ok(match is_read_only {
            true => End::OkCode("EXAMINE", "READ-ONLY"),
            false => End::OkCode("SELECT", "READ-WRITE"),
        })
    }

    fn create(&mut self, name: &Name<'_>) -> Result<End, End> {
        let account = self.account()?;
        let made = lock(&account).create(name_of(name).trim_end_matches('/'))?;
        if made {
            Ok(End::Ok("CREATE"))
        } else {
            Err(End::No("[ALREADYEXISTS] there is such a mailbox".into()))
        }
    }

    fn delete(&mut self, name: &Name<'_>) -> Result<End, End> {
        let account = self.account()?;
        let gone = lock(&account).delete(&name_of(name))?;
        if gone {
            Ok(End::Ok("DELETE"))
        } else {
            Err(End::No("[NONEXISTENT] no mailbox that can be deleted".into()))
        }
    }

    fn list(&mut self, word: &str, reference: &str, wanted: &ListMailbox<'_>) -> Result<End, End> {
        let wanted = match wanted {
            ListMailbox::Token(token) => String::from_utf8_lossy(token.as_ref()).into_owned(),
            ListMailbox::String(text) => String::from_utf8_lossy(text.as_ref()).into_owned(),
        };
        let account = self.account()?;
        if wanted.is_empty() {
            self.say(&format!("* {word} (\\Noselect) \"/\" \"\""));
            return Ok(End::Ok("LIST"));
        }
        let reference = if reference == INBOX && wanted != INBOX { "" } else { reference };
        let pattern = format!("{reference}{wanted}");
        let names: Vec<String> =
            lock(&account).mailboxes.keys().filter(|name| matches(&pattern, name)).cloned().collect();
        for name in names {
            self.say(&format!("* {word} () \"/\" {}", quoted(&name)));
        }
        Ok(End::Ok("LIST"))
    }

    fn status(&mut self, name: &Name<'_>, items: &[StatusDataItemName]) -> Result<End, End> {
        let (name, account) = (name_of(name), self.account()?);
        let account = lock(&account);
        let mailbox = mailbox_of(&account, &name)?;
        let unseen = mailbox.messages.iter().filter(|message| message.flags & store::SEEN == 0).count();
        let more = u64::from(is_due(&COUNTS, self.faults.miscount_every));
        let value = |item: &StatusDataItemName| {
            Some(match item {
                StatusDataItemName::Messages => format!("MESSAGES {}", mailbox.messages.len() as u64 + more),
                StatusDataItemName::Recent => "RECENT 0".to_owned(),
                StatusDataItemName::UidNext => format!("UIDNEXT {}", mailbox.next),
                StatusDataItemName::UidValidity => format!("UIDVALIDITY {}", mailbox.validity),
                StatusDataItemName::Unseen => format!("UNSEEN {unseen}"),
                _ => return None,
            })
        };
        let values: Option<Vec<String>> = items.iter().map(value).collect();
        let values = values.ok_or(End::Bad("these items are not known here"))?;
        self.say(&format!("* STATUS {} ({})", quoted(&name), values.join(" ")));
        Ok(End::Ok("STATUS"))
    }

    fn append(
        &mut self,
        name: &Name<'_>,
        flags: &[Flag<'_>],
        received: i64,
        message: &LiteralOrLiteral8<'_>,
    ) -> Result<End, End> {
        let LiteralOrLiteral8::Literal(content) = message else { return Err(End::Bad("not known here")) };
        let account = self.account()?;
        let mut account = lock(&account);
        let Some(mailbox) = account.mailboxes.get_mut(&name_of(name)) else {
            return Err(End::No("[TRYCREATE] no such mailbox".into()));
        };
        if !is_due(&APPENDS, self.faults.drop_every) {
            mailbox.append(content.as_ref(), bits(flags), received)?;
        }
        Ok(End::Ok("APPEND"))
    }

    /// Removes what is marked as deleted; the client hears of it when it is caught up, or not at all.
    fn expunge(&mut self, tells: bool) -> Result<(), End> {
        let (account, selected) = self.opened()?;
        if selected.is_read_only {
            return if tells { Err(End::No("[READ-ONLY] only to be read".into())) } else { Ok(()) };
        }
        let mut account = lock(&account);
        Ok(mailbox_of_mut(&mut account, &selected.name)?.expunge()?)
    }

    fn store(
        &mut self,
        set: &SequenceSet,
        kind: StoreType,
        answers: bool,
        flags: &[Flag<'_>],
        uid: bool,
    ) -> Result<End, End> {
        let (account, selected) = self.opened()?;
        if selected.is_read_only {
            return Err(End::No("[READ-ONLY] only to be read".into()));
        }
        let mut account = lock(&account);
        let chosen = chosen(set, &selected.view, uid);
        let mailbox = mailbox_of_mut(&mut account, &selected.name)?;
        let given = bits(flags);
        for (number, id) in chosen {
            let set = mailbox.set_flags(id, |held| match kind {
                StoreType::Replace => given,
                StoreType::Add => held | given,
                StoreType::Remove => held & !given,
            })?;
            if let Some(now) = set.filter(|_| answers) {
                let uid = if uid { format!(" UID {id}") } else { String::new() };
                self.say(&format!("* {number} FETCH (FLAGS {}{uid})", flag_list(now)));
            }
        }
        Ok(End::Ok("STORE"))
    }

    fn copy(&mut self, set: &SequenceSet, to: &Name<'_>, uid: bool) -> Result<End, End> {
        let (account, selected) = self.opened()?;
        let mut account = lock(&account);
        let (from, to) = (selected.name.clone(), name_of(to));
        let chosen = chosen(set, &selected.view, uid);
        if !account.mailboxes.contains_key(&to) {
            return Err(End::No("[TRYCREATE] no such mailbox".into()));
        }
        for (_, id) in chosen {
            let mailbox = mailbox_of(&account, &from)?;
            let Some(message) = mailbox.find(id).cloned() else { continue };
            let content = mailbox.content(id)?;
            mailbox_of_mut(&mut account, &to)?.append(&content, message.flags, message.received)?;
        }
        Ok(End::Ok("COPY"))
    }

    /// Tells of messages that came, and of those that are gone where that may be told now.
    fn catch_up(&mut self, tells_of_gone: bool) {
        let (Some(account), Some(mut selected)) = (self.account.clone(), self.selected.take()) else { return };
        let account = lock(&account);
        if let Some(mailbox) = account.mailboxes.get(&selected.name) {
            if tells_of_gone {
                for at in (0..selected.view.len()).rev() {
                    if mailbox.find(selected.view[at]).is_none() {
                        selected.view.remove(at);
                        self.say(&format!("* {} EXPUNGE", at + 1));
                    }
                }
            }
            let last = selected.view.last().copied().unwrap_or(0);
            let before = selected.view.len();
            selected.view.extend(mailbox.messages.iter().map(|message| message.uid).filter(|&uid| uid > last));
            if selected.view.len() > before {
                self.say(&format!("* {} EXISTS", selected.view.len()));
            }
            self.selected = Some(selected);
        }
    }

    fn account(&self) -> Result<Arc<Mutex<Account>>, End> {
        self.account.clone().ok_or(End::Bad("log in first"))
    }

    fn locked(&self) -> Result<(), End> {
        self.account().map(drop)
    }

    fn opened(&self) -> Result<(Arc<Mutex<Account>>, &Selected), End> {
        Ok((self.account()?, self.selected.as_ref().ok_or(End::Bad("select a mailbox first"))?))
    }
}

pub(super) fn lock(account: &Mutex<Account>) -> MutexGuard<'_, Account> {
    account.lock().unwrap_or_else(PoisonError::into_inner)
}

fn mailbox_of<'a>(account: &'a Account, name: &str) -> Result<&'a Mailbox, End> {
    account.mailboxes.get(name).ok_or_else(|| End::No("[NONEXISTENT] no such mailbox".into()))
}

fn mailbox_of_mut<'a>(account: &'a mut Account, name: &str) -> Result<&'a mut Mailbox, End> {
    account.mailboxes.get_mut(name).ok_or_else(|| End::No("[NONEXISTENT] no such mailbox".into()))
}

fn name_of(name: &Name<'_>) -> String {
    match name {
        Name::Inbox => INBOX.to_owned(),
        Name::Other(other) => String::from_utf8_lossy(other.inner().as_ref()).into_owned(),
    }
}

fn bits(flags: &[Flag<'_>]) -> u8 {
    flags.iter().fold(0, |held, flag| {
        held | match flag {
            Flag::Seen => store::SEEN,
            Flag::Answered => store::ANSWERED,
            Flag::Flagged => store::FLAGGED,
            Flag::Deleted => store::DELETED,
            Flag::Draft => store::DRAFT,
            _ => 0,
        }
    })
}

/// Whether a name fits a pattern: `*` stands for anything, `%` for anything without a `/`.
fn matches(pattern: &str, name: &str) -> bool {
    let Some(first) = pattern.chars().next() else { return name.is_empty() };
    let rest = &pattern[first.len_utf8()..];
    match first {
        '*' | '%' => {
            let places = name.char_indices().map(|(at, _)| at).chain([name.len()]);
            let reach = if first == '%' { name.find('/').unwrap_or(name.len()) } else { name.len() };
            places.take_while(|&at| at <= reach).any(|at| matches(rest, &name[at..]))
        }
        _ => name.strip_prefix(first).is_some_and(|name| matches(rest, name)),
    }
}

pub(super) fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_of_names() {
        for (pattern, name, fits) in [
            ("*", "a/b", true),
            ("%", "a/b", false),
            ("%", "a", true),
            ("a/%", "a/b", true),
            ("a*c", "abbc", true),
            ("a*c", "abb", false),
            ("", "a", false),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }
}
