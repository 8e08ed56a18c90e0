//! A connection that hands mail to a server, by SMTP (RFC 5321) or LMTP (RFC 2033): one message, then the end.

use std::net::SocketAddr;

use loadstone_record::Fault;
use loadstone_schedule::plan::DeliveryProtocol;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::transport::stream::{connect, Intake};
use crate::transport::Failure;

/// Longest line of a reply, with its end (RFC 5321, section 4.5.3.1.5).
const MOST_LINE_BYTES: usize = 512;
/// Lines of one reply at most; servers list their extensions in one.
const MOST_LINES: usize = 64;
/// Name that the driver introduces itself by.
const CLIENT_NAME: &str = "driver.loadstone.example";

/// A message and the addresses of its envelope.
pub struct Envelope<'a> {
    pub from: &'a str,
    pub to: &'a [String],
    pub text: &'a [u8],
}

/// How the server answered for one recipient.
pub type Receipt = Result<(), Failure>;

/// A connection that was greeted.
pub struct SmtpLink {
    stream: TcpStream,
    protocol: DeliveryProtocol,
    held: Vec<u8>,
    /// Bytes received so far.
    pub received: u64,
}

/// A complete reply.
#[derive(Debug, PartialEq, Eq)]
struct Reply {
    code: u16,
    /// Of its last line.
    text: String,
}

impl Reply {
    /// Returns an error unless the code is `code`.
    fn require(&self, code: u16, command: &str) -> Result<(), Failure> {
        match self.code == code {
            true => Ok(()),
            false => Err(Failure::new(
                Fault::Status,
                format!("{command} was answered {} instead of {code}: {}", self.code, self.text),
            )),
        }
    }
}

impl SmtpLink {
    /// Connects, reads the greeting and introduces the driver.
    pub async fn open(address: SocketAddr, protocol: DeliveryProtocol) -> Result<Self, Failure> {
        let stream = connect(address, Intake::Unlimited, 1).await?;
        let mut link = SmtpLink { stream, protocol, held: Vec::new(), received: 0 };
        link.read_reply().await?.require(220, "the connection")?;
        let hello = if protocol == DeliveryProtocol::Lmtp { "LHLO" } else { "EHLO" };
        link.command(&format!("{hello} {CLIENT_NAME}"), hello, 250).await?;
        Ok(link)
    }

    /// Sends a message; returns what the server answered for each recipient. An error concerns all recipients, and none
    /// of them may have got the message when `may_have_arrived` was not called.
    pub async fn send(
        &mut self,
        envelope: &Envelope<'_>,
        may_have_arrived: impl FnOnce(),
    ) -> Result<Vec<Receipt>, Failure> {
        self.command(&format!("MAIL FROM:<{}>", envelope.from), "MAIL", 250).await?;
        for recipient in envelope.to {
            self.command(&format!("RCPT TO:<{recipient}>"), "RCPT", 250).await?;
        }
        self.command("DATA", "DATA", 354).await?;
        let mut content = Vec::with_capacity(envelope.text.len() + 64);
        stuff(envelope.text, &mut content);
        // The server may accept the message from here on, whether its answer comes or not.
        may_have_arrived();
        self.write(&content).await?;
        let answers = if self.protocol == DeliveryProtocol::Lmtp { envelope.to.len() } else { 1 };
        let mut receipts = Vec::with_capacity(envelope.to.len());
        for _ in 0..answers {
            receipts.push(match self.read_reply().await {
                Ok(reply) => reply.require(250, "the message"),
                Err(failure) if receipts.is_empty() => return Err(failure),
                Err(failure) => Err(failure),
            });
        }
        if let ([receipt], DeliveryProtocol::Smtp) = (receipts.as_slice(), self.protocol) {
            receipts = vec![receipt.clone(); envelope.to.len()];
        }
        Ok(receipts)
    }

    /// Ends the connection as RFC 5321 asks for (section 4.1.1.10).
    pub async fn quit(&mut self) -> Result<(), Failure> {
        self.command("QUIT", "QUIT", 221).await
    }

    async fn command(&mut self, words: &str, verb: &str, code: u16) -> Result<(), Failure> {
        self.write(format!("{words}\r\n").as_bytes()).await?;
        self.read_reply().await?.require(code, verb)
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.stream.write_all(bytes).await.map_err(|error| Failure::from_io(&error))
    }

    /// Reads a reply of one or several lines (RFC 5321, section 4.2.1).
    async fn read_reply(&mut self) -> Result<Reply, Failure> {
        let mut first = None;
        for _ in 0..MOST_LINES {
            let line = self.read_line().await?;
            let (code, is_last, text) = parse_line(&line)
                .filter(|(code, ..)| *first.get_or_insert(*code) == *code)
                .ok_or_else(|| malformed(&line))?;
            if is_last {
                return Ok(Reply { code, text: text.to_owned() });
            }
        }
        Err(Failure::new(Fault::HeadTooLarge, format!("a reply of more than {MOST_LINES} lines")))
    }

