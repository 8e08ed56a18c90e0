//! Mailboxes on disk: one folder each, one file a message, whose name says its UID, its flags and when it came.
//!
//! A message is on disk, and its name in the folder, before its append is acknowledged. UIDs never come back: the
//! highest one given out is noted before messages are removed.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Flags as bits.
pub const SEEN: u8 = 1;
/// The message was answered (RFC 3501, section 2.3.2).
pub const ANSWERED: u8 = 2;
/// It is urgent or special.
pub const FLAGGED: u8 = 4;
/// It goes with the next EXPUNGE.
pub const DELETED: u8 = 8;
/// It is not finished.
pub const DRAFT: u8 = 16;
/// Their letters in file names.
const LETTERS: [(u8, char); 5] = [(SEEN, 'S'), (ANSWERED, 'R'), (FLAGGED, 'F'), (DELETED, 'T'), (DRAFT, 'D')];

/// The mailbox that everyone has (RFC 3501, section 5.1).
pub const INBOX: &str = "INBOX";
/// What a folder of messages is called on disk: mailbox names may hold anything.
const FOLDER: &str = "box-";
const NEXT: &str = "next-";

/// A message as the folder knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub uid: u32,
    pub flags: u8,
    pub size: u64,
    /// Seconds since 1970.
    pub received: i64,
}

impl Message {
    fn file(&self) -> String {
        let letters: String =
            LETTERS.iter().filter(|(bit, _)| self.flags & bit != 0).map(|(_, letter)| letter).collect();
        format!("{:010}.{}.{}.{letters}", self.uid, self.size, self.received)
    }

    fn read(name: &str) -> Option<Self> {
        let mut parts = name.split('.');
        let (uid, size, received, letters) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let flags = LETTERS.iter().filter(|(_, letter)| letters.contains(*letter)).map(|(bit, _)| bit).sum();
        Some(Message { uid: uid.parse().ok()?, flags, size: size.parse().ok()?, received: received.parse().ok()? })
    }
}

/// One mailbox.
#[derive(Debug)]
pub struct Mailbox {
    path: PathBuf,
    /// Changes when a mailbox is made anew under an old name.
    pub validity: u32,
    pub next: u32,
    /// In the order of their UIDs.
    pub messages: Vec<Message>,
}

impl Mailbox {
    fn open(path: PathBuf) -> io::Result<Self> {
        let validity = fs::read_to_string(path.join("validity"))?.trim().parse().unwrap_or(1);
        let (mut next, mut messages) = (1, Vec::new());
        for entry in fs::read_dir(&path)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if let Some(noted) = name.strip_prefix(NEXT).and_then(|number| number.parse().ok()) {
                next = next.max(noted);
            } else if let Some(message) = Message::read(&name) {
                messages.push(message);
            }
        }
        messages.sort_by_key(|message| message.uid);
        next = messages.last().map_or(next, |message| next.max(message.uid + 1));
        Ok(Mailbox { path, validity, next, messages })
    }

    fn create(path: PathBuf, validity: u32) -> io::Result<Self> {
        fs::create_dir_all(&path)?;
        write_through(&path, "validity", validity.to_string().as_bytes())?;
        Mailbox::open(path)
    }

    /// Keeps a message; when this returns it is on disk.
    pub fn append(&mut self, content: &[u8], flags: u8, received: i64) -> io::Result<u32> {
        let message = Message { uid: self.next, flags, size: content.len() as u64, received };
        write_through(&self.path, &message.file(), content)?;
        self.next += 1;
        self.messages.push(message);
        Ok(self.next - 1)
    }

    /// A message's text.
    pub fn content(&self, uid: u32) -> io::Result<Vec<u8>> {
        let message = self.find(uid).ok_or(io::ErrorKind::NotFound)?;
        fs::read(self.path.join(message.file()))
    }

    /// A message by its unique identifier; none when it is gone.
    pub fn find(&self, uid: u32) -> Option<&Message> {
        self.place(uid).map(|at| &self.messages[at])
    }

    fn place(&self, uid: u32) -> Option<usize> {
        self.messages.binary_search_by_key(&uid, |message| message.uid).ok()
    }

    /// Sets a message's flags; returns them, or none for a message that is gone.
    pub fn set_flags(&mut self, uid: u32, change: impl FnOnce(u8) -> u8) -> io::Result<Option<u8>> {
        let Some(at) = self.place(uid) else { return Ok(None) };
        let before = self.messages[at].clone();
        let flags = change(before.flags);
        if flags != before.flags {
            let after = Message { flags, ..before.clone() };
            fs::rename(self.path.join(before.file()), self.path.join(after.file()))?;
            self.messages[at] = after;
        }
        Ok(Some(flags))
    }

    /// Removes the messages marked as deleted.
    pub fn expunge(&mut self) -> io::Result<()> {
        if self.messages.last().is_some_and(|message| message.flags & DELETED != 0) {
            write_through(&self.path, &format!("{NEXT}{}", self.next), b"")?;
        }
        let (gone, kept) = std::mem::take(&mut self.messages).into_iter().partition(|one| one.flags & DELETED != 0);
        self.messages = kept;
        let gone: Vec<Message> = gone;
        gone.iter().try_for_each(|message| fs::remove_file(self.path.join(message.file())))
    }
}

/// A user's mailboxes, by name.
#[derive(Debug)]
pub struct Account {
    path: PathBuf,
    pub mailboxes: BTreeMap<String, Mailbox>,
}

