//! Facts in an answer: its format, the quota, and the kind of a failure.
//!
//! May use: `hop`, `units` and the messages of the folder above.

use crate::hop::{HopError, chain};
use crate::units::{http_date, since_1970};
use crate::v1::budget::QuotaNotice;
use crate::v1::message::{V1Error, V1Response};
use crate::v1::{API_KEY, V1Key};
use http::header::{ALLOW, CONTENT_ENCODING, CONTENT_TYPE, DATE, HeaderMap, HeaderName, RETRY_AFTER};
use std::time::Duration;

const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// Removes the key from the body of an answer that is no success, because an excerpt of it may be logged. Error pages
/// of a v1 in debug mode show the headers of the request.
pub(super) fn without_echo(answer: V1Response, key: &V1Key) -> V1Response {
    let shows_key = |body: &[u8]| String::from_utf8_lossy(body).contains(key.expose());
    if answer.is_success() || !shows_key(&answer.body) {
        return answer;
    }
    let body = String::from_utf8_lossy(&answer.body).replace(key.expose(), "[key]");
    V1Response { body: body.into(), ..answer }
}

/// Checks for JSON by the content type. A compressed body is not JSON, because compression was not requested.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let compressed = headers.get(CONTENT_ENCODING).is_some_and(|coding| coding != "identity");
    !compressed && is_typed_json(headers)
}

/// Checks for JSON by the content type alone. A client of the pass-through may have requested compression.
fn is_typed_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}

/// Returns the seconds of `Retry-After`. A date in it is compared with the clock that wrote it.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<u64> {
    number(headers, &RETRY_AFTER).or_else(|| {
        let until = date(headers, &RETRY_AFTER)?;
        let now = date(headers, &DATE).unwrap_or_else(|| since_1970().as_secs());
        Some(until.saturating_sub(now))
    })
}

fn date(headers: &HeaderMap, name: &HeaderName) -> Option<u64> {
    http_date(headers.get(name)?.to_str().ok()?)
}

fn number(headers: &HeaderMap, name: &HeaderName) -> Option<u64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

/// Returns the facts about the quota of the key in an answer of v1.
pub fn told(status: u16, headers: &HeaderMap) -> QuotaNotice {
    let now = since_1970().as_secs();
    QuotaNotice {
        status,
        remaining: number(headers, &REMAINING).and_then(|number| usize::try_from(number).ok()),
        reset: number(headers, &RESET).map(|reset| Duration::from_secs(reset.saturating_sub(now))),
        retry_after: retry_after(headers),
    }
}

/// Checks whether v1 refused a request for `path` before the code of its resource began, so that nothing was changed.
///
/// v1 checks size, route, format, key, permission and quota in this order (`errors_body_too_large_no_key`,
/// `auth_missing_key_unknown_path`, `errors_accept_xml_no_key`, `auth_missing_key`, `auth_wrong_key`,
/// `throttle_limited_write`). Only answers that come after these checks tell the rest of the quota.
/// Method and media type come last (`errors_405_put`, `errors_text_plain`). All later refusals prove nothing: a 400 or
/// 409 may leave something behind (traps 17, 23). Neither does a 429 of a proxy, which has no `Allow`.
///
/// A server or proxy before v1 refuses a request that it cannot read or that is too large, and v1 never gets it. Its
/// words are no JSON, and v1's own 400 always is (`errors_bad_json`).
pub fn is_refused_at_the_door(path: &str, status: u16, headers: &HeaderMap) -> bool {
    let is_json = is_typed_json(headers);
    let is_early = is_json && !headers.contains_key(&REMAINING);
    let is_before_v1 = !is_json && !headers.contains_key(&REMAINING) && !headers.contains_key(ALLOW);
    match status {
        // Trap 13: a path without its last slash reaches no resource (`errors_slash_missing_post`).
        301 => !path.ends_with('/'),
        401 | 403 | 406 => is_early,
        // Only a resource names its methods. Without this, a 404 of a record would be early where v1 tells no quota.
        404 => is_early && !headers.contains_key(ALLOW),
        405 | 415 => is_json,
        413 => is_early || is_before_v1,
        429 => is_of_the_throttle(headers),
        400 | 414 | 431 => is_before_v1,
        _ => false,
    }
}

/// Checks whether a 429 is v1's own: its throttle names the methods of the resource and not the rest of the quota
/// (`throttle_limited`). One of a proxy may be about a single path.
pub fn is_of_the_throttle(headers: &HeaderMap) -> bool {
    is_typed_json(headers) && headers.contains_key(ALLOW) && !headers.contains_key(&REMAINING)
}

/// Checks whether v1 has accepted the key of a request that was answered so. Of three signs two must be there: a
/// success, JSON, and the rest of the quota, which a v1 without a quota does not tell. A server before v1 may show any
/// one of them, and v1 itself answers `errors_options_preflight` before it looks at the key. A server that limits
/// requests, or cannot reach v1, may show two: these statuses never count, except a 429 of v1's throttle, which comes
/// after the key (`throttle_limited`). `Allow` is no sign, as v1 names it also before the key
/// (`errors_accept_xml_no_key`).
pub fn accepts_the_key(status: u16, headers: &HeaderMap) -> bool {
    if status == 429 && is_of_the_throttle(headers) {
        return true;
    }
    let signs = [(200..300).contains(&status), is_typed_json(headers), headers.contains_key(&REMAINING)];
    // A quota told with these may be that of a server before v1.
    !matches!(status, 401 | 403 | 429 | 502..=504) && signs.into_iter().filter(|sign| *sign).count() > 1
}

