//! Accepts mail for the mailboxes by LMTP (RFC 2033). A message is on disk before it is acknowledged, for each recipient
//! alone. Extensions there are none beside the two that LMTP demands of names: ENHANCEDSTATUSCODES and PIPELINING.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::faults::{is_due, Faults};
use super::session::{lock, now, APPENDS};
use super::store::{Store, INBOX};

/// Longest command and longest line of a message, with their ends (RFC 5321, sections 4.5.3.1.4 and 4.5.3.1.6).
const MOST_COMMAND_BYTES: usize = 512;
const MOST_LINE_BYTES: usize = 1000;
/// Longest message, and most recipients of one (RFC 5321, section 4.5.3.1.8: at least 100).
const MOST_MESSAGE_BYTES: usize = 64 * 1024 * 1024;
const MOST_RECIPIENTS: usize = 100;
/// Time an idle client is kept (RFC 5321, section 4.5.3.2.7: at least five minutes).
const IDLE: Duration = Duration::from_secs(300);
/// Bytes read at once.
const PIECE: usize = 32 * 1024;

/// Accepts connections for ever.
pub async fn serve(listener: TcpListener, store: Arc<Store>, faults: Faults) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let session = Session { store: store.clone(), faults, is_greeted: false, from: None, to: Vec::new() };
                tokio::spawn(async move {
                    let _ = stream.set_nodelay(true);
                    let _ = converse(stream, session).await; // a client that went away is its own business
                });
            }
            // Out of descriptors: let some connections end first.
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

/// What the client may do next.
#[derive(Debug, PartialEq, Eq)]
enum Turn {
    Next,
    /// It sends the message.
    Content,
    Over,
}

/// One client's session: the envelope of its message.
struct Session {
    store: Arc<Store>,
    faults: Faults,
    is_greeted: bool,
    /// Sender, once it is known.
    from: Option<String>,
    /// Users, in the order in which they were named.
    to: Vec<String>,
}

impl Session {
    /// Returns the reply to a command.
    fn perform(&mut self, line: &str) -> (String, Turn) {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let reply = |text: &str| (format!("{text}\r\n"), Turn::Next);
        match verb.to_ascii_uppercase().as_str() {
            "LHLO" if !rest.trim().is_empty() => {
                (self.is_greeted, self.from) = (true, None);
                self.to.clear();
                let size = MOST_MESSAGE_BYTES;
                reply(&format!("250-loadstone-server\r\n250-PIPELINING\r\n250-ENHANCEDSTATUSCODES\r\n250 SIZE {size}"))
            }
            "LHLO" => reply("501 5.5.4 name yourself"),
            "MAIL" if !self.is_greeted => reply("503 5.5.1 LHLO first"),
            "MAIL" if self.from.is_some() => reply("503 5.5.1 the sender is known already"),
            "MAIL" => match read_path(rest, "FROM:") {
                Some(sender) => {
                    self.from = Some(sender.to_owned());
                    reply("250 2.1.0 ok")
                }
                None => reply("501 5.5.4 MAIL FROM:<address>"),
            },
            "RCPT" if self.from.is_none() => reply("503 5.5.1 MAIL first"),
            "RCPT" if self.to.len() >= MOST_RECIPIENTS => reply("452 4.5.3 too many recipients"),
            "RCPT" => match read_path(rest, "TO:") {
                None | Some("") => reply("501 5.5.4 RCPT TO:<address>"),
                Some(address) => {
                    let user = address.rsplit_once('@').map_or(address, |(user, _)| user);
                    match self.store.account(user) {
                        Ok(Some(_)) => {
                            self.to.push(user.to_owned());
                            reply("250 2.1.5 ok")
                        }
                        Ok(None) => reply("550 5.1.1 no such user"),
                        Err(error) => reply(&format!("451 4.3.0 {error}")),
                    }
                }
            },
            "DATA" if self.to.is_empty() => reply("503 5.5.1 no recipient"),
            "DATA" => ("354 end with a dot\r\n".to_owned(), Turn::Content),
            "RSET" => {
                self.from = None;
                self.to.clear();
                reply("250 2.0.0 ok")
            }
            "NOOP" => reply("250 2.0.0 ok"),
            "VRFY" => reply("252 2.5.2 send it and see"),
            "QUIT" => ("221 2.0.0 bye\r\n".to_owned(), Turn::Over),
            _ => reply("500 5.5.1 not known here"),
        }
    }

    /// Keeps a message; returns a reply for each recipient, in their order. Waits for the disk.
    fn deliver(&mut self, text: &[u8]) -> String {
        let from = self.from.take().unwrap_or_default();
        let users = std::mem::take(&mut self.to);
        users
            .iter()
            .map(|user| match self.keep(user, &from, text) {
                Ok(()) => format!("250 2.1.5 kept for {user}\r\n"),
                Err(error) => format!("451 4.3.0 {error}\r\n"),
            })
            .collect()
    }