    /// Reads a line without its end.
    async fn read_line(&mut self) -> Result<Vec<u8>, Failure> {
        let mut seen = 0;
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.held[seen..]).map(|at| seen + at) {
                let mut line: Vec<u8> = self.held.drain(..=at).collect();
                line.pop();
                line.pop_if(|byte| *byte == b'\r');
                return Ok(line);
            }
            seen = self.held.len();
            if seen > MOST_LINE_BYTES {
                return Err(Failure::new(Fault::HeadTooLarge, format!("a reply line of more than {seen} bytes")));
            }
            self.held.reserve(MOST_LINE_BYTES);
            match self.stream.read_buf(&mut self.held).await.map_err(|error| Failure::from_io(&error))? {
                0 => return Err(Failure::new(Fault::ClosedEarly, "closed before the reply was complete")),
                count => self.received += count as u64,
            }
        }
    }
}

/// Returns code, whether it is the reply's last line, and its text; None for anything else.
fn parse_line(line: &[u8]) -> Option<(u16, bool, &str)> {
    let line = std::str::from_utf8(line).ok().filter(|line| line.len() <= MOST_LINE_BYTES)?;
    let code = line.get(..3).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    let code = code.parse().ok().filter(|code| (200..600).contains(code))?;
    match line.as_bytes().get(3) {
        None => Some((code, true, "")),
        Some(b' ') => Some((code, true, &line[4..])),
        Some(b'-') => Some((code, false, &line[4..])),
        Some(_) => None,
    }
}

/// Writes a text as the content of DATA: a dot at the start of a line is doubled, and a line with one dot ends it (RFC
/// 5321, section 4.5.2).
fn stuff(text: &[u8], out: &mut Vec<u8>) {
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        if line.starts_with(b".") {
            out.push(b'.');
        }
        out.extend_from_slice(line);
    }
    if !text.is_empty() && !text.ends_with(b"\r\n") {
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b".\r\n");
}

