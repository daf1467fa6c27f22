//! The settings of each part, derived from the settings of the gateway.
//!
//! May use: `index`, `run`, `settings`, `store` (its file), `v1`; it is composition.

use crate::index::IndexSettings;
use crate::run::service_key;
use crate::settings::{HttpAddress, Settings, UpstreamSettings};
use crate::store::file_of;
use crate::v1::{BudgetSettings, ClientSettings, ConcurrencySettings, Quota};
use std::path::PathBuf;
use std::time::Duration;

/// Longest random wait before a read is repeated.
const RETRY_JITTER: Duration = Duration::from_millis(150);
/// The window in which v1 counts the requests of a key.
const QUOTA_WINDOW: Duration = Duration::from_secs(60);
/// Requests a minute that v1 allows per service key by default.
const USUAL_SERVICE_QUOTA: usize = 300;
/// Time that a process may need to end after the deadline of its last request.
const HAND_OVER: Duration = Duration::from_secs(30);

pub(super) fn client_settings(settings: &Settings, upstream: &HttpAddress) -> ClientSettings {
    ClientSettings {
        base_url: upstream.as_str().to_owned(),
        connect_timeout: settings.upstream.connect_timeout,
        response_cap: settings.upstream.max_response_size,
        pool_per_host: settings.upstream.pool_size,
        retry_jitter: RETRY_JITTER,
        concurrency: ConcurrencySettings {
            min: settings.upstream.concurrency_min,
            max: settings.upstream.concurrency_max,
        },
    }
}

/// Returns the configured quota, which is fixed. Without one, the usual quota applies, or a larger one that v1 shows.
pub(super) fn quota(set: Option<usize>, usual: usize) -> Quota {
    match set {
        None => Quota::AtLeast(usual),
        Some(0) => Quota::Unlimited,
        Some(calls) => Quota::Fixed(calls),
    }
}

pub(super) fn budget_settings(settings: &Settings) -> BudgetSettings {
    let upstream = &settings.upstream;
    BudgetSettings {
        window: QUOTA_WINDOW,
        quota: quota(upstream.quota, UpstreamSettings::USUAL_QUOTA),
        service_quota: quota(upstream.service_quota, USUAL_SERVICE_QUOTA),
        total: quota(upstream.total_quota.or(Some(0)), 0),
        write_reserve: upstream.write_reserve,
        service: service_key(settings).map(|key| key.id()),
    }
}

pub(super) fn index_settings(settings: &Settings) -> IndexSettings {
    IndexSettings {
        freshness: settings.index.freshness,
        sweep: settings.index.sweep,
        max_bytes: settings.index.max_size,
        directory: settings.index.directory.clone().or_else(|| index_directory(&settings.store.url)),
        shared_work: settings.limits.deadline,
    }
}

/// Returns the directory for indices beside the store's file. A store in memory keeps none, and beside a database
/// server there is no place for them.
pub(super) fn index_directory(store: &str) -> Option<PathBuf> {
    file_of(store).map(|file| PathBuf::from(format!("{}.index", file.display())))
}

/// Returns how long to wait for another process that serves the same SQLite file or has the operators' address. When
/// the socket was handed over (systemd's `LISTEN_FDS`), this is as long as that process may drain; otherwise zero.
pub(super) fn patience(settings: &Settings) -> Duration {
    let handed_over = std::env::var_os("LISTEN_FDS").is_some();
    let draining = settings.limits.deadline.max(settings.listen.drain_time);
    if handed_over { draining + HAND_OVER } else { Duration::ZERO }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_lie_beside_the_store() {
        assert_eq!(index_directory("sqlite:/var/lib/c.db"), Some(PathBuf::from("/var/lib/c.db.index")));
        assert_eq!(index_directory("sqlite://c.db?mode=rwc"), Some(PathBuf::from("c.db.index")));
        assert_eq!(index_directory("sqlite::memory:"), None);
        assert_eq!(index_directory("postgres://causeway@db/causeway"), None);
    }
}
