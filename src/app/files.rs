//! What settings only name, read from its files before anything is made of it.
//!
//! A file system may hang for ever. At a reload the files are therefore read on a thread of their own, for a few seconds
//! at most, while nothing is held that a later reload, a request or the end of the process needs.
//!
//! May use: `admin`, `aside`, `hints`, `mapping`, `oauth`, `settings`; it is composition.

use super::start::StartError;
use crate::admin::Token;
use crate::aside::{READING, aside};
use crate::hints::HintSecrets;
use crate::mapping::Texts;
use crate::oauth::Keyring;
use crate::settings::Settings;

/// What is in the files; none of it where the settings name no file.
pub(super) struct Files {
    /// The embedded mappings with those of a folder laid over them.
    pub(super) texts: Option<Texts>,
    pub(super) keyring: Option<Keyring>,
    pub(super) hints: Option<HintSecrets>,
    /// The operators' token, where operators are served.
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

    /// The same while the gateway serves.
    pub(super) async fn read_in_time(settings: &Settings) -> Result<Self, StartError> {
        let settings = settings.clone();
        let read = aside("files", READING, move || Self::read(&settings)).await;
        read.unwrap_or(Err(StartError::FilesHang))
    }
}
