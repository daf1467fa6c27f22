//! Reads on what of a request's body nobody has read.
//!
//! Most refusals come before the body is looked at, and some operations take none. With HTTP/1.1 the rest of the body
//! is still on its way then, and the connection would have to be closed: a client that is sending would see it
//! break and never read the refusal, and one that has begun its next request would lose that. HTTP/2 ends
//! the stream alone; but what comes for it afterwards counts as a fault of the client, and a connection with many
//! of those is ended. So as much as an ordinary body has is read there too.
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
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// Longest time to read on; afterwards the connection is closed.
const LONGEST: Duration = Duration::from_secs(10);
/// Longest time in which nothing arrives: a client that sends no more is not going to break off in the middle.
const PAUSE: Duration = Duration::from_secs(2);
/// Most bytes to read on.
const MOST: u64 = 64 * 1024 * 1024;
/// The same of a stream of HTTP/2, where a client that sends more can be told to stop.
const MOST_OF_A_STREAM: u64 = 1024 * 1024;

/// `request` with a body that is read on when it is given up before its end. A client that waits to be told to
/// go on (`Expect`) sends nothing after a refusal, so there is nothing to read.
pub(super) fn read_on(request: Request<Body>, clock: &Clock) -> Request<Body> {
    if request.body().is_end_stream() || request.headers().contains_key(EXPECT) {
        return request;
    }
    let most = if request.version() > Version::HTTP_11 { MOST_OF_A_STREAM } else { MOST };
    let clock = clock.clone();
    request.map(|body| ReadOn { body: Some(body), most, clock }.boxed_unsync())
}

/// A body that is read on when dropped; `None` after its end.
struct ReadOn {
    body: Option<Body>,
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
        // Bytes that still arrive are no slow head of a next request.
        let (reading, most) = (self.clock.leftover(), self.most);
        runtime.spawn(async move {
            // Too much or too late: the connection, or the stream of HTTP/2, ends when `rest` is dropped.
            let _ = tokio::time::timeout(LONGEST, discard(rest, most)).await;
            drop(reading);
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
