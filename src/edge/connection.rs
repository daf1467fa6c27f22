//! Time limits of one connection: closes connections whose client is too slow or does nothing.
//!
//! hyper has a time limit for request heads only. That limit would also apply to idle connections, and it would not
//! apply to the first bytes, which tell HTTP/1.1 from HTTP/2. So this file watches the limits itself, from the bytes
//! that pass the socket and from the requests that run. HTTP/2 heads cannot be told from other frames; there the idle
//! limit also serves as the limit for heads.
//!
//! May use: `load`, `settings`, `edge::body`.

use super::body::Watch;
use crate::load::Pace;
use crate::settings::ListenSettings;
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;
use tokio::time::Instant;

/// First bytes of an HTTP/2 connection.
const HTTP2_PREFACE: &[u8] = b"PRI";

/// Address of the other end of the connection; in the extensions of every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer(pub SocketAddr);

/// Present activity of a connection, and the time when it began.
#[derive(Debug)]
struct State {
    /// Number of running requests, including answered ones whose request body is still being read.
    running: usize,
    /// Number of answered requests whose request body is still being read.
    leftover: usize,
    since: Instant,
    head_begun: bool,
    protocol: Protocol,
    /// Pace at which the socket accepts bytes to send, with its limit.
    sending: Pace,
    /// Whether the connection is to be closed to make room for another.
    given_up: bool,
    /// Whether the gateway is stopping, so that the next answer is the last.
    ends: bool,
    /// Per request on HTTP/2, the time since when the client leaves its answer unread although more could be sent. The
    /// socket alone does not show this: a client may hold back one stream and read others.
    unread_since: BTreeMap<u64, Instant>,
    requests: u64,
}

/// The protocol of a connection, as far as the bytes received show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    /// Only this number of the first bytes of HTTP/2 has been received.
    Unclear(usize),
    Http1,
    Http2,
}

