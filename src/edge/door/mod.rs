//! The strict door: a request that two servers could read differently is refused before anything else looks at it.
//!
//! Purpose: a proxy before the gateway, the gateway and v1 have to agree where a request ends, what its path is and
//! who sent it; each difference is a way for a stranger to hide a request from one of them. Requests come in two
//! steps. [`Gate`] reads the bytes of HTTP/1 before hyper, because hyper hides some of what it tolerates (a
//! `Content-Length` beside a `Transfer-Encoding`, lone line feeds) and answers what it refuses without a body;
//! a request that the gate refuses becomes one like any other, whose answer is the problem. [`admit`] looks at what
//! every version of HTTP has: names of headers, method, host, path.
//!
//! May use: `load`, `refusal`, `settings`, `edge::pools`.

mod chunks;
mod gate;
mod head;
mod host;
mod length;
mod limits;
mod scan;
mod target;

pub use gate::{Gate, Verdicts};
pub use limits::Limits;

use super::pools::is_pass_through;
use crate::refusal::Refusal;
use crate::settings::{EdgeSettings, Underscores};
use http::request::Parts;
use http::{HeaderMap, HeaderName, Method, Uri, Version};

/// Methods that the gateway and v1 know.
const USUAL: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// Why a request could not be read; among its extensions instead of what it said.
#[derive(Debug, Clone)]
pub(super) struct Unreadable(pub(super) Refusal);

/// Lets a request in, or says why not. Headers with underscores are taken out when the settings say so.
pub fn admit(request: &mut Parts, settings: EdgeSettings) -> Result<(), Refusal> {
    if let Some(Unreadable(refusal)) = request.extensions.remove() {
        return Err(refusal);
    }
    check_names(&mut request.headers, settings.underscores)?;
    if request.version > Version::HTTP_11 {
        length::one_number(&request.headers)?;
    }
    line(&request.method, &request.uri)?;
    host::check(request)
}

/// Says why a request with this method and target would not be let in, whatever else it has: for those who tell
/// beforehand what becomes of a request.
pub fn admit_line(method: &str, target: &str) -> Result<(), Refusal> {
    let method = Method::from_bytes(method.as_bytes());
    let method = method.map_err(|_| Refusal::invalid("The head of the request is malformed."))?;
    line(&method, &target::read(target)?)
}

fn line(method: &Method, uri: &Uri) -> Result<(), Refusal> {
    check_method(method, is_pass_through(uri.path()))?;
    target::check(method, uri)
}

/// Refuses headers with underscores, or takes them out: such a name is the same as one with a hyphen to servers of the
/// WSGI kind, so that a stranger could say under it what the gateway says itself (`X_Forwarded_For`).
fn check_names(headers: &mut HeaderMap, underscores: Underscores) -> Result<(), Refusal> {
    let odd: Vec<HeaderName> = headers.keys().filter(|name| name.as_str().contains('_')).cloned().collect();
    if let (Underscores::Refuse, Some(name)) = (underscores, odd.first()) {
        return Err(Refusal::invalid(format!("The name of the header {name} has an underscore.")));
    }
    for name in odd {
        headers.remove(name);
    }
    Ok(())
}

/// Refuses CONNECT, TRACE on the way to v1, and a usual method in other letter case, which some servers take for
/// that method (Gunicorn before 22 wrote it in capitals).
fn check_method(method: &Method, pass_through: bool) -> Result<(), Refusal> {
    if method == Method::CONNECT || method == Method::TRACE && pass_through {
        return Err(Refusal::MethodNotAllowed { allow: USUAL.to_vec() });
    }
    let same = |usual: &&str| usual.eq_ignore_ascii_case(method.as_str()) && *usual != method.as_str();
    match USUAL.iter().chain(&["CONNECT", "TRACE"]).find(|usual| same(usual)) {
        Some(usual) => Err(Refusal::invalid(format!("Methods are written in capitals: {usual}."))),
        None => Ok(()),
    }
}