    /// Appends a message to a user's inbox, below the lines that tell its way (RFC 5321, section 4.4).
    fn keep(&self, user: &str, from: &str, text: &[u8]) -> io::Result<()> {
        let account = self.store.account(user)?.ok_or(io::ErrorKind::NotFound)?;
        let trace = format!("Return-Path: <{from}>\r\nDelivered-To: {user}\r\n");
        let content = [trace.as_bytes(), text].concat();
        let mut account = lock(&account);
        let inbox = account.mailboxes.get_mut(INBOX).ok_or(io::ErrorKind::NotFound)?;
        if !is_due(&APPENDS, self.faults.drop_every) {
            inbox.append(&content, 0, now())?;
        }
        Ok(())
    }
}

/// Returns the address between angle brackets behind a word; parameters behind them are passed over.
fn read_path<'a>(rest: &'a str, word: &str) -> Option<&'a str> {
    let head = rest.get(..word.len()).filter(|head| head.eq_ignore_ascii_case(word))?;
    let (address, _) = rest[head.len()..].trim_start().strip_prefix('<')?.split_once('>')?;
    Some(address).filter(|address| !address.contains(['<', ' ', '\r', '\n']))
}

/// Lines of a connection, in bounded memory.
struct Lines {
    stream: TcpStream,
    held: Vec<u8>,
    /// Bytes of `held` that were handed out.
    at: usize,
}

/// How reading a line ended.
enum Line {
    /// Bytes of `held`, with the line's end.
    Whole(std::ops::Range<usize>),
    TooLong,
    /// The client closed, or was idle for too long.
    Gone,
}

impl Lines {
    /// Reads a line of at most so many bytes; the rest of a longer one is thrown away.
    async fn read(&mut self, most: usize) -> io::Result<Line> {
        let (mut seen, mut is_too_long) = (self.at, false);
        loop {
            if let Some(end) = memchr::memchr(b'\n', &self.held[seen..]).map(|at| seen + at + 1) {
                let line = self.at..end;
                self.at = end;
                return Ok(if is_too_long || line.len() > most { Line::TooLong } else { Line::Whole(line) });
            }
            if self.held.len() - self.at > most {
                is_too_long = true;
                self.at = self.held.len();
            }
            self.held.drain(..self.at);
            (self.at, seen) = (0, self.held.len());
            self.held.reserve(PIECE);
            match tokio::time::timeout(IDLE, self.stream.read_buf(&mut self.held)).await {
                Ok(Ok(0)) | Err(_) => return Ok(Line::Gone),
                Ok(read) => read?,
            };
        }
    }

    async fn say(&mut self, reply: &str) -> io::Result<()> {
        self.stream.write_all(reply.as_bytes()).await
    }
}

async fn converse(stream: TcpStream, mut session: Session) -> io::Result<()> {
    let mut lines = Lines { stream, held: Vec::new(), at: 0 };
    lines.say("220 loadstone-server LMTP is ready\r\n").await?;
    loop {
        let line = match lines.read(MOST_COMMAND_BYTES).await? {
            Line::Gone => return Ok(()),
            Line::TooLong => {
                lines.say("500 5.5.2 too long a command\r\n").await?;
                continue;
            }
            Line::Whole(line) => String::from_utf8_lossy(&lines.held[line]).trim_end().to_owned(),
        };
        let (reply, turn) = session.perform(&line);
        lines.say(&reply).await?;
        match turn {
            Turn::Next => {}
            Turn::Over => return lines.stream.shutdown().await,
            Turn::Content => match read_content(&mut lines).await? {
                Content::Gone => return Ok(()),
                Content::Whole(text) => {
                    let deliver = move || (session.deliver(&text), session);
                    let (replies, back) = tokio::task::spawn_blocking(deliver).await?;
                    session = back;
                    lines.say(&replies).await?;
                }
                Content::Refused(reply) => {
                    session.from = None;
                    let replies = reply.repeat(std::mem::take(&mut session.to).len());
                    lines.say(&replies).await?;
                }
            },
        }
    }
}

