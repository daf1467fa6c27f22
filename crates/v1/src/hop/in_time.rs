//! Time limit for making a connection. May use: nothing of this crate.

use http::Uri;
use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tower::Service;

pub(super) type BoxError = Box<dyn Error + Send + Sync>;

/// A connector that fails after a time limit, TLS included.
#[derive(Debug, Clone)]
pub(super) struct InTime<C> {
    pub(super) connector: C,
    pub(super) time: Duration,
}

impl<C> Service<Uri> for InTime<C>
where
    C: Service<Uri, Error = BoxError>,
    C::Response: Send + 'static,
    C::Future: Send + 'static,
{
    type Response = C::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<C::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.connector.poll_ready(cx)
    }

    fn call(&mut self, address: Uri) -> Self::Future {
        let connecting = tokio::time::timeout(self.time, self.connector.call(address));
        Box::pin(async { connecting.await? })
    }
}
