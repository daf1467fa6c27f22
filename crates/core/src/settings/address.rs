//! Addresses of HTTP servers, and checks whether they lead to this machine or this gateway.
//!
//! May use: `settings::raw`, `settings::value`.

use super::raw::Raw;
use super::value::{Setting, text};
use std::net::{IpAddr, SocketAddr};

/// An `http` or `https` address with host and optional path, kept without a trailing slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpAddress(String);

impl HttpAddress {
    /// Returns the address, without a trailing slash.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the part after the host, without a trailing slash.
    pub fn path(&self) -> &str {
        path_of(&self.0)
    }

    /// Parses an address; `None` when the text is not one, or has credentials, a query or a fragment.
    pub fn parse(text: &str) -> Option<Self> {
        let url = url::Url::parse(text.trim()).ok()?;
        let plain = url.username().is_empty() && url.password().is_none();
        let bare = url.query().is_none() && url.fragment().is_none() && url.has_host();
        let http = matches!(url.scheme(), "http" | "https");
        (plain && bare && http).then(|| Self(url.as_str().trim_end_matches('/').to_owned()))
    }

    fn url(&self) -> Option<url::Url> {
        url::Url::parse(self.as_str()).ok()
    }

    /// Checks whether the address is without TLS.
    pub fn is_plain(&self) -> bool {
        self.as_str().starts_with("http://")
    }

    fn ip(&self) -> Option<IpAddr> {
        match self.url()?.host()? {
            url::Host::Ipv4(ip) => Some(ip.into()),
            url::Host::Ipv6(ip) => Some(ip.into()),
            url::Host::Domain(_) => None,
        }
    }

    fn port(&self) -> Option<u16> {
        self.url()?.port_or_known_default()
    }

    /// Checks whether a gateway at `listen` listens at this address, as far as this is known without a connection.
    pub(super) fn leads_to(&self, listen: SocketAddr) -> bool {
        let own = listen.ip().to_canonical();
        let same = match self.ip().map(|ip| ip.to_canonical()) {
            // A listener on all IPv6 addresses usually listens on all IPv4 addresses too.
            Some(ip) => ip == own || (own.is_unspecified() && ip.is_loopback() && (own.is_ipv6() || ip.is_ipv4())),
            None => self.is_on_this_machine() && (own.is_loopback() || own.is_unspecified()),
        };
        // With port 0 the system chooses the port.
        listen.port() != 0 && self.port() == Some(listen.port()) && same
    }

    /// Checks whether requests to the address stay on this machine.
    pub fn is_on_this_machine(&self) -> bool {
        match self.ip() {
            Some(ip) => ip.to_canonical().is_loopback(),
            None => self.url().is_some_and(|url| url.host_str() == Some("localhost")),
        }
    }
}

impl Setting for HttpAddress {
    const FORM: &'static str = "an address such as \"https://host.example.com\", without credentials or query";

    fn from_raw(raw: &Raw) -> Option<Self> {
        Self::parse(text(raw)?)
    }
}

/// Returns the part of an `http` address after the host. It ends with a slash only if the address does.
pub fn path_of(address: &str) -> &str {
    let behind = address.split_once("://").map_or("", |(_, rest)| rest);
    behind.find('/').map_or("", |at| &behind[at..])
}
