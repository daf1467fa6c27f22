//! How many requests a minute this gateway takes from one credential, and without one from one address. May use: this
//! folder.

use super::reader::Reader;

/// Requests a minute (`[limits.rate]`); 0 is no limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateSettings {
    /// Of one v1 API key.
    pub api_key: u32,
    /// Of one token of the authorization server.
    pub oauth: u32,
    /// Of one key for a workspace.
    pub workspace: u32,
    /// Of one key of a service.
    pub service: u32,
    /// Of one token from elsewhere.
    pub external: u32,
    /// Without a valid credential, of one address.
    pub unauthenticated: u32,
}

impl RateSettings {
    pub(super) fn read(from: &mut Reader) -> Self {
        let mut rate = |class: &str| {
            let form = "a whole number of requests a minute up to 1000000, 0 for no limit";
            let rate: usize = from.get_where(&format!("limits.rate.{class}"), form, |rate| *rate <= 1_000_000);
            u32::try_from(rate).unwrap_or(u32::MAX)
        };
        Self {
            api_key: rate("api_key"),
            oauth: rate("oauth"),
            workspace: rate("workspace"),
            service: rate("service"),
            external: rate("external"),
            unauthenticated: rate("unauthenticated"),
        }
    }
}
