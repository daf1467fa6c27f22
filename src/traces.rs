//! Sending recorded traces to a collector: OTLP over HTTP, as JSON.
//!
//! Requests are handed to the batch processor of the OpenTelemetry SDK, which has a bounded queue and its own thread:
//! no request waits for a collector, and traces that the collector does not accept are lost. May use: `edge` (its
//! trait), `outgoing`, `settings`, `task`, `trace`.

use crate::edge::{Recorded, Traces};
use crate::outgoing;
use crate::settings::TraceSettings;
use crate::task::spawn_on;
use crate::trace::{Detail, Step};
use async_trait::async_trait;
use opentelemetry::trace::{SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{ExporterBuildError, Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{BatchSpanProcessor, SpanData, SpanEvents, SpanLinks, SpanProcessor};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};
use tokio::runtime::Handle;

/// Longest time for sending one batch.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most bytes of a collector's answer that are read; a usual answer has two.
const LONGEST_ANSWER: usize = 64 * 1024;

#[derive(Debug, thiserror::Error)]
pub enum TracesError {
    #[error("traces cannot be sent: {0}")]
    Client(#[from] reqwest::Error),
    #[error("traces cannot be sent to traces.endpoint: {0}")]
    Exporter(#[from] ExporterBuildError),
}

/// Sends recorded traces. Waiting traces are sent when it is dropped.
#[derive(Debug)]
pub struct Exporter {
    processor: BatchSpanProcessor,
    scope: InstrumentationScope,
    one_in: usize,
}

impl Exporter {
    /// Starts sending to the collector of `settings`; `None` without a collector. Must be called within a runtime.
    pub fn start(settings: &TraceSettings) -> Result<Option<Self>, TracesError> {
        let Some(endpoint) = &settings.endpoint else { return Ok(None) };
        let client = outgoing::client(PATIENCE).no_proxy().build()?;
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(OnRuntime { client, runtime: Handle::current(), refused: Arc::default() })
            .with_protocol(Protocol::HttpJson)
            .with_endpoint(endpoint.as_str())
            .with_timeout(PATIENCE)
            .build()?;
        let mut processor = BatchSpanProcessor::builder(exporter).build();
        let resource = Resource::builder_empty()
            .with_service_name("causeway")
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
        processor.set_resource(&resource.build());
        let scope = InstrumentationScope::builder("causeway").with_version(env!("CARGO_PKG_VERSION")).build();
        Ok(Some(Self { processor, scope, one_in: settings.one_in }))
    }

    fn span(&self, trace: u128, span: u64, parent: u64, name: String, time: (SystemTime, SystemTime)) -> SpanData {
        let (trace, span) = (TraceId::from_bytes(trace.to_be_bytes()), SpanId::from_bytes(span.to_be_bytes()));
        SpanData {
            span_context: SpanContext::new(trace, span, TraceFlags::SAMPLED, false, TraceState::NONE),
            parent_span_id: SpanId::from_bytes(parent.to_be_bytes()),
            parent_span_is_remote: false,
            span_kind: SpanKind::Internal,
            name: name.into(),
            start_time: time.0,
            end_time: time.1,
            attributes: Vec::new(),
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: Status::Unset,
            instrumentation_scope: self.scope.clone(),
        }
    }

    fn step(&self, request: &Recorded<'_>, step: Step) -> SpanData {
        let trace = request.trace;
        let span = |name| self.span(trace.id, step.span, trace.span, name, step.time);
        match step.detail {
            Detail::Nothing => span(step.name.into()),
            Detail::Call { method, path, status } => {
                let mut span = SpanData { span_kind: SpanKind::Client, ..span(format!("{method} {}", step.name)) };
                span.attributes =
                    vec![KeyValue::new("http.request.method", method), KeyValue::new("url.path", path)];
                match status {
                    0 => span.status = Status::error("no answer"),
                    status => {
                        span.attributes.push(KeyValue::new("http.response.status_code", i64::from(status)));
                        span.status = of_status(status);
                    }
                }
                span
            }
            Detail::Statement { engine, operation, failed } => SpanData {
                span_kind: SpanKind::Client,
                attributes: vec![
                    KeyValue::new("db.system.name", engine),
                    KeyValue::new("db.operation.name", operation),
                ],
                status: if failed { Status::error("the statement failed") } else { Status::Unset },
                ..span(format!("{operation} {}", step.name))
            },
        }
    }
}

impl Traces for Exporter {
    fn samples(&self) -> bool {
        self.one_in > 0 && fastrand::usize(..self.one_in) == 0
    }

    fn ended(&self, request: Recorded<'_>) {
        let trace = request.trace;
        let Some((begun, steps)) = trace.recorded() else { return };
        let parent = trace.parent.as_ref().map_or(0, |parent| parent.span);
        let time = (begun, SystemTime::now());
        let mut whole = self.span(trace.id, trace.span, parent, request.name.into(), time);
        whole.parent_span_is_remote = parent != 0;
        whole.span_kind = SpanKind::Server;
        whole.status = of_status(if request.status < 500 { 200 } else { request.status });
        whole.attributes = vec![
            KeyValue::new("http.request.method", request.method.to_owned()),
            KeyValue::new("url.path", request.path.to_owned()),
            KeyValue::new("http.response.status_code", i64::from(request.status)),
            KeyValue::new("causeway.source", request.source),
            KeyValue::new("causeway.request_id", request.request_id.to_owned()),
            KeyValue::new("user_agent.name", request.client.to_owned()),
        ];
        for step in steps {
            self.processor.on_end(self.step(&request, step));
        }
        self.processor.on_end(whole);
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        // Traces that the collector does not accept in time are lost; the gateway does not wait for them.
        let _ = self.processor.shutdown_with_timeout(Duration::from_secs(1));
    }
}

/// Returns the status of a span: a refused call is an error of its step. A refused request is not our error.
fn of_status(status: u16) -> Status {
    if status >= 400 { Status::error(status.to_string()) } else { Status::Unset }
}

/// A client whose requests run on the gateway's runtime, because the SDK's thread has no runtime.
#[derive(Debug, Clone)]
struct OnRuntime {
    client: reqwest::Client,
    runtime: Handle,
    /// Whether the collector refused the last batch; the log reports each change once.
    refused: Arc<AtomicBool>,
}

impl OnRuntime {
    async fn sent(&self, request: Request<Bytes>) -> Result<Response<Bytes>, reqwest::Error> {
        let (head, body) = request.into_parts();
        let asked = self.client.request(head.method, head.uri.to_string()).headers(head.headers).body(body);
        let mut answer = asked.send().await?;
        let mut response = Response::new(());
        *response.status_mut() = answer.status();
        *response.headers_mut() = answer.headers().clone();
        let mut bytes = Vec::new();
        while bytes.len() < LONGEST_ANSWER
            && let Some(piece) = answer.chunk().await?
        {
            bytes.extend_from_slice(&piece[..piece.len().min(LONGEST_ANSWER - bytes.len())]);
        }
        Ok(response.map(|()| bytes.into()))
    }

    /// Logs when the collector begins to refuse traces, and when it accepts them again.
    fn tell(&self, fault: Option<&str>) {
        let before = self.refused.swap(fault.is_some(), Ordering::Relaxed);
        match (before, fault) {
            (false, Some(cause)) => {
                tracing::warn!(cause, "traces are lost: the collector (traces.endpoint) does not take them");
            }
            (true, None) => tracing::info!("the collector takes traces again"),
            _ => {}
        }
    }
}

#[async_trait]
impl HttpClient for OnRuntime {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let own = self.clone();
        let sending = spawn_on(&self.runtime, async move {
            let answer = own.sent(request).await;
            match &answer {
                Ok(answer) if answer.status().is_success() => own.tell(None),
                Ok(answer) => own.tell(Some(&format!("it answers {}", answer.status().as_u16()))),
                Err(fault) => own.tell(outgoing::causes(fault).last().map(String::as_str)),
            }
            answer
        });
        Ok(sending.await??)
    }
}
