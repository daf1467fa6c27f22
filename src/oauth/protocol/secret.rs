//! Secrets that the gateway issues: 256 random bits each. Only the SHA-256 is stored.
//!
//! A slow hash is needed only for passwords, which can be guessed; nobody can guess 256 bits.
//!
//! May use: nothing.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// Creates a secret that begins with `prefix`.
///
/// # Panics
/// When the system gives no random numbers; no safe secret can be created then.
pub fn new(prefix: &str) -> String {
    format!("{prefix}{}", URL_SAFE_NO_PAD.encode(random()))
}

/// Returns 32 random bytes.
///
/// # Panics
/// When the system gives no random numbers.
pub fn random() -> [u8; 32] {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).expect("the system gives random numbers");
    bytes
}

/// Returns the SHA-256 in hexadecimal, as the store keeps it.
pub fn hash(secret: &str) -> String {
    hex::encode(Sha256::digest(secret.as_bytes()))
}

/// Checks whether `secret` has this hash, in a time that does not depend on where the hashes differ.
pub fn is(secret: &str, expected: &str) -> bool {
    hash(secret).as_bytes().ct_eq(expected.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_long_new_and_known_by_their_hash() {
        let (one, other) = (new("cwa_"), new("cwa_"));
        assert!(one.len() == 47 && one != other);
        assert!(is(&one, &hash(&one)) && !is(&other, &hash(&one)) && !is("", &hash(&one)));
        assert_eq!(hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
