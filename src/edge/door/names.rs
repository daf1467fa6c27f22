//! Names of headers: one with an underscore is the same as one with a hyphen to servers of the WSGI kind, so that a
//! stranger could say under it what the gateway says itself (`X_Forwarded_For`).
//!
//! May use: `refusal`, `settings`.

use crate::refusal::Refusal;
use crate::settings::Underscores;
use http::{HeaderMap, HeaderName};

/// Refuses headers with underscores, or takes them out.
pub(super) fn check(headers: &mut HeaderMap, underscores: Underscores) -> Result<(), Refusal> {
    let odd: Vec<HeaderName> = headers.keys().filter(|name| name.as_str().contains('_')).cloned().collect();
    if let (Underscores::Refuse, Some(name)) = (underscores, odd.first()) {
        return Err(Refusal::invalid(format!("The name of the header {name} has an underscore.")));
    }
    for name in odd {
        headers.remove(name);
    }
    Ok(())
}
