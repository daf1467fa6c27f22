//! The existing deployment behind the gateway. May use: this folder.

use super::address::HttpAddress;
use super::error::{SettingFault, SettingsError};
use super::reader::{Reader, positive, settings, some_bytes};
use super::source::variable;
use super::value::Secret;
use std::net::SocketAddr;
use std::time::Duration;

const BASE_URL: &str = "upstream.base_url";

settings! {
    /// The deployment behind the gateway (`[upstream]`).
    #[derive(Debug, Clone, PartialEq, Eq)]
    UpstreamSettings {
        /// Its address without `/api/v1`; needed to serve, see [`UpstreamSettings::needed_base_url`].
        base_url: Option<HttpAddress> = base_url,
        /// Time to establish a connection.
        connect_timeout: Duration = positive,
        /// Maximum size of a v1 answer that is read for translation, in bytes.
        max_response_size: usize = some_bytes,
        /// Idle connections kept for reuse.
        pool_size: usize = Reader::get,
        /// Maximum number of calls in flight.
        concurrency_max: usize = at_once(100_000),
        /// Minimum of the limit of calls in flight. The gateway finds the best limit between the two by itself.
        concurrency_min: usize = at_once(concurrency_max),
        /// Time until the head of a pass-through answer arrives, counted from the last piece of the request, and then
        /// until each further piece.
        pass_through_timeout: Duration = positive,
        /// The gateway's own v1 key, for work ahead of requests. Without it there is no such work.
        service_key: Option<Secret> = Reader::secret,
        /// Requests a minute to v1 with one key; 0 for any number. By default as many as v1 says it takes.
        quota: Option<usize> = a_minute,
        /// The same limit for `service_key`.
        service_quota: Option<usize> = a_minute,
        /// The same limit for all keys together; 0 or none for any number.
        total_quota: Option<usize> = a_minute,
        /// Part of the quota that only writes may use.
        write_reserve: usize = Reader::get,
    }
}

impl UpstreamSettings {
    /// Requests a minute that v1 allows per key by default.
    pub const USUAL_QUOTA: usize = 60;

    /// Returns the address of the deployment behind the gateway.
    ///
    /// # Errors
    /// Fails when the address is not set, and names the ways to set it.
    pub fn needed_base_url(&self) -> Result<&HttpAddress, SettingsError> {
        let remedy = || format!("set it in the settings file, as {} or with a flag", variable(BASE_URL));
        let missing = || SettingFault::new(BASE_URL, "not set, so it is not known where v1 is", remedy());
        self.base_url.as_ref().ok_or_else(|| missing().into())
    }

    /// Checks that the deployment behind is not this gateway itself, which serves at `listen`. Loading
    /// does not check this, because commands that do not serve need not know where a gateway listens.
    ///
    /// # Errors
    /// Fails when it is the gateway, as far as this is known without a connection.
    pub fn expect_another(&self, listen: SocketAddr) -> Result<(), SettingsError> {
        let Some(address) = self.base_url.as_ref().filter(|address| address.leads_to(listen)) else {
            return Ok(());
        };
        let problem = format!("{} is this gateway itself, which listens on {listen}", address.as_str());
        let remedy = "name the address of v1, or listen on another port (listen.address)";
        Err(SettingFault::new(BASE_URL, problem, remedy).into())
    }
}

fn base_url(from: &mut Reader, key: &str) -> Option<HttpAddress> {
    let form = "an address such as \"https://v1.example.com\", without /api/v1, credentials or query";
    from.optional_where(key, form, |address: &HttpAddress| {
        !address.as_str().ends_with("/api/v1") && !address.as_str().ends_with("/api")
    })
}

fn a_minute(from: &mut Reader, key: &str) -> Option<usize> {
    from.optional_where(key, "a whole number of requests a minute up to 1000000, 0 for no limit", |rate| {
        *rate <= 1_000_000_usize
    })
}

fn at_once(most: usize) -> impl Fn(&mut Reader, &str) -> usize {
    let form = format!("a whole number of calls from 1 to {most}");
    // A faulty number is replaced by its default, which may exceed `most`.
    move |from, key| from.get_where(key, &form, |calls| (1..=most).contains(calls)).min(most)
}
