//! Reads the unused rest of a request's body.
//!
//! Most refusals come before the body is looked at, and some operations take no body. With HTTP/1.1 the rest of the
//! body is then still on its way. Without this file the connection would have to be closed: a client that is sending
//! would see the connection break and never read the refusal, and a client that has begun its next request would lose
//! that request. HTTP/2 ends only the stream. But what still arrives for the stream counts as a fault of the client,
//! and a connection with many such faults is ended. So on HTTP/2 the rest is read too, up to the size of an ordinary
//! body.
//!
//! With HTTP/1.1 the answer waits a moment for the rest. Clients send head and body in two pieces, and the second piece
//! has mostly arrived when the first has been refused. Some proxies forward a body as it arrives (nginx with
//! `proxy_request_buffering off`). Such a proxy closes its client's connection when an answer overtakes the body. It
//! has promised to keep that connection, so the client's next request fails.
//!
//! These bytes are thrown away at once and cost no memory. But reading them occupies the place of the connection, whose
//! client already has its answer. So a new connection that needs the place gets it, like that of an idle connection.
//!
//! May use: `task`, `edge::body`, `edge::connection`.

use super::body::{Body, BodyError};
use super::connection::Clock;
use crate::task::spawn_on;
use bytes::Bytes;
use http::header::EXPECT;
use http::{Request, Version};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::oneshot;

/// Longest time for which an answer waits for the rest of its request's body.
const SOON: Duration = Duration::from_millis(100);
/// Longest time to read the rest; afterwards the connection is closed.
const LONGEST: Duration = Duration::from_secs(10);
/// Longest time without any byte. A client that is silent for so long is not in the middle of sending.
const PAUSE: Duration = Duration::from_secs(2);
/// Most bytes of the rest that are read.
const MOST: u64 = 64 * 1024 * 1024;
/// Most bytes of the rest that are read on an HTTP/2 stream, where the client can be told to stop.
const MOST_OF_A_STREAM: u64 = 1024 * 1024;

/// Returns `request` with a body whose rest is read when the body is dropped early, and a handle to wait for its end. A
/// client that sent `Expect` and waits sends nothing after a refusal, so there is nothing to read.
pub(super) fn read_on(request: Request<Body>, clock: &Clock) -> (Request<Body>, Rest) {
    if request.body().is_end_stream() || request.headers().contains_key(EXPECT) {
        return (request, Rest(None));
    }
    let of_http2 = request.version() > Version::HTTP_11;
    let most = if of_http2 { MOST_OF_A_STREAM } else { MOST };
    let (coming, rest) = oneshot::channel();
    let clock = clock.clone();
    let request = request.map(|body| ReadOn { body: Some(body), coming: Some(coming), most, clock }.boxed_unsync());
    // On HTTP/2 the answer does not wait: only the stream ends.
    (request, Rest((!of_http2).then_some(rest)))
}

/// Handle to wait for the rest of a request's body.
pub(super) struct Rest(Option<oneshot::Receiver<Infallible>>);

impl Rest {
    /// Waits until the body has arrived, for [`SOON`] at most.
    pub(super) async fn come(self) {
        if let Some(end) = self.0 {
            // The dropped sender signals the end of the body; a timeout is no fault.
            let _ = tokio::time::timeout(SOON, end).await;
        }
    }
}

/// A body whose rest is read when it is dropped; `None` after its end.
struct ReadOn {
    body: Option<Body>,
    /// Held while the body arrives and the answer is to wait for it.
    coming: Option<oneshot::Sender<Infallible>>,
    most: u64,
    clock: Clock,
}

impl http_body::Body for ReadOn {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let polled = Pin::new(body).poll_frame(cx);
        if matches!(polled, Poll::Ready(None | Some(Err(_)))) {
            self.body = None;
            self.coming = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

impl Drop for ReadOn {
    fn drop(&mut self) {
        let Some(rest) = self.body.take().filter(|rest| !rest.is_end_stream()) else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (clock, most, coming) = (self.clock.clone(), self.most, self.coming.take());
        spawn_on(&runtime, async move {
            let mut reading = Box::pin(tokio::time::timeout(LONGEST, discard(rest, most)));
            // The client does not have its answer yet, so the connection still counts as in use.
            if tokio::time::timeout(SOON, reading.as_mut()).await.is_ok() {
                return;
            }
            // Bytes that still arrive must not count as a slow head of the next request.
            let leftover = clock.leftover();
            drop(coming);
            // After too many bytes or too much time, dropping `rest` ends the connection, or the stream of HTTP/2.
            let _ = reading.await;
            drop(leftover);
        });
    }
}

async fn discard(mut rest: Body, most: u64) {
    let mut left = most;
    while let Ok(Some(Ok(frame))) = tokio::time::timeout(PAUSE, rest.frame()).await {
        left = left.saturating_sub(frame.data_ref().map_or(0, Bytes::len) as u64);
        if left == 0 {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;
    use futures_util::{FutureExt, stream};
    use http_body_util::StreamBody;
    use tokio::time::Instant;

    /// Returns how long the answer to a refused request waits when the body arrives `after` that time.
    async fn waits(version: Version, after: Duration) -> Duration {
        let piece = async move {
            tokio::time::sleep(after).await;
            Ok(Frame::data(Bytes::from_static(b"{}")))
        };
        let body = StreamBody::new(stream::once(piece.boxed())).boxed_unsync();
        let mut request = Request::new(body);
        *request.version_mut() = version;
        let (request, rest) = read_on(request, &Clock::start(&Settings::default().listen));
        let begun = Instant::now();
        drop(request);
        rest.come().await;
        begun.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_waits_for_a_body_that_is_about_to_come() {
        let after = Duration::from_millis(30);
        let waited = waits(Version::HTTP_11, after).await;
        assert!(waited >= after && waited < SOON, "{waited:?}");
        assert!(waits(Version::HTTP_2, after).await < after);
    }

    #[tokio::test(start_paused = true)]
    async fn it_waits_a_moment_at_most() {
        let waited = waits(Version::HTTP_11, Duration::from_secs(5)).await;
        assert!(waited >= SOON && waited < 2 * SOON, "{waited:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn it_does_not_wait_for_a_body_that_was_read() {
        let request = Request::new(
            StreamBody::new(stream::once(async { Ok(Frame::data(Bytes::from_static(b"{}"))) }.boxed()))
                .boxed_unsync(),
        );
        let (request, rest) = read_on(request, &Clock::start(&Settings::default().listen));
        let mut body = request.into_body();
        while body.frame().await.is_some() {}
        let begun = Instant::now();
        // The body is still held here, as the pass-through holds it.
        rest.come().await;
        assert!(begun.elapsed() < SOON);
        drop(body);
    }
}
