//! Number of connections that the operating system allows.
//!
//! Each connection needs a file descriptor, and so do the connections to v1 and the store. A process without free
//! descriptors cannot accept: clients wait instead of getting a refusal. So the gateway stays below the limit.
//!
//! May use: nothing of this crate.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Returns how many of the `wanted` connections are possible: at most three quarters of the descriptors. First it asks
/// the system for as many descriptors as that needs.
pub(super) fn affordable(wanted: usize) -> usize {
    let needed = u64::try_from(wanted).unwrap_or(u64::MAX).saturating_mul(4) / 3 + 1;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < needed) {
        let raised = limit.maximum.map_or(needed, |most| most.min(needed));
        if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: Some(raised), ..limit }) {
            tracing::debug!(%error, "the limit of open files could not be raised");
        }
    }
    match getrlimit(Resource::Nofile).current {
        Some(current) => wanted.min(usize::try_from(current / 4 * 3).unwrap_or(usize::MAX)).max(1),
        None => wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_more_than_wanted_and_never_none() {
        assert_eq!(affordable(1), 1);
        assert!((1..=usize::MAX / 8).contains(&affordable(usize::MAX / 8)));
    }
}
