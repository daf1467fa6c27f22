//! The only writer of error bodies: refusals as `application/problem+json` (RFC 9457).
//!
//! One exhaustive match here decides which parts of a refusal a client may see; causes go to the log.
//!
//! May use: `refusal`, `telemetry`, `edge::body`, `edge::public_base`.

use super::body::{self, Body};
use super::public_base::PublicBase;
use crate::refusal::{FieldError, MAY_BE_DONE, Refusal};
use crate::telemetry::field;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, Response, StatusCode};
use serde::Serialize;

/// Media type of every error body.
const MEDIA_TYPE: &str = "application/problem+json";

/// Seconds in `Retry-After` when the gateway is full.
const SOON: u64 = 1;
/// Seconds in `Retry-After` when the store is unavailable.
const LATER: u64 = 5;
/// Detail of a refused read while the result of an earlier write is unknown: the read could show half of the write.
const UNDECIDED: &str = "What became of an earlier write to a work item that this would show is not known yet.";

/// Challenge for authentication with a key.
const API_KEY_CHALLENGE: &str = "ApiKey realm=\"causeway\", header=\"X-Api-Key\"";
/// Path where clients find the authorization server that issues tokens (RFC 9728).
const RESOURCE_METADATA: &str = "/.well-known/oauth-protected-resource";

/// The body of a refusal, with the keys of the contract in order.
#[derive(Serialize)]
struct Problem<'a> {
    r#type: String,
    title: &'static str,
    status: u16,
    code: &'static str,
    detail: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    errors: Option<&'a [FieldError]>,
}

/// The parts of a refusal for the client, and its cause for the log.
struct ClientProblem<'a> {
    title: &'static str,
    detail: std::borrow::Cow<'a, str>,
    errors: Option<&'a [FieldError]>,
    retry_after: Option<u64>,
    allow: &'a [&'static str],
    cause: Option<&'a str>,
}

/// Returns a refusal with a title and a detail only.
fn plain<'a>(title: &'static str, detail: impl Into<std::borrow::Cow<'a, str>>) -> ClientProblem<'a> {
    ClientProblem { title, detail: detail.into(), errors: None, retry_after: None, allow: &[], cause: None }
}

/// Decides for each refusal what a client sees; the only place that does.
fn shown(refusal: &Refusal) -> ClientProblem<'_> {
    match refusal {
        Refusal::Validation { detail, errors } => {
            ClientProblem { errors: Some(errors), ..plain("Validation Error", detail) }
        }
        Refusal::HeadTooLarge { detail } => {
            ClientProblem { errors: Some(&[]), ..plain("Validation Error", detail) }
        }
        Refusal::OrderingNotCursorEligible { ordering } => plain(
            "Ordering Not Cursor Eligible",
            format!("Cursor pagination is not possible with order_by={ordering}."),
        ),
        Refusal::Unauthorized { detail } | Refusal::InvalidToken { detail, .. } => plain("Unauthorized", detail),
        Refusal::InsufficientScope { scopes } => {
            plain("Forbidden", format!("The credential carries none of the scopes {}.", scopes.join(", ")))
        }
        Refusal::Forbidden { detail } | Refusal::WorkflowDenied { detail } => plain("Forbidden", detail),
        Refusal::NotFound { detail } => plain("Not Found", detail),
        Refusal::MethodNotAllowed { allow } => {
            ClientProblem { allow, ..plain("Method Not Allowed", "The path does not know this method; see Allow.") }
        }
        Refusal::Conflict { detail } => plain("Conflict", detail),
        Refusal::ManagedAtWorkspace => plain(
            "Work Item Types Managed At Workspace",
            "Work item types of this workspace are managed at the workspace.",
        ),
        Refusal::OwnedByWorkspace => plain(
            "Work Item Types Managed At Workspace",
            "This belongs to the workspace and is changed there, while `is_work_item_types_enabled` is on.",
        ),
        Refusal::ManagedAtProject => plain(
            "Work Item Types Managed At Project",
            "Work item types of this workspace are managed at its projects.",
        ),
        Refusal::Gone { detail } => plain("Gone", detail),
        Refusal::PreconditionFailed { detail } => plain("Precondition Failed", detail),
        Refusal::IdempotencyKeyReused => plain(
            "Idempotency Key Reused",
            "This Idempotency-Key came with another request before; a new request needs a new key.",
        ),
        Refusal::IdempotencyInProgress { retry_after } => again(
            *retry_after,
            plain("Idempotency In Progress", "The request that came with this Idempotency-Key is still running."),
        ),
        Refusal::RateLimited { retry_after, detail } => again(*retry_after, plain("Rate Limited", detail)),
        Refusal::Internal { cause } => {
            because(cause, plain("Internal Server Error", "The gateway failed; the request id leads to the cause."))
        }
        Refusal::NotImplemented { operation } => {
            plain("Not Implemented", format!("{operation} does not work in this version."))
        }
        Refusal::UpstreamError { detail, cause } | Refusal::UpstreamFault { detail, cause } => {
            because(cause, plain("Upstream Error", detail))
        }
        Refusal::UpstreamUnavailable { cause, retry_after } => because(
            cause,
            again(
                *retry_after,
                plain("Upstream Unavailable", "The service behind the gateway could not be reached."),
            ),
        ),
        Refusal::KeptChanging { cause } => because(
            cause,
            again(SOON, plain("Upstream Unavailable", "The list kept changing while it was being read.")),
        ),
        Refusal::UpstreamTimeout { detail } => plain("Upstream Timeout", detail),
        Refusal::OutcomeUnknown { detail, cause, timed_out } => {
            because(cause, plain(if *timed_out { "Upstream Timeout" } else { "Upstream Error" }, detail))
        }
        Refusal::Overloaded => {
            again(SOON, plain("Overloaded", "More requests are running than the gateway serves at once."))
        }
        Refusal::TurnNotReached { detail } => again(SOON, plain("Overloaded", detail)),
        Refusal::DeadlineExceeded { maybe_done } => plain(
            "Deadline Exceeded",
            match maybe_done {
                true => format!("The request was not answered in the time allowed. {MAY_BE_DONE}"),
                false => "The request was not answered in the time allowed.".to_owned(),
            },
        ),
        Refusal::IndexBuilding { detail, retry_after } => again(*retry_after, plain("Index Building", detail)),
        Refusal::StoreUnavailable { cause } => {
            because(cause, again(LATER, plain("Store Unavailable", "The store of the gateway cannot be used.")))
        }
        Refusal::WriteUndecided => again(LATER, plain("Store Unavailable", UNDECIDED)),
    }
}

