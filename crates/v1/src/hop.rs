//! Connections to v1: made with a time limit, kept for the next request, with TLS where the address asks for it.
//!
//! The client of the translation and the pass-through both use this, each with its own connections. It is hyper's own
//! client rather than reqwest, which parses and normalises each address again; v1 must get exactly the requested bytes.
//! It handles no redirects, no proxies of the environment and no compression. May use:
//! `worker`, this folder.

#[cfg(test)]
mod early_tests;
mod fault;
mod in_time;
mod instance;
mod retries;
mod tcp;

pub use fault::{HopError, chain};
pub use instance::Instance;
pub use retries::Retries;

use in_time::{BoxError, InTime};
use tcp::TcpConnector;

use crate::worker;
use bytes::Bytes;
use http::header::{CONNECTION, HeaderValue};
use http::uri::Scheme;
use http::{Request, Response};
use hyper::body::{Body, Incoming};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Silence after which the kernel asks whether the other side is still there, the pause between two such questions, and
/// their number without an answer after which the connection ends. A machine that was switched off says nothing itself.
const PROBED: Duration = Duration::from_secs(30);
const PROBE_PAUSE: Duration = Duration::from_secs(10);
const PROBES: u32 = 3;
/// Time for which sent data may stay unacknowledged, the same as for the questions. While they are, the kernel asks
/// nothing, and by default it sends them again for a quarter of an hour.
#[cfg(target_os = "linux")]
const UNACKNOWLEDGED: Duration = Duration::from_secs(60);

/// HTTP versions allowed over TLS. Without TLS, and for writes, it is always HTTP/1.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Versions {
    /// One exchange per connection, so that a large transfer never delays others.
    Http1,
    /// HTTP/2 for reads when v1 supports it.
    Http1And2,
}

/// Settings for making and keeping connections.
#[derive(Debug, Clone)]
pub struct HopSettings {
    /// Longest time to make a connection, TLS included.
    pub connect_timeout: Duration,
    /// Idle connections kept, for all threads together. Where reads and writes do not share them, this many for each.
    pub pool_size: usize,
    /// Time for which an idle connection is kept.
    pub idle: Duration,
    /// Allowed HTTP versions.
    pub versions: Versions,
}

/// Connections of one thread.
type Connections<B> = legacy::Client<InTime, B>;

/// Connections to the servers of one scheme; cheap to clone, all clones share them. Each thread that carries clients
/// has its own connections (`worker`); all other threads share one set.
///
/// Without TLS a write gets a new connection. A server may close a used connection just when a request arrives: v1's
/// workers do so after two idle seconds, and with all their connections each time a worker is replaced. A read is then
/// sent again, but for a write it would be unknown whether it was carried out.
///
/// With TLS a write uses HTTP/1.1. A proxy that ends an HTTP/2 connection, as nginx does after 1,000 requests, breaks
/// off the requests in flight. With HTTP/1.1 the proxy announces the end in its last answer, and nothing more is sent.
#[derive(Debug, Clone)]
pub struct Hop<B> {
    reads: Arc<[Connections<B>]>,
    writes: Arc<[Connections<B>]>,
    /// Whether each write gets a connection of its own.
    alone: bool,
}

