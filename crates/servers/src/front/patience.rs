//! Patience with slow clients: a connection may be idle for long, but a request that has begun must arrive soon,
//! and an answer that has begun must be taken.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::Arc;
use std::task::{ready, Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// Time a client has for a head or a body it has begun, and for a TLS handshake.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// Time a client may take nothing of an answer. A line of 100,000 bytes/s takes some every second.
pub const STALL: Duration = Duration::from_secs(60);
const IDLE: u8 = 0;
const HEAD: u8 = 1;
const BODY: u8 = 2;
const LATE: &[u8] = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

/// Where the current request is; told by the service, read by the stream.
#[derive(Debug, Default)]
pub struct Watch(AtomicU8);

impl Watch {
    /// The head is here; the body has its own time from now on.
    pub fn head_is_complete(&self) {
        self.0.store(BODY, Ordering::Relaxed);
    }

    /// All of the request is here; nothing is due until the next one.
    pub fn request_is_complete(&self) {
        self.0.store(IDLE, Ordering::Relaxed);
    }
}

/// A stream that says 408 and ends when a head, once begun, does not arrive in time.
pub struct Patient<S> {
    inner: S,
    watch: Arc<Watch>,
    deadline: Option<Pin<Box<Sleep>>>,
    /// Runs while the client takes nothing of its answer.
    stall: Option<Pin<Box<Sleep>>>,
    refused: usize,
}

impl<S> Patient<S> {
    /// Watches over a connection's reading.
    pub fn new(inner: S, watch: Arc<Watch>) -> Self {
        Patient { inner, watch, deadline: None, stall: None, refused: 0 }
    }

    /// Passes a write's outcome on; one that makes no progress for too long becomes an error.
    fn taken<T>(&mut self, outcome: Poll<std::io::Result<T>>, context: &mut Context<'_>) -> Poll<std::io::Result<T>> {
        if outcome.is_ready() {
            self.stall = None;
            return outcome;
        }
        let stall = self.stall.get_or_insert_with(|| Box::pin(tokio::time::sleep(STALL)));
        ready!(stall.as_mut().poll(context));
        Poll::Ready(Err(std::io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let this = &mut *self;
        match Pin::new(&mut this.inner).poll_read(context, buffer) {
            Poll::Ready(result) => {
                let begun = this.watch.0.compare_exchange(IDLE, HEAD, Ordering::Relaxed, Ordering::Relaxed);
                if begun.is_ok() {
                    this.deadline = None;
                }
                Poll::Ready(result)
            }
            Poll::Pending if this.watch.0.load(Ordering::Relaxed) != HEAD => Poll::Pending,
            Poll::Pending => {
                let deadline = this.deadline.get_or_insert_with(|| Box::pin(tokio::time::sleep(PATIENCE)));
                ready!(deadline.as_mut().poll(context));
                while this.refused < LATE.len() {
                    this.refused += ready!(Pin::new(&mut this.inner).poll_write(context, &LATE[this.refused..]))?;
                }
                Poll::Ready(Err(std::io::ErrorKind::TimedOut.into()))
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, data: &[u8]) -> Poll<std::io::Result<usize>> {
        let outcome = Pin::new(&mut self.inner).poll_write(context, data);
        self.taken(outcome, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        let outcome = Pin::new(&mut self.inner).poll_flush(context);
        self.taken(outcome, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        let outcome = Pin::new(&mut self.inner).poll_write_vectored(context, pieces);
        self.taken(outcome, context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_nobody_takes_is_given_up() {
        let (stream, _client) = tokio::io::duplex(64);
        let mut patient = Patient::new(stream, Arc::new(Watch::default()));
        let begun = tokio::time::Instant::now();
        let error = patient.write_all(&[0; 1000]).await.expect_err("nobody reads");
        assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
        assert_eq!(begun.elapsed().as_secs(), STALL.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_slowly_but_reads_is_served() {
        let (stream, mut client) = tokio::io::duplex(64);
        let mut patient = Patient::new(stream, Arc::new(Watch::default()));
        let reader = tokio::spawn(async move {
            let mut piece = [0; 64];
            for _ in 0..10 {
                tokio::time::sleep(STALL / 2).await;
                client.read_exact(&mut piece).await.expect("still there");
            }
        });
        patient.write_all(&[0; 640]).await.expect("taken at last");
        reader.await.expect("no panic");
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_stops_half_way_is_told_so() {
        let (stream, mut client) = tokio::io::duplex(1024);
        let mut patient = Patient::new(stream, Arc::new(Watch::default()));
        client.write_all(b"GET /").await.expect("written");
        let mut head = Vec::new();
        let error = patient.read_to_end(&mut head).await.expect_err("it never ends");
        assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
        let mut said = [0; 12];
        client.read_exact(&mut said).await.expect("an answer");
        assert_eq!(&said, b"HTTP/1.1 408");
    }
}
