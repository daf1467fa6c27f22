//! The documents below `/.well-known/`.
//!
//! May use: `edge`, this folder, `protocol::metadata`, `plan::scopes`.

use super::{Asked, OAuthPages, json};
use crate::edge::Body;
use crate::oauth::protocol::metadata;
use crate::plan::scopes;
use http::Response;
use http::header::{CACHE_CONTROL, PRAGMA};

impl OAuthPages {
    pub(super) fn authorization_server(&self, asked: &Asked) -> Response<Body> {
        let scopes: Vec<&str> = scopes::all().collect();
        document(&metadata::authorization_server(&asked.base, &scopes, self.oauth.inner.settings.registration))
    }

    pub(super) fn protected_resource(&self, asked: &Asked) -> Response<Body> {
        let scopes: Vec<&str> = scopes::all().collect();
        document(&metadata::protected_resource(&asked.base, &scopes, self.oauth.is_set_up()))
    }
}

/// Nothing in them is secret; but they depend on the address asked, so nobody on the way keeps them.
fn document(content: &serde_json::Value) -> Response<Body> {
    let mut response = json(200, content);
    response.headers_mut().remove(PRAGMA);
    response.headers_mut().insert(CACHE_CONTROL, http::HeaderValue::from_static("private, max-age=60"));
    response
}
