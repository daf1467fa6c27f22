//! Refusals for failed v1 calls, as far as their meaning does not depend on the operation.
//!
//! 400, permission 403, 404, 405 and 409 are not judged here, because only the caller knows their meaning. May use:
//! `budget`, `refusal`, `units`, `message`, `object`.

use super::budget::Shortage;
use super::message::{V1Error, V1Response};
use super::object::Object;
use crate::refusal::{NO_ANSWER, Refusal};
use crate::units::seconds_up;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

impl V1Error {
    /// Returns the refusal for a call that was certainly not carried out, or that changes nothing.
    pub fn refusal(&self) -> Refusal {
        match self {
            Self::Unreachable(_) | Self::Broken(_) => Refusal::unavailable(self),
            Self::Timeout { .. } => Refusal::UpstreamTimeout { detail: NO_ANSWER.into() },
            Self::TooLarge(_) => Refusal::upstream("The answer of the service behind is too large.", self),
            Self::Unsendable(_) => Refusal::internal(self),
            Self::NoRoom => Refusal::Overloaded,
            Self::Paused(wait) => {
                Refusal::UpstreamUnavailable { cause: self.to_string(), retry_after: seconds_up(*wait).max(1) }
            }
            Self::Withdrawn(refusal) => (**refusal).clone(),
            Self::Limited(Shortage { wait, of_all }) => {
                quota_used_up(seconds_up(*wait), if *of_all { TOTAL_USED_UP } else { KEY_USED_UP })
            }
        }
    }
}

/// Returns the refusal for an answer that means the same for all operations: an invalid key, the quota, a failure
/// of v1, an answer that is not v1's. `None` leaves the answer to the caller: a success with
/// well-formed JSON (or 204), 400, a permission 403 or a 404 in v1's words about a record, 405, 409.
pub fn refusal_of_status(answer: &V1Response) -> Option<Refusal> {
    refusal_of_failure(answer).or_else(|| refusal_of_body(answer))
}

/// Works like [`refusal_of_status`], but does not check the body of a success; for callers that parse it themselves.
pub(super) fn refusal_of_failure(answer: &V1Response) -> Option<Refusal> {
    match answer.status {
        429 => Some(rate_limited(answer)),
        401 if speaks_as_v1(answer) => Some(invalid_key()),
        // Trap 1: a key that is wrong, expired or switched off is 403 (`auth_wrong_key`,
        // `auth_expired_key`, `auth_deactivated_key`); a permission refusal has another text.
        403 if says_key_is_invalid(answer) => Some(invalid_key()),
        204 => None,
        200..=299 if answer.is_json => None,
        status @ 200..=299 => Some(not_v1(status, "an answer that is not JSON")),
        // Trap 13: v1 redirects a path without its slash (`errors_slash_missing_get`); the gateway never
        // sends one, so a redirect is a proxy's, as with http instead of https in the base URL.
        status @ (100..=199 | 300..=399) => {
            Some(not_v1(status, "a redirect; check the configured base URL of v1 (scheme, host, path)"))
        }
        status @ (406 | 413 | 415) => Some(not_v1(status, "a refusal of the form of the gateway's request")),
        503 => Some(Refusal::unavailable("v1 answered 503")),
        504 => Some(Refusal::UpstreamTimeout { detail: "The service behind did not answer in time.".into() }),
        status @ 500..=599 => Some(Refusal::UpstreamFault {
            detail: format!("The service behind failed with status {status}."),
            cause: format!("v1 answered {status}: {}", excerpt(answer)),
        }),
        status if !answer.is_json => Some(not_v1(status, "an answer that is not JSON")),
        404 if has_no_such_path(answer) => Some(no_such_path()),
        // An answer of a proxy about a path or a credential says nothing about v1's records or the key.
        status @ (401 | 403 | 404) if !speaks_as_v1(answer) => Some(not_v1(
            status,
            "words that are not its own; see whether what stands before v1 passes this path on",
        )),
        _ => None,
    }
}

fn refusal_of_body(answer: &V1Response) -> Option<Refusal> {
    if !answer.is_success() || answer.status == 204 {
        return None;
    }
    let cause = match std::str::from_utf8(&answer.body) {
        Err(cause) => cause.to_string(),
        Ok(text) => serde_json::from_str::<IgnoredAny>(text).err()?.to_string(),
    };
    Some(malformed(cause))
}

