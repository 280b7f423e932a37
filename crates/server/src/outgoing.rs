//! Connections whose outgoing bytes somebody has a say in.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// What is done with bytes on their way out.
pub(crate) trait Outgoing<S> {
    /// Writes some of these bytes to the stream, or others in their place; how many of these are dealt with.
    fn poll_write(
        &mut self,
        stream: &mut S,
        cx: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>>;
}

/// A connection that writes by `outgoing`; everything else goes by as it is.
pub(crate) struct Connection<S, O> {
    stream: S,
    outgoing: O,
}

impl<S, O: Default> Connection<S, O> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream, outgoing: O::default() }
    }
}

impl<S: AsyncRead + Unpin, O: Unpin> AsyncRead for Connection<S, O> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin, O: Outgoing<S> + Unpin> AsyncWrite for Connection<S, O> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let Self { stream, outgoing } = &mut *self;
        outgoing.poll_write(stream, cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