fn malformed(line: &[u8]) -> Failure {
    let start = String::from_utf8_lossy(&line[..line.len().min(60)]).escape_debug().to_string();
    Failure::new(Fault::Malformed, format!("`{start}` is not a valid reply of a mail server"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::net::TcpListener;

    use super::*;

    /// Replies to the greeting, LHLO, MAIL, two times RCPT, DATA, the content of two recipients, and QUIT.
    const GOOD: [&str; 9] = [
        "220 ready\r\n",
        "250-here\r\n250-SIZE 1000\r\n250 8BITMIME\r\n",
        "250 ok\r\n",
        "250 ok\r\n",
        "250\r\n",
        "354 go on\r\n",
        "250 kept\r\n",
        "250 kept\r\n",
        "221 bye\r\n",
    ];
    const TEXT: &[u8] = b"Subject: dots\r\n\r\n.\r\n..two\r\nend.\r\n";

    /// Plays a server with these replies, each after a command, in pieces of so many bytes; returns what was sent.
    async fn serve(listener: TcpListener, replies: Vec<String>, piece: usize) -> String {
        let (mut stream, _) = listener.accept().await.expect("a client");
        stream.set_nodelay(true).expect("a socket");
        let (mut said, mut heard) = (0, Vec::new());
        for reply in replies {
            for part in reply.as_bytes().chunks(piece) {
                if stream.write_all(part).await.is_err() {
                    break;
                }
                tokio::task::yield_now().await;
            }
            // The content has an answer for each recipient, and one end.
            if heard.ends_with(b"\r\n.\r\n") && said == 6 {
                said = 7;
                continue;
            }
            let is_content = reply.starts_with("354");
            let end: &[u8] = if is_content { b"\r\n.\r\n" } else { b"\r\n" };
            let from = heard.len();
            while !heard[from..].ends_with(end) {
                if matches!(stream.read_buf(&mut heard).await, Ok(0) | Err(_)) {
                    break;
                }
            }
            said = if is_content { 6 } else { said };
        }
        String::from_utf8_lossy(&heard).into_owned()
    }

    async fn play(
        replies: &[&str],
        piece: usize,
        protocol: DeliveryProtocol,
    ) -> (Result<Vec<Receipt>, Failure>, bool, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let replies = replies.iter().map(|&reply| reply.to_owned()).collect();
        let server = tokio::spawn(serve(listener, replies, piece));
        let mut may_have_arrived = false;
        let sent = async {
            let mut link = SmtpLink::open(address, protocol).await?;
            let to = ["user2@loadstone.example".to_owned(), "user3@loadstone.example".to_owned()];
            let envelope = Envelope { from: "user1@loadstone.example", to: &to, text: TEXT };
            let receipts = link.send(&envelope, || may_have_arrived = true).await?;
            let _ = link.quit().await; // a server that closed has none
            Ok(receipts)
        };
        let sent = tokio::time::timeout(Duration::from_secs(60), sent).await.expect("no reply is waited for for ever");
        (sent, may_have_arrived, server.await.expect("the server ends"))
    }

    fn changed(at: usize, reply: &'static str) -> Vec<&'static str> {
        let mut replies = GOOD.to_vec();
        replies[at] = reply;
        replies
    }

    fn fault(sent: &Result<Vec<Receipt>, Failure>) -> Option<Fault> {
        sent.as_ref().err().map(|failure| failure.fault)
    }

    #[tokio::test]
    async fn a_message_is_sent_with_doubled_dots_and_each_recipient_has_an_answer() {
        for piece in [1, 3, 4096] {
            let (sent, may_have_arrived, heard) = play(&GOOD, piece, DeliveryProtocol::Lmtp).await;
            assert_eq!((sent.expect("sent").iter().filter(|one| one.is_ok()).count(), may_have_arrived), (2, true));
            assert_eq!(
                heard,
                "LHLO driver.loadstone.example\r\nMAIL FROM:<user1@loadstone.example>\r\n\
                 RCPT TO:<user2@loadstone.example>\r\nRCPT TO:<user3@loadstone.example>\r\nDATA\r\n\
                 Subject: dots\r\n\r\n..\r\n...two\r\nend.\r\n.\r\nQUIT\r\n"
            );
        }
    }

    #[tokio::test]
    async fn over_smtp_one_answer_is_for_all_recipients() {
        let mut replies = GOOD.to_vec();
        replies.remove(7);
        let (sent, _, heard) = play(&replies, 4096, DeliveryProtocol::Smtp).await;
        assert_eq!(sent.expect("sent").len(), 2);
        assert!(heard.starts_with("EHLO "));
    }

    #[tokio::test]
    async fn a_refused_recipient_of_lmtp_concerns_that_one_alone() {
        let (sent, ..) = play(&changed(7, "452 full\r\n"), 4096, DeliveryProtocol::Lmtp).await;
        let receipts = sent.expect("sent");
        assert!(receipts[0].is_ok());
        assert!(receipts[1].as_ref().is_err_and(|why| why.detail.contains("452 instead of 250: full")));
    }

    #[tokio::test]
    async fn every_wrong_code_is_an_error_and_before_the_content_nothing_has_arrived() {
        let wrong = ["554 no\r\n", "500 what\r\n", "450 later\r\n", "550 who\r\n", "251 elsewhere\r\n", "250 ok\r\n"];
        for (at, reply) in wrong.into_iter().enumerate() {
            let (sent, may_have_arrived, _) = play(&changed(at, reply), 4096, DeliveryProtocol::Lmtp).await;
            assert_eq!((fault(&sent), may_have_arrived), (Some(Fault::Status), false), "reply {at}");
        }
    }

    #[tokio::test]
    async fn a_server_that_closes_after_the_content_leaves_the_message_in_doubt() {
        let (sent, may_have_arrived, _) = play(&GOOD[..6], 4096, DeliveryProtocol::Lmtp).await;
        assert_eq!((fault(&sent), may_have_arrived), (Some(Fault::ClosedEarly), true));
    }

    #[tokio::test]
    async fn one_that_closes_after_the_first_answer_leaves_the_second_in_doubt() {
        let (sent, ..) = play(&GOOD[..7], 4096, DeliveryProtocol::Lmtp).await;
        let receipts = sent.expect("one answer came");
        assert!(receipts[0].is_ok());
        assert!(receipts[1].as_ref().is_err_and(|why| why.fault == Fault::ClosedEarly));
    }

    #[tokio::test]
    async fn endless_and_malformed_replies_are_refused() {
        let (endless_line, endless_reply) = ("2".repeat(4096), "250-more\r\n".repeat(200));
        for (reply, expected) in [
            (endless_line.as_str(), Fault::HeadTooLarge),
            (endless_reply.as_str(), Fault::HeadTooLarge),
            ("HTTP/1.1 200 OK\r\n", Fault::Malformed),
            ("250-one\r\n550 other\r\n", Fault::Malformed),
            ("999 what\r\n", Fault::Malformed),
            ("2500 what\r\n", Fault::Malformed),
            ("\r\n", Fault::Malformed),
        ] {
            let (sent, ..) = play(&["220 ready\r\n", reply], 4096, DeliveryProtocol::Lmtp).await;
            assert_eq!(fault(&sent), Some(expected), "{reply:.20}");
        }
    }

    #[test]
    fn a_text_without_a_line_end_gets_one() {
        let mut out = Vec::new();
        stuff(b".a", &mut out);
        assert_eq!(out, b"..a\r\n.\r\n");
        out.clear();
        stuff(b"", &mut out);
        assert_eq!(out, b".\r\n");
    }
}