/// Checks whether a request names a key. v1 refuses all others, for it reads no other credential (`auth_missing_key`,
/// `auth_empty_key`, `auth_bearer_ignored`, `auth_key_in_query_ignored`).
pub fn names_a_key(headers: &HeaderMap) -> bool {
    headers.get_all(API_KEY).iter().any(|key| !key.as_bytes().trim_ascii().is_empty())
}

/// Converts an error. Only when no connection was made, the request certainly did not reach v1.
pub(super) fn lost(error: &HopError) -> V1Error {
    if error.is_connect() { V1Error::Unreachable(chain(error)) } else { V1Error::Broken(chain(error)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(kind: &str, others: &[(HeaderName, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, kind.parse().unwrap());
        for (name, value) in others {
            headers.insert(name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn retry_after_is_a_number_of_seconds_or_a_date() {
        let date = (DATE, "Sun, 06 Nov 1994 08:49:37 GMT");
        for (said, seconds) in [
            ("7", Some(7)),
            ("Sun, 06 Nov 1994 08:50:07 GMT", Some(30)),
            ("Sun, 06 Nov 1994 08:49:00 GMT", Some(0)),
            ("soon", None),
            ("-1", None),
        ] {
            assert_eq!(retry_after(&headers("application/json", &[date.clone(), (RETRY_AFTER, said)])), seconds);
        }
        assert_eq!(retry_after(&headers("application/json", &[date])), None);
    }

    #[test]
    fn a_key_is_named_only_by_its_own_header() {
        let named =
            |name: &str, value: &str| names_a_key(&headers("application/json", &[(name.parse().unwrap(), value)]));
        assert!(named("x-api-key", "k"));
        // `auth_missing_key`, `auth_empty_key`, `auth_bearer_ignored`.
        assert!(!named("accept", "k") && !named("x-api-key", "") && !named("authorization", "Bearer k"));
    }

    #[test]
    fn only_an_answer_of_a_resource_shows_that_the_key_is_accepted() {
        let told = [(REMAINING, "59")];
        let accepted =
            |status, kind, others: &[(HeaderName, &str)]| accepts_the_key(status, &headers(kind, others));
        assert!(accepted(200, "application/json", &[]) && accepted(400, "application/json", &told));
        assert!(accepted(204, "", &told));
        assert!(accepted(429, "application/json", &[(ALLOW, "GET")]) && !accepted(429, "application/json", &[]));
        // `auth_wrong_key`, `auth_missing_key_unknown_path`, `errors_options_preflight`, and a server before v1.
        for status in [401, 403, 429, 502, 503, 504] {
            for others in [vec![], vec![(REMAINING, "0")], vec![(REMAINING, "59"), (ALLOW, "GET")]] {
                assert!(!accepted(status, "application/json", &others), "{status}");
            }
        }
        // v1's own 500 comes after its throttle.
        assert!(accepted(500, "application/json", &told) && !accepted(500, "application/json", &[(ALLOW, "GET")]));
        assert!(!accepted(404, "application/json", &[]) && !accepted(200, "text/html", &[]));
        assert!(!accepted(204, "", &[]));
        assert!(!accepted(502, "text/html", &told));
    }

    #[test]
    fn only_a_refusal_before_the_resource_proves_that_nothing_was_changed() {
        let routed = [(ALLOW, "GET, POST")];
        let counted = [(ALLOW, "GET, POST"), (REMAINING, "59")];
        let json = |others: &[(HeaderName, &str)]| headers("application/json", others);
        let refused = |status, answer: HeaderMap| is_refused_at_the_door("/api/v1/x/", status, &answer);
        // With the fixtures `auth_missing_key`, `auth_wrong_key`, `errors_accept_xml_no_key`.
        for status in [401, 403, 406] {
            assert!(refused(status, json(&routed)), "{status}");
            assert!(!refused(status, json(&counted)), "{status} of a resource");
            assert!(!refused(status, headers("text/html", &[])), "{status} of a proxy");
        }
        // `auth_missing_key_unknown_path`, `errors_body_too_large_no_key`; a record may be gone because of this write.
        assert!(refused(404, json(&[])) && refused(413, json(&[])) && !refused(404, json(&routed)));
        // `errors_405_put`, `errors_text_plain`.
        assert!(refused(405, json(&counted)) && refused(415, json(&counted)));
        // `throttle_limited_write`; a proxy has no `Allow`.
        assert!(refused(429, json(&routed)) && !refused(429, json(&[])));
        for status in [200, 201, 204, 302, 400, 408, 409, 500, 502, 503, 504] {
            assert!(!refused(status, json(&routed)) && !refused(status, json(&counted)), "{status}");
        }
        // A server before v1 that could not read the request; v1's own 400 is JSON (`errors_bad_json`).
        for status in [400, 413, 414, 431] {
            assert!(refused(status, headers("text/html", &[])) && refused(status, HeaderMap::new()), "{status}");
            let of_v1 = [(ALLOW, "GET, POST")];
            assert!(!refused(status, headers("text/html", &of_v1)), "{status}");
            assert!(!refused(status, headers("text/html", &[(REMAINING, "59")])), "{status}");
        }
        // The client of a pass-through call may have asked for compression.
        let coded = [(ALLOW, "GET, POST"), (CONTENT_ENCODING, "gzip")];
        assert!(refused(401, json(&coded)) && !refused(400, json(&coded)));
        // `errors_slash_missing_post`.
        assert!(is_refused_at_the_door("/api/v1/x", 301, &headers("text/html", &[])));
        assert!(!refused(301, headers("text/html", &[])));
    }
}
