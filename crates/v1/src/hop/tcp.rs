//! TCP connections whose answer is read although they were reset while the request was being sent.
//!
//! A server may answer before it has read the request, for example 413 to a large upload, and close the connection at
//! once. The kernel then resets the connection, and the next write fails. hyper would end the exchange with this error,
//! although the answer has arrived and can be read. So the failed write and all later ones are thrown away here, and
//! reads go on. When there is no whole answer, a read ends the exchange as the failed write would have.
//!
//! The connection is below TLS, so that this also works through TLS. May use: nothing of this crate.

use http::Uri;
use hyper_rustls::MaybeHttpsStream;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use std::io::{self, ErrorKind, IoSlice, Read};
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tower::Service;

/// A connector for [`Tcp`].
#[derive(Debug, Clone)]
pub(super) struct TcpConnector(pub(super) HttpConnector);

impl Service<Uri> for TcpConnector {
    type Response = TokioIo<Tcp>;
    type Error = <HttpConnector as Service<Uri>>::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, address: Uri) -> Self::Future {
        let connecting = self.0.call(address);
        Box::pin(async move {
            let tcp = connecting.await?.into_inner();
            Ok(TokioIo::new(Tcp { state: State::Open(tcp), reads_on: false }))
        })
    }
}

/// A TCP connection. It reads on after a failed write once [`read_on`] has said so.
pub(super) struct Tcp {
    state: State,
    reads_on: bool,
}

enum State {
    Open(TcpStream),
    /// A write has failed with this error. The socket waits for nothing any more: what arrived before the reset can be
    /// read at once, and nothing else will come. A read that never waits also shows hyper the end of the connection
    /// together with the end of the answer, so that no other request gets this connection.
    Reset(std::net::TcpStream, io::Error),
    /// The connection is gone.
    Gone,
}

/// Lets `connection` read on after a failed write. Called only when TLS is set up: a write that fails before must end
/// the connecting, because then nothing of a request was sent. Not for HTTP/2, where a connection is for many requests.
pub(super) fn read_on(connection: &mut MaybeHttpsStream<TokioIo<Tcp>>) {
    let tcp = match connection {
        MaybeHttpsStream::Http(tcp) => tcp,
        MaybeHttpsStream::Https(tls) => tls.inner_mut().get_mut().0.inner_mut(),
    };
    tcp.inner_mut().reads_on = true;
}

impl Tcp {
    /// Writes `length` bytes by `write`, or throws them away when the connection has been reset.
    fn write(
        &mut self,
        cx: &mut Context<'_>,
        length: impl FnOnce() -> usize,
        write: impl FnOnce(Pin<&mut TcpStream>, &mut Context<'_>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let written = match &mut self.state {
            State::Open(tcp) => write(Pin::new(tcp), cx),
            State::Reset(..) => return Poll::Ready(Ok(length())),
            State::Gone => return Poll::Ready(Err(ErrorKind::BrokenPipe.into())),
        };
        match written {
            Poll::Ready(Err(fault)) if self.reads_on && is_reset(&fault) => {
                self.reset(fault)?;
                // No event of the socket wakes the reader any more.
                cx.waker().wake_by_ref();
                Poll::Ready(Ok(length()))
            }
            written => written,
        }
    }

    #[cold]
    fn reset(&mut self, fault: io::Error) -> io::Result<()> {
        if let State::Open(tcp) = mem::replace(&mut self.state, State::Gone) {
            self.state = State::Reset(tcp.into_std()?, fault);
        }
        Ok(())
    }
}

fn is_reset(fault: &io::Error) -> bool {
    matches!(fault.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted)
}

/// Reads what has arrived before the reset.
fn read_rest(mut socket: &std::net::TcpStream, fault: &io::Error, buffer: &mut ReadBuf<'_>) -> io::Result<()> {
    let again = || fault.raw_os_error().map_or_else(|| fault.kind().into(), io::Error::from_raw_os_error);
    if buffer.remaining() == 0 {
        return Ok(());
    }
    match socket.read(buffer.initialize_unfilled()) {
        // On Linux it is a broken pipe when the server had announced the end of its answer. Otherwise a part may be
        // missing.
        Ok(0) if fault.kind() != ErrorKind::BrokenPipe => Err(again()),
        Ok(read) => {
            buffer.advance(read);
            Ok(())
        }
        Err(error) if error.kind() == ErrorKind::WouldBlock => Err(again()),
        Err(error) => Err(error),
    }
}

impl AsyncRead for Tcp {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match &mut self.state {
            State::Open(tcp) => Pin::new(tcp).poll_read(cx, buffer),
            State::Reset(socket, fault) => Poll::Ready(read_rest(socket, fault, buffer)),
            State::Gone => Poll::Ready(Err(ErrorKind::BrokenPipe.into())),
        }
    }
}

impl AsyncWrite for Tcp {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.write(cx, || bytes.len(), |tcp, cx| tcp.poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let length = || pieces.iter().map(|piece| piece.len()).sum();
        self.write(cx, length, |tcp, cx| tcp.poll_write_vectored(cx, pieces))
    }

    fn is_write_vectored(&self) -> bool {
        match &self.state {
            State::Open(tcp) => tcp.is_write_vectored(),
            State::Reset(..) | State::Gone => false,
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.state {
            State::Open(tcp) => Pin::new(tcp).poll_flush(cx),
            State::Reset(..) | State::Gone => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.state {
            State::Open(tcp) => Pin::new(tcp).poll_shutdown(cx),
            State::Reset(..) | State::Gone => Poll::Ready(Ok(())),
        }
    }
}

impl Connection for Tcp {
    fn connected(&self) -> Connected {
        match &self.state {
            State::Open(tcp) => tcp.connected(),
            State::Reset(..) | State::Gone => Connected::new(),
        }
    }
}
