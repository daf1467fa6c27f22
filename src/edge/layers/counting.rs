//! Counts each call of v1 and v2 once, when it is answered or its client has left.

use super::access_log::CLIENT_LEFT;
use crate::context::Context;
use crate::edge::body::Body;
use crate::edge::dispatch::{Arrived, Counting};
use http::Request;

/// A call on its way, when anybody counts; counted when dropped.
pub(in crate::edge) struct Counted<'c>(Option<Call<'c>>);

struct Call<'c> {
    counting: &'c dyn Counting,
    context: &'c Context,
    arrived: Arrived,
    status: u16,
}

impl<'c> Counted<'c> {
    /// A call that has arrived.
    pub(in crate::edge) fn begin(
        counting: Option<&'c dyn Counting>,
        request: &Request<Body>,
        context: &'c Context,
    ) -> Self {
        Self(counting.map(|counting| {
            let arrived = counting.arrived(request.method(), request.uri().path(), request.headers());
            Call { counting, context, arrived, status: CLIENT_LEFT }
        }))
    }

    /// It was answered so.
    pub(in crate::edge) fn answered(mut self, status: u16) {
        if let Some(call) = &mut self.0 {
            call.status = status;
        }
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.counting.answered(self.arrived, self.context, self.status);
    }
}
