//! TCP echo (RFC 862): the message comes back unchanged. With a few bytes it is a ping.

use std::task::{ready, Poll};

use loadstone_record::Fault;
use tokio::io::AsyncWriteExt;

use super::exchange::{Answer, ExchangeContext, Message};
use super::failure::Failure;
use super::stream::Stream;

/// Bytes under way at once; they fit into any socket's buffers, so neither side waits for the other to read.
const WINDOW: usize = 16 * 1024;

/// Sends a message and waits for all of it to return.
pub async fn exchange(
    stream: &mut Stream,
    context: &mut ExchangeContext<'_>,
    message: &Message<'_>,
) -> Result<Answer, Failure> {
    let mut first_byte_ns = None;
    for window in message.bytes.chunks(WINDOW) {
        stream.write_all(window).await.map_err(|error| Failure::from_io(&error))?;
        stream.flush().await.map_err(|error| Failure::from_io(&error))?;
        let mut returned = 0;
        while returned < window.len() {
            returned += take(stream, context, &window[returned..]).await?;
            first_byte_ns.get_or_insert_with(|| context.clock.now());
        }
    }
    let end_ns = context.clock.now();
    let (bytes, first_byte_ns) = (message.bytes.len() as u64, first_byte_ns.unwrap_or(end_ns));
    context.inspector.skip(bytes);
    Ok(Answer { status: 200, bytes, body_bytes: bytes, first_byte_ns, end_ns, keep_alive: true })
}

/// The next piece that returns; how much of `expected` it is.
async fn take(stream: &mut Stream, context: &mut ExchangeContext<'_>, expected: &[u8]) -> Result<usize, Failure> {
    std::future::poll_fn(|task| {
        let mut scratch = context.scratch.borrow_mut();
        let count = ready!(stream.poll_piece(task, scratch.room(false))).map_err(|error| Failure::from_io(&error))?;
        let piece = scratch.read(count);
        Poll::Ready(match count {
            0 => Err(Failure::new(Fault::ClosedEarly, "closed before all had returned")),
            _ if expected.starts_with(piece) => Ok(count),
            _ => Err(Failure::new(Fault::Content, "what returned is not what was sent")),
        })
    })
    .await
}
