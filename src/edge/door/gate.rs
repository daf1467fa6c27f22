//! The gate between socket and hyper: passes on the bytes of good requests, and nothing after a bad request.
//!
//! A head is held back until it is complete and checked. Instead of a refused head, hyper reads a harmless request that
//! asks to close, and [`Verdicts`] hold the refusal that answers it. So the answer is built like every other answer and
//! follows the answers to earlier requests, and then the connection ends.
//!
//! Bytes that a client can make the gateway keep before there is a request count against the memory budget: on HTTP/1
//! the larger heads, on HTTP/2 the most that a connection may hold. They count until the connection ends, because hyper
//! never shrinks its buffers.
//!
//! May use: `edge::door`, `load`, `refusal`.

use super::head::RefusedHead;
use super::limits::Limits;
use super::scan::{NextAction, Scan};
use crate::load::Reservation;
use crate::refusal::Refusal;
use bytes::{Buf, BytesMut};
use parking_lot::{Mutex, MutexGuard};
use std::future::Future;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// Time for which bytes after a refusal are read and thrown away. A connection that is closed with unread bytes is
/// reset, and the client might never see the answer.
const LINGER: Duration = Duration::from_secs(2);
const MOST_DISCARDED: usize = 1024 * 1024;
/// Fewest bytes to read at once. hyper asks for only 24 bytes to tell HTTP/2 from HTTP/1; a head would take many reads.
const LEAST_READ: usize = 2048;

/// Incomplete heads up to this many bytes are not counted against the memory budget; most heads are smaller.
const FREE: usize = 4 * 1024;
/// Request that hyper reads instead of a head for which there is no memory.
const STAND_IN: &[u8] = b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";

/// Refusals for the requests of a connection. hyper's service asks for one request after the other.
#[derive(Debug, Clone, Default)]
pub struct Verdicts(Arc<Mutex<VerdictState>>);

#[derive(Debug, Default)]
struct VerdictState {
    asked: u64,
    /// The number of the refused request, counted from 1.
    refused: Option<(u64, Refusal)>,
}

impl Verdicts {
    /// Returns the refusal of the next request; none when the request is good.
    pub fn of_next(&self) -> Option<Refusal> {
        let mut told = self.told();
        told.asked += 1;
        let asked = told.asked;
        told.refused.take_if(|(number, _)| *number == asked).map(|(_, refusal)| refusal)
    }

    fn told(&self) -> MutexGuard<'_, VerdictState> {
        self.0.lock()
    }
}

/// Handling of arriving bytes.
enum Mode {
    Passing,
    /// A request was refused: later bytes are thrown away, this many so far.
    Discarding(usize),
    /// The connection cannot be read any further, for this reason. Later bytes are thrown away, this many so far.
    Broken(&'static str, usize),
}

/// A socket from which hyper reads good requests only.
pub struct Gate<S> {
    socket: S,
    scan: Scan,
    verdicts: Verdicts,
    mode: Mode,
    /// Bytes that were read from the socket and not passed on; the first `ready` of them may be passed on.
    held: BytesMut,
    ready: usize,
    linger: Option<Pin<Box<Sleep>>>,
    /// The memory that this connection takes.
    room: Reservation,
    http2: usize,
}

impl<S> Gate<S> {
    /// Creates a gate before `socket`, which writes to `verdicts` and takes its memory from `room`.
    pub fn new(socket: S, limits: Limits, verdicts: Verdicts, room: Reservation) -> Self {
        let (scan, held, http2) = (Scan::new(limits), BytesMut::new(), limits.http2);
        Self { socket, scan, verdicts, mode: Mode::Passing, held, ready: 0, linger: None, room, http2 }
    }

    /// Takes the memory for the bytes held back now. When there is not enough, the connection releases all its memory.
    /// On HTTP/1 the bytes are those of the incomplete head: a complete head took its memory while it arrived.
    fn account(&mut self) -> Result<(), Refusal> {
        let begun_head = self.scan.is_head() && self.held.len() - self.ready > FREE;
        let needed = match self.scan.is_http2() {
            true => self.http2,
            false if begun_head => self.held.capacity(),
            false => return Ok(()),
        };
        let taken = self.room.grow(needed.saturating_sub(self.room.bytes()));
        taken.inspect_err(|_| self.room.clear())
    }

    /// Checks bytes read into `buf` when nothing was held back before; the bytes that may be passed on stay in `buf`.
    fn judge(&mut self, buf: &mut ReadBuf<'_>, before: usize) {
        let (good, then) = self.scan.over(&buf.filled()[before..]);
        self.held.extend_from_slice(&buf.filled()[before + good..]);
        buf.set_filled(before + good);
        self.go_on(then);
    }

    /// Checks the held bytes together with the bytes read after them.
    fn judge_held(&mut self, read: &[u8]) {
        self.held.extend_from_slice(read);
        let (good, then) = self.scan.over(&self.held);
        self.ready = good;
        self.go_on(then);
    }

