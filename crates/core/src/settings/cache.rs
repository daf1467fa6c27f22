//! How long what was read from v1 is used again. May use: this folder.

use super::reader::Reader;
use std::time::Duration;

/// Oldest project card the visibility rules allow.
const OLDEST_CARD: Duration = Duration::from_secs(30);
/// Values that are kept for an outage may not be older.
const LONGEST_OUTAGE: Duration = Duration::from_secs(24 * 3600);
const TOLERABLE: &str = "a duration of at most \"24h\"";

/// Ages up to which cached answers are used (`[cache]`); zero means never.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheSettings {
    /// Collections such as states, labels and members.
    pub collection: Duration,
    /// What a credential may see in a project; at most 30 s.
    pub card: Duration,
    /// The user behind a credential.
    pub identity: Duration,
    /// The refusal of a credential.
    pub refused_identity: Duration,
    /// Collections and indices while v1's quota is short.
    pub stretch: Duration,
    /// Everything that is kept, while v1 is unreachable or failing.
    pub stale_if_error: Duration,
    /// What is added to the ages of proofs of access while v1 is unreachable or failing.
    pub outage_grace: Duration,
}

impl CacheSettings {
    pub(super) fn read(from: &mut Reader) -> Self {
        let form = "a duration of at most \"30s\", for access that was taken away must not last longer";
        Self {
            collection: from.get("cache.collection"),
            card: from.get_where("cache.card", form, |age: &Duration| *age <= OLDEST_CARD),
            identity: from.get("cache.identity"),
            refused_identity: from.get("cache.refused_identity"),
            stretch: from.get("cache.stretch"),
            stale_if_error: from
                .get_where("cache.stale_if_error", TOLERABLE, |age: &Duration| *age <= LONGEST_OUTAGE),
            outage_grace: from.get_where("cache.outage_grace", TOLERABLE, |age: &Duration| *age <= LONGEST_OUTAGE),
        }
    }
}
