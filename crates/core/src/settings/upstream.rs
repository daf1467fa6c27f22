//! The existing deployment behind the gateway. May use: this folder.

use super::bounded::{positive, some_bytes};
use super::error::{SettingFault, SettingsError};
use super::reader::Reader;
use super::source::variable;
use super::value::{HttpAddress, Secret};
use std::net::SocketAddr;
use std::time::Duration;

const BASE_URL: &str = "upstream.base_url";

/// The service behind (`[upstream]`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamSettings {
    /// Its address without `/api/v1`; needed to serve, see [`UpstreamSettings::needed_base_url`].
    pub base_url: Option<HttpAddress>,
    /// Time to establish a connection.
    pub connect_timeout: Duration,
    /// Largest v1 answer read for translation, in bytes.
    pub max_response_size: usize,
    /// Idle connections kept for reuse.
    pub pool_size: usize,
    /// Least and most calls under way at once; how many it is in between is found out.
    pub concurrency_min: usize,
    /// See [`UpstreamSettings::concurrency_min`].
    pub concurrency_max: usize,
    /// Time until the head of a pass-through answer, counted from the last piece of the request.
    pub pass_through_timeout: Duration,
    /// A v1 key of the gateway's own, for work ahead of requests; none does no such work.
    pub service_key: Option<Secret>,
    /// Requests a minute that v1 is sent with one key, 0 for any number; none for as many as v1 says it takes.
    pub quota: Option<usize>,
    /// The same for `service_key`.
    pub service_quota: Option<usize>,
    /// The same for all keys together, 0 or none for any number.
    pub total_quota: Option<usize>,
    /// How many of the quota only writes may use.
    pub write_reserve: usize,
}

impl UpstreamSettings {
    pub(super) fn read(from: &mut Reader) -> Self {
        let concurrency_max = at_once(from, "upstream.concurrency_max", 100_000);
        let concurrency_min = at_once(from, "upstream.concurrency_min", concurrency_max).min(concurrency_max);
        Self {
            base_url: base_url(from),
            connect_timeout: positive(from, "upstream.connect_timeout"),
            max_response_size: some_bytes(from, "upstream.max_response_size"),
            pool_size: from.get("upstream.pool_size"),
            concurrency_min,
            concurrency_max,
            pass_through_timeout: positive(from, "upstream.pass_through_timeout"),
            service_key: from.secret("upstream.service_key"),
            quota: a_minute(from, "upstream.quota"),
            service_quota: a_minute(from, "upstream.service_quota"),
            total_quota: a_minute(from, "upstream.total_quota"),
            write_reserve: from.get("upstream.write_reserve"),
        }
    }

    /// The address of the service behind.
    ///
    /// # Errors
    /// When it is not set, with the ways to set it.
    pub fn needed_base_url(&self) -> Result<&HttpAddress, SettingsError> {
        let remedy = || format!("set it in the settings file, as {} or with a flag", variable(BASE_URL));
        let missing = || SettingFault::new(BASE_URL, "not set, so it is not known where v1 is", remedy());
        self.base_url.as_ref().ok_or_else(|| missing().into())
    }

    /// Makes sure that the service behind is not the gateway itself, which serves at `listen`. Commands that do not
    /// serve need not know where a gateway listens.
    ///
    /// # Errors
    /// When it is, as far as it can be told without asking.
    pub fn expect_another(&self, listen: SocketAddr) -> Result<(), SettingsError> {
        let Some(address) = self.base_url.as_ref().filter(|address| address.leads_to(listen)) else {
            return Ok(());
        };
        let problem = format!("{} is this gateway itself, which listens on {listen}", address.as_str());
        let remedy = "name the address of v1, or listen on another port (listen.address)";
        Err(SettingFault::new(BASE_URL, problem, remedy).into())
    }
}

fn base_url(from: &mut Reader) -> Option<HttpAddress> {
    let form = "an address such as \"https://v1.example.com\", without /api/v1, credentials or query";
    from.optional_where(BASE_URL, form, |address: &HttpAddress| {
        !address.as_str().ends_with("/api/v1") && !address.as_str().ends_with("/api")
    })
}

fn a_minute(from: &mut Reader, key: &str) -> Option<usize> {
    from.optional_where(key, "a whole number of requests a minute up to 1000000, 0 for no limit", |rate| {
        *rate <= 1_000_000_usize
    })
}

fn at_once(from: &mut Reader, key: &str, most: usize) -> usize {
    let form = format!("a whole number of calls from 1 to {most}");
    from.get_where(key, &form, |calls| (1..=most).contains(calls))
}