impl<B> Hop<B>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    /// Prepares connections to addresses of `scheme`. Makes none yet.
    ///
    /// # Errors
    /// When TLS cannot be set up, for example because the machine has no root certificates.
    pub fn new(scheme: &Scheme, settings: &HopSettings) -> io::Result<Self> {
        let tcp = TcpConnector(connector());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let tls = tls.map_err(io::Error::other)?;
        let tls = match *scheme == Scheme::HTTPS {
            true => tls.with_platform_verifier().map_err(io::Error::other)?,
            // Plain HTTP needs no root certificates and must also work on a machine without any.
            false => tls.with_root_certificates(RootCertStore::empty()),
        };
        let tls = tls.with_no_client_auth();
        let workers = worker::count();
        let connections = |versions: Versions, kept: usize| {
            let connector = HttpsConnectorBuilder::new().with_tls_config(tls.clone()).https_or_http();
            let connector = match versions {
                Versions::Http1 => connector.enable_http1().wrap_connector(tcp.clone()),
                Versions::Http1And2 => connector.enable_all_versions().wrap_connector(tcp.clone()),
            };
            // Only writes and the pass-through send bodies, and so can be answered early; both use HTTP/1.1.
            let reads_on = versions == Versions::Http1;
            legacy::Client::builder(TokioExecutor::new())
                .pool_timer(TokioTimer::new())
                .pool_idle_timeout(settings.idle)
                .pool_max_idle_per_host(kept)
                .build(InTime { connector, time: settings.connect_timeout, reads_on })
        };
        let of_all = |versions: Versions| -> Arc<[Connections<B>]> {
            (0..=workers).map(|_| connections(versions, settings.pool_size.div_ceil(workers))).collect()
        };
        let reads = of_all(settings.versions);
        // With TLS there is usually a proxy, which keeps connections, and a new connection takes several exchanges.
        let alone = *scheme == Scheme::HTTP;
        let writes = match settings.versions {
            _ if alone => [connections(Versions::Http1, 0)].into(),
            Versions::Http1 => Arc::clone(&reads),
            Versions::Http1And2 => of_all(Versions::Http1),
        };
        Ok(Self { reads, writes, alone })
    }

    /// Sends one request. The body of the returned answer may still be arriving. The returned future does not borrow
    /// from the connections.
    ///
    /// # Errors
    /// When no connection was made, or it broke before the head of an answer arrived.
    pub fn send(
        &self,
        mut request: Request<B>,
    ) -> impl Future<Output = Result<Response<Incoming>, HopError>> + Send + use<B> {
        let writes = !request.method().is_safe();
        if writes && self.alone {
            request.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        let connections = if writes { &self.writes } else { &self.reads };
        let answer = connections[worker::number() % connections.len()].request(request);
        async move { answer.await.map_err(HopError) }
    }
}

/// Creates the connector of TCP. A connection to a machine that is gone ends after a minute.
fn connector() -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_keepalive(Some(PROBED));
    tcp.set_keepalive_interval(Some(PROBE_PAUSE));
    tcp.set_keepalive_retries(Some(PROBES));
    #[cfg(target_os = "linux")]
    tcp.set_tcp_user_timeout(Some(UNACKNOWLEDGED));
    tcp
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Method;
    use http_body_util::{BodyExt, Empty};
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    /// Starts a server that keeps connections open and counts them.
    async fn server() -> (String, Arc<AtomicUsize>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/", listener.local_addr().unwrap());
        let count = Arc::<AtomicUsize>::default();
        let made = Arc::clone(&count);
        tokio::spawn(async move {
            while let Ok((mut connection, _)) = listener.accept().await {
                made.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(async move {
                    let mut head = [0; 4096];
                    while connection.read(&mut head).await.is_ok_and(|read| read > 0) {
                        let _ = connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
                    }
                });
            }
        });
        (address, count)
    }

    #[tokio::test]
    async fn reads_share_a_connection_and_each_write_has_its_own() {
        let (address, made) = server().await;
        let settings = HopSettings {
            connect_timeout: Duration::from_secs(5),
            pool_size: 8,
            idle: Duration::from_secs(5),
            versions: Versions::Http1,
        };
        let hop = Hop::<Empty<Bytes>>::new(&Scheme::HTTP, &settings).unwrap();
        let send = async |method: Method| {
            let request = Request::builder().method(method).uri(&address).body(Empty::new()).unwrap();
            hop.send(request).await.unwrap().into_body().collect().await.unwrap();
            // The connection returns to the pool a moment later.
            tokio::time::sleep(Duration::from_millis(50)).await;
            made.load(Ordering::Relaxed)
        };
        assert_eq!([send(Method::GET).await, send(Method::GET).await], [1, 1]);
        assert_eq!([send(Method::POST).await, send(Method::PATCH).await, send(Method::DELETE).await], [2, 3, 4]);
        assert_eq!(send(Method::GET).await, 4);
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_connection_on_which_nothing_is_acknowledged_ends_after_a_minute() {
        let (address, _) = server().await;
        let connecting = tower::Service::call(&mut connector(), address.parse::<http::Uri>().unwrap());
        let socket = connecting.await.unwrap().into_inner();
        assert_eq!(rustix::net::sockopt::tcp_user_timeout(&socket).unwrap(), 60_000);
    }
}