    /// Carries out the next action after the good bytes.
    fn go_on(&mut self, then: NextAction) {
        let then = match (then, self.account()) {
            (NextAction::More, Err(_)) if self.scan.is_http2() => {
                NextAction::Break("there is no memory for the connection")
            }
            (NextAction::More, Err(refusal)) => {
                NextAction::Refuse(RefusedHead { refusal, stand_in: STAND_IN.to_vec() })
            }
            (then, _) => then,
        };
        match then {
            NextAction::More => {}
            NextAction::Break(why) => {
                self.held.truncate(self.ready);
                self.mode = Mode::Broken(why, 0);
            }
            NextAction::Refuse(refused) => {
                self.held.truncate(self.ready);
                self.held.extend_from_slice(&refused.stand_in);
                self.ready = self.held.len();
                self.mode = Mode::Discarding(0);
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
            // So idle connections hold no memory for this buffer.
            self.held = BytesMut::new();
        }
    }
}

impl<S: AsyncRead + Unpin> Gate<S> {
    /// Throws away bytes after a refusal; is ready when no more bytes come, or after too many.
    fn poll_discard(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let (Mode::Discarding(discarded) | Mode::Broken(_, discarded)) = &mut self.mode else {
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
                Mode::Discarding(_) => {
                    // Do not report the end of the stream, because that would end the answer as well.
                    let _ = this.poll_discard(cx);
                    return Poll::Pending;
                }
            }
            if !this.held.is_empty() || buf.remaining() < LEAST_READ {
                let mut scratch = [MaybeUninit::uninit(); LEAST_READ];
                let mut read = ReadBuf::uninit(&mut scratch);
                ready!(Pin::new(&mut this.socket).poll_read(cx, &mut read))?;
                if read.filled().is_empty() {
                    return Poll::Ready(Ok(()));
                }
                this.judge_held(read.filled());
                continue;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Asker, Memory};
    use crate::settings::Settings;
    use std::task::Waker;

    /// A socket on which everything has arrived. A read returns one piece; counts the reads.
    struct Arrived {
        bytes: Vec<u8>,
        piece: usize,
        reads: usize,
    }

    impl AsyncRead for Arrived {
        fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            self.reads += 1;
            let here = buf.remaining().min(self.bytes.len()).min(self.piece);
            buf.put_slice(&self.bytes[..here]);
            self.bytes.drain(..here);
            Poll::Ready(Ok(()))
        }
    }

    /// A gate before these bytes.
    fn gate(bytes: &[&[u8]], piece: usize) -> Gate<Arrived> {
        let socket = Arrived { bytes: bytes.concat(), piece, reads: 0 };
        let room = Memory::unlimited().reservation(Asker::default());
        Gate::new(socket, Limits::of(&Settings::default().listen, 65_535), Verdicts::default(), room)
    }

    /// Returns the bytes that pass when they are read in buffers of `size`.
    fn passed(gate: &mut Gate<Arrived>, size: usize) -> Vec<u8> {
        let (mut buffer, mut passed) = (vec![0; size], Vec::new());
        loop {
            let mut buf = ReadBuf::new(&mut buffer);
            let polled = Pin::new(&mut *gate).poll_read(&mut Context::from_waker(Waker::noop()), &mut buf);
            if polled.is_pending() || buf.filled().is_empty() {
                return passed;
            }
            passed.extend_from_slice(buf.filled());
        }
    }

    #[test]
    fn the_passed_bytes_do_not_depend_on_buffer_sizes() {
        let post = b"POST /1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
        let put = [&b"PUT /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n"[..], &[b'x'; 5000]].concat();
        let bad = b"GET /3 HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx";
        let stand_in = b"GET /3 HTTP/1.1\r\nconnection: close\r\nHost: a\r\n\r\n";
        for size in [1, 7, 24, LEAST_READ - 1, LEAST_READ, 3 * LEAST_READ] {
            for piece in [1, 5, 24, 100, LEAST_READ, 10_000] {
                let mut gate = gate(&[post, &put, post, bad], piece);
                assert_eq!(passed(&mut gate, size), [&post[..], &put, post, stand_in].concat(), "{size}, {piece}");
                let refused: Vec<bool> = (0..5).map(|_| gate.verdicts.of_next().is_some()).collect();
                assert_eq!(refused, [false, false, false, true, false], "{size}, {piece}");
            }
        }
    }

    #[test]
    fn a_small_buffer_does_not_make_many_reads_of_a_head() {
        let head = [&b"GET / HTTP/1.1\r\nHost: a\r\nx: "[..], &[b'x'; 900], b"\r\n\r\n"].concat();
        let mut gate = gate(&[&head, &head], usize::MAX);
        assert_eq!(passed(&mut gate, 24), [&head[..], &head[..]].concat());
        // The second read finds the end.
        assert_eq!(gate.socket.reads, 2);
    }
}
