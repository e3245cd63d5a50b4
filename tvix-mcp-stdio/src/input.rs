//! Standard input that ends when the process is asked to end.

use std::{
    future::Future,
    io,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, ReadBuf};

/// Reads from `inner` until `stop` is done, and is at its end from then on.
///
/// A signal to end is thus handled like a client that closes the pipe: what is in flight is finished and
/// answered.
pub(crate) struct Until<R> {
    inner: R,
    stop: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl<R> Until<R> {
    pub(crate) fn new(inner: R, stop: impl Future<Output = ()> + Send + 'static) -> Self {
        Self { inner, stop: Some(Box::pin(stop)) }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Until<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let stopped = self.stop.as_mut().is_none_or(|stop| stop.as_mut().poll(context).is_ready());
        if stopped {
            self.stop = None;
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}