enum Content {
    Whole(Vec<u8>),
    /// With this reply for each recipient.
    Refused(&'static str),
    Gone,
}

/// Reads a message to the line with a dot alone; dots that were doubled are single again (RFC 5321, section 4.5.2).
async fn read_content(lines: &mut Lines) -> io::Result<Content> {
    let mut text = Vec::new();
    let mut refused = None;
    loop {
        let line = match lines.read(MOST_LINE_BYTES + 1).await? {
            Line::Gone => return Ok(Content::Gone),
            Line::TooLong => {
                refused = Some("500 5.6.0 a line of the message is too long\r\n");
                continue;
            }
            Line::Whole(line) => &lines.held[line],
        };
        if line == b".\r\n" {
            return Ok(refused.map_or(Content::Whole(text), Content::Refused));
        }
        if text.len() + line.len() > MOST_MESSAGE_BYTES {
            (refused, text) = (Some("552 5.3.4 too long a message\r\n"), Vec::new());
        }
        if refused.is_none() {
            text.extend_from_slice(line.strip_prefix(b".").unwrap_or(line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Client {
        lines: Lines,
    }

    impl Client {
        async fn say(&mut self, words: &str) -> String {
            self.lines.stream.write_all(words.as_bytes()).await.expect("sent");
            self.reply().await
        }

        /// Reads a reply to its last line.
        async fn reply(&mut self) -> String {
            let mut reply = String::new();
            loop {
                let Line::Whole(line) = self.lines.read(2000).await.expect("read") else { return reply };
                let line = String::from_utf8_lossy(&self.lines.held[line]).into_owned();
                let is_last = line.as_bytes().get(3) != Some(&b'-');
                reply.push_str(&line);
                if is_last {
                    return reply;
                }
            }
        }
    }

    async fn connect(folder: &std::path::Path, faults: Faults) -> (Client, Arc<Store>) {
        let store = Arc::new(Store::new(folder).expect("a store"));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(serve(listener, store.clone(), faults));
        let stream = TcpStream::connect(address).await.expect("a connection");
        let mut client = Client { lines: Lines { stream, held: Vec::new(), at: 0 } };
        assert!(client.reply().await.starts_with("220 "));
        (client, store)
    }

    fn texts(store: &Store, user: &str) -> Vec<String> {
        let account = store.account(user).expect("readable").expect("a user");
        let account = lock(&account);
        let inbox = &account.mailboxes[INBOX];
        let text = |uid| String::from_utf8_lossy(&inbox.content(uid).expect("a text")).into_owned();
        inbox.messages.iter().map(|message| text(message.uid)).collect()
    }

    const TO_TWO: [&str; 4] =
        ["LHLO me\r\n", "MAIL FROM:<user1@a.example>\r\n", "rcpt to:<user2@a.example>\r\n", "RCPT TO:<user3>\r\n"];

    #[tokio::test]
    async fn a_message_is_kept_for_each_recipient_with_single_dots() {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut client, store) = connect(folder.path(), Faults::default()).await;
        for words in TO_TWO {
            let reply = client.say(words).await;
            assert!(reply.starts_with("250"), "{words}{reply}");
        }
        assert!(client.say("RCPT TO:<../x>\r\n").await.starts_with("550 "));
        assert!(client.say("DATA\r\n").await.starts_with("354 "));
        assert_eq!(client.say("Subject: x\r\n\r\n..\r\n...two\r\n.\r\n").await, "250 2.1.5 kept for user2\r\n");
        assert_eq!(client.reply().await, "250 2.1.5 kept for user3\r\n");
        for user in ["user2", "user3"] {
            let trace = format!("Return-Path: <user1@a.example>\r\nDelivered-To: {user}\r\n");
            assert_eq!(texts(&store, user), [format!("{trace}Subject: x\r\n\r\n.\r\n..two\r\n")]);
        }
        assert!(client.say("DATA\r\n").await.starts_with("503 "), "the envelope is used up");
        assert!(client.say("QUIT\r\n").await.starts_with("221 "));
        assert_eq!(client.reply().await, "");
    }

    #[tokio::test]
    async fn commands_out_of_order_and_unreadable_ones_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut client, _) = connect(folder.path(), Faults::default()).await;
        let long = format!("NOOP {}\r\n", "x".repeat(2000));
        for (words, code) in [
            ("MAIL FROM:<a>\r\n", "503"),
            ("EHLO me\r\n", "500"),
            ("LHLO\r\n", "501"),
            (long.as_str(), "500"),
            ("LHLO me\r\n", "250"),
            ("RCPT TO:<user1>\r\n", "503"),
            ("MAIL FROM: nobody\r\n", "501"),
            ("MAIL FROM:<>\r\n", "250"),
            ("MAIL FROM:<a>\r\n", "503"),
            ("RCPT TO:<>\r\n", "501"),
            ("DATA\r\n", "503"),
            ("RSET\r\n", "250"),
            ("RCPT TO:<user1>\r\n", "503"),
            ("\r\n", "500"),
            ("\u{e9}\u{e9}\u{e9} x\r\n", "500"),
        ] {
            let reply = client.say(words).await;
            assert!(reply.starts_with(code), "{words:.40} {reply}");
        }
    }

    #[tokio::test]
    async fn a_message_with_an_endless_line_is_refused_for_each_recipient() {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut client, store) = connect(folder.path(), Faults::default()).await;
        for words in TO_TWO {
            client.say(words).await;
        }
        client.say("DATA\r\n").await;
        let content = format!("Subject: x\r\n\r\n{}\r\n.\r\n", "x".repeat(300_000));
        assert!(client.say(&content).await.starts_with("500 "));
        assert!(client.reply().await.starts_with("500 "));
        assert!(texts(&store, "user2").is_empty());
        assert!(client.say("NOOP\r\n").await.starts_with("250 "));
    }

    #[tokio::test]
    async fn a_planned_fault_acknowledges_a_message_and_keeps_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut client, store) = connect(folder.path(), Faults { drop_every: 1, ..Faults::default() }).await;
        for words in &TO_TWO[..3] {
            client.say(words).await;
        }
        client.say("DATA\r\n").await;
        assert!(client.say("Subject: x\r\n\r\nx\r\n.\r\n").await.starts_with("250 "));
        assert!(texts(&store, "user2").is_empty());
    }
}