impl Protocol {
    /// Returns the protocol when `bytes` follow the first `seen` bytes of HTTP/2.
    fn after(seen: usize, bytes: &[u8]) -> Self {
        let rest = &HTTP2_PREFACE[seen..];
        if bytes.starts_with(rest) {
            Self::Http2
        } else if rest.starts_with(bytes) {
            Self::Unclear(seen + bytes.len())
        } else {
            Self::Http1
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Limits {
    head: Duration,
    idle: Duration,
    send: Duration,
}

/// The clock of one connection, shared by its socket, its requests and the task that watches its limits.
#[derive(Debug, Clone)]
pub(super) struct Clock {
    state: Arc<Mutex<State>>,
    /// Notified when the connection is given up.
    ended: Arc<Notify>,
    /// Notified when a request begins.
    begun: Arc<Notify>,
    limits: Limits,
}

impl Clock {
    /// Creates a clock that starts now and waits for the first request.
    pub(super) fn start(settings: &ListenSettings) -> Self {
        let limits =
            Limits { head: settings.header_timeout, idle: settings.idle_timeout, send: settings.send_timeout };
        let state = State {
            running: 0,
            leftover: 0,
            since: Instant::now(),
            head_begun: true,
            protocol: Protocol::Unclear(0),
            sending: Pace::new(settings.send_pace, settings.send_timeout),
            given_up: false,
            ends: false,
            unread_since: BTreeMap::new(),
            requests: 0,
        };
        Self { state: Arc::new(Mutex::new(state)), ended: Arc::default(), begun: Arc::default(), limits }
    }

    /// Counts a running request until the returned value is dropped.
    pub(super) fn request(&self) -> Running {
        let mut state = self.state();
        state.running += 1;
        state.head_begun = false;
        state.requests += 1;
        self.begun.notify_waiters();
        let is_last = state.ends && state.protocol != Protocol::Http2;
        Running { clock: self.clone(), number: state.requests, is_last }
    }

    /// Notes that the gateway is stopping: on HTTP/1, the answer to the next request is the last of the connection.
    pub(super) fn end_soon(&self) {
        self.state().ends = true;
    }

    /// Notes that the rest of an unused request body is being read, until the returned value is dropped. Meanwhile no
    /// limit of the connection applies, but the connection may be closed for another.
    pub(super) fn leftover(&self) -> Leftover {
        let running = self.request();
        self.state().leftover += 1;
        Leftover { running }
    }

    /// Returns when a limit has passed. It checks again after the shortest limit at the latest, because traffic in the
    /// meantime can bring the end nearer. So no limit is exceeded by more than the shortest limit.
    pub(super) async fn expired(&self) {
        loop {
            let now = Instant::now();
            let expiry = self.expiry(now);
            if expiry.is_some_and(|at| at <= now) {
                return;
            }
            let look_again = now + self.shortest();
            tokio::select! {
                () = tokio::time::sleep_until(expiry.map_or(look_again, |at| at.min(look_again))) => {}
                () = self.ended.notified() => {}
            }
        }
    }

    /// Returns the time since when no request runs; none while a request runs. A request does not count as running when
    /// only the rest of its body is being read.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let state = self.state();
        (state.running == state.leftover).then_some(state.since)
    }

    pub(super) fn is_asked(&self) -> bool {
        self.state().requests > 0
    }

    pub(super) fn is_http2(&self) -> bool {
        self.state().protocol == Protocol::Http2
    }

    pub(super) async fn next_request(&self) {
        let mut begun = std::pin::pin!(self.begun.notified());
        // From here on no notification is missed.
        begun.as_mut().enable();
        let runs = {
            let state = self.state();
            state.running > state.leftover
        };
        if !runs {
            begun.await;
        }
    }

    pub(super) fn give_up(&self) {
        self.state().given_up = true;
        self.ended.notify_one();
    }

    fn shortest(&self) -> Duration {
        self.limits.head.min(self.limits.idle).min(self.limits.send)
    }

    /// Returns when the connection is to be closed if nothing happens; `now` or earlier means at once.
    fn expiry(&self, now: Instant) -> Option<Instant> {
        let state = self.state();
        if state.given_up {
            return Some(now);
        }
        let unread = state.unread_since.values().min().map(|since| *since + self.limits.send);
        let unsent = unread.into_iter().chain(state.sending.over_at());
        let wait = if state.head_begun { self.limits.head } else { self.limits.idle };
        let unasked = (state.running == 0).then(|| state.since + wait);
        unsent.chain(unasked).min()
    }

    fn received(&self, bytes: &[u8]) {
        let mut state = self.state();
        match state.protocol {
            Protocol::Unclear(seen) => {
                state.protocol = Protocol::after(seen, bytes);
                state.head_begun &= state.protocol != Protocol::Http2;
            }
            Protocol::Http1 if state.running == 0 && !state.head_begun => {
                state.head_begun = true;
                state.since = Instant::now();
            }
            Protocol::Http1 | Protocol::Http2 => {}
        }
    }

    /// Notes a write to the socket, which accepted `taken` bytes; none while it accepts nothing.
    fn sent(&self, taken: Option<usize>) {
        let mut state = self.state();
        match taken {
            Some(bytes) => state.sending.passed(bytes),
            None => state.sending.wait(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

/// A running request. It is dropped with the last piece of its answer, whose body it observes.
#[derive(Debug)]
pub(super) struct Running {
    clock: Clock,
    number: u64,
    /// Whether the answer must say that it is the last of the connection.
    pub(super) is_last: bool,
}

impl Watch for Running {
    fn asked(&mut self) {
        self.clock.state().unread_since.remove(&self.number);
    }

    fn piece(&mut self, _bytes: usize) {
        let mut state = self.clock.state();
        if state.protocol == Protocol::Http2 {
            state.unread_since.insert(self.number, Instant::now());
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut state = self.clock.state();
        state.unread_since.remove(&self.number);
        state.running -= 1;
        state.since = Instant::now();
    }
}

/// The rest of a request body while it is being read.
#[derive(Debug)]
pub(super) struct Leftover {
    running: Running,
}

impl Drop for Leftover {
    fn drop(&mut self) {
        self.running.clock.state().leftover -= 1;
    }
}

/// A socket that reports its traffic to the clock.
pub(super) struct Timed<S> {
    socket: S,
    clock: Clock,
}

impl<S> Timed<S> {
    pub(super) fn new(socket: S, clock: Clock) -> Self {
        Self { socket, clock }
    }

    fn note(&self, polled: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        let taken = match &polled {
            Poll::Ready(taken) => Some(*taken.as_ref().unwrap_or(&0)),
            Poll::Pending => None,
        };
        self.clock.sent(taken);
        polled
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Timed<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.socket).poll_read(cx, buf);
        if buf.filled().len() > before {
            self.clock.received(&buf.filled()[before..]);
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Timed<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.socket).poll_write(cx, bytes);
        self.note(polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.socket).poll_write_vectored(cx, pieces);
        self.note(polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    fn clock() -> Clock {
        Clock::start(&Settings::default().listen)
    }

    async fn closed_after(clock: &Clock) -> Duration {
        let began = Instant::now();
        clock.expired().await;
        began.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_says_nothing_or_too_little_has_the_head_time() {
        assert_eq!(closed_after(&clock()).await.as_secs(), 10);
        let begun = clock();
        begun.received(b"GET / HT");
        assert_eq!(closed_after(&begun).await.as_secs(), 10);
    }

    #[tokio::test(start_paused = true)]
    async fn after_an_answer_the_idle_time_applies_until_the_next_head_begins() {
        let clock = clock();
        clock.received(b"GET");
        drop(clock.request());
        assert_eq!(closed_after(&clock).await.as_secs(), 75);
        clock.received(b"G");
        assert_eq!(closed_after(&clock).await.as_secs(), 10);
    }

    #[tokio::test(start_paused = true)]
    async fn a_limit_that_comes_nearer_while_waiting_is_seen() {
        let clock = clock();
        clock.received(b"GET");
        drop(clock.request());
        let begins = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            clock.received(b"G");
        };
        let ((), closed) = tokio::join!(begins, closed_after(&clock));
        assert!((11..=21).contains(&closed.as_secs()), "{closed:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_running_request_is_not_the_connections_business() {
        let clock = clock();
        let running = clock.request();
        let expired = tokio::time::timeout(Duration::from_secs(3600), clock.expired()).await;
        assert!(expired.is_err());
        drop(running);
        assert_eq!(closed_after(&clock).await.as_secs(), 75);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_left_unread_ends_the_connection() {
        let clock = clock();
        let _running = clock.request();
        clock.sent(None);
        clock.sent(None);
        assert_eq!(closed_after(&clock).await.as_secs(), 60);
    }

    #[tokio::test(start_paused = true)]
    async fn a_few_bytes_now_and_then_do_not_keep_it_open() {
        let clock = clock();
        let _running = clock.request();
        let reads = async {
            loop {
                clock.sent(None);
                tokio::time::sleep(Duration::from_secs(50)).await;
                clock.sent(Some(1));
            }
        };
        let closed = tokio::select! {
            closed = closed_after(&clock) => closed,
            () = reads => Duration::ZERO,
        };
        assert!((60..=100).contains(&closed.as_secs()), "{closed:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_is_given_up_ends_at_once() {
        let clock = clock();
        let _running = clock.request();
        let given_up = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            clock.give_up();
        };
        let (closed, ()) = tokio::join!(closed_after(&clock), given_up);
        assert_eq!(closed.as_secs(), 1);
    }

    /// Uses real time, in which two reads of the clock never give the same value. A given-up connection must end; its
    /// task must not check the clock again and again.
    #[tokio::test]
    async fn one_that_is_given_up_ends_in_real_time() {
        let clock = clock();
        clock.give_up();
        let ended = tokio::time::timeout(Duration::from_secs(5), clock.expired()).await;
        assert!(ended.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn one_stream_left_unread_ends_the_connection_and_a_slow_source_does_not() {
        let clock = clock();
        clock.received(b"PRI * HTTP/2.0");
        let (mut waiting, mut unread) = (clock.request(), clock.request());
        waiting.piece(1);
        waiting.asked();
        let expired = tokio::time::timeout(Duration::from_secs(3600), clock.expired()).await;
        assert!(expired.is_err());
        unread.piece(1);
        assert!((60..=70).contains(&closed_after(&clock).await.as_secs()));
        unread.asked();
        assert!(clock.expiry(Instant::now()).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn http2_has_the_idle_time() {
        for pieces in [&[&b"PRI * HTTP/2.0"[..]][..], &[b"P", b"R", b"I * HTTP/2.0"]] {
            let clock = clock();
            pieces.iter().for_each(|piece| clock.received(piece));
            clock.received(b"frames");
            assert!(clock.is_http2());
            assert_eq!(closed_after(&clock).await.as_secs(), 75);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn other_first_bytes_are_http1() {
        for pieces in [&[&b"POST / HTTP/1.1"[..]][..], &[b"P", b"OST / HTTP/1.1"], &[b"PR", b"OPFIND"]] {
            let clock = clock();
            pieces.iter().for_each(|piece| clock.received(piece));
            assert!(!clock.is_http2());
            assert_eq!(closed_after(&clock).await.as_secs(), 10);
        }
    }
}
