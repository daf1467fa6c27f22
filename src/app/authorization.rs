//! Builds the authorization server with its store, and the access checks that know its credentials.
//!
//! May use: `access`, `fresh`, `oauth`, `settings`, `store`, `tally`, `v1`; it is composition.

use super::derived::client_settings;
use super::start::StartError;
use crate::access::Access;
use crate::fresh::Changes;
use crate::oauth::{Audited, EventKind, Keyring, OAuth};
use crate::settings::Settings;
use crate::store::{Store, StoreError};
use crate::tally::Counter;
use crate::v1::{BaseUrl, Client};
use std::sync::Arc;
use strum::VariantNames;

/// Opens the authorization server of `settings` without a gateway around it, on the store that `open` opens at its URL;
/// for the command line. A store that belongs to no deployment yet stays so until [`bind_store`].
pub async fn open_oauth(
    settings: &Settings,
    open: impl AsyncFnOnce(&str) -> Result<Store, StoreError>,
) -> Result<(OAuth, Store), StartError> {
    let upstream = settings.upstream.needed_base_url()?.clone();
    let client = Client::new(client_settings(settings, &upstream))?;
    let keyring = Keyring::open(&settings.secrets)?;
    let url = &settings.store.url;
    let store = open(url).await?;
    store.update_for(url, &deployment(settings)?).await?;
    let (oauth, _, store) = authorization(settings, keyring, &client, store, &counters());
    Ok((oauth, store))
}

/// Makes the store of `settings` that of their v1, if it belongs to no deployment yet.
pub async fn bind_store(settings: &Settings, store: &Store) -> Result<(), StartError> {
    Ok(store.bind(&settings.store.url, &deployment(settings)?).await?)
}

fn deployment(settings: &Settings) -> Result<BaseUrl, StartError> {
    let upstream = settings.upstream.needed_base_url()?;
    Ok(BaseUrl::parse(upstream.as_str()).map_err(StoreError::from)?)
}

/// Builds the authorization server on an open store that is not in use yet, the access checks that know its
/// credentials, and the store with its settings.
pub(super) fn authorization(
    settings: &Settings,
    keyring: Option<Keyring>,
    client: &Client,
    store: Store,
    events: &Arc<[Counter]>,
) -> (OAuth, Access, Store) {
    let access = Access::new(client.clone(), &settings.cache, &Changes::default());
    let store = store.with_lock_connections(settings.store.lock_connections);
    let (oauth, access) = authorization_on(settings, keyring, access, &store, events);
    (oauth, access, store)
}

/// Creates the counters of all events, by the event's number.
pub(super) fn counters() -> Arc<[Counter]> {
    EventKind::VARIANTS.iter().map(|_| Counter::default()).collect()
}

/// Builds the authorization server on an open store, and gives its credentials to an `access` that does not know them
/// yet.
pub(super) fn authorization_on(
    settings: &Settings,
    keyring: Option<Keyring>,
    access: Access,
    store: &Store,
    counters: &Arc<[Counter]>,
) -> (OAuth, Access) {
    let counters = Arc::clone(counters);
    let count = move |what: EventKind| {
        if let Some(counter) = counters.get(what.number()) {
            counter.add(1);
        }
    };
    let events = Audited::new(store.clone(), access.clone(), count);
    OAuth::new(store, access, keyring, settings.oauth.clone(), events)
}
