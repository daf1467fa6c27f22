//! Hints from v1's webhooks. May use: this folder.

use super::reader::Reader;
use std::path::PathBuf;

/// The door for hints (`[hints]`); closed without secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HintSettings {
    /// File with a line for each webhook: slug of the workspace and secret.
    pub secrets_file: Option<PathBuf>,
}

impl HintSettings {
    pub(super) fn read(from: &mut Reader) -> Self {
        Self { secrets_file: from.optional("hints.secrets_file") }
    }
}