/// Checks whether a 4xx is v1's own, by the statuses and words that the recordings show. v1 gives it before it stores
/// anything, except [`NO_KEY`]. The 400s that leave something behind (trap 17) are answers to members that are never
/// sent. v1 says "not found" in other words only below `activities/`, which is never called here
/// (`errors_404_message_code`).
pub(super) fn speaks_as_v1(answer: &V1Response) -> bool {
    let said = answer.is_json.then(|| serde_json::from_slice::<Map<String, Value>>(&answer.body).ok()).flatten();
    let Some(said) = said else { return false };
    let sentence = |key: &str| said.get(key).is_some_and(Value::is_string);
    match answer.status {
        // An object by field: `{"name": ["…"]}` (`states_create_empty_object`).
        400 => !said.is_empty() && said.get("error").and_then(Value::as_str) != Some(NO_KEY),
        401 | 403 | 404 | 405 | 409 | 413 | 415 => sentence("error") || sentence("detail"),
        _ => false,
    }
}

/// The `error` of v1's handler of errors when v1's own code misses a key. It may have stored the write before.
const NO_KEY: &str = "The required key does not exist.";

/// The `error` of v1's router for a path that it does not have (`errors_unknown_path`).
pub const NO_SUCH_PATH: &str = "Page not found.";

/// Checks whether v1's router says that it has no such path. A missing record gives other words (`items_get_random`),
/// and every path that the gateway requests is well formed. So v1 lacks the call: it has another version, or a server
/// before it changes paths.
fn has_no_such_path(answer: &V1Response) -> bool {
    says_error(answer, NO_SUCH_PATH)
}

/// Checks whether v1 itself has failed, in the words of its handler of errors (`states_create_duplicate_name_padded`).
pub(super) fn is_own_failure(answer: &V1Response) -> bool {
    answer.status == 500 && says_error(answer, "Something went wrong please try again later")
}

fn says_error(answer: &V1Response, error: &str) -> bool {
    #[derive(Deserialize)]
    struct Said {
        error: String,
    }
    let says = |Object(said): Object<Said>| said.error == error;
    answer.is_json && serde_json::from_slice(&answer.body).is_ok_and(says)
}

fn no_such_path() -> Refusal {
    Refusal::upstream(
        "The service behind does not have a call that this needs; `causeway doctor` says which.",
        format_args!(
            "v1 answered 404 {NO_SUCH_PATH:?}: this version of v1 has no such path, or a proxy before it changes paths"
        ),
    )
}

/// Returns the refusal for a success whose body is not the expected JSON.
pub(super) fn malformed(cause: impl std::fmt::Display) -> Refusal {
    Refusal::upstream("The service behind answered with damaged data.", format!("malformed JSON from v1: {cause}"))
}

/// Checks whether a 429 is v1's own: its throttle refuses a request before anything else is done (trap 57,
/// `throttle_limited_write`). A 429 of a proxy may come after v1 has carried the request out.
pub(super) fn is_own_throttle(answer: &V1Response) -> bool {
    #[derive(Deserialize)]
    struct Said {
        error_code: u32,
        error_message: String,
    }
    let own = |Object(said): Object<Said>| said.error_code == 5900 && said.error_message == "RATE_LIMIT_EXCEEDED";
    answer.status == 429 && answer.is_json && serde_json::from_slice(&answer.body).is_ok_and(own)
}

/// Returns the refusal for a used-up quota.
pub(super) fn rate_limited(answer: &V1Response) -> Refusal {
    // Trap 57, `throttle_limited`: the quota is v1's, per key, and shared by all clients of that key.
    quota_used_up(answer.retry_after.unwrap_or(1), KEY_USED_UP)
}

const KEY_USED_UP: &str = "The request quota of this key at the service behind is used up.";
const TOTAL_USED_UP: &str = "The request quota that all keys share at the service behind is used up.";

fn quota_used_up(retry_after: u64, detail: &'static str) -> Refusal {
    Refusal::RateLimited { retry_after: retry_after.max(1), detail: detail.into() }
}

/// Returns the 401 for a key that v1 refuses. The text is always the same, because v1 gives no more details.
fn invalid_key() -> Refusal {
    Refusal::Unauthorized {
        detail: "The service behind does not accept this key: it is unknown there, expired or switched off.".into(),
    }
}

fn says_key_is_invalid(answer: &V1Response) -> bool {
    #[derive(Deserialize)]
    struct Detail {
        detail: String,
    }
    serde_json::from_slice::<Object<Detail>>(&answer.body)
        .is_ok_and(|Object(said)| said.detail.trim_end_matches('.') == "Given API token is not valid")
}

fn not_v1(status: u16, what: &str) -> Refusal {
    Refusal::upstream(
        "The service behind gave an answer that the gateway cannot use.",
        format!("v1 answered {status} with {what}"),
    )
}

