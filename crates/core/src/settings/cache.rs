//! Maximum ages of data from v1, and of answers, that may be used again. May use: this folder.

use super::reader::{Reader, positive, settings, some_bytes, whole};
use super::value::Size;
use std::path::PathBuf;
use std::time::Duration;

settings! {
    /// Maximum ages of data from v1 that is used again (`[cache]`); zero means never.
    #[derive(Debug, Clone, PartialEq, Eq)]
    CacheSettings {
        /// Collections such as states, labels and members.
        collection: Duration = Reader::get,
        /// The project card: the rights of a credential in a project; at most 30 s.
        card: Duration = card,
        /// The user behind a credential.
        identity: Duration = Reader::get,
        /// The refusal of a credential.
        refused_identity: Duration = Reader::get,
        /// Collections and indices while v1's quota is short.
        stretch: Duration = Reader::get,
        /// Everything that is cached, while v1 is unreachable or failing.
        stale_if_error: Duration = in_an_outage,
        /// Added to the ages of proofs of access while v1 is unreachable or failing.
        outage_grace: Duration = in_an_outage,
    }
}

/// Maximum age of a project card that the visibility rules allow.
const OLDEST_CARD: Duration = Duration::from_secs(30);
/// Maximum age of values that are kept for an outage.
const LONGEST_OUTAGE: Duration = Duration::from_hours(24);

fn card(from: &mut Reader, key: &str) -> Duration {
    let form = "a duration of at most \"30s\", for access that was taken away must not last longer";
    from.get_where(key, form, |age: &Duration| *age <= OLDEST_CARD)
}

fn in_an_outage(from: &mut Reader, key: &str) -> Duration {
    from.get_where(key, "a duration of at most \"24h\"", |age: &Duration| *age <= LONGEST_OUTAGE)
}

settings! {
    /// The local index of work items (`[index]`).
    #[derive(Debug, Clone, PartialEq, Eq)]
    IndexSettings {
        /// Age up to which it answers without asking v1; zero means never.
        freshness: Duration = Reader::get,
        /// Time from one comparison of all ids to the next.
        sweep: Duration = Reader::get,
        /// Whether the gateway starts to build the index of a project before a request needs it.
        ahead: bool = Reader::get,
        /// Bytes held by the indices of all projects together.
        max_size: usize = bytes,
        /// Directory of the indices between starts; by default beside the store's file, or in a PostgreSQL store.
        directory: Option<PathBuf> = Reader::optional,
    }
}

fn bytes(from: &mut Reader, key: &str) -> usize {
    from.get::<Size>(key).0
}

settings! {
    /// The records of requests with an `Idempotency-Key` (`[idempotency]`).
    #[derive(Debug, Clone, PartialEq, Eq)]
    IdempotencySettings {
        /// Time after a request until its answer is dropped and its key may be used again.
        keep: Duration = positive,
        /// Maximum number of requests kept for the v1 keys of a person, and for each app and gateway key.
        per_person: usize = whole(1..=1_000_000),
        /// Maximum bytes of answers kept for each of them.
        per_person_size: usize = some_bytes,
    }
}