fn again(seconds: u64, shown: ClientProblem<'_>) -> ClientProblem<'_> {
    ClientProblem { retry_after: Some(seconds.max(1)), ..shown }
}

fn because<'a>(cause: &'a str, shown: ClientProblem<'a>) -> ClientProblem<'a> {
    ClientProblem { cause: Some(cause), ..shown }
}

/// Builds the answer for `refusal`, with problem types under `base`. Logs its cause under `request_id`.
pub fn respond(refusal: &Refusal, base: &PublicBase, request_id: &str) -> Response<Body> {
    let shown = shown(refusal);
    if let Some(cause) = shown.cause {
        let code = refusal.code();
        tracing::error!(
            { field::REQUEST_ID } = request_id,
            { field::CODE } = code,
            { field::CAUSE } = cause,
            "request refused"
        );
    }
    let mut response = Response::new(body::full(written(refusal, &shown, base)));
    *response.status_mut() = StatusCode::from_u16(refusal.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    add_headers(&mut response, &shown);
    add_challenges(&mut response, refusal, base);
    response
}

fn written(refusal: &Refusal, shown: &ClientProblem<'_>, base: &PublicBase) -> Vec<u8> {
    let problem = Problem {
        r#type: format!("{base}/errors/{}", refusal.code()),
        title: shown.title,
        status: refusal.status(),
        code: refusal.code(),
        detail: &shown.detail,
        errors: shown.errors,
    };
    serde_json::to_vec(&problem).expect("texts and numbers are always JSON")
}

fn add_headers(response: &mut Response<Body>, shown: &ClientProblem<'_>) {
    let not_allowed = response.status() == StatusCode::METHOD_NOT_ALLOWED;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
    // Caches on the way may store a 404 or 405 by default (RFC 9110, 15.1), but another client may be allowed to see
    // the record that this one may not see.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(seconds) = shown.retry_after {
        headers.insert(RETRY_AFTER, seconds.into());
    }
    if not_allowed && let Ok(allow) = HeaderValue::from_str(&allowed(shown.allow)) {
        headers.insert(ALLOW, allow);
    }
}

/// Adds the headers that say how to authenticate, or what the token lacks (RFC 6750, 3). Unknown, expired and revoked
/// tokens get the same text, so the challenge tells nothing about credentials.
fn add_challenges(response: &mut Response<Body>, refusal: &Refusal, base: &PublicBase) {
    let bearer = match refusal {
        Refusal::Unauthorized { .. } => String::new(),
        Refusal::InvalidToken { detail, .. } => {
            format!(", error=\"invalid_token\", error_description=\"{}\"", quotable(detail))
        }
        Refusal::InsufficientScope { scopes } => {
            format!(", error=\"insufficient_scope\", scope=\"{}\"", scopes.join(" "))
        }
        _ => return,
    };
    let bearer = format!("Bearer realm=\"causeway\"{bearer}, resource_metadata=\"{base}{RESOURCE_METADATA}\"");
    let headers = response.headers_mut();
    if let Ok(bearer) = HeaderValue::from_str(&bearer) {
        headers.append(WWW_AUTHENTICATE, bearer);
    }
    if !matches!(refusal, Refusal::InsufficientScope { .. }) {
        headers.append(WWW_AUTHENTICATE, HeaderValue::from_static(API_KEY_CHALLENGE));
    }
}

/// Returns the characters of `text` that are allowed in a quoted string of a challenge.
fn quotable(text: &str) -> String {
    text.chars().filter(|c| matches!(c, ' '..='~') && !matches!(c, '"' | '\\')).collect()
}

/// Lists methods for `Allow`; GET implies HEAD (O7).
fn allowed(methods: &[&'static str]) -> String {
    let mut listed = methods.to_vec();
    if let Some(get) = listed.iter().position(|method| *method == "GET")
        && !listed.contains(&"HEAD")
    {
        listed.insert(get + 1, "HEAD");
    }
    listed.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;
    use serde_json::Value;
    use std::collections::BTreeSet;

    const SECRET: &str = "10.0.0.3 refused the connection";

    fn every_refusal() -> Vec<Refusal> {
        let (detail, cause) = (|| "What happened.".to_owned(), || SECRET.to_owned());
        vec![
            Refusal::field("options.1.name", "required"),
            Refusal::invalid("no field fits"),
            Refusal::head_too_large("too much"),
            Refusal::OrderingNotCursorEligible { ordering: "sort_order".into() },
            Refusal::Unauthorized { detail: detail() },
            Refusal::invalid_token(),
            Refusal::InsufficientScope { scopes: vec!["read".into()] },
            Refusal::Forbidden { detail: detail() },
            Refusal::WorkflowDenied { detail: detail() },
            Refusal::not_found(),
            Refusal::MethodNotAllowed { allow: vec!["GET", "POST"] },
            Refusal::Conflict { detail: detail() },
            Refusal::ManagedAtWorkspace,
            Refusal::OwnedByWorkspace,
            Refusal::ManagedAtProject,
            Refusal::Gone { detail: detail() },
            Refusal::PreconditionFailed { detail: detail() },
            Refusal::IdempotencyKeyReused,
            Refusal::IdempotencyInProgress { retry_after: 1 },
            Refusal::RateLimited { retry_after: 0, detail: detail() },
            Refusal::Internal { cause: cause() },
            Refusal::NotImplemented { operation: "states.list".into() },
            Refusal::UpstreamError { detail: detail(), cause: cause() },
            Refusal::UpstreamFault { detail: detail(), cause: cause() },
            Refusal::UpstreamUnavailable { cause: cause(), retry_after: 3 },
            Refusal::KeptChanging { cause: cause() },
            Refusal::UpstreamTimeout { detail: detail() },
            Refusal::OutcomeUnknown { detail: detail(), cause: cause(), timed_out: false },
            Refusal::OutcomeUnknown { detail: detail(), cause: cause(), timed_out: true },
            Refusal::Overloaded,
            Refusal::TurnNotReached { detail: detail() },
            Refusal::DeadlineExceeded { maybe_done: true },
            Refusal::DeadlineExceeded { maybe_done: false },
            Refusal::IndexBuilding { detail: detail(), retry_after: 7 },
            Refusal::StoreUnavailable { cause: cause() },
            Refusal::WriteUndecided,
        ]
    }

    async fn answered(refusal: &Refusal) -> (http::response::Parts, Value) {
        let response = respond(refusal, &PublicBase::new("https://v2.example.com"), "r");
        let (parts, body) = response.into_parts();
        (parts, serde_json::from_slice(&body.collect().await.unwrap().to_bytes()).unwrap())
    }

    fn schema() -> Value {
        let contract = include_str!("../../fixtures/contract/resources.json");
        serde_json::from_str::<Value>(contract).unwrap()["$defs"]["Problem"].take()
    }

    fn keys(object: &Value) -> BTreeSet<String> {
        object.as_object().unwrap().keys().cloned().collect()
    }

    /// Codes that this gateway adds to the closed list of the contract.
    const ADDED: [&str; 12] = [
        "gone",
        "precondition_failed",
        "idempotency_key_reused",
        "idempotency_in_progress",
        "upstream_error",
        "upstream_unavailable",
        "upstream_timeout",
        "overloaded",
        "deadline_exceeded",
        "index_building",
        "store_unavailable",
        "not_implemented",
    ];

    #[tokio::test]
    async fn every_refusal_has_the_keys_of_the_contract_and_no_other() {
        let schema = schema();
        let known: BTreeSet<&str> =
            schema["properties"]["code"]["enum"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        for refusal in every_refusal() {
            let (parts, body) = answered(&refusal).await;
            let mut expected: BTreeSet<String> =
                schema["required"].as_array().unwrap().iter().map(|key| key.as_str().unwrap().into()).collect();
            if refusal.code() == "validation_error" {
                expected.insert("errors".into());
            }
            assert_eq!(keys(&body), expected, "{refusal:?}");
            assert!(keys(&body).is_subset(&keys(&schema["properties"])));
            assert_eq!(body["type"], format!("https://v2.example.com/errors/{}", refusal.code()));
            assert_eq!((&body["status"], &body["code"]), (&refusal.status().into(), &refusal.code().into()));
            assert!(known.contains(refusal.code()) || ADDED.contains(&refusal.code()), "{refusal:?}");
            assert_eq!(
                (parts.status.as_u16(), &parts.headers[CONTENT_TYPE]),
                (refusal.status(), &MEDIA_TYPE.parse().unwrap())
            );
        }
    }

    #[tokio::test]
    async fn causes_are_never_sent() {
        for refusal in every_refusal() {
            let (parts, body) = answered(&refusal).await;
            assert!(!format!("{parts:?}{body}").contains(SECRET), "{refusal:?}");
        }
    }

    #[tokio::test]
    async fn headers_go_with_their_statuses() {
        for refusal in every_refusal() {
            let (parts, _) = answered(&refusal).await;
            let status = parts.status.as_u16();
            assert_eq!(
                parts.headers.contains_key(RETRY_AFTER),
                matches!(status, 429 | 503) || refusal.code() == "idempotency_in_progress",
                "{refusal:?}"
            );
            assert_eq!(parts.headers.contains_key(ALLOW), status == 405, "{refusal:?}");
            assert_eq!(parts.headers[CACHE_CONTROL], "no-store", "{refusal:?}");
            let challenged = status == 401 || matches!(refusal, Refusal::InsufficientScope { .. });
            assert_eq!(parts.headers.contains_key(WWW_AUTHENTICATE), challenged, "{refusal:?}");
        }
    }

    #[tokio::test]
    async fn values_of_headers() {
        let header = async |refusal, name| answered(&refusal).await.0.headers[name].to_str().unwrap().to_owned();
        assert_eq!(
            header(Refusal::MethodNotAllowed { allow: vec!["GET", "POST"] }, "allow").await,
            "GET, HEAD, POST"
        );
        assert_eq!(
            header(Refusal::RateLimited { retry_after: 0, detail: String::new() }, "retry-after").await,
            "1"
        );
        let unauthorized = Refusal::Unauthorized { detail: String::new() };
        let metadata = "resource_metadata=\"https://v2.example.com/.well-known/oauth-protected-resource\"";
        let challenge = async |refusal| header(refusal, "www-authenticate").await;
        assert_eq!(challenge(unauthorized).await, format!("Bearer realm=\"causeway\", {metadata}"));
        let scopes = vec!["read".into(), "projects.states:read".into()];
        assert_eq!(
            challenge(Refusal::InsufficientScope { scopes }).await,
            format!(
                "Bearer realm=\"causeway\", error=\"insufficient_scope\", scope=\"read projects.states:read\", {metadata}"
            )
        );
        assert!(challenge(Refusal::invalid_token()).await.contains("error=\"invalid_token\""));
    }

    #[test]
    fn the_documented_texts_are_those_that_are_sent() {
        let examples: Value = serde_json::from_str(include_str!("../../fixtures/examples/problems.json")).unwrap();
        for refusal in [
            Refusal::OrderingNotCursorEligible { ordering: "sort_order".into() },
            Refusal::MethodNotAllowed { allow: vec!["GET"] },
            Refusal::ManagedAtWorkspace,
            Refusal::ManagedAtProject,
            Refusal::IdempotencyKeyReused,
            Refusal::IdempotencyInProgress { retry_after: 1 },
            Refusal::internal(SECRET),
            Refusal::NotImplemented { operation: "audit_logs_list".into() },
            Refusal::unavailable(SECRET),
            Refusal::Overloaded,
            Refusal::DeadlineExceeded { maybe_done: false },
            Refusal::StoreUnavailable { cause: SECRET.into() },
        ] {
            let (shown, example) = (shown(&refusal), &examples[refusal.code()]);
            let told = (shown.title, &*shown.detail);
            assert_eq!((example["title"].as_str().unwrap(), example["detail"].as_str().unwrap()), told);
        }
    }

    #[tokio::test]
    async fn a_validation_error_that_fits_no_field_has_an_empty_list() {
        assert_eq!(answered(&Refusal::invalid("x")).await.1["errors"], serde_json::json!([]));
        let expected = serde_json::json!([{"field": "options.1.name", "message": "required"}]);
        assert_eq!(answered(&Refusal::field("options.1.name", "required")).await.1["errors"], expected);
    }
}
