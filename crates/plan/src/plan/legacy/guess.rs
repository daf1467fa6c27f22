//! Names of calls of v1 that are no operation. May use: this folder.

use super::{BASE, V1Operations};
use percent_encoding::percent_decode_str;

/// Most parts of a path that is not known that its name keeps.
const MOST_PARTS: usize = 12;
/// Methods whose names are kept; no others are known to HTTP clients.
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

impl V1Operations {
    /// The name of a call that is no operation: its method and its path, with whatever could be an id or a name of
    /// somebody's replaced.
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

/// Whether a part of a path looks like an id: digits in it, or nothing but hexadecimal.
fn is_id(part: &str) -> bool {
    let hexadecimal = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    hexadecimal || part.bytes().any(|byte| byte.is_ascii_digit())
}
