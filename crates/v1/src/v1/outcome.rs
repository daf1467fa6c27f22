//! The outcome of a write to v1: carried out, not carried out, or unknown. There is no fourth outcome.
//!
//! "Not carried out" needs proof: the request was not sent, or v1 refused it in its own words, which the
//! recordings show. Any other answer than v1's own success (a status of a proxy, a page, a success in a
//! wrong form, no answer) proves nothing, because a proxy and v1 itself may fail after the write was stored.
//! May use: `json`, `message`, `refusal`, `refusals`.

use super::message::{V1Error, V1Response};
use super::refusals;
use crate::json;
use crate::refusal::Refusal;
use http::Method;

/// Outcome of a write.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// v1 carried it out. The answer is a JSON object, or is empty for a delete.
    Done(V1Response),
    /// v1 certainly has not carried it out.
    NotDone(NotDone),
    /// v1 may have carried it out, or may still do so.
    Unknown(Doubt),
}

/// Reason why v1 did not carry out a write, or the read of a whole collection.
#[derive(Debug, Clone, PartialEq)]
pub enum NotDone {
    /// v1 refused it with 400, a permission 403, 404, 405 or 409, or answered the read of a page with another status
    /// than success. The caller interprets the answer.
    Answered(V1Response),
    /// It never reached v1, or v1's refusal means the same for all operations. For a collection: it could not be read
    /// as a whole, because an answer is missing or damaged, or because the collection changed while it was read.
    Refused(Refusal),
}

/// Reason why the outcome is unknown.
#[derive(Debug, Clone, PartialEq)]
pub struct Doubt {
    /// The problem, as a sentence for clients.
    pub what: String,
    /// The cause, only for the log.
    pub cause: String,
    /// Whether v1 did not answer in time.
    pub timed_out: bool,
    /// Whether an answer came. As far as that answer tells, v1 is then no longer working on the request.
    pub answered: bool,
    /// Whether v1 itself has answered that it failed; a proxy before it answers in other words.
    pub own_failure: bool,
}

impl Doubt {
    /// Creates the doubt about an answer of v1 that cannot be true.
    pub fn answered(what: impl Into<String>, cause: impl std::fmt::Display) -> Self {
        Self { what: what.into(), cause: cause.to_string(), timed_out: false, answered: true, own_failure: false }
    }

    /// Returns the refusal for the client: the write may have been carried out.
    pub fn refusal(&self) -> Refusal {
        Refusal::outcome_unknown(&self.what, &self.cause, self.timed_out)
    }
}

impl Outcome {
    /// Determines the outcome of a write with `method`.
    pub(super) fn of(method: &Method, ended: Result<V1Response, V1Error>) -> Self {
        match ended {
            Ok(answer) => of_answer(method, answer),
            Err(lost) => of_silence(&lost),
        }
    }
}

fn of_silence(lost: &V1Error) -> Outcome {
    let (what, timed_out) = match lost {
        V1Error::Broken(_) => ("The connection to the service behind broke before it had answered.", true),
        V1Error::Timeout { maybe_done: true } => ("The service behind did not answer in time.", true),
        V1Error::TooLarge(_) => ("The answer of the service behind is too large.", false),
        // Answers to writes are kept without a memory limit. If one were not kept, v1 would still have had the request.
        V1Error::NoRoom => ("The answer of the service behind could not be kept.", false),
        V1Error::Unreachable(_)
        | V1Error::Timeout { maybe_done: false }
        | V1Error::Unsendable(_)
        | V1Error::Paused(_)
        | V1Error::Withdrawn(_)
        | V1Error::Limited(_) => return Outcome::NotDone(NotDone::Refused(lost.refusal())),
    };
    let (what, cause) = (what.into(), lost.to_string());
    Outcome::Unknown(Doubt { what, cause, timed_out, answered: false, own_failure: false })
}

fn of_answer(method: &Method, answer: V1Response) -> Outcome {
    if answer.is_success() {
        return match success(method, &answer) {
            Ok(()) => Outcome::Done(answer),
            Err(cause) => Outcome::Unknown(Doubt::answered(
                "The service behind answered the write with something it does not answer.",
                format!("v1 answered {} with {cause}", answer.status),
            )),
        };
    }
    if refusals::is_own_throttle(&answer) {
        return Outcome::NotDone(NotDone::Refused(refusals::rate_limited(&answer)));
    }
    if (400..500).contains(&answer.status) && refusals::speaks_as_v1(&answer) {
        return match refusals::refusal_of_failure(&answer) {
            Some(refusal) => Outcome::NotDone(NotDone::Refused(refusal)),
            None => Outcome::NotDone(NotDone::Answered(answer)),
        };
    }
    let doubt = Doubt::answered(
        format!("The service behind failed with status {}.", answer.status),
        format!("v1 answered a write with {}: {}", answer.status, refusals::excerpt(&answer)),
    );
    let own_failure = refusals::is_own_failure(&answer);
    Outcome::Unknown(Doubt { timed_out: answer.status == 504, own_failure, ..doubt })
}

