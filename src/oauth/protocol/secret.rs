//! Secrets the gateway gives out: 256 random bits each, of which only the SHA-256 is kept.
//!
//! A slow hash is for passwords, which can be guessed; nobody guesses 256 bits.
//!
//! May use: nothing.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// A new secret that begins with `prefix`.
///
/// # Panics
/// When the system gives no random numbers; nothing safe can be done then.
pub fn new(prefix: &str) -> String {
    format!("{prefix}{}", URL_SAFE_NO_PAD.encode(random()))
}

/// 32 random bytes.
///
/// # Panics
/// When the system gives no random numbers.
pub fn random() -> [u8; 32] {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).expect("the system gives random numbers");
    bytes
}

/// SHA-256 in hexadecimal, as the store keeps it.
pub fn hash(secret: &str) -> String {
    hex::encode(Sha256::digest(secret.as_bytes()))
}

/// Whether `secret` has this hash, in time that does not depend on where they differ.
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
