//! The secrets of v1's webhooks, one or more for each workspace.
//!
//! They are in a file with one line each: the slug of the workspace, a space, and the secret that v1 shows when the
//! webhook is created. Empty lines and lines that begin with `#` are ignored. May use: nothing of this crate.

use hmac::{Hmac, Mac};
use sha2::Sha256;
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// Reason why the secrets cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SecretsError {
    #[error("the secrets of webhooks (setting hints.secrets_file) cannot be read: {}: {cause}", file.display())]
    Unreadable { file: PathBuf, cause: std::io::Error },
    #[error("{}, line {line}: write the slug of a workspace, a space, and the secret of its webhook", file.display())]
    Line {
        file: PathBuf,
        /// Number of the line, from 1.
        line: usize,
    },
}

/// Secrets by the slug of their workspace.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct HintSecrets(HashMap<String, Vec<Vec<u8>>>);

impl fmt::Debug for HintSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl HintSecrets {
    pub fn read(file: &Path) -> Result<Self, SecretsError> {
        let unreadable = |cause| SecretsError::Unreadable { file: file.to_owned(), cause };
        Self::of(&std::fs::read_to_string(file).map_err(unreadable)?)
            .map_err(|line| SecretsError::Line { file: file.to_owned(), line })
    }

    fn of(text: &str) -> Result<Self, usize> {
        let mut secrets: HashMap<String, Vec<Vec<u8>>> = HashMap::new();
        for (line, number) in text.lines().map(str::trim).zip(1..) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let mut words = line.split_whitespace();
            match (words.next(), words.next(), words.next()) {
                (Some(slug), Some(secret), None) if slug.bytes().all(is_of_slug) => {
                    secrets.entry(slug.to_owned()).or_default().push(secret.as_bytes().to_owned());
                }
                _ => return Err(number),
            }
        }
        Ok(Self(secrets))
    }

    /// Checks whether there is a secret for this workspace.
    pub(super) fn know(&self, workspace: &str) -> bool {
        self.0.contains_key(workspace)
    }

    /// Checks whether `signature` is that of `body` with a secret of this workspace.
    pub(super) fn verify(&self, workspace: &str, body: &[u8], signature: &Signature) -> bool {
        self.0.get(workspace).into_iter().flatten().any(|secret| {
            // A key of any length is allowed, so this never fails; the comparison takes constant time.
            Hmac::<Sha256>::new_from_slice(secret)
                .is_ok_and(|mac| mac.chain_update(body).verify_slice(&signature.0).is_ok())
        })
    }
}

/// Checks whether a byte may be in the slug of a workspace at v1.
fn is_of_slug(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-".contains(&byte)
}

/// The signature of a delivery: an HMAC-SHA256.
pub(super) struct Signature([u8; 32]);

impl Signature {
    /// Parses it from hexadecimal digits.
    pub(super) fn read(text: &[u8]) -> Option<Self> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).ok().map(|()| Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_a_line_for_each_webhook() {
        let secrets = HintSecrets::of("# two\nacme one\n\n acme two \nother three").expect("a file");
        assert!(secrets.know("acme") && secrets.know("other") && !secrets.know("third"));
        assert!(!format!("{secrets:?}").contains("three"));
        assert_eq!(HintSecrets::of("acme one\nacme").map(drop), Err(2));
        assert_eq!(HintSecrets::of("acme one two").map(drop), Err(1));
        // Some editors begin a file with an invisible mark; with it no delivery would ever match.
        assert_eq!(HintSecrets::of("\u{feff}acme one").map(drop), Err(1));
    }
}
