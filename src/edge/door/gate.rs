//! The gate between socket and hyper: passes on the bytes of requests that are good, and nothing behind one that is
//! not.
//!
//! A head is held back until it is complete and judged. In the place of a refused one hyper reads a harmless request
//! that asks to close, and [`Verdicts`] tell with what it is to be answered. So the answer is made like every other,
//! comes behind those to earlier requests, and the connection ends.
//!
//! May use: `edge::door`, `refusal`.

use super::Limits;
use super::scan::{Scan, Then};
use crate::refusal::Refusal;
use bytes::{Buf, BytesMut};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// How long what still arrives behind a refusal is read and thrown away: a connection that is closed with unread bytes
/// is reset, and the client might never see the answer.
const LINGER: Duration = Duration::from_secs(2);
/// Most bytes to throw away.
const MOST_DISCARDED: usize = 1024 * 1024;

/// What is to be answered to the requests of a connection; hyper asks for one after the other.
#[derive(Debug, Clone, Default)]
pub(in crate::edge) struct Verdicts(Arc<Mutex<Told>>);

#[derive(Debug, Default)]
struct Told {
    asked: u64,
    /// The number of the refused request, counted from 1.
    refused: Option<(u64, Refusal)>,
}

impl Verdicts {
    /// The refusal of the next request, when it is refused.
    pub(in crate::edge) fn of_next(&self) -> Option<Refusal> {
        let mut told = self.told();
        told.asked += 1;
        let asked = told.asked;
        told.refused.take_if(|(number, _)| *number == asked).map(|(_, refusal)| refusal)
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the gate does with what arrives.
enum Mode {
    Passing,
    /// A request was refused: what follows is thrown away, so many bytes so far.
    Refused(usize),
    /// A body is broken.
    Broken(&'static str, usize),
}

/// A socket of which only good requests are read.
pub(in crate::edge) struct Gate<S> {
    socket: S,
    scan: Scan,
    verdicts: Verdicts,
    mode: Mode,
    /// Bytes read from the socket and not passed on; the first `ready` of them may be.
    held: BytesMut,
    ready: usize,
    linger: Option<Pin<Box<Sleep>>>,
}

impl<S> Gate<S> {
    /// A gate before `socket` that tells `verdicts`.
    pub(in crate::edge) fn new(socket: S, limits: Limits, verdicts: Verdicts) -> Self {
        let (scan, held) = (Scan::new(limits), BytesMut::new());
        Self { socket, scan, verdicts, mode: Mode::Passing, held, ready: 0, linger: None }
    }

    /// Judges what was read; what may be passed on stays in `buf` as far as nothing was held back before.
    fn judge(&mut self, buf: &mut ReadBuf<'_>, before: usize) {
        let direct = self.held.is_empty();
        if !direct {
            self.held.extend_from_slice(&buf.filled()[before..]);
            buf.set_filled(before);
        }
        let (good, then) = self.scan.over(if direct { &buf.filled()[before..] } else { &self.held });
        if direct {
            self.held.extend_from_slice(&buf.filled()[before + good..]);
            buf.set_filled(before + good);
        } else {
            self.ready = good;
        }
        match then {
            Then::More => {}
            Then::Break(why) => {
                self.held.truncate(self.ready);
                self.mode = Mode::Broken(why, 0);
            }
            Then::Refuse(refused) => {
                self.held.truncate(self.ready);
                self.held.extend_from_slice(&refused.stand_in);
                self.ready = self.held.len();
                self.mode = Mode::Refused(0);
                self.verdicts.told().refused = Some((self.scan.heads + 1, refused.refusal));
            }
        }
    }

    fn pass_on(&mut self, buf: &mut ReadBuf<'_>) {
        let bytes = self.ready.min(buf.remaining());
        buf.put_slice(&self.held[..bytes]);
        self.held.advance(bytes);
        self.ready -= bytes;
        if self.held.is_empty() {
            // Idle connections hold no memory for this.
            self.held = BytesMut::new();
        }
    }
}

impl<S: AsyncRead + Unpin> Gate<S> {
    /// Throws away what arrives behind a refusal; ready when nothing more comes, or too much.
    fn poll_discard(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let (Mode::Refused(discarded) | Mode::Broken(_, discarded)) = &mut self.mode else {
            return Poll::Ready(());
        };
        let mut scratch = [0; 4096];
        while *discarded < MOST_DISCARDED {
            let mut buf = ReadBuf::new(&mut scratch);
            let read = ready!(Pin::new(&mut self.socket).poll_read(cx, &mut buf));
            if read.is_err() || buf.filled().is_empty() {
                *discarded = MOST_DISCARDED;
            }
            *discarded += buf.filled().len();
        }
        Poll::Ready(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Gate<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        loop {
            if this.ready > 0 {
                this.pass_on(buf);
                return Poll::Ready(Ok(()));
            }
            match this.mode {
                Mode::Passing => {}
                Mode::Broken(why, _) => return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, why))),
                Mode::Refused(_) => {
                    // Not the end of the stream, for that would end the answer as well.
                    let _ = this.poll_discard(cx);
                    return Poll::Pending;
                }
            }
            let before = buf.filled().len();
            ready!(Pin::new(&mut this.socket).poll_read(cx, buf))?;
            if buf.filled().len() == before {
                return Poll::Ready(Ok(()));
            }
            this.judge(buf, before);
            if buf.filled().len() > before {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Gate<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write_vectored(cx, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        ready!(Pin::new(&mut this.socket).poll_shutdown(cx))?;
        if matches!(this.mode, Mode::Passing) {
            return Poll::Ready(Ok(()));
        }
        let linger = this.linger.get_or_insert_with(|| Box::pin(tokio::time::sleep(LINGER)));
        if linger.as_mut().poll(cx).is_pending() {
            ready!(this.poll_discard(cx));
        }
        Poll::Ready(Ok(()))
    }
}
