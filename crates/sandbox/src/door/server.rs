//! Server of the sandbox over TCP: HTTP/1.1 and HTTP/2 with prior knowledge, with a graceful shutdown. May use: this
//! folder.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;

use crate::door::service::Sandbox;

/// Longest time that open connections may take to finish after shutdown was requested.
const PATIENCE: Duration = Duration::from_secs(5);

/// Most bytes read of a body. v1's own limit is lower and is checked by the pipeline.
const LARGEST: usize = 32 * 1024 * 1024;

impl Sandbox {
    /// Serves until `shutdown` resolves, then lets open connections finish.
    ///
    /// # Errors
    ///
    /// When the listener cannot be used.
    pub fn serve(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> Boxed<io::Result<()>> {
        boxed(self, listener, Box::pin(shutdown))
    }
}

/// A future on the heap, of one kind for all callers.
type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The whole HTTP server is compiled here, and not again in each crate that starts a sandbox.
#[inline(never)]
fn boxed(sandbox: Sandbox, listener: TcpListener, shutdown: Boxed<()>) -> Boxed<io::Result<()>> {
    Box::pin(serve(sandbox, listener, shutdown))
}

/// Accepts connections until `shutdown` resolves, then lets the open ones finish.
async fn serve(sandbox: Sandbox, listener: TcpListener, mut shutdown: Boxed<()>) -> io::Result<()> {
    let builder = Builder::new(TokioExecutor::new());
    let open = GracefulShutdown::new();
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else {
                    // The connection is already gone, or there are no descriptors left for a moment.
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    continue;
                };
                let _ = stream.set_nodelay(true);
                let sandbox = sandbox.clone();
                let service = service_fn(move |request| answer(sandbox.clone(), request));
                let connection = builder.serve_connection(TokioIo::new(stream), service);
                let connection = open.watch(connection.into_owned());
                tokio::spawn(async move {
                    // A broken connection has no effect on other connections.
                    let _ = connection.await;
                });
            }
        }
    }
    drop(listener);
    let _ = tokio::time::timeout(PATIENCE, open.shutdown()).await;
    Ok(())
}

async fn answer(sandbox: Sandbox, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = match Limited::new(body, LARGEST).collect().await {
        Ok(body) => body,
        Err(error) => {
            let mut response = Response::new(Full::new(Bytes::new()));
            *response.status_mut() = if error.is::<LengthLimitError>() {
                StatusCode::PAYLOAD_TOO_LARGE
            } else {
                StatusCode::BAD_REQUEST
            };
            return Ok(response);
        }
    };
    let response = sandbox.handle_in_time(Request::from_parts(head, body.to_bytes())).await;
    Ok(response.map(Full::new))
}
