//! HTML that clients send: what is kept of it, and the plain text in it (O48).
//!
//! v1 stores comment HTML as sent, scripts included, and refuses HTML without content (trap 32,
//! `comments_create_script_kept`, `items_create_html_empty`), so it is cleaned here first.
//!
//! May use: nothing of this crate.

use ammonia::Builder;
use std::collections::HashSet;

/// Longest text that is cleaned, in bytes.
const LONGEST: usize = 1024 * 1024;

/// The text with everything that could run taken out.
///
/// # Errors
/// A sentence when it cannot be cleaned.
pub fn sanitise(html: &str) -> Result<String, String> {
    if html.contains('\0') {
        return Err("must not contain NUL characters".into());
    }
    if html.len() > LONGEST {
        return Err("is larger than 1 MiB".into());
    }
    Ok(Builder::default().clean(html).to_string())
}

/// The plain text of the HTML.
pub fn strip(html: &str) -> String {
    let mut builder = Builder::default();
    builder.tags(HashSet::new());
    builder.clean(html).to_string().trim().to_owned()
}
