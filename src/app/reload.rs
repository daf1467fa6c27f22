//! Reloads settings, mappings and secrets while the gateway serves: all of them or none.
//!
//! May use: `admin`, `edge`, `settings`; it is composition.

use super::files::Files;
use super::service::Service;
use super::start::StartError;
use crate::admin::Admin;
use crate::edge::{Stack, Tls};
use crate::settings::{Loaded, Settings};
use parking_lot::Mutex;
use std::sync::Arc;

/// Reason why nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// Settings that cannot change while the gateway runs.
    #[error(
        "nothing was changed, because these settings need a restart: {}; restart the gateway, or set them back",
        .0.join(", ")
    )]
    NeedsRestart(Vec<String>),
    /// The settings, mappings or secrets that were read cannot be used.
    #[error("nothing was changed: {0}")]
    Unusable(#[from] StartError),
}

/// The present service, and the settings that it was built from.
pub(super) struct Current {
    pub(super) service: Service,
    pub(super) loaded: Option<Loaded>,
}

/// Exchanges the service. Cheap to clone; all clones are the same.
#[derive(Clone)]
pub struct Reloader {
    pub(super) current: Arc<Mutex<Option<Current>>>,
    pub(super) stack: Stack,
    pub(super) admin: Option<Arc<Admin>>,
    pub(super) tls: Option<Tls>,
}

impl Reloader {
    /// Serves new requests by `loaded`; running requests end with the old settings. Returns the names of the settings
    /// that differ, and the files that have other contents although the settings name the same files.
    ///
    /// # Errors
    /// The reason why the reload is not possible; then nothing has changed.
    pub async fn reload(&self, loaded: Loaded) -> Result<Vec<String>, ReloadError> {
        let lasting = {
            let current = self.current.lock();
            // The gateway has stopped.
            let Some(before) = current.as_ref() else { return Ok(Vec::new()) };
            changed(before, &loaded)?;
            Arc::clone(&before.service.lasting)
        };
        let left = lasting.look(&loaded.settings).await?;
        // Unchanged files are read too: an unreadable file is reported now and not at the next start.
        let files = Files::read_in_time(&loaded.settings).await?;
        let renewed = match &self.tls {
            Some(tls) => Some(tls.renewed().await.map_err(StartError::from)?),
            None => None,
        };
        let mut current = self.current.lock();
        let Some(before) = current.as_mut() else { return Ok(Vec::new()) };
        let mut changed = changed(before, &loaded)?;
        let settings = &loaded.settings;
        let token = files.token.clone();
        let (mut service, surface) = before.service.with_settings(settings, files, &left)?;
        // From here on nothing can fail.
        if let Some(admin) = &self.admin {
            admin.show(&settings.admin, token, service.operators_pages(&self.stack, self.tls.as_ref()));
        }
        changed.extend(service.read_anew(&before.service, &changed));
        if let (Some(tls), Some(renewed)) = (&self.tls, renewed) {
            tls.exchange(renewed);
        }
        self.stack.replace(settings, surface);
        service.begin();
        *before = Current { service, loaded: Some(loaded) };
        Ok(changed)
    }
}

/// Returns the names of the settings that differ. Fails when one of them cannot change while the gateway serves.
fn changed(before: &Current, loaded: &Loaded) -> Result<Vec<String>, ReloadError> {
    let changed = before.loaded.as_ref().map(|known| loaded.changed_from(known)).unwrap_or_default();
    let fixed: Vec<String> = changed.iter().filter(|name| !Settings::reloads(name)).cloned().collect();
    if fixed.is_empty() { Ok(changed) } else { Err(ReloadError::NeedsRestart(fixed)) }
}
