//! Names for calls of v1 that match no operation. May use: this folder.

use super::{BASE, V1Operations};
use percent_encoding::percent_decode_str;

/// Maximum number of parts of an unknown path in its name.
const MOST_PARTS: usize = 12;
/// Methods that appear in names. HTTP clients know no others.
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

impl V1Operations {
    /// Returns a name for a call that matches no operation: its method and its path. Every part that could be an id or
    /// a personal name is replaced.
    pub fn guess(&self, method: &str, path: &str) -> String {
        let method = METHODS.into_iter().find(|known| *known == method).unwrap_or("OTHER");
        let mut name = format!("{method} ");
        let inner = path.strip_prefix(BASE).unwrap_or_default();
        for (index, part) in inner.trim_end_matches('/').split('/').enumerate() {
            if index == MOST_PARTS {
                name.push_str("…/");
                break;
            }
            let part = percent_decode_str(part).decode_utf8_lossy();
            name.push_str(match self.words.get(part.as_ref()) {
                Some(word) => word,
                None if is_id(&part) => "{id}",
                None => "{name}",
            });
            name.push('/');
        }
        name
    }
}

/// Checks whether a part of a path looks like an id: it contains a digit, or only hexadecimal digits.
fn is_id(part: &str) -> bool {
    let hexadecimal = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    hexadecimal || part.bytes().any(|byte| byte.is_ascii_digit())
}
