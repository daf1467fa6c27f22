//! The door for hints from v1's webhooks, when it is set up, and what they do.
//!
//! May use: `edge`, `hints`, `run`, `settings`, `v1`; it is composition.

use crate::edge::Pages;
use crate::hints::{HintDoor, HintSecrets, Hinted, SecretsError};
use crate::run::Runner;
use crate::run::hinted::{Hints, touched};
use crate::settings::HintSettings;
use crate::v1::V1Key;
use std::sync::Arc;
use uuid::Uuid;

struct Refreshing {
    runner: Arc<Runner>,
    hints: Arc<Hints>,
    key: V1Key,
}

impl Hinted for Refreshing {
    fn touched(&self, _workspace: &str, project: Uuid) {
        touched(&self.runner, &self.hints, &self.key, project);
    }
}

/// The door; none without secrets, or without a key to look with.
pub(super) fn door(
    settings: &HintSettings,
    runner: &Arc<Runner>,
    key: Option<V1Key>,
) -> Result<Option<Arc<dyn Pages>>, SecretsError> {
    let Some(file) = &settings.secrets_file else { return Ok(None) };
    let secrets = HintSecrets::read(file)?;
    let Some(key) = key else {
        tracing::warn!(
            "hints.secrets_file does nothing without upstream.service_key: there is no key to look with"
        );
        return Ok(None);
    };
    let hinted = Refreshing { runner: Arc::clone(runner), hints: Arc::default(), key };
    Ok(Some(Arc::new(HintDoor::new(secrets, Arc::new(hinted)))))
}
