//! Where the gateway keeps what v1 cannot hold. May use: this folder.

use super::bounded::whole;
use super::reader::Reader;
use std::fmt;
use std::time::Duration;

/// The store (`[store]`).
#[derive(Clone, PartialEq, Eq)]
pub struct StoreSettings {
    /// Address of the database, such as `sqlite:causeway.db`; may hold a password.
    pub url: String,
    /// How long v1 may still carry out a write whose answer was lost.
    pub late_write: Duration,
    /// Connections to a database server that writes to v1 hold while they have what must not be shared to themselves.
    pub lock_connections: usize,
}

impl StoreSettings {
    pub(super) fn read(from: &mut Reader) -> Self {
        let form = "an address such as \"sqlite:causeway.db\"";
        let names_a_place =
            |url: &String| url.split_once(':').is_some_and(|(_, place)| !place.trim_matches('/').is_empty());
        let url = from.get_where("store.url", form, names_a_place);
        let lock_connections = whole(from, "store.lock_connections", 1..=12);
        Self { url, late_write: from.get("store.late_write"), lock_connections }
    }
}

impl fmt::Debug for StoreSettings {
    /// Shows the kind of database alone, for the address may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.url.split(':').next().unwrap_or_default();
        f.debug_struct("StoreSettings").field("url", &format_args!("{kind}:…")).finish_non_exhaustive()
    }
}