impl Account {
    fn open(path: PathBuf) -> io::Result<Self> {
        fs::create_dir_all(&path)?;
        let mut mailboxes = BTreeMap::new();
        for entry in fs::read_dir(&path)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if let Some(name) = name.strip_prefix(FOLDER).and_then(decode) {
                mailboxes.insert(name, Mailbox::open(entry.path())?);
            }
        }
        let mut account = Account { path, mailboxes };
        if !account.mailboxes.contains_key(INBOX) {
            account.create(INBOX)?;
        }
        Ok(account)
    }

    /// Makes a mailbox; false when there is one of that name.
    pub fn create(&mut self, name: &str) -> io::Result<bool> {
        if self.mailboxes.contains_key(name) {
            return Ok(false);
        }
        let validity = 1 + self.mailboxes.values().map(|held| held.validity).max().unwrap_or(0);
        let noted = self.path.join("validity");
        let before = fs::read_to_string(&noted).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
        let validity = validity.max(before + 1);
        write_through(&self.path, "validity", validity.to_string().as_bytes())?;
        let mailbox = Mailbox::create(self.path.join(format!("{FOLDER}{}", encode(name))), validity)?;
        self.mailboxes.insert(name.to_owned(), mailbox);
        Ok(true)
    }

    /// Removes a mailbox and all that is in it; false when there is none, or when it is the inbox.
    pub fn delete(&mut self, name: &str) -> io::Result<bool> {
        if name == INBOX {
            return Ok(false);
        }
        let Some(mailbox) = self.mailboxes.remove(name) else { return Ok(false) };
        fs::remove_dir_all(&mailbox.path)?;
        Ok(true)
    }
}

/// All accounts, opened as they are asked for.
#[derive(Debug)]
pub struct Store {
    root: PathBuf,
    accounts: Mutex<HashMap<String, Arc<Mutex<Account>>>>,
}

impl Store {
    /// The store below a folder, which is made when it is not there.
    pub fn new(root: &Path) -> io::Result<Self> {
        fs::create_dir_all(root)?;
        Ok(Store { root: root.to_owned(), accounts: Mutex::default() })
    }

    /// A user's account; made when it is new. Names are letters and digits.
    pub fn account(&self, user: &str) -> io::Result<Option<Arc<Mutex<Account>>>> {
        if user.is_empty() || user.len() > 64 || !user.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Ok(None);
        }
        let mut accounts = self.accounts.lock().map_err(|_| io::Error::other("the store is broken"))?;
        if let Some(held) = accounts.get(user) {
            return Ok(Some(held.clone()));
        }
        let account = Arc::new(Mutex::new(Account::open(self.root.join(user))?));
        accounts.insert(user.to_owned(), account.clone());
        Ok(Some(account))
    }
}

/// Writes a file so that it and its name survive a crash from here on.
fn write_through(folder: &Path, name: &str, content: &[u8]) -> io::Result<()> {
    let unfinished = folder.join(format!(".{name}"));
    let mut file = File::create(&unfinished)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(unfinished, folder.join(name))?;
    File::open(folder)?.sync_all()
}

/// Mailbox names as file names, in hexadecimal: any name works, and none leaves its folder.
fn encode(name: &str) -> String {
    name.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn decode(text: &str) -> Option<String> {
    let byte = |at: usize| text.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    String::from_utf8((0..text.len()).step_by(2).map(byte).collect::<Option<_>>()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_is_there_after_a_restart_and_uids_never_come_back() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let open = || Account::open(folder.path().join("user1"));
        let mut account = open()?;
        account.create("Work/2026 & more")?;
        let inbox = account.mailboxes.get_mut(INBOX).ok_or(io::ErrorKind::NotFound)?;
        for text in ["one", "two", "three"] {
            inbox.append(text.as_bytes(), SEEN, 1_700_000_000)?;
        }
        inbox.set_flags(3, |held| held | DELETED)?;
        inbox.set_flags(1, |_| FLAGGED | DRAFT)?;
        inbox.expunge()?;
        drop(account);
        let mut account = open()?;
        assert_eq!(account.mailboxes.keys().collect::<Vec<_>>(), ["INBOX", "Work/2026 & more"]);
        let inbox = account.mailboxes.get_mut(INBOX).ok_or(io::ErrorKind::NotFound)?;
        let found: Vec<_> = inbox.messages.iter().map(|one| (one.uid, one.flags, one.size)).collect();
        assert_eq!(found, [(1, FLAGGED | DRAFT, 3), (2, SEEN, 3)]);
        assert_eq!(inbox.content(2)?, b"two");
        assert_eq!(inbox.append(b"four", 0, 0)?, 4);
        Ok(())
    }

    #[test]
    fn a_mailbox_made_anew_has_another_validity() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let mut account = Account::open(folder.path().join("user1"))?;
        account.create("a")?;
        let before = account.mailboxes["a"].validity;
        assert!(account.delete("a")?);
        account.create("a")?;
        assert_ne!(account.mailboxes["a"].validity, before);
        assert!(!account.delete(INBOX)?);
        Ok(())
    }

    #[test]
    fn names_that_would_leave_the_folder_are_no_users() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let store = Store::new(folder.path())?;
        assert!(store.account("../x")?.is_none() && store.account("")?.is_none() && store.account("user7")?.is_some());
        Ok(())
    }
}
