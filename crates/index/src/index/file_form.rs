//! Format of a file: a mark of its kind and version, a checksum, the identity of its list, then the content.
//!
//! May use: nothing of this crate.

use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use std::io;

pub(super) const DIGEST: usize = 32;

/// Decodes the content of these bytes. Fails when they are damaged, of another kind or version than `mark`, or of
/// another list than `identity`.
pub(super) fn decode<T: DeserializeOwned>(mark: &[u8; 8], identity: &str, bytes: &[u8]) -> Result<T, &'static str> {
    let rest = bytes.strip_prefix(mark).ok_or("it is of another kind or version")?;
    let (digest, body) = rest.split_at_checked(DIGEST).ok_or("it is too short")?;
    if Sha256::digest(body)[..] != *digest {
        return Err("its checksum is wrong");
    }
    let (of, content): (String, T) = postcard::from_bytes(body).map_err(|_| "its form is wrong")?;
    if of == identity { Ok(content) } else { Err("it belongs to another list") }
}

/// Encodes the bytes that [`decode`] reads.
///
/// # Errors
/// When the content cannot be encoded.
pub(super) fn encode(mark: &[u8; 8], identity: &str, content: &impl Serialize) -> io::Result<Vec<u8>> {
    let body = postcard::to_stdvec(&(identity, content)).map_err(io::Error::other)?;
    let mut bytes = Vec::with_capacity(mark.len() + DIGEST + body.len());
    bytes.extend_from_slice(mark);
    bytes.extend_from_slice(&Sha256::digest(&body));
    bytes.extend_from_slice(&body);
    Ok(bytes)
}

/// Returns the checksum in the bytes of [`encode`].
pub(super) fn checksum(mark: &[u8; 8], bytes: &[u8]) -> Option<[u8; DIGEST]> {
    bytes.strip_prefix(mark)?.first_chunk().copied()
}
