//! The mail role: an IMAP4rev1 server (RFC 3501) over mailboxes on disk, and in `lmtp` what accepts mail for them. Commands are parsed by a library; extensions
//! there are none.

mod faults;
mod fetch;
pub mod lmtp;
mod search;
mod session;
pub mod store;
mod structure;
mod words;

use std::sync::Arc;
use std::time::Duration;

use imap_codec::decode::{CommandDecodeError, Decoder};
use imap_codec::imap_types::command::Command;
use imap_codec::imap_types::IntoStatic;
use imap_codec::CommandCodec;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub use faults::Faults;
use session::{Session, Turn};
use store::Store;

/// Longest command without its literals, and longest literal.
const MOST_COMMAND_BYTES: usize = 64 * 1024;
const MOST_LITERAL_BYTES: u32 = 64 * 1024 * 1024;
/// Time an idle client is kept (RFC 3501, 5.4: at least 30 minutes).
const IDLE: Duration = Duration::from_secs(1800);
/// Bytes read at once.
const PIECE: usize = 32 * 1024;

/// Accepts connections for ever.
pub async fn serve(listener: TcpListener, store: Arc<Store>, password: Arc<str>, faults: Faults) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let session = Session::new(store.clone(), password.clone(), faults);
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

/// What the bytes at hand amount to.
enum Heard {
    Command {
        command: Box<Command<'static>>,
        length: usize,
    },
    More,
    /// The client waits to be told to go on with so many bytes.
    Literal {
        length: u32,
        tag: String,
    },
    Nonsense,
}

fn hear(held: &[u8]) -> Heard {
    match CommandCodec::default().decode(held) {
        Ok((rest, command)) => {
            Heard::Command { length: held.len() - rest.len(), command: Box::new(command.into_static()) }
        }
        Err(CommandDecodeError::Incomplete) => Heard::More,
        Err(CommandDecodeError::LiteralFound { tag, length, .. }) => {
            Heard::Literal { length, tag: tag.inner().to_owned() }
        }
        Err(CommandDecodeError::Failed) => Heard::Nonsense,
    }
}

async fn converse(mut stream: TcpStream, session: Session) -> std::io::Result<()> {
    stream.write_all(b"* OK [CAPABILITY IMAP4rev1] loadstone-server mail is ready\r\n").await?;
    let mut session = Some(session);
    let mut held: Vec<u8> = Vec::new();
    let mut wanted = 1;
    loop {
        while held.len() < wanted {
            let before = held.len();
            held.reserve(PIECE.max(wanted - before));
            match tokio::time::timeout(IDLE, stream.read_buf(&mut held)).await {
                Ok(Ok(0)) => return Ok(()),
                Ok(read) => read?,
                Err(_) => return stream.write_all(b"* BYE idle for too long\r\n").await,
            };
        }
        match hear(&held) {
            Heard::Command { command, length } => {
                held.drain(..length);
                wanted = usize::from(held.is_empty());
                let Some(mut turn) = session.take() else { return Ok(()) };
                let (said, back) = tokio::task::spawn_blocking(move || (turn.perform(&command), turn)).await?;
                session = Some(back);
                stream.write_all(&said.bytes).await?;
                if said.turn == Turn::Over {
                    return stream.shutdown().await;
                }
            }
            Heard::Literal { length, tag } if length > MOST_LITERAL_BYTES => {
                let no = format!("{tag} NO a literal of {length} bytes is too long\r\n* BYE too long\r\n");
                return stream.write_all(no.as_bytes()).await;
            }
            Heard::Literal { length, .. } => {
                stream.write_all(b"+ ready\r\n").await?;
                // The line goes on, or ends, behind it; a client that did not wait has sent some of it already.
                let announced = format!("{{{length}}}\r\n");
                let start =
                    memchr::memmem::rfind(&held, announced.as_bytes()).map_or(held.len(), |at| at + announced.len());
                wanted = start + length as usize + 2;
            }
            Heard::More if held.len() > MOST_COMMAND_BYTES + MOST_LITERAL_BYTES as usize => {
                return stream.write_all(b"* BYE too long a command\r\n").await;
            }
            Heard::More => wanted = held.len() + 1,
            Heard::Nonsense => {
                let line = held.iter().position(|&byte| byte == b'\n').map_or(held.len(), |at| at + 1);
                let tag = String::from_utf8_lossy(&held[..line]);
                let tag: String = tag.chars().take_while(char::is_ascii_alphanumeric).collect();
                held.drain(..line);
                wanted = usize::from(held.is_empty());
                let tag = if tag.is_empty() { "*" } else { &tag };
                stream.write_all(format!("{tag} BAD unknown command\r\n").as_bytes()).await?;
            }
        }
    }
}
