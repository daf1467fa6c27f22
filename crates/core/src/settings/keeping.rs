//! Where the gateway keeps its own data: its store, the data shared by several processes, counts and types. May use:
//! this folder.

use super::reader::{Reader, positive, settings, whole};
use super::value::Secret;
use std::fmt;
use std::time::Duration;

settings! {
    /// The store of the data that v1 cannot hold (`[store]`).
    #[derive(Clone, PartialEq, Eq)]
    StoreSettings {
        /// Address of the database, such as `sqlite:causeway.db`; may hold a password.
        url: String = database,
        /// Time in which v1 may still carry out a write whose answer was lost.
        late_write: Duration = Reader::get,
        /// Connections to a database server for the locks that writes to v1 hold.
        lock_connections: usize = whole(1..=12),
    }
}

fn database(from: &mut Reader, key: &str) -> String {
    let names_a_place =
        |url: &String| url.split_once(':').is_some_and(|(_, place)| !place.trim_matches('/').is_empty());
    from.get_where(key, "an address such as \"sqlite:causeway.db\"", names_a_place)
}

impl fmt::Debug for StoreSettings {
    /// Shows only the kind of database, because the address may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.url.split(':').next().unwrap_or_default();
        f.debug_struct("StoreSettings").field("url", &format_args!("{kind}:…")).finish_non_exhaustive()
    }
}

settings! {
    /// The place that several gateway processes share beside the store (`[shared]`). Without it each process counts
    /// alone.
    #[derive(Debug, Clone, PartialEq, Eq)]
    SharedSettings {
        /// Address of a Redis or Valkey server, such as `redis://cache:6379`; may hold a password.
        url: Option<Secret> = redis,
        /// Longest wait for an answer of this server.
        timeout: Duration = redis_timeout,
    }
}

fn redis(from: &mut Reader, key: &str) -> Option<Secret> {
    let form = "an address such as \"redis://USER:PASSWORD@HOST:6379/0\", or rediss:// for TLS";
    from.optional_where(key, form, |url: &Secret| is_redis(url.expose()))
}

fn redis_timeout(from: &mut Reader, key: &str) -> Duration {
    let accept = |time: &Duration| (Duration::from_millis(5)..=Duration::from_secs(5)).contains(time);
    from.get_where(key, "a duration from \"5ms\" to \"5s\"", accept)
}

fn is_redis(address: &str) -> bool {
    let Ok(address) = url::Url::parse(address) else { return false };
    let database = address.path().trim_start_matches('/');
    let is_number = database.is_empty() || database.parse::<u32>().is_ok();
    matches!(address.scheme(), "redis" | "rediss") && address.has_host() && is_number
}

settings! {
    /// Counts of calls by caller and operation, for reports on the move from v1 to v2 (`[usage]`).
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    UsageSettings {
        /// Whether calls are counted at all.
        count: bool = Reader::get,
        /// Days for which counts are kept.
        days: usize = whole(1..=3660),
        /// Maximum number of rows of counts.
        rows: usize = whole(1000..=10_000_000),
        /// Interval between two writes of counts.
        flush: Duration = positive,
        /// Whether v1 may be asked for the owner of a key.
        learn: bool = Reader::get,
    }
}

settings! {
    /// Work item types: the features that the plan of this deployment includes (`[types]`).
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    TypeSettings {
        /// Whether workspaces may manage types themselves. If not, every workspace stays in project mode (O31).
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
