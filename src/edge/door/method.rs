//! Methods: those that speak to the server in between do not pass, nor those that only look like another one.
//!
//! May use: `refusal`.

use crate::refusal::Refusal;
use http::Method;

/// What the gateway and v1 know.
const USUAL: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// Refuses CONNECT, TRACE on the way to v1, and a usual method in other letter case, which some servers take for
/// that method (Gunicorn before 22 wrote it in capitals).
pub(super) fn check(method: &Method, pass_through: bool) -> Result<(), Refusal> {
    if method == Method::CONNECT || method == Method::TRACE && pass_through {
        return Err(Refusal::MethodNotAllowed { allow: USUAL.to_vec() });
    }
    let same = |usual: &&str| usual.eq_ignore_ascii_case(method.as_str()) && *usual != method.as_str();
    match USUAL.iter().chain(&["CONNECT", "TRACE"]).find(|usual| same(usual)) {
        Some(usual) => Err(Refusal::invalid(format!("Methods are written in capitals: {usual}."))),
        None => Ok(()),
    }
}
