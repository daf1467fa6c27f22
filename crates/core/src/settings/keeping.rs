//! What the gateway keeps, where and how long: its store, what was read from v1, credentials and counts. May use: this
//! folder.

use super::reader::{Reader, positive, settings, some_bytes, whole};
use super::value::{HttpAddress, Secret, Size};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

settings! {
    /// Where the gateway keeps what v1 cannot hold (`[store]`).
    #[derive(Clone, PartialEq, Eq)]
    StoreSettings {
        /// Address of the database, such as `sqlite:causeway.db`; may hold a password.
        url: String = database,
        /// How long v1 may still carry out a write whose answer was lost.
        late_write: Duration = Reader::get,
        /// Connections to a database server that writes to v1 hold while they have what must not be shared to
        /// themselves.
        lock_connections: usize = whole(1..=12),
    }
}

fn database(from: &mut Reader, key: &str) -> String {
    let names_a_place =
        |url: &String| url.split_once(':').is_some_and(|(_, place)| !place.trim_matches('/').is_empty());
    from.get_where(key, "an address such as \"sqlite:causeway.db\"", names_a_place)
}

impl fmt::Debug for StoreSettings {
    /// Shows the kind of database alone, for the address may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.url.split(':').next().unwrap_or_default();
        f.debug_struct("StoreSettings").field("url", &format_args!("{kind}:…")).finish_non_exhaustive()
    }
}

settings! {
    /// The place that several gateway processes share beside the store (`[shared]`); none means that each process
    /// counts alone.
    #[derive(Debug, Clone, PartialEq, Eq)]
    SharedSettings {
        /// Address of a Redis or Valkey server, such as `redis://cache:6379`; may hold a password.
        url: Option<Secret> = redis,
    }
}

fn redis(from: &mut Reader, key: &str) -> Option<Secret> {
    let form = "an address such as \"redis://USER:PASSWORD@HOST:6379/0\", or rediss:// for TLS";
    from.optional_where(key, form, |url: &Secret| is_redis(url.expose()))
}

fn is_redis(address: &str) -> bool {
    let Ok(address) = url::Url::parse(address) else { return false };
    let database = address.path().trim_start_matches('/');
    let is_number = database.is_empty() || database.parse::<u32>().is_ok();
    matches!(address.scheme(), "redis" | "rediss") && address.has_host() && is_number
}

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

settings! {
    /// Hints from v1's webhooks (`[hints]`); the door for them is closed without secrets.
    #[derive(Debug, Clone, PartialEq, Eq)]
    HintSettings {
        /// File with a line for each webhook: slug of the workspace and secret.
        secrets_file: Option<PathBuf> = Reader::optional,
    }
}

settings! {
    /// The secrets under which v1 keys are kept (`[secrets]`); none means no authorization server and no gateway keys.
    #[derive(Debug, Clone, PartialEq, Eq)]
    SecretSettings {
        /// File with secrets, one a line, the first for sealing, all for opening.
        key_file: Option<PathBuf> = Reader::optional,
        /// The same as text, separated by commas; wins over the file.
        key: Option<Secret> = Reader::secret,
    }
}

settings! {
    /// How the authorization server gives out codes, tokens and keys (`[oauth]`).
    #[derive(Debug, Clone, PartialEq, Eq)]
    OAuthSettings {
        /// Life of an authorization code.
        code: Duration = code,
        /// Life of an access token.
        access_token: Duration = positive,
        /// Life of a refresh token that is not used.
        refresh_token: Duration = positive,
        /// How long a refresh whose answer was lost may be repeated; zero for never.
        refresh_retry: Duration = delay,
        /// Age up to which what is known of a token is used without looking.
        revocation_delay: Duration = delay,
        /// Failed attempts to prove a key allowed to one address in a minute.
        attempts: usize = whole(1..=10_000),
        /// Whether clients may register themselves (RFC 7591).
        registration: bool = Reader::get,
        /// What people know this place by, on the pages they see.
        site_name: Option<String> = site_name,
        /// Where people make their v1 keys.
        keys_url: Option<HttpAddress> = Reader::optional,
    }
}

/// Longest life of a code; RFC 6749 recommends at most ten minutes.
const LONGEST_CODE: Duration = Duration::from_mins(10);
/// Longest time after which a revocation must be seen by every process.
const LONGEST_REVOCATION: Duration = Duration::from_mins(1);
/// Longest name of a site, in characters.
const LONGEST_NAME: usize = 60;

fn code(from: &mut Reader, key: &str) -> Duration {
    let form = "a duration above zero and of at most \"10m\"";
    from.get_where(key, form, |life: &Duration| !life.is_zero() && *life <= LONGEST_CODE)
}

fn delay(from: &mut Reader, key: &str) -> Duration {
    from.get_where(key, "a duration of at most \"60s\"", |delay: &Duration| *delay <= LONGEST_REVOCATION)
}

fn site_name(from: &mut Reader, key: &str) -> Option<String> {
    from.optional_where(key, "a text of 1 to 60 characters", |name: &String| {
        (1..=LONGEST_NAME).contains(&name.trim().chars().count())
    })
}

settings! {
    /// Counts of who calls which operation, for reports on the move from v1 to v2 (`[usage]`).
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    UsageSettings {
        /// Whether calls are counted at all.
        count: bool = Reader::get,
        /// For how many days counts are kept.
        days: usize = whole(1..=3660),
        /// Most rows of counts.
        rows: usize = whole(1000..=10_000_000),
        /// Time from one write of counts to the next.
        flush: Duration = positive,
        /// Whether v1 may be asked who a key belongs to.
        learn: bool = Reader::get,
    }
}

settings! {
    /// Work item types: what the plan of this deployment has (`[types]`).
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    TypeSettings {
        /// Whether workspaces may manage types themselves; without, every workspace stays in project mode (O31).
        workspace_level: bool = Reader::get,
    }
}

#[cfg(test)]
mod tests {
    use super::is_redis;

    #[test]
    fn addresses_of_redis_are_known() {
        for address in ["redis://localhost", "rediss://user:p%40ss@cache.example:6380/2", "redis://:p@[::1]:6379/0"]
        {
            assert!(is_redis(address), "{address}");
        }
        for address in ["localhost:6379", "http://localhost", "redis://", "redis://host/name", ""] {
            assert!(!is_redis(address), "{address}");
        }
    }
}
