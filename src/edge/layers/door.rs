//! Lets in what the strict door admits, on every path. May use: `refusal`, `settings`, this folder.

use crate::edge::body::Body;
use crate::edge::door;
use crate::refusal::Refusal;
use crate::settings::EdgeSettings;
use http::Request;

/// The request, or why it could be read in two ways.
pub(in crate::edge) fn admitted(request: Request<Body>, settings: EdgeSettings) -> Result<Request<Body>, Refusal> {
    let (mut parts, body) = request.into_parts();
    door::admit(&mut parts, settings)?;
    Ok(Request::from_parts(parts, body))
}
