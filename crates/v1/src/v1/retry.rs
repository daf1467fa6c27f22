//! Rules for retrying a v1 call.
//!
//! A read may be retried, because it changes nothing. A write may be retried only when the connection was certainly not
//! made: v1 has no idempotency keys, so a write repeated after the request was sent could be carried out
//! twice. May use: `message` only.

use super::message::{V1Error, V1Response};
use http::Method;
use std::time::Duration;
use uuid::Uuid;

/// Number of attempts for one call, the first included.
pub(super) const ATTEMPTS: u32 = 2;

/// Checks whether a call with this outcome may be made once more.
pub(super) fn may_repeat(method: &Method, outcome: &Result<V1Response, V1Error>) -> bool {
    match outcome {
        Err(V1Error::Unreachable(_)) => true,
        Err(V1Error::Broken(_)) => *method == Method::GET,
        Ok(answer) => *method == Method::GET && matches!(answer.status, 502..=504),
        Err(_) => false,
    }
}

/// Returns a random wait of at most `most`, so that requests that failed together are not retried together.
pub(super) fn jitter(most: Duration) -> Duration {
    let share = (Uuid::new_v4().as_u128() & 0xffff) as u32;
    most * share / 0xffff
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn answer(status: u16) -> Result<V1Response, V1Error> {
        Ok(V1Response { status, body: Bytes::new(), is_json: true, retry_after: None })
    }

    #[test]
    fn a_write_is_repeated_only_when_it_certainly_was_not_sent() {
        for method in [Method::POST, Method::PATCH, Method::DELETE] {
            assert!(may_repeat(&method, &Err(V1Error::Unreachable(String::new()))));
            assert!(!may_repeat(&method, &Err(V1Error::Broken(String::new()))));
            assert!(!may_repeat(&method, &Err(V1Error::Timeout { maybe_done: true })));
            for status in [500, 502, 503, 504] {
                assert!(!may_repeat(&method, &answer(status)), "{method} {status}");
            }
        }
    }

    #[test]
    fn a_read_is_repeated_for_a_lost_connection_or_a_gateway_error() {
        assert!(may_repeat(&Method::GET, &Err(V1Error::Unreachable(String::new()))));
        assert!(may_repeat(&Method::GET, &Err(V1Error::Broken(String::new()))));
        for (status, again) in [(502, true), (503, true), (504, true), (500, false), (429, false), (200, false)] {
            assert_eq!(may_repeat(&Method::GET, &answer(status)), again, "{status}");
        }
        assert!(!may_repeat(&Method::GET, &Err(V1Error::TooLarge(1))));
        assert!(!may_repeat(&Method::GET, &Err(V1Error::Timeout { maybe_done: false })));
    }

    #[test]
    fn jitter_stays_within_its_bound() {
        let most = Duration::from_millis(40);
        assert!((0..1000).all(|_| jitter(most) <= most));
        assert_eq!(jitter(Duration::ZERO), Duration::ZERO);
    }
}
