//! HTTP/1.1: one request, one answer, read at the speed of the user's line.
//!
//! `Reader` has the parsing. What is read stands in a buffer that all connections of a thread share, so that a waiting
//! connection holds none.

use std::pin::Pin;
use std::task::{ready, Context, Poll};

use loadstone_record::Fault;
use tokio::io::AsyncWrite;

use super::exchange::{Answer, ExchangeContext, Message};
use super::failure::Failure;
use super::reader::State;
use super::stream::Stream;

/// From how many bytes left of a body nobody looks at the kernel is asked to throw them away.
const WORTH_DISCARDING: u64 = 64 * 1024;

/// Bytes that are worth waking up for while a body is thrown away.
const LOW_WATER: u64 = 1 << 20;

/// What is still to be sent of a message. An answer may begin, and end, before all of it is sent (RFC 9112, section 9.5).
struct Unsent<'a> {
    rest: &'a [u8],
    is_flushed: bool,
    /// Why no more could be sent. Only an answer tells whether that matters.
    failure: Option<Failure>,
}

impl<'a> Unsent<'a> {
    fn new(message: &'a [u8], stream: &Stream) -> Self {
        Unsent { rest: message, is_flushed: !stream.is_buffered(), failure: None }
    }

    /// Whether the connection is to take no more.
    fn is_over(&self) -> bool {
        self.rest.is_empty() && self.is_flushed
    }

    /// Sends as much as the connection takes now.
    fn poll(&mut self, task: &mut Context<'_>, stream: &mut Stream) {
        while !self.is_over() {
            let sent = match self.rest {
                [] => Pin::new(&mut *stream).poll_flush(task).map_ok(|()| None),
                rest => Pin::new(&mut *stream).poll_write(task, rest).map_ok(Some),
            };
            match sent {
                Poll::Pending => return,
                Poll::Ready(Ok(Some(count @ 1..))) => self.rest = &self.rest[count..],
                Poll::Ready(Ok(None)) => self.is_flushed = true,
                Poll::Ready(Ok(Some(0))) => self.give_up(&std::io::ErrorKind::WriteZero.into()),
                Poll::Ready(Err(error)) => self.give_up(&error),
            }
        }
    }

    fn give_up(&mut self, error: &std::io::Error) {
        (self.rest, self.is_flushed, self.failure) = (&[], true, Some(Failure::from_io(error)));
    }
}

/// Sends a message and reads its answer to the end.
pub async fn exchange(
    stream: &mut Stream,
    context: &mut ExchangeContext<'_>,
    message: &Message<'_>,
) -> Result<Answer, Failure> {
    context.reader.begin(message.body, message.wants_date);
    let mut unsent = Unsent::new(message.bytes, stream);
    let mut first_byte_ns = None;
    let mut end_ns = loop {
        let state = match read(stream, context, message, &mut unsent, first_byte_ns.is_none()).await {
            Err(failure) if context.reader.received == 0 => return Err(unsent.failure.take().unwrap_or(failure)),
            state => state?,
        };
        let now = context.clock.now();
        first_byte_ns.get_or_insert(now);
        if state == State::Complete {
            break now;
        }
    };
    context.reader.wake_at(1, stream);
    context.inspector.end().map_err(|why| Failure::new(Fault::Coding, why))?;
    if context.line.is_limited() {
        end_ns = context.line.free_at();
        context.timer.sleep_until(end_ns).await;
    }
    let reader = &context.reader;
    Ok(Answer {
        status: reader.status,
        bytes: reader.received,
        body_bytes: context.inspector.body_bytes(),
        first_byte_ns: first_byte_ns.unwrap_or(end_ns),
        end_ns,
        keep_alive: reader.leaves_open() && unsent.is_over() && unsent.failure.is_none(),
    })
}

/// Takes the next piece when the line has delivered what came before.
async fn read(
    stream: &mut Stream,
    context: &mut ExchangeContext<'_>,
    message: &Message<'_>,
    unsent: &mut Unsent<'_>,
    first: bool,
) -> Result<State, Failure> {
    let limited = context.line.is_limited();
    if limited && !first {
        context.timer.sleep_until(context.line.free_at()).await;
    }
    let mut waited = false;
    std::future::poll_fn(|task| {
        unsent.poll(task, stream);
        let ExchangeContext { scratch, line, reader, inspector, jar, clock, .. } = context;
        let unseen = reader.unseen(inspector);
        let mut scratch = scratch.borrow_mut();
        let discards = unseen >= WORTH_DISCARDING && !limited && !stream.is_buffered();
        reader.wake_at(if discards { unseen.min(LOW_WATER) as u32 } else { 1 }, stream);
        let polled = match discards {
            true => stream.poll_discard(task, scratch.nowhere(unseen)).map_ok(Piece::Discarded),
            false => stream.poll_piece(task, scratch.room(limited)).map_ok(Piece::Read),
        };
        if polled.is_pending() {
            waited = true;
        }
        let piece = ready!(polled).map_err(|error| Failure::from_io(&error))?;
        if limited {
            // What needed no waiting had been in the buffer while the line was busy.
            let arrived = if waited || first { clock.now() } else { line.free_at() };
            line.deliver(arrived, piece.bytes());
        }
        Poll::Ready(match piece {
            Piece::Discarded(count) => reader.skip(count as u64, inspector),
            Piece::Read(count) => {
                let mut jar = jar.borrow_mut();
                let mut cookies = message.cookies(&mut jar);
                reader.take(scratch.read(count), inspector, &mut cookies)
            }
        })
    })
    .await
}

enum Piece {
    Read(usize),
    Discarded(usize),
}

impl Piece {
    fn bytes(&self) -> usize {
        let (Piece::Read(count) | Piece::Discarded(count)) = *self;
        count
    }
}
