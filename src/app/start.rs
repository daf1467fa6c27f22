//! Checks at the start: the mappings must be correct, or the gateway does not start and reports why.
//!
//! May use: `admin`, `aside`, `hints`, `edge`, `mapping`, `oauth`, `plan`, `settings`, `shared`, `store`, `traces`,
//! `v1`; it is composition.

use crate::admin::{AdminError, TokenError};
use crate::aside::READING;
use crate::mapping::{Files, Texts};
use crate::oauth::KeyringError;
use crate::plan::{self, Plan, Special};
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("the mappings are faulty:\n{0}")]
    Mappings(#[from] crate::mapping::Faults),
    #[error("{0}; the folder is the setting `mappings`")]
    Unreadable(#[from] crate::mapping::Unreadable),
    #[error("the files that the settings name (mappings and secrets) could not be read within {READING:?}")]
    FilesHang,
    #[error(transparent)]
    Settings(#[from] crate::settings::SettingsError),
    #[error("upstream.base_url cannot be used: {0}")]
    Client(#[from] crate::v1::ClientError),
    #[error(transparent)]
    Store(#[from] crate::store::StoreError),
    #[error(transparent)]
    Secrets(#[from] KeyringError),
    #[error(transparent)]
    Admin(#[from] AdminError),
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error("{0}")]
    Retirement(String),
    #[error("{0}")]
    Native(String),
    #[error("the setting hints.secrets_file: {0}")]
    Hints(#[from] crate::hints::SecretsError),
    #[error("the shared place (setting shared.url) cannot be used: {0}")]
    Shared(#[from] crate::shared::SharedError),
    #[error("the settings listen.tls: {0}")]
    Tls(#[from] crate::edge::TlsError),
    #[error(transparent)]
    Traces(#[from] crate::traces::TracesError),
    #[error("the pass-through cannot be set up: {0}")]
    PassThrough(io::Error),
}

/// A plan and the texts that it was compiled from.
pub(super) struct Compiled {
    pub(super) plan: Arc<Plan>,
    texts: Option<Texts>,
}

impl Compiled {
    /// Compiles `texts`, or the embedded mappings. Returns the plan of `before` when the texts are the same.
    pub(super) fn of(texts: Option<Texts>, before: Option<&Self>) -> Result<Self, StartError> {
        if let Some(before) = before.filter(|before| before.texts == texts) {
            return Ok(Self { plan: Arc::clone(&before.plan), texts });
        }
        let plan = match &texts {
            Some(texts) => compiled(texts)?,
            None => compile_plan(None)?,
        };
        Ok(Self { plan, texts })
    }
}

/// Compiles the embedded mappings, with those of `directory` laid over them. The plan of the embedded mappings alone is
/// compiled once per process.
///
/// # Errors
/// All faults of all files at once, or the reason why the directory cannot be read.
pub fn compile_plan(directory: Option<&Path>) -> Result<Arc<Plan>, StartError> {
    static EMBEDDED: OnceLock<Arc<Plan>> = OnceLock::new();
    if let Some(directory) = directory {
        return compiled(&Texts::embedded().overlay(directory)?);
    }
    if let Some(plan) = EMBEDDED.get() {
        return Ok(Arc::clone(plan));
    }
    let plan = compiled(&Texts::embedded())?;
    Ok(Arc::clone(EMBEDDED.get_or_init(|| plan)))
}

fn compiled(texts: &Texts) -> Result<Arc<Plan>, StartError> {
    Ok(Arc::new(plan::compile(&Files::read(texts), Special::all())?))
}
