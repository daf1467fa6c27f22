//! Files that settings name, read before anything is built from them.
//!
//! A file system may hang for ever. So at a reload the files are read on a thread of their own, for a few seconds at
//! most. Meanwhile no lock is held that a later reload, a request or the end of the process needs.
//!
//! May use: `admin`, `aside`, `hints`, `mapping`, `oauth`, `settings`; it is composition.

use super::start::StartError;
use crate::admin::Token;
use crate::aside::{READING, aside};
use crate::hints::HintSecrets;
use crate::mapping::Texts;
use crate::oauth::Keyring;
use crate::settings::Settings;

/// Contents of the files; none where the settings name no file.
pub(super) struct Files {
    /// The embedded mappings with those of a folder laid over them.
    pub(super) texts: Option<Texts>,
    pub(super) keyring: Option<Keyring>,
    pub(super) hints: Option<HintSecrets>,
    /// The operators' token, when the operators' listener is on.
    pub(super) token: Option<Token>,
}

impl Files {
    pub(super) fn read(settings: &Settings) -> Result<Self, StartError> {
        let mappings = settings.mappings.as_deref();
        Ok(Self {
            texts: mappings.map(|directory| Texts::embedded().overlay(directory)).transpose()?,
            keyring: Keyring::open(&settings.secrets)?,
            hints: settings.hints.secrets_file.as_deref().map(HintSecrets::read).transpose()?,
            token: settings.admin.listen.and_then(|_| Token::open(&settings.admin).transpose()).transpose()?,
        })
    }

    /// Reads the files while the gateway serves, with a time limit.
    pub(super) async fn read_in_time(settings: &Settings) -> Result<Self, StartError> {
        let settings = settings.clone();
        let read = aside("files", READING, move || Self::read(&settings)).await;
        read.unwrap_or(Err(StartError::FilesHang))
    }
}
