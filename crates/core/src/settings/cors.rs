//! Which pages may call the gateway from a browser. May use: this folder.

use super::reader::Reader;
use super::value::HttpAddress;

/// Cross-origin access (`[cors]`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CorsSettings {
    /// Origins such as `https://app.example.com`; `*` stands for any.
    pub allowed_origins: Vec<String>,
}

impl CorsSettings {
    pub(super) fn read(from: &mut Reader) -> Self {
        let form = "origins of scheme, host and optional port, such as \"https://app.example.com\", or \"*\"";
        let origins = |list: &Vec<String>| list.iter().all(|origin| is_origin(origin));
        Self { allowed_origins: from.get_where("cors.allowed_origins", form, origins) }
    }

    /// Whether pages of `origin` may call.
    pub fn allows(&self, origin: &str) -> bool {
        self.allowed_origins.iter().any(|allowed| allowed == "*" || allowed == origin)
    }
}

/// Browsers send origins in exactly the normal form, so nothing else could ever match.
fn is_origin(text: &str) -> bool {
    text == "*" || HttpAddress::parse(text).is_some_and(|address| address.as_str() == text && !has_path(text))
}

fn has_path(address: &str) -> bool {
    address.split_once("://").is_some_and(|(_, rest)| rest.contains('/'))
}
