//! Request and answer bodies: one boxed type, reading with a size limit, a time limit for pieces, and observers of a
//! body's bytes.
//!
//! May use: `refusal`.

use crate::refusal::Refusal;
use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, Full};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::Sleep;

/// Error of reading a body: wraps any error in one type.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct BodyError(Box<dyn std::error::Error + Send + Sync>);

impl BodyError {
    /// Wraps `error`.
    pub fn new(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(error.into())
    }

    /// Creates the error of a body whose reading ended because of `refusal`, which also answers the request.
    pub(super) fn refused(refusal: Refusal) -> Self {
        Self::new(BodyRefused(refusal))
    }
}

/// The body of every request and answer inside the gateway.
pub type Body = UnsyncBoxBody<Bytes, BodyError>;

/// A body without content.
pub fn empty() -> Body {
    Empty::new().map_err(never).boxed_unsync()
}

/// Returns a body whose bytes are all present.
pub fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(never).boxed_unsync()
}

pub(super) fn incoming(body: hyper::body::Incoming) -> Body {
    body.map_err(BodyError::new).boxed_unsync()
}

fn never(error: Infallible) -> BodyError {
    match error {}
}

/// Reads a request body of at most `limit` bytes.
///
/// # Errors
/// `validation_error` when it is larger (O5), too slow, or cannot be read to its end; `overloaded` when there is
/// no room for it.
pub async fn read_body(mut body: Body, limit: usize) -> Result<Bytes, Refusal> {
    if body.size_hint().lower() > limit as u64 {
        return Err(too_large(limit));
    }
    let mut collected = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| unreadable(&error))?;
        let Ok(piece) = frame.into_data() else { continue };
        if collected.len() + piece.len() > limit {
            return Err(too_large(limit));
        }
        collected.extend_from_slice(&piece);
    }
    Ok(collected.into())
}

/// Bytes of a body that must have arrived before the body is forwarded. A smaller body must be complete.
const BEGINNING: usize = 16 * 1024;

/// Waits until [`BEGINNING`] bytes of `body`, or all of a smaller one, have arrived. When its length is unknown, waits
/// for its first piece. Returns the body.
///
/// # Errors
/// `validation_error` when these bytes do not arrive in time, or when the body cannot be read.
pub(super) async fn begun(mut body: Body) -> Result<Body, Refusal> {
    if body.is_end_stream() {
        return Ok(body);
    }
    let wanted = body.size_hint().exact().map_or(1, |size| size.min(BEGINNING as u64));
    let (mut read, mut bytes) = (VecDeque::new(), 0);
    while bytes < wanted {
        let Some(frame) = body.frame().await else { break };
        let frame = frame.map_err(|error| unreadable(&error))?;
        match frame.data_ref().map(Bytes::len) {
            // Ignore empty pieces.
            Some(0) => {}
            Some(length) => {
                bytes += length as u64;
                read.push_back(frame);
            }
            // Only trailers are left.
            None => {
                read.push_back(frame);
                break;
            }
        }
    }
    if read.is_empty() {
        return Ok(empty());
    }
    Ok(PartlyReadBody { read, rest: body }.boxed_unsync())
}

fn too_large(limit: usize) -> Refusal {
    Refusal::invalid(format!("The request body is larger than {limit} bytes."))
}

/// Returns the refusal of a request whose body could not be read. The error of the body may be a cause of `error`.
pub(super) fn unreadable(error: &(dyn Error + 'static)) -> Refusal {
    let mut causes = std::iter::successors(Some(error), |&error| error.source());
    if let Some(BodyError(fault)) = causes.find_map(|cause| cause.downcast_ref::<BodyError>()) {
        if let Some(BodyRefused(refusal)) = fault.downcast_ref() {
            return refusal.clone();
        }
        if fault.is::<BodyLate>() {
            return Refusal::invalid("The request body did not arrive in time.");
        }
    }
    Refusal::invalid("The request body could not be read to its end.")
}

/// The body did not arrive in the allowed time.
#[derive(Debug, thiserror::Error)]
#[error("the body did not arrive in time")]
pub(super) struct BodyLate;

/// The gateway has no memory or no place for the body.
#[derive(Debug, thiserror::Error)]
#[error("no room for the body: {0:?}")]
struct BodyRefused(Refusal);

/// A body of which the first frames were already read. It reports the size of the whole body.
struct PartlyReadBody {
    read: VecDeque<Frame<Bytes>>,
    rest: Body,
}

impl http_body::Body for PartlyReadBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match self.read.pop_front() {
            Some(frame) => Poll::Ready(Some(Ok(frame))),
            None => Pin::new(&mut self.rest).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.read.is_empty() && self.rest.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        with_read(&self.rest, self.read.iter().filter_map(Frame::data_ref).map(Bytes::len).sum())
    }
}

