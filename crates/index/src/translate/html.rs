//! HTML that clients send, made harmless and, in `plain`, read as plain text.
//!
//! v1 stores the HTML of comments as sent, scripts included (trap 32, `comments_create_script_kept`), so the
//! gateway sanitises before it writes. The allowlist is that of the sanitiser with what rich-text editors
//! keep their structure in (`class`, `data-*`) added. Links carry `rel="noopener noreferrer"`, as v1 adds it.
//!
//! May use: this folder.

mod breaks;
mod limits;
mod plain;
mod work;

pub use limits::MAX_BYTES;
pub use plain::strip;

use ammonia::Builder;
use limits::{check, depth};
use std::sync::LazyLock;

/// Most elements one within the other. The parser of v1 cuts a text off, and all that follows, a little above 250.
const MAX_DEPTH: usize = 200;
/// How often the result is sanitised again until it stays as it is.
const MAX_PASSES: usize = 6;

const TOO_DEEP: &str = "cannot be sanitised: it nests more than 200 elements";

/// Addresses that links and pictures may have, relative ones aside.
const SCHEMES: [&str; 4] = ["http", "https", "mailto", "tel"];

static CLEANER: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let mut cleaner = Builder::default();
    cleaner
        .add_generic_attributes(&["class", "dir"])
        .add_generic_attribute_prefixes(&["data-"])
        .add_tag_attributes("a", &["target"])
        .add_tags(&["tfoot"])
        // A name such as `data-<math` is one to HTML, but a tag to readers that are less exact.
        .attribute_filter(|_, name, value| is_plain_name(name).then(|| value.into()))
        .url_schemes(SCHEMES.into_iter().collect());
    cleaner
});

/// Whether the name of an attribute has letters, digits and the usual signs only.
fn is_plain_name(name: &str) -> bool {
    name.bytes().all(|byte| !byte.is_ascii() || byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte))
}

/// Keeps what rich text needs and drops everything that could run; sanitising the result again changes nothing.
///
/// # Errors
/// A sentence for the client when the text cannot be sanitised: a NUL byte, more than [`MAX_BYTES`], or more
/// elements than any text written by people has.
pub fn sanitise(html: &str) -> Result<String, String> {
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

/// Steps the parser takes to read `html`, where they are counted: short texts take few.
///
/// # Errors
/// The end of a sentence when it would take more than the length allows.
pub fn steps(html: &str) -> Result<usize, &'static str> {
    work::steps(html)
}

/// One pass of the sanitiser, of a cost that grows with the length of `html` and no faster.
fn pass(html: &str) -> Result<String, String> {
    work::steps(html).map_err(|why| format!("cannot be sanitised: it {why}"))?;
    let broken = breaks::put(html).map_err(|why| format!("cannot be sanitised: it {why}"))?;
    Ok(broken.take_out(CLEANER.clean(&broken.text).to_string()))
}

#[cfg(test)]
mod tests;
