//! Patience with slow clients: a connection may be idle for long, but a request that has begun must arrive soon.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::Arc;
use std::task::{ready, Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use super::PATIENCE;

const IDLE: u8 = 0;
const HEAD: u8 = 1;
const BODY: u8 = 2;
const LATE: &[u8] = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

/// Where the current request is; told by the service, read by the stream.
#[derive(Debug, Default)]
pub struct Watch(AtomicU8);

impl Watch {
    pub fn head_is_complete(&self) {
        self.0.store(BODY, Ordering::Relaxed);
    }

    pub fn request_is_complete(&self) {
        self.0.store(IDLE, Ordering::Relaxed);
    }
}

/// A stream that says 408 and ends when a head, once begun, does not arrive in time.
pub struct Patient<S> {
    inner: S,
    watch: Arc<Watch>,
    deadline: Option<Pin<Box<Sleep>>>,
    refused: usize,
}

impl<S> Patient<S> {
    pub fn new(inner: S, watch: Arc<Watch>) -> Self {
        Patient { inner, watch, deadline: None, refused: 0 }
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
        Pin::new(&mut self.inner).poll_write(context, data)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
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
        Pin::new(&mut self.inner).poll_write_vectored(context, pieces)
    }
}