/// Returns the size of a body of which `read` bytes were already read and `rest` is left.
pub(super) fn with_read(rest: &Body, read: usize) -> SizeHint {
    let (rest, read) = (rest.size_hint(), read as u64);
    let mut hint = SizeHint::new();
    if let Some(upper) = rest.upper() {
        hint.set_upper(upper.saturating_add(read));
    }
    hint.set_lower(rest.lower().saturating_add(read));
    hint
}

/// Returns `body`, which fails when a piece of it has not come `limit` after it was asked for.
pub(super) fn in_time(body: Body, limit: Duration) -> Body {
    if body.is_end_stream() {
        return body;
    }
    InTime { body, limit, timer: None }.boxed_unsync()
}

/// A body whose pieces have to come in time. A piece that nobody asks for is never late.
struct InTime {
    body: Body,
    limit: Duration,
    timer: Option<Pin<Box<Sleep>>>,
}

impl http_body::Body for InTime {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = &mut *self;
        let polled = Pin::new(&mut this.body).poll_frame(cx);
        if polled.is_ready() {
            this.timer = None;
            return polled;
        }
        let limit = this.limit;
        let timer = this.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        timer.as_mut().poll(cx).map(|()| Some(Err(BodyError::new(BodyLate))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Observer of a body's bytes; dropped together with the body.
pub(super) trait Watch: Send + Unpin + 'static {
    /// The receiver of the body is ready for more of it.
    fn asked(&mut self) {}
    /// A piece of `bytes` bytes passed.
    fn piece(&mut self, _bytes: usize) {}
    /// The body came to its end; not called when it fails or is given up before.
    fn complete(&mut self) {}
}

pub(super) fn watched(body: Body, watch: impl Watch) -> Body {
    let mut watched = Watched { body, watch, ended: false };
    watched.note_end(false);
    watched.boxed_unsync()
}

/// A body with its observer. Trailers, size and end are those of the body.
struct Watched<W> {
    body: Body,
    watch: W,
    ended: bool,
}

impl<W: Watch> Watched<W> {
    fn note_end(&mut self, at_end: bool) {
        if !self.ended && (at_end || http_body::Body::is_end_stream(&self.body)) {
            self.ended = true;
            self.watch.complete();
        }
    }
}

impl<W: Watch> http_body::Body for Watched<W> {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = &mut *self;
        this.watch.asked();
        let polled = Pin::new(&mut this.body).poll_frame(cx);
        match &polled {
            Poll::Ready(Some(Ok(frame))) => {
                this.watch.piece(frame.data_ref().map_or(0, Bytes::len));
                this.note_end(false);
            }
            Poll::Ready(None) => this.note_end(true),
            Poll::Ready(Some(Err(_))) | Poll::Pending => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::stream;
    use http_body_util::StreamBody;

    fn in_pieces(pieces: Vec<&'static str>) -> Body {
        let frames = pieces.into_iter().map(|piece| Ok(Frame::data(Bytes::from(piece))));
        StreamBody::new(stream::iter(frames)).boxed_unsync()
    }

    #[tokio::test]
    async fn a_body_up_to_the_limit_is_read() {
        assert_eq!(read_body(in_pieces(vec!["ab", "cd"]), 4).await.unwrap(), "abcd");
        assert_eq!(read_body(empty(), 0).await.unwrap(), "");
    }

    #[tokio::test]
    async fn a_larger_body_is_a_validation_error_found_while_reading() {
        for body in [in_pieces(vec!["ab", "cd", "e"]), full("abcde")] {
            let refusal = read_body(body, 4).await.unwrap_err();
            assert_eq!((refusal.status(), refusal.code()), (400, "validation_error"));
        }
    }
}
