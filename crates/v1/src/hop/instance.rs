//! The name by which a gateway process recognises its own requests. May use: nothing of this crate.

use http::Version;
use http::header::{HeaderMap, HeaderValue, VIA};
use std::sync::Arc;

/// Name of a gateway process in `Via` (RFC 9110, 7.6.3). With it the process recognises a request that it sent itself.
#[derive(Debug, Clone)]
pub struct Instance {
    name: Arc<str>,
    /// `Via` values for a request that came by HTTP/1.1, and by HTTP/2.
    signs: [HeaderValue; 2],
}

impl Default for Instance {
    /// Creates a unique name.
    fn default() -> Self {
        let name = format!("causeway-{}", uuid::Uuid::new_v4().simple());
        let sign =
            |version| HeaderValue::try_from(format!("{version} {name}")).unwrap_or_else(|_| unreachable!("plain"));
        Self { signs: [sign("1.1"), sign("2.0")], name: name.into() }
    }
}

impl Instance {
    /// Checks whether a request with these headers has come through this gateway before.
    pub fn has_sent(&self, headers: &HeaderMap) -> bool {
        let values = headers.get_all(VIA).iter().filter_map(|value| value.to_str().ok());
        let mut names = values.flat_map(|value| value.split([',', ' '])).map(str::trim);
        names.any(|name| name == &*self.name)
    }

    /// Adds this gateway to the `Via` header of a request.
    pub fn sign(&self, headers: &mut HeaderMap, version: Version) {
        let sign = &self.signs[usize::from(version == Version::HTTP_2)];
        headers.append(VIA, sign.clone());
    }
}
