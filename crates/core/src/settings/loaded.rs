//! Which settings can change while the gateway serves, and which have changed from one reading to the next.
//!
//! May use: nothing of this crate.

use std::collections::{BTreeMap, BTreeSet};

/// Settings, or whole tables of them, that can change while the gateway serves.
const RELOADED: [&str; 32] = [
    "admin.hosts",
    "admin.token",
    "admin.token_file",
    "brownout",
    "cache.",
    "cors.",
    "edge.",
    "hints.",
    "idempotency.",
    "index.ahead",
    "limits.body",
    "limits.body_grace",
    "limits.body_pace",
    "limits.body_pause",
    "limits.body_time",
    "limits.rate.",
    "limits.writers_waiting",
    "log.filter",
    "log.owner",
    "log.slow",
    "mappings",
    "native.",
    "oauth.",
    "public_url",
    "ready.",
    "retirement",
    "secrets.",
    "strict_query",
    "trusted_proxies",
    "types.",
    "upstream.service_key",
    "workflow",
];

/// Values as they are written, by name.
pub(super) type Values = BTreeMap<String, String>;

/// Names of the values that are written differently in `now` than in `before`.
pub(super) fn changed(now: &Values, before: &Values) -> Vec<String> {
    let names: BTreeSet<&String> = now.keys().chain(before.keys()).collect();
    names.into_iter().filter(|name| now.get(*name) != before.get(*name)).cloned().collect()
}

/// Whether the setting `name` can change while the gateway serves.
pub(super) fn reloads(name: &str) -> bool {
    let is = |known: &&str| if known.ends_with('.') { name.starts_with(*known) } else { name == *known };
    RELOADED.iter().any(is)
}
