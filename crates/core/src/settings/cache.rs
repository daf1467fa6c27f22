//! How old what was read from v1, and what was answered, may be when it is used again. May use: this folder.

use super::reader::{Reader, positive, settings, some_bytes, whole};
use super::value::Size;
use std::path::PathBuf;
use std::time::Duration;

settings! {
    /// Ages up to which what was read from v1 is used again (`[cache]`); zero means never.
    #[derive(Debug, Clone, PartialEq, Eq)]
    CacheSettings {
        /// Collections such as states, labels and members.
        collection: Duration = Reader::get,
        /// What a credential may see in a project; at most 30 s.
        card: Duration = card,
        /// The user behind a credential.
        identity: Duration = Reader::get,
        /// The refusal of a credential.
        refused_identity: Duration = Reader::get,
        /// Collections and indices while v1's quota is short.
        stretch: Duration = Reader::get,
        /// Everything that is kept, while v1 is unreachable or failing.
        stale_if_error: Duration = in_an_outage,
        /// What is added to the ages of proofs of access while v1 is unreachable or failing.
        outage_grace: Duration = in_an_outage,
    }
}

/// Oldest project card the visibility rules allow.
const OLDEST_CARD: Duration = Duration::from_secs(30);
/// Values that are kept for an outage may not be older.
const LONGEST_OUTAGE: Duration = Duration::from_hours(24);

fn card(from: &mut Reader, key: &str) -> Duration {
    let form = "a duration of at most \"30s\", for access that was taken away must not last longer";
    from.get_where(key, form, |age: &Duration| *age <= OLDEST_CARD)
}

fn in_an_outage(from: &mut Reader, key: &str) -> Duration {
    from.get_where(key, "a duration of at most \"24h\"", |age: &Duration| *age <= LONGEST_OUTAGE)
}

settings! {
    /// How the local index of work items is kept (`[index]`).
    #[derive(Debug, Clone, PartialEq, Eq)]
    IndexSettings {
        /// Age up to which it answers without asking v1; zero means never.
        freshness: Duration = Reader::get,
        /// Time from one comparison of all ids to the next.
        sweep: Duration = Reader::get,
        /// Whether the index of a project is begun before a request needs it.
        ahead: bool = Reader::get,
        /// Bytes held by the indices of all projects together.
        max_size: usize = bytes,
        /// Where they are kept between starts; none for beside the store's file.
        directory: Option<PathBuf> = Reader::optional,
    }
}

fn bytes(from: &mut Reader, key: &str) -> usize {
    from.get::<Size>(key).0
}

settings! {
    /// What is kept for requests with an `Idempotency-Key` (`[idempotency]`).
    #[derive(Debug, Clone, PartialEq, Eq)]
    IdempotencySettings {
        /// Time from a request until its answer is forgotten and its key may be used anew.
        keep: Duration = positive,
        /// Most requests kept of one person.
        per_person: usize = whole(1..=1_000_000),
        /// Most bytes of answers kept of one person.
        per_person_size: usize = some_bytes,
    }
}
