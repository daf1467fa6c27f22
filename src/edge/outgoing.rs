//! Answers while they are sent: the resources that an answer holds until its last byte is sent.
//!
//! hyper takes a complete body in one piece and drops it long before the client has read it. So the bytes themselves
//! own everything that an answer holds. On HTTP/2 they are sent in pieces of limited size, so that the gateway notices a
//! client that stops reading one of its streams. On HTTP/1.1 the socket shows this, and one write is cheaper than two.
//!
//! May use: `load`, `edge::body`, `edge::intake`.

use super::body::{Body, BodyError, Watch, with_read};
use super::intake::Holding;
use crate::load::{Place, Reservation};
use bytes::Bytes;
use http::Response;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use parking_lot::Mutex;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// Most bytes of a piece on HTTP/2.
pub(super) const HTTP2_PIECE: usize = 64 * 1024;

/// Resources that an answer holds until it is sent. The layer that took them puts this into the answer's extensions.
#[derive(Debug, Clone)]
pub(super) struct Load {
    _held: Arc<Held>,
}

#[derive(Debug)]
struct Held {
    _answer: Place,
    _memory: Reservation,
    /// Holding of a pass-through request: it keeps its connection to v1 until the answer is sent.
    _request: Option<Arc<Holding>>,
}

impl Load {
    pub(super) fn new(answer: Place, memory: Reservation, request: Option<Arc<Holding>>) -> Self {
        Self { _held: Arc::new(Held { _answer: answer, _memory: memory, _request: request }) }
    }
}

/// Returns `response` in pieces of at most `largest` bytes. They own its [`Load`] and the observer `watch`, which sees each
/// piece.
pub(super) fn outgoing(mut response: Response<Body>, watch: impl Watch, largest: usize) -> Response<Body> {
    let load = response.extensions_mut().remove::<Load>();
    let cargo = Arc::new(HeldResources { watch: Mutex::new(watch), _load: load });
    response.map(|body| Outgoing { body, rest: Bytes::new(), largest, cargo }.boxed_unsync())
}

/// Resources that are dropped with the last byte.
struct HeldResources<W> {
    watch: Mutex<W>,
    _load: Option<Load>,
}

/// A piece of an answer, and the resources that it owns.
struct Piece<W> {
    bytes: Bytes,
    _cargo: Arc<HeldResources<W>>,
}

impl<W> AsRef<[u8]> for Piece<W> {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

struct Outgoing<W> {
    body: Body,
    /// Bytes that did not fit into the last piece.
    rest: Bytes,
    largest: usize,
    cargo: Arc<HeldResources<W>>,
}

impl<W: Watch> Outgoing<W> {
    fn next(&mut self) -> Frame<Bytes> {
        let bytes = self.rest.split_to(self.rest.len().min(self.largest));
        self.tell(|watch| watch.piece(bytes.len()));
        let _cargo = Arc::clone(&self.cargo);
        Frame::data(Bytes::from_owner(Piece { bytes, _cargo }))
    }

    fn tell(&self, what: impl FnOnce(&mut W)) {
        what(&mut self.cargo.watch.lock());
    }
}

impl<W: Watch> http_body::Body for Outgoing<W> {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        self.tell(Watch::asked);
        loop {
            if !self.rest.is_empty() {
                return Poll::Ready(Some(Ok(self.next())));
            }
            let Some(frame) = ready!(Pin::new(&mut self.body).poll_frame(cx)) else { return Poll::Ready(None) };
            match frame?.into_data() {
                // Empty pieces are skipped.
                Ok(bytes) => self.rest = bytes,
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        with_read(&self.body, self.rest.len())
    }
}

#[cfg(test)]
mod tests {
    use super::super::body::full;
    use super::*;
    use crate::load::{Asker, Memory, Pool, Share};
    use http_body::Body as _;

    struct Nobody;

    impl Watch for Nobody {}

    #[tokio::test]
    async fn an_answer_frees_its_resources_with_its_last_piece() {
        let (pool, memory) = (Pool::new(4, Share(50)), Memory::new(1 << 20, Share(50)));
        let size = 3 * HTTP2_PIECE + 1;
        let mut response = Response::new(full(vec![b'x'; size]));
        let load =
            Load::new(pool.enter(Asker::default()).unwrap(), memory.reserve(Asker::default(), size).unwrap(), None);
        response.extensions_mut().insert(load);
        let mut body = outgoing(response, Nobody, HTTP2_PIECE).into_body();
        assert_eq!(body.size_hint().exact(), Some(size as u64));
        let mut sent = Vec::new();
        while let Some(frame) = body.frame().await {
            sent.push(frame.unwrap().into_data().unwrap());
        }
        assert!(body.is_end_stream() && sent.iter().all(|piece| piece.len() <= HTTP2_PIECE));
        assert_eq!(sent.iter().map(Bytes::len).sum::<usize>(), size);
        drop(body);
        let last = sent.pop();
        drop(sent);
        assert_eq!((pool.taken(), memory.used()), (1, size), "the last piece is not sent yet");
        drop(last);
        assert_eq!((pool.taken(), memory.used()), (0, 0));
    }
}
