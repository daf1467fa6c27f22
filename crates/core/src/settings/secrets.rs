//! The secrets under which v1 keys are kept. May use: this folder.

use super::reader::Reader;
use super::value::Secret;
use std::path::PathBuf;

/// The secrets (`[secrets]`); none means no authorization server and no gateway keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretSettings {
    /// File with secrets, one a line, the first for sealing, all for opening.
    pub key_file: Option<PathBuf>,
    /// The same as text, separated by commas; wins over the file.
    pub key: Option<Secret>,
}

impl SecretSettings {
    pub(super) fn read(from: &mut Reader) -> Self {
        Self { key_file: from.optional("secrets.key_file"), key: from.secret("secrets.key") }
    }
}
