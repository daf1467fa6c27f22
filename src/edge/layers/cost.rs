//! Turns refusals into bytes. Adds headers to v2 answers: their cost at v1, the age of their data, the members of
//! the body that changed nothing, and the state of the credential's limit. May use: `context`, `refusal`, `units`,
//! this folder.

use super::companion::Companion;
use crate::context::{Context, LimitState, MOST_IGNORED, Meter};
use crate::edge::body::Body;
use crate::edge::pools::is_v2;
use crate::edge::problem;
use crate::refusal::Refusal;
use crate::units::{seconds_up, since_1970};
use http::header::{AGE, CACHE_CONTROL};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::time::Duration;

const V1_CALLS: HeaderName = HeaderName::from_static("causeway-v1-calls");
/// Header that marks the repeated answer of an earlier request with the same `Idempotency-Key`.
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
/// Header that names the members of the body that changed nothing.
const IGNORED: HeaderName = HeaderName::from_static("causeway-ignored");
const LONGEST_IGNORED: usize = 60;
/// Most bytes of the names in this header, percent-encoded. One name has at most 720. Proxies lose an answer whose head
/// is too large for their buffers (nginx: 4 KiB).
const MOST_IGNORED_BYTES: usize = 1_024;
/// Characters of a name that stay unchanged; all others are percent-encoded.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'_').remove(b'-').remove(b'.');
/// Header with the durations of an answer, readable in browsers.
const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");
/// Header that tells how a cache got its answer (RFC 9211).
const CACHE_STATUS: HeaderName = HeaderName::from_static("cache-status");
/// Value for a cached answer that is too old, so that v1 should have been asked, but that is sent all the same.
const STALE: HeaderValue = HeaderValue::from_static("causeway; fwd=stale");

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// Cost headers of the answer to a request.
pub(in crate::edge) struct Costs {
    /// Whether the answer is one of v2; only these have cost headers.
    v2: bool,
}

impl Costs {
    pub(in crate::edge) fn of(request: &Request<Body>) -> Self {
        Self { v2: is_v2(request.uri().path()) }
    }

    /// Writes the answer as bytes: a refusal as a problem, and an answer of v2 with the cost headers.
    pub(in crate::edge) fn written(
        self,
        answer: Result<Response<Body>, Refusal>,
        companion: &Companion,
    ) -> Response<Body> {
        let context = &companion.context;
        let mut response =
            answer.unwrap_or_else(|refusal| problem::respond(&refusal, &companion.base, &context.request_id));
        if self.v2 {
            add_cost(&mut response, context, context.began.elapsed());
            if context.meter.is_replayed() {
                response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
            }
            if let Some(ignored) = ignored(&context.meter.ignored()) {
                response.headers_mut().insert(IGNORED, ignored);
            }
            if let Some(standing) = context.meter.standing() {
                add_standing(response.headers_mut(), &standing);
            }
        }
        response
    }
}

/// Lists names for a header, with three dots for further names; none when there are no names.
fn ignored(members: &[String]) -> Option<HeaderValue> {
    if members.is_empty() {
        return None;
    }
    let mut text = String::new();
    for (at, name) in members.iter().enumerate() {
        let short: String = name.chars().take(LONGEST_IGNORED).collect();
        let encoded = utf8_percent_encode(&short, PLAIN).to_string();
        if at == MOST_IGNORED || text.len() + encoded.len() > MOST_IGNORED_BYTES {
            text.push_str(", ...");
            break;
        }
        if at > 0 {
            text.push_str(", ");
        }
        text.push_str(&encoded);
    }
    HeaderValue::from_str(&text).ok()
}

fn add_cost(response: &mut Response<Body>, context: &Context, total: Duration) {
    // A 304 is as old as the answer that it stands for.
    let shows = response.status().is_success() || response.status() == StatusCode::NOT_MODIFIED;
    if let Some(age) = context.meter.stale_age().filter(|_| shows) {
        // Rounded up, so that no answer seems younger than it is. No cache may store it, not even a document.
        response.headers_mut().insert(AGE, seconds_up(age).into());
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    if shows && context.meter.uses_older_data() {
        response.headers_mut().insert(CACHE_STATUS, STALE);
    }
    response.headers_mut().insert(V1_CALLS, context.meter.calls().into());
    if let Ok(timing) = timing(&context.meter, total).try_into() {
        response.headers_mut().insert(SERVER_TIMING, timing);
    }
}

/// Lists the time and number of calls of v1, the time of the answer in `total`, and the other recorded notes.
///
/// Written piece by piece, because every answer has it: `format!` takes five times as long.
fn timing(meter: &Meter, total: Duration) -> String {
    let calls = meter.calls();
    let mut text = String::with_capacity(64);
    text.push_str("v1;dur=");
    push_milliseconds(&mut text, meter.v1_time());
    text.push_str(";desc=\"");
    text.push_str(itoa::Buffer::new().format(calls));
    text.push_str(if calls == 1 { " call" } else { " calls" });
    text.push_str("\", total;dur=");
    push_milliseconds(&mut text, total);
    for note in meter.notes() {
        text.push_str(", ");
        text.push_str(note.entry());
    }
    text
}

/// Appends milliseconds, rounded to one decimal.
fn push_milliseconds(text: &mut String, time: Duration) {
    let tenths = u64::try_from(time.as_micros()).unwrap_or(u64::MAX).saturating_add(50) / 100;
    text.push_str(itoa::Buffer::new().format(tenths / 10));
    text.push('.');
    text.push_str(itoa::Buffer::new().format(tenths % 10));
}

/// Writes the state of the credential's limit: `RateLimit` and `RateLimit-Policy` as structured fields
/// (draft-ietf-httpapi-ratelimit-headers-10), and the older `X-RateLimit-*` with the reset as a Unix second, as v1
/// writes it.
fn add_standing(headers: &mut HeaderMap, standing: &LimitState) {
    let seconds = seconds_up(standing.reset);
    let reset = seconds_up(since_1970() + standing.reset);
    let LimitState { policy, limit, remaining, .. } = standing;
    for (name, text) in [
        (RATE_LIMIT, format!("\"{policy}\";r={remaining};t={seconds}")),
        (POLICY, format!("\"{policy}\";q={limit};w=60")),
    ] {
        if let Ok(value) = HeaderValue::from_str(&text) {
            headers.insert(name, value);
        }
    }
    headers.insert(LIMIT, (*limit).into());
    headers.insert(REMAINING, (*remaining).into());
    headers.insert(RESET, reset.into());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_milliseconds_with_one_decimal() {
        for (micros, written) in
            [(0, "0.0"), (49, "0.0"), (50, "0.1"), (949, "0.9"), (950, "1.0"), (12_345_678, "12345.7")]
        {
            let mut text = String::new();
            push_milliseconds(&mut text, Duration::from_micros(micros));
            assert_eq!(text, written);
        }
    }

    #[test]
    fn the_headers_are_those_of_the_draft_and_the_older_ones() {
        let mut written = http::HeaderMap::new();
        let reset = Duration::from_millis(29_200);
        add_standing(&mut written, &LimitState { policy: "oauth", limit: 600, remaining: 42, reset });
        let text = |name: &str| written[name].to_str().unwrap();
        assert_eq!(text("ratelimit"), "\"oauth\";r=42;t=30");
        assert_eq!(text("ratelimit-policy"), "\"oauth\";q=600;w=60");
        assert_eq!((text("x-ratelimit-limit"), text("x-ratelimit-remaining")), ("600", "42"));
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        let reset: u64 = text("x-ratelimit-reset").parse().unwrap();
        assert!((now + 29..=now + 31).contains(&reset));
    }
}
