//! The name by which a gateway process knows a request that it sent itself. May use: nothing of this crate.

use http::Version;
use http::header::{HeaderMap, HeaderValue, VIA};
use std::sync::Arc;

/// The name of one gateway process in `Via` (RFC 9110, 7.6.3), by which it knows a request that it sent itself.
#[derive(Debug, Clone)]
pub struct Instance {
    name: Arc<str>,
    /// What it says of a request that came by HTTP/1.1, and by HTTP/2.
    signs: [HeaderValue; 2],
}

impl Default for Instance {
    /// A name that nobody else has.
    fn default() -> Self {
        let name = format!("causeway-{}", uuid::Uuid::new_v4().simple());
        let sign =
            |version| HeaderValue::try_from(format!("{version} {name}")).unwrap_or_else(|_| unreachable!("plain"));
        Self { signs: [sign("1.1"), sign("2.0")], name: name.into() }
    }
}

impl Instance {
    /// Whether a request with these headers has come through this gateway before.
    pub fn has_sent(&self, headers: &HeaderMap) -> bool {
        let values = headers.get_all(VIA).iter().filter_map(|value| value.to_str().ok());
        let mut names = values.flat_map(|value| value.split([',', ' '])).map(str::trim);
        names.any(|name| name == &*self.name)
    }

    /// Adds this gateway to those that a request has come through.
    pub fn sign(&self, headers: &mut HeaderMap, version: Version) {
        let sign = &self.signs[usize::from(version == Version::HTTP_2)];
        headers.append(VIA, sign.clone());
    }
}
