//! A connection to an IMAP server: commands out, responses in. Responses are parsed by a library.

use std::net::SocketAddr;

use imap_codec::decode::{Decoder, GreetingDecodeError, ResponseDecodeError};
use imap_codec::imap_types::response::{GreetingKind, Response, Status, StatusKind};
use imap_codec::{GreetingCodec, ResponseCodec};
use loadstone_record::Fault;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::transport::stream::{connect, Intake};
use crate::transport::Failure;

/// Bytes read at once.
const PIECE: usize = 32 * 1024;
/// Longest response.
const MOST_BYTES: usize = 128 * 1024 * 1024;

/// An open connection.
pub struct Link {
    stream: TcpStream,
    held: Vec<u8>,
    commands: u32,
    /// Bytes received so far.
    pub received: u64,
}

/// What a response was, once it has been looked at.
enum Heard {
    /// It is done with, so many bytes.
    Done(usize),
    /// At least so many bytes must be held for it.
    More(usize),
}

impl Link {
    /// Connects and reads the greeting.
    pub async fn open(address: SocketAddr) -> Result<Self, Failure> {
        let stream = connect(address, Intake::Unlimited, 1).await?;
        let mut link = Link { stream, held: Vec::new(), commands: 0, received: 0 };
        loop {
            let length = match GreetingCodec::default().decode(&link.held) {
                Ok((rest, greeting)) if greeting.kind == GreetingKind::Ok => link.held.len() - rest.len(),
                Ok((_, greeting)) => {
                    return Err(Failure::new(Fault::Status, format!("greeted with {:?}", greeting.kind)))
                }
                Err(GreetingDecodeError::Incomplete) => {
                    link.read(link.held.len() + 1).await?;
                    continue;
                }
                Err(GreetingDecodeError::Failed) => return Err(nonsense(&link.held)),
            };
            link.held.drain(..length);
            return Ok(link);
        }
    }

    /// Sends a command, with a literal at its end if there is one, and hands every untagged response to `hear` until the
    /// tagged one has come. A refusal is a wrong status.
    pub async fn command(
        &mut self,
        words: &str,
        literal: Option<&[u8]>,
        mut hear: impl FnMut(&Response<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.commands += 1;
        let tag = format!("A{}", self.commands);
        let line = match literal {
            Some(content) => format!("{tag} {words} {{{}}}\r\n", content.len()),
            None => format!("{tag} {words}\r\n"),
        };
        self.send(line.as_bytes()).await?;
        let mut rest = literal;
        loop {
            let mut goes_on = false;
            let mut end = None;
            let mut trouble = None;
            let heard = match ResponseCodec::default().decode(&self.held) {
                Ok((left, response)) => {
                    match &response {
                        Response::CommandContinuationRequest(_) => goes_on = true,
                        Response::Status(Status::Tagged(tagged)) if tagged.tag.inner() == tag => {
                            end = Some((tagged.body.kind, tagged.body.text.inner().to_owned()));
                        }
                        other => trouble = hear(other).err(),
                    }
                    Heard::Done(self.held.len() - left.len())
                }
                Err(ResponseDecodeError::Incomplete) => Heard::More(self.held.len() + 1),
                Err(ResponseDecodeError::LiteralFound { length }) => {
                    Heard::More((self.held.len() + 1).max(length as usize))
                }
                Err(ResponseDecodeError::Failed) => return Err(nonsense(&self.held)),
            };
            match heard {
                Heard::More(wanted) => self.read(wanted).await?,
                Heard::Done(length) => drop(self.held.drain(..length)),
            }
            if let Some(failure) = trouble {
                return Err(failure);
            }
            match end {
                Some((StatusKind::Ok, _)) => return Ok(()),
                Some((kind, text)) => {
                    let verb = words.split(' ').next().unwrap_or_default();
                    return Err(Failure::new(Fault::Status, format!("{verb} was answered {kind:?}: {text}")));
                }
                None => {}
            }
            if let Some(content) = rest.take_if(|_| goes_on) {
                self.send(content).await?;
                self.send(b"\r\n").await?;
            }
        }
    }

    async fn send(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.stream.write_all(bytes).await.map_err(|error| Failure::from_io(&error))
    }

    /// Reads until so many bytes are held.
    async fn read(&mut self, wanted: usize) -> Result<(), Failure> {
        if wanted > MOST_BYTES {
            return Err(Failure::new(Fault::HeadTooLarge, format!("a response of {wanted} bytes")));
        }
        while self.held.len() < wanted {
            self.held.reserve(PIECE.max(wanted - self.held.len()));
            match self.stream.read_buf(&mut self.held).await.map_err(|error| Failure::from_io(&error))? {
                0 => return Err(Failure::new(Fault::ClosedEarly, "closed before the answer was complete")),
                count => self.received += count as u64,
            }
        }
        Ok(())
    }
}

fn nonsense(held: &[u8]) -> Failure {
    let start = String::from_utf8_lossy(&held[..held.len().min(60)]).escape_debug().to_string();
    Failure::new(Fault::Malformed, format!("`{start}` is not a valid IMAP response"))
}
