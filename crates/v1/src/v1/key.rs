//! A v1 API key, stored so that it can be sent but not leaked.
//!
//! Caches and logs use the [`KeyId`] (SHA-256 of the key); the key itself has no readable `Debug`.
//!
//! May use: `context`.

use crate::context::Meter;
use http::{HeaderMap, HeaderName};
use sha2::{Digest, Sha256};
use std::fmt;
use std::sync::Arc;

/// The header that carries a key, in v1 and in v2.
pub const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// SHA-256 of a v1 key: the identity under which anything obtained with that key is cached.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyId(pub [u8; 32]);

impl KeyId {
    /// Computes the id of a key in the form of the header value.
    pub fn of(secret: &[u8]) -> Self {
        Self(Sha256::digest(secret).into())
    }

    /// Returns the id of the key in a passed-through request, computed once per request. v1 reads only its own header
    /// and ignores a bearer token (`auth_bearer_ignored`).
    pub fn passed(headers: &HeaderMap, meter: &Meter) -> Option<Self> {
        let key = headers.get(API_KEY)?;
        Some(Self(meter.passed_key(|| Self::of(key.as_bytes().trim_ascii()).0)))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyId({:02x}{:02x}{:02x}{:02x}…)", self.0[0], self.0[1], self.0[2], self.0[3])
    }
}

/// A v1 API key. `Debug` shows only its id.
#[derive(Clone, PartialEq, Eq)]
pub struct V1Key {
    secret: Arc<str>,
    id: KeyId,
}

impl V1Key {
    /// Wraps the secret and computes its id.
    pub fn new(secret: &str) -> Self {
        let id = KeyId::of(secret.as_bytes());
        Self { secret: secret.into(), id }
    }

    /// Wraps a secret whose id is known.
    pub fn known(secret: &str, id: KeyId) -> Self {
        debug_assert_eq!(id, KeyId::of(secret.as_bytes()), "the id of another key");
        Self { secret: secret.into(), id }
    }

    /// Returns the cache identity of this key.
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// Returns the secret, only for the `X-Api-Key` header of a v1 call.
    pub fn expose(&self) -> &str {
        &self.secret
    }
}

impl fmt::Debug for V1Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "V1Key({:?})", self.id)
    }
}
