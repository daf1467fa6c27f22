//! The place that several gateway processes share beside the store. May use: this folder.

use super::reader::Reader;
use super::value::Secret;

/// The shared place (`[shared]`); none means that each process counts alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedSettings {
    /// Address of a Redis or Valkey server, such as `redis://cache:6379`; may hold a password.
    pub url: Option<Secret>,
}

impl SharedSettings {
    pub(super) fn read(from: &mut Reader) -> Self {
        let form = "an address such as \"redis://USER:PASSWORD@HOST:6379/0\", or rediss:// for TLS";
        Self { url: from.optional_where("shared.url", form, |url: &Secret| is_redis(url.expose())) }
    }
}

fn is_redis(address: &str) -> bool {
    let Ok(address) = url::Url::parse(address) else { return false };
    let database = address.path().trim_start_matches('/');
    let is_number = database.is_empty() || database.parse::<u32>().is_ok();
    matches!(address.scheme(), "redis" | "rediss") && address.has_host() && is_number
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
