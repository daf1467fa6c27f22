//! Observers of the pass-through: of its writes, and of all its calls.
//!
//! May use: `context`, `tally`.

use crate::context::Context;
use crate::tally::Outcome;
use futures_util::future::BoxFuture;
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode};
use std::sync::Arc;

/// Observer of writes on the pass-through; it invalidates cache entries that a write may change.
pub trait WriteObserver: Send + Sync + 'static {
    /// Returns the id of the key of a write with these headers. None when the server behind carries out no such write,
    /// which is then not observed. By default every write has the same key.
    fn key(&self, headers: &HeaderMap, context: &Context) -> Option<[u8; 32]> {
        let _ = (headers, context);
        Some([0; 32])
    }
    /// Checks whether the server behind has accepted this key. Otherwise a write without a clear answer does not count
    /// as carried out, because anyone can send one. By default it has accepted every key.
    fn is_accepted(&self, key: [u8; 32]) -> bool {
        let _ = key;
        true
    }
    /// Checks whether an answer with this status and these headers proves that a write to `path` changed nothing. By
    /// default no answer does.
    fn is_refusal(&self, path: &str, status: StatusCode, headers: &HeaderMap) -> bool {
        let _ = (path, status, headers);
        false
    }
    /// Runs `work`, which carries out a write, to its end, even when the client of the write leaves.
    fn carry_out(&self, work: BoxFuture<'static, ()>) {
        tokio::spawn(work);
    }
    /// Notes that the client of a write to `path` has left before its answer, and may look now whether it was carried
    /// out. By default it does nothing.
    fn client_left(&self, path: &str) {
        let _ = path;
    }
    /// Notes that a write to `path` was carried out, or may have been: it was answered, failed, or was given up. Called
    /// before the client gets the answer. The returned future ends when the other gateway processes know of the write;
    /// nobody needs to wait for it.
    fn after_write(&self, path: &str) -> BoxFuture<'static, ()>;
    /// Notes that v1 has confirmed the deletion of the record at `path`. Awaited before the client gets the answer. By
    /// default it does nothing.
    fn deleted(&self, path: &str) -> BoxFuture<'static, ()> {
        let _ = path;
        Box::pin(std::future::ready(()))
    }
}

/// Observer that notes nothing.
pub(super) struct Unobserved;

impl WriteObserver for Unobserved {
    fn after_write(&self, _path: &str) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// Observer of every call on the pass-through, because each call uses the quota of its key.
pub trait CallObserver: Send + Sync + 'static {
    /// Notes that a call with these headers is about to be sent.
    fn sent(&self, headers: &HeaderMap, context: &Context) -> Box<dyn CallInFlight>;
}

/// A call in flight on the pass-through. When it is dropped without a method call, the client has left before the
/// answer.
pub trait CallInFlight: Send {
    /// Notes that v1 has answered.
    fn answered(self: Box<Self>, status: u16, headers: &HeaderMap);
    /// Notes that v1 has not answered, and why.
    fn unanswered(self: Box<Self>, why: Outcome);
}

/// A write in flight. When it is dropped without a method call, it was given up before the answer.
pub(super) struct Write {
    observer: Arc<dyn WriteObserver>,
    method: Method,
    path: String,
    key: [u8; 32],
    is_over: bool,
}

impl Write {
    /// Begins a write; none when the server behind will certainly refuse it.
    pub(super) fn begin(observer: &Arc<dyn WriteObserver>, request: &Parts, context: &Context) -> Option<Self> {
        let key = observer.key(&request.headers, context)?;
        Some(Self {
            observer: observer.clone(),
            method: request.method.clone(),
            path: request.uri.path().to_owned(),
            key,
            is_over: false,
        })
    }

    /// Notes that the write was carried out, or may have been, if its key is good. The future ends when other gateway
    /// processes know of it.
    fn may_be_done(&self) -> BoxFuture<'static, ()> {
        match self.observer.is_accepted(self.key) {
            true => self.observer.after_write(&self.path),
            false => Box::pin(std::future::ready(())),
        }
    }

    /// Notes that the client has left before the answer, which may still be a refusal.
    pub(super) fn client_left(&self) {
        if self.observer.is_accepted(self.key) {
            self.observer.client_left(&self.path);
        }
    }

    /// Ends a write that was answered. The future ends when other gateway processes know of the write, and when a
    /// confirmed deletion is noted.
    pub(super) fn answered(mut self, status: StatusCode, headers: &HeaderMap) -> BoxFuture<'static, ()> {
        self.is_over = true;
        if self.observer.is_refusal(&self.path, status, headers) {
            return Box::pin(std::future::ready(()));
        }
        // Such an answer says nothing of the key, and no server before v1 invents it.
        let is_done = status == StatusCode::NO_CONTENT;
        let announced = if is_done { self.observer.after_write(&self.path) } else { self.may_be_done() };
        let is_deleted = self.method == Method::DELETE && is_done;
        let noted = is_deleted.then(|| self.observer.deleted(&self.path));
        Box::pin(async move {
            announced.await;
            if let Some(noted) = noted {
                noted.await;
            }
        })
    }

    /// Ends a write without an answer. The future ends when other gateway processes know of the write, unless nothing
    /// `was_sent`.
    pub(super) fn unanswered(mut self, was_sent: bool) -> BoxFuture<'static, ()> {
        self.is_over = true;
        if was_sent { self.may_be_done() } else { Box::pin(std::future::ready(())) }
    }
}

impl Drop for Write {
    fn drop(&mut self) {
        if !self.is_over {
            // Nobody waits for the other processes any more.
            drop(self.may_be_done());
        }
    }
}