/// Checks for a success as v1 gives it: 204 for a delete (`states_delete`), 200 or 201 with an object for other
/// methods.
fn success(method: &Method, answer: &V1Response) -> Result<(), String> {
    match (method, answer.status) {
        (&Method::DELETE, 204) if answer.body.is_empty() => Ok(()),
        (&Method::POST, 200 | 201) | (&Method::PATCH, 200) if answer.is_json => {
            json::members(&answer.body).map(drop).map_err(|fault| fault.to_string())
        }
        _ if !answer.is_json => Err("something that is not JSON".into()),
        _ => Err("another form of success than v1 has".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn answer(status: u16, body: &'static str) -> V1Response {
        V1Response { status, body: Bytes::from_static(body.as_bytes()), is_json: true, retry_after: Some(9) }
    }

    fn ended(method: &Method, answer: V1Response) -> &'static str {
        match Outcome::of(method, Ok(answer)) {
            Outcome::Done(_) => "done",
            Outcome::NotDone(_) => "not done",
            Outcome::Unknown(_) => "unknown",
        }
    }

    #[test]
    fn only_the_success_v1_gives_is_one() {
        for (method, status, body, expected) in [
            (Method::POST, 201, r#"{"id": 1}"#, "done"),
            (Method::POST, 200, r#"{"id": 1}"#, "done"),
            (Method::PATCH, 200, "{}", "done"),
            (Method::DELETE, 204, "", "done"),
            (Method::POST, 202, "{}", "unknown"),
            (Method::POST, 204, "", "unknown"),
            (Method::PATCH, 201, "{}", "unknown"),
            (Method::PATCH, 204, "", "unknown"),
            (Method::PATCH, 200, "null", "unknown"),
            (Method::PATCH, 200, "[]", "unknown"),
            (Method::PATCH, 200, "{} {}", "unknown"),
            (Method::DELETE, 200, "{}", "unknown"),
        ] {
            assert_eq!(ended(&method, answer(status, body)), expected, "{method} {status} {body}");
        }
        let page = V1Response { is_json: false, ..answer(200, "{}") };
        assert_eq!(ended(&Method::PATCH, page), "unknown");
    }

    #[test]
    fn only_v1s_own_words_prove_that_nothing_was_done() {
        for (status, body, expected) in [
            (400, r#"{"name": ["This field is required."]}"#, "not done"),
            (400, "{}", "unknown"),
            (400, r#"{"error": "The required key does not exist."}"#, "unknown"),
            (400, r#"{"error": "The payload is not valid"}"#, "not done"),
            (401, r#"{"detail": "Authentication credentials were not provided."}"#, "not done"),
            (403, r#"{"detail": "Given API token is not valid"}"#, "not done"),
            (404, r#"{"error": "The requested resource does not exist."}"#, "not done"),
            (404, r#"{"error": "Page not found."}"#, "not done"),
            (404, r#"{"message": "no route"}"#, "unknown"),
            (409, r#"{"error": "Label exists", "id": "x"}"#, "not done"),
            (408, r#"{"error": "too slow"}"#, "unknown"),
            (429, r#"{"error_code": 5900, "error_message": "RATE_LIMIT_EXCEEDED"}"#, "not done"),
            (429, r#"{"error": "slow down"}"#, "unknown"),
            (500, r#"{"error": "Something went wrong please try again later"}"#, "unknown"),
            (503, r#"{"error": "busy"}"#, "unknown"),
            (302, "", "unknown"),
        ] {
            assert_eq!(ended(&Method::POST, answer(status, body)), expected, "{status} {body}");
        }
    }

    #[test]
    fn an_unsent_write_was_not_carried_out() {
        let unsent = Outcome::of(&Method::POST, Err(V1Error::Unreachable("x".into())));
        assert!(matches!(unsent, Outcome::NotDone(NotDone::Refused(Refusal::UpstreamUnavailable { .. }))));
        let unsent = Outcome::of(&Method::POST, Err(V1Error::Timeout { maybe_done: false }));
        let Outcome::NotDone(NotDone::Refused(Refusal::UpstreamTimeout { detail })) = unsent else { panic!() };
        assert!(detail.contains("Nothing was changed"), "{detail}");
        for lost in [V1Error::Broken("x".into()), V1Error::Timeout { maybe_done: true }, V1Error::TooLarge(1)] {
            let Outcome::Unknown(doubt) = Outcome::of(&Method::PATCH, Err(lost)) else { panic!() };
            let Refusal::OutcomeUnknown { detail, .. } = doubt.refusal() else { panic!() };
            assert!(detail.contains("may have been carried out") && detail.contains("Look the record up"));
        }
    }
}
