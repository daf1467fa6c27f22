//! Sanitising of HTML that clients send and, in `plain`, its conversion to plain text.
//!
//! v1 stores the HTML of comments as sent, scripts included (trap 32, `comments_create_script_kept`), so the gateway
//! sanitises before it writes. The allowlist is that of the sanitiser, with the attributes added in which rich-text
//! editors keep their structure (`class`, `data-*`). Links carry `rel="noopener noreferrer"`, which v1 also adds.
//!
//! May use: this folder.

mod breaks;
mod limits;
mod plain;
mod work;

pub use limits::MAX_BYTES;
pub use plain::strip;
pub use work::steps;

use ammonia::Builder;
use limits::{check, depth};
use std::sync::LazyLock;

/// Deepest allowed nesting of elements. The parser of v1 cuts off a text, and all that follows, at a depth a little
/// above 250.
const MAX_DEPTH: usize = 200;
/// Number of times the result is sanitised again, until it no longer changes.
const MAX_PASSES: usize = 6;

const TOO_DEEP: &str = "cannot be sanitised: it nests more than 200 elements";

/// Allowed schemes of the addresses of links and pictures; relative addresses are allowed too.
const SCHEMES: [&str; 4] = ["http", "https", "mailto", "tel"];

static CLEANER: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let mut cleaner = Builder::default();
    cleaner
        .add_generic_attributes(&["class", "dir"])
        .add_generic_attribute_prefixes(&["data-"])
        .add_tag_attributes("a", &["target"])
        .add_tags(&["tfoot"])
        // HTML accepts a name such as `data-<math`, but less exact readers take it for a tag.
        .attribute_filter(|_, name, value| is_plain_name(name).then(|| value.into()))
        .url_schemes(SCHEMES.into_iter().collect());
    cleaner
});

/// Checks whether the name of an attribute has only letters, digits and the usual signs.
fn is_plain_name(name: &str) -> bool {
    name.bytes().all(|byte| !byte.is_ascii() || byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte))
}

/// Keeps the elements that rich text needs and drops everything that could run. Sanitising the result again changes
/// nothing.
///
/// # Errors
/// A sentence for the client when the text cannot be sanitised: a NUL byte, more than [`MAX_BYTES`], or more
/// elements than any text written by people has.
pub fn sanitise(html: &str) -> Result<String, String> {
    if html.len() > MAX_BYTES {
        return Err("cannot be sanitised: it is longer than 1 MiB".into());
    }
    sanitise_stored(html)
}

/// Does the same with a text that may be longer: in a stored text, characters are escaped.
fn sanitise_stored(html: &str) -> Result<String, String> {
    check(html)?;
    let mut clean = pass(html)?;
    for _ in 0..MAX_PASSES {
        check(&clean)?;
        let again = pass(&clean)?;
        if again == clean {
            return if depth(&clean) <= MAX_DEPTH { Ok(clean) } else { Err(TOO_DEEP.into()) };
        }
        clean = again;
    }
    Err("cannot be sanitised: its elements are nested in contradictory ways".into())
}

/// Returns a stored text as reads may show it: sanitised. None when it cannot be sanitised or nothing of it is left.
pub fn readable(stored: &str) -> Option<String> {
    sanitise_stored(stored).ok().filter(|clean| !clean.trim().is_empty())
}

/// Sanitises once, at a cost that grows linearly with the length of `html`.
fn pass(html: &str) -> Result<String, String> {
    let refused = |why: &str| format!("cannot be sanitised: it {why}");
    steps(html).map_err(refused)?;
    let broken = breaks::put(html).map_err(refused)?;
    broken.take_out(CLEANER.clean(&broken.text).to_string()).map_err(refused)
}

#[cfg(test)]
mod tests;
