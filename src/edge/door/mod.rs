//! The strict door: a request that two servers could read differently is refused before anything else looks at it.
//!
//! Purpose: a proxy before the gateway, the gateway and v1 must agree where a request ends, what its path is and
//! who sent it. Each difference lets a stranger hide a request from one of them. The check has two steps.
//! [`Gate`] reads the bytes of HTTP/1 before hyper, because hyper hides some faults that it tolerates (a
//! `Content-Length` beside a `Transfer-Encoding`, lone line feeds) and answers refused requests without a body.
//! A request that the gate refuses becomes an ordinary request whose answer is the problem. [`admit`] checks the parts
//! that every version of HTTP has: names of headers, method, host, path.
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

/// Reason why a request could not be read; it is in the extensions of the request that replaces it.
#[derive(Debug, Clone)]
pub(super) struct Unreadable(pub(super) Refusal);

/// Admits a request, or returns the refusal. Removes headers with underscores when the settings say so.
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

/// Returns the refusal of a request with this method and target, whatever else it contains. For callers that predict
/// the result of a request.
pub fn admit_line(method: &str, target: &str) -> Result<(), Refusal> {
    let method = Method::from_bytes(method.as_bytes());
    let method = method.map_err(|_| Refusal::invalid("The head of the request is malformed."))?;
    line(&method, &target::read(target)?)
}

fn line(method: &Method, uri: &Uri) -> Result<(), Refusal> {
    check_method(method, is_pass_through(uri.path()))?;
    target::check(method, uri)
}

/// Refuses headers with underscores, or removes them. Servers of the WSGI kind treat such a name like one with hyphens,
/// so a stranger could use it to set a header that the gateway sets itself (`X_Forwarded_For`).
fn check_names(headers: &mut HeaderMap, underscores: Underscores) -> Result<(), Refusal> {
    let odd: Vec<HeaderName> = headers.keys().filter(|name| name.as_str().contains('_')).cloned().collect();
    if let (Underscores::Refuse, Some(name)) = (underscores, odd.first()) {
        let told = format!("The name of the header {:.100} has an underscore.", name.as_str());
        return Err(Refusal::invalid(told));
    }
    for name in odd {
        headers.remove(name);
    }
    Ok(())
}

/// Refuses CONNECT, TRACE on the way to v1, and a usual method in other letter case: some servers accept it as
/// that method (Gunicorn before 22 converted it to capitals).
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
