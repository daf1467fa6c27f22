//! Time limit for making a connection. May use: `tcp`.

use super::tcp::{Tcp, TcpConnector, read_on};
use http::Uri;
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::rt::TokioIo;
use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tower::Service;

pub(super) type BoxError = Box<dyn Error + Send + Sync>;

/// A connector that fails after a time limit, TLS included.
#[derive(Debug, Clone)]
pub(super) struct InTime {
    pub(super) connector: HttpsConnector<TcpConnector>,
    pub(super) time: Duration,
    /// Whether a connection reads on after a failed write.
    pub(super) reads_on: bool,
}

impl Service<Uri> for InTime {
    type Response = MaybeHttpsStream<TokioIo<Tcp>>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.connector.poll_ready(cx)
    }

    fn call(&mut self, address: Uri) -> Self::Future {
        let connecting = tokio::time::timeout(self.time, self.connector.call(address));
        let reads_on = self.reads_on;
        Box::pin(async move {
            let mut connection = connecting.await??;
            if reads_on {
                read_on(&mut connection);
            }
            Ok(connection)
        })
    }
}
