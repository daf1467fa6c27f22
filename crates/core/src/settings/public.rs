//! Under which address clients reach the gateway, and whom to believe about it. May use: this folder.

use super::reader::Reader;
use super::value::HttpAddress;
use ipnet::IpNet;
use std::net::IpAddr;

/// The public address (`public_url`, `trusted_proxies`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PublicSettings {
    /// Fixed public address; `None` takes it from each request.
    pub url: Option<HttpAddress>,
    /// Reverse proxies whose forwarding headers are believed.
    pub trusted_proxies: Vec<IpNet>,
}

impl PublicSettings {
    pub(super) fn read(from: &mut Reader) -> Self {
        Self { url: from.optional("public_url"), trusted_proxies: from.get("trusted_proxies") }
    }

    /// Whether forwarding headers from `peer` are believed; an IPv4 address mapped into IPv6 counts as
    /// IPv4.
    pub fn trusts(&self, peer: IpAddr) -> bool {
        let peer = peer.to_canonical();
        self.trusted_proxies.iter().any(|network| network.contains(&peer))
    }
}
