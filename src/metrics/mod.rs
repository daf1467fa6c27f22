//! The operators' page `/metrics`, in the text forms of Prometheus and OpenMetrics.
//!
//! The counting happens in `tally` and in the parts themselves; here the figures get names and labels.
//! Label values are only words of the gateway (operations, kinds, outcomes), so their number is known beforehand.
//!
//! May use: `access`, `admin`, `edge`, `fresh`, `hints`, `index`, `limits`, `load`, `oauth`, `retirement`, `run`,
//! `shadow`, `store`, `tally`, `v1`.

mod caches;
mod family;
mod process;
mod surface;
mod upstream;

use crate::access::Access;
use crate::admin::{AdminPage, text};
use crate::edge::{Stack, Tls};
use crate::hints::HintTally;
use crate::index::Indexes;
use crate::limits::Limits;
use crate::load::Memory;
use crate::oauth::OAuth;
use crate::retirement::Retirement;
use crate::run::Runner;
use crate::shadow::Tally;
use crate::store::Store;
use crate::tally::{Calls, Counter, Requests};
use crate::v1::Client;
use bytes::Bytes;
use family::{Family, openmetrics, prometheus};
use futures_util::future::BoxFuture;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use std::sync::Arc;

const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The page, with the sources of its figures.
pub struct MetricsPage {
    pub requests: Arc<Requests>,
    /// Connections, and places for requests.
    pub stack: Stack,
    /// The certificate of the listener, when it has one.
    pub tls: Option<Tls>,
    /// Memory of requests, and its limit.
    pub memory: (Memory, usize),
    pub limits: Arc<Limits>,
    /// Events of the authorization server by their number.
    pub events: Arc<[Counter]>,
    /// Outcomes of v1's webhooks.
    pub hints: Arc<HintTally>,
    pub calls: Arc<Calls>,
    /// The client for v1, with its budget.
    pub client: Client,
    /// Holds the caches of access.
    pub access: Access,
    /// Holds the cache of credentials.
    pub oauth: OAuth,
    /// Holds the caches of v1's answers.
    pub runner: Arc<Runner>,
    /// Holds the indices of work items.
    pub indexes: Indexes,
    pub store: Store,
    /// Outcomes of comparing answers.
    pub compared: Tally,
    /// Announced and refused calls of v1.
    pub retirement: Option<Arc<Retirement>>,
}

impl MetricsPage {
    fn gathered(&self) -> Vec<Family> {
        let mut kept = vec![("credentials", self.oauth.figures())];
        kept.extend(self.access.figures());
        kept.extend(self.runner.figures());
        let families = [
            process::process(),
            surface::requests(&self.requests),
            surface::places(&self.stack, &self.memory.0, self.memory.1),
            surface::certificate(self.tls.as_ref()),
            surface::limits(&self.limits),
            surface::events(&self.events),
            surface::hints(&self.hints),
            upstream::calls(&self.calls),
            upstream::state(&self.client),
            caches::caches(&kept),
            caches::indexes(&self.indexes),
            caches::store(&self.store),
            surface::compared(&self.compared),
            surface::brownouts(self.retirement.as_deref()),
        ];
        families.into_iter().flatten().collect()
    }

    fn respond(&self, request: &Request<Bytes>) -> Response<Bytes> {
        if request.method() != Method::GET {
            return text(StatusCode::METHOD_NOT_ALLOWED, "The figures are only read.\n");
        }
        let Ok(written) = openmetrics(self.gathered()) else {
            return text(StatusCode::INTERNAL_SERVER_ERROR, "The figures could not be written.\n");
        };
        let mut accepted = request.headers().get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let open = accepted.any(|value| value.contains("application/openmetrics-text"));
        let (written, media) = if open { (written, OPENMETRICS) } else { (prometheus(&written), PROMETHEUS) };
        let mut response = text(StatusCode::OK, written);
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media));
        response
    }
}

impl AdminPage for MetricsPage {
    fn path(&self) -> &'static str {
        "/metrics"
    }

    fn title(&self) -> &'static str {
        "Figures for Prometheus"
    }

    fn answer(&self, request: Request<Bytes>) -> BoxFuture<'static, Response<Bytes>> {
        Box::pin(std::future::ready(self.respond(&request)))
    }
}
