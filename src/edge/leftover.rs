//! Reads on what of a request's body nobody has read.
//!
//! Most refusals come before the body is looked at, and some operations take none. With HTTP/1.1 the rest of the body
//! is still on its way then, and the connection would have to be closed: a client that is sending would see it
//! break and never read the refusal, and one that has begun its next request would lose that. HTTP/2 ends
//! the stream alone; but what comes for it afterwards counts as a fault of the client, and a connection with many
//! of those is ended. So as much as an ordinary body has is read there too.
//!
//! With HTTP/1.1 the answer waits a moment for the rest. Clients send head and body in two pieces, and the second is
//! mostly there when the first has been refused. A proxy in front that hands bodies on as they come (nginx with
//! `proxy_request_buffering off`) closes its client's connection when an answer overtakes the body: it has promised to
//! keep it, and the client's next request meets its end.
//!
//! Bytes that are read on are thrown away at once and cost no memory. Reading on costs the connection's place, and its
//! client has its answer already; so the place is given to a newcomer who needs it, as that of an idle connection is.
//!
//! May use: `edge::body`, `edge::connection`.

use super::body::{Body, BodyError};
use super::connection::Clock;
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
/// Longest time to read on; afterwards the connection is closed.
const LONGEST: Duration = Duration::from_secs(10);
/// Longest time in which nothing arrives: a client that sends no more is not going to break off in the middle.
const PAUSE: Duration = Duration::from_secs(2);
/// Most bytes to read on.
const MOST: u64 = 64 * 1024 * 1024;
/// The same of a stream of HTTP/2, where a client that sends more can be told to stop.
const MOST_OF_A_STREAM: u64 = 1024 * 1024;

/// `request` with a body that is read on when it is given up before its end, and what tells of its end. A client that
/// waits to be told to go on (`Expect`) sends nothing after a refusal, so there is nothing to read.
pub(super) fn read_on(request: Request<Body>, clock: &Clock) -> (Request<Body>, Rest) {
    if request.body().is_end_stream() || request.headers().contains_key(EXPECT) {
        return (request, Rest(None));
    }
    let of_http2 = request.version() > Version::HTTP_11;
    let most = if of_http2 { MOST_OF_A_STREAM } else { MOST };
    let (coming, rest) = oneshot::channel();
    let clock = clock.clone();
    let request = request.map(|body| ReadOn { body: Some(body), coming: Some(coming), most, clock }.boxed_unsync());
    // A stream of HTTP/2 ends alone.
    (request, Rest((!of_http2).then_some(rest)))
}

/// What is still to come of a request's body.
pub(super) struct Rest(Option<oneshot::Receiver<Infallible>>);

impl Rest {
    /// Waits until the body has come, but a moment at most.
    pub(super) async fn come(self) {
        if let Some(end) = self.0 {
            // Told by the end of the sender; too late is no fault.
            let _ = tokio::time::timeout(SOON, end).await;
        }
    }
}

/// A body that is read on when dropped; `None` after its end.
struct ReadOn {
    body: Option<Body>,
    /// Held as long as the body is coming and its answer is to wait for it.
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
        runtime.spawn(async move {
            let mut reading = Box::pin(tokio::time::timeout(LONGEST, discard(rest, most)));
            // Nobody has its answer yet, so the connection is in use.
            if tokio::time::timeout(SOON, reading.as_mut()).await.is_ok() {
                return;
            }
            // Bytes that still arrive are no slow head of a next request.
            let leftover = clock.leftover();
            drop(coming);
            // Too much or too late: the connection, or the stream of HTTP/2, ends when `rest` is dropped.
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

    /// A request that was refused, whose body comes `after` that time; how long its answer waits.
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
        // The body is still held, as by one who hands it on.
        rest.come().await;
        assert!(begun.elapsed() < SOON);
        drop(body);
    }
}