/// Returns the beginning of the body for the log. The client has removed the key from answers that are no success.
pub(super) fn excerpt(answer: &V1Response) -> String {
    String::from_utf8_lossy(&answer.body).chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn answer(status: u16, body: &'static str) -> V1Response {
        V1Response { status, body: Bytes::from_static(body.as_bytes()), is_json: true, retry_after: None }
    }

    const GONE: &str = r#"{"error":"The requested resource does not exist."}"#;

    fn code(answer: &V1Response) -> Option<&'static str> {
        refusal_of_status(answer).map(|refusal| refusal.code())
    }

    #[test]
    fn the_two_kinds_of_403_are_told_apart() {
        assert_eq!(code(&answer(403, r#"{"detail":"Given API token is not valid"}"#)), Some("unauthorized"));
        let permission = r#"{"detail":"You do not have permission to perform this action."}"#;
        assert_eq!(code(&answer(403, permission)), None);
        assert_eq!(code(&answer(401, r#"{"detail":"x"}"#)), Some("unauthorized"));
    }

    #[test]
    fn an_answer_that_is_not_v1s_or_is_damaged_is_never_passed_on() {
        for (status, body) in [
            (200, "{\"a\":"),
            (200, "[1,2"),
            (201, "{} x"),
            (200, ""),
            (200, "\"\u{1}\""),
            (301, ""),
            (302, ""),
            (406, "{}"),
        ] {
            assert_eq!(code(&answer(status, body)), Some("upstream_error"), "{status} {body}");
        }
        for status in [200, 401, 404, 400, 500] {
            let html = V1Response { is_json: false, ..answer(status, "<!doctype html>") };
            assert_eq!(code(&html), Some("upstream_error"), "{status}");
        }
        let bad_utf8 = V1Response { body: Bytes::from_static(b"\"\xff\""), ..answer(200, "") };
        assert_eq!(code(&bad_utf8), Some("upstream_error"));
    }

    #[test]
    fn a_refusal_in_other_words_than_v1s_is_not_believed() {
        for status in [401, 403, 404] {
            for body in
                [r#"{"message":"no route"}"#, "{}", "[]", r#"{"error":{"code":5}}"#, r#"{"detail":null}"#, ""]
            {
                assert_eq!(code(&answer(status, body)), Some("upstream_error"), "{status} {body}");
            }
            let believed = (status == 401).then_some("unauthorized");
            for body in [GONE, r#"{"detail":"Not found."}"#, r#"{"error":"x","id":"y"}"#] {
                assert_eq!(code(&answer(status, body)), believed, "{status} {body}");
            }
        }
    }

    #[test]
    fn a_path_that_v1_does_not_have_is_no_record_that_is_not_there() {
        let refused = refusal_of_status(&answer(404, r#"{"error":"Page not found."}"#));
        let Some(Refusal::UpstreamError { detail, .. }) = refused else { panic!("{refused:?}") };
        assert!(detail.contains("does not have"), "{detail}");
    }

    #[test]
    fn operation_specific_statuses_are_left_to_the_caller() {
        for (status, body) in
            [(200, "{}"), (200, "[]"), (204, ""), (400, "{}"), (404, GONE), (405, "{}"), (409, "{}")]
        {
            assert_eq!(code(&answer(status, body)), None, "{status}");
        }
    }

    #[test]
    fn the_quota_says_when_to_come_back_and_never_zero() {
        for (given, expected) in [(Some(60), 60), (Some(0), 1), (None, 1)] {
            let limited = V1Response { retry_after: given, ..answer(429, "{}") };
            let Some(Refusal::RateLimited { retry_after, .. }) = refusal_of_status(&limited) else {
                panic!("not a rate limit")
            };
            assert_eq!(retry_after, expected);
        }
    }

    #[test]
    fn v1s_throttle_is_known_by_its_words_and_needs_no_header() {
        let own = r#"{"error_code": 5900, "error_message": "RATE_LIMIT_EXCEEDED"}"#;
        assert!(is_own_throttle(&answer(429, own)));
        assert!(
            !is_own_throttle(&answer(503, own)) && !is_own_throttle(&answer(429, r#"{"detail": "slow down"}"#))
        );
        assert!(!is_own_throttle(&V1Response { is_json: false, ..answer(429, own) }));
    }

    #[test]
    fn the_quota_of_all_keys_is_not_called_that_of_one_key() {
        for (of_all, expected) in [(false, KEY_USED_UP), (true, TOTAL_USED_UP)] {
            let limited = V1Error::Limited(Shortage { wait: std::time::Duration::from_secs(2), of_all });
            let Refusal::RateLimited { retry_after: 2, detail } = limited.refusal() else { panic!("{limited:?}") };
            assert_eq!(detail, expected);
        }
    }

    #[test]
    fn lost_reads_are_reported_as_upstream_errors() {
        for (lost, code) in [
            (V1Error::Broken("reset".into()), "upstream_unavailable"),
            (V1Error::Unreachable("x".into()), "upstream_unavailable"),
            (V1Error::Timeout { maybe_done: false }, "upstream_timeout"),
            (V1Error::TooLarge(9), "upstream_error"),
        ] {
            assert_eq!(lost.refusal().code(), code);
        }
    }
}
