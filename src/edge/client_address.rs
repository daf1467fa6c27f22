//! The source of a request: the address of the client, and the name that the client gives itself (`User-Agent`).
//!
//! May use: `settings`, `edge::connection`.

use super::connection::Peer;
use crate::settings::PublicSettings;
use http::header::USER_AGENT;
use http::request::Parts;
use http::{HeaderMap, HeaderName};
use std::net::{IpAddr, SocketAddr};

/// Longest stored client agent, in characters. Headers may be far longer, and audit entries are never deleted.
const LONGEST_AGENT: usize = 512;
/// Header to which each proxy adds the address that it received the request from.
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The client's address; in the extensions of every request inside the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientAddress(pub IpAddr);

impl ClientAddress {
    /// Returns the other end of the connection. Behind trusted proxies it returns the last address in `X-Forwarded-For`
    /// that is no trusted proxy, or the leftmost readable address when all are trusted proxies. The addresses to the
    /// left of the returned one are only claims of the client.
    pub(super) fn of(request: &Parts, settings: &PublicSettings) -> Option<Self> {
        let mut nearest = request.extensions.get::<Peer>()?.0.ip().to_canonical();
        if !settings.trusts(nearest) {
            return Some(Self(nearest));
        }
        let lines = request.headers.get_all(FORWARDED_FOR).iter().map(|line| line.to_str().unwrap_or_default());
        for hop in lines.rev().flat_map(|line| line.rsplit(',')) {
            if !settings.trusts(nearest) {
                break;
            }
            // A hop that is no address ends the chain: no trusted proxy confirms the entries to the left of it.
            let Some(address) = address(hop.trim()) else { break };
            nearest = address;
        }
        Some(Self(nearest))
    }
}

/// Returns the `User-Agent` of a request, cut to the stored length; empty without the header.
pub fn client_agent(headers: &HeaderMap) -> String {
    let agent = headers.get(USER_AGENT).map(|value| String::from_utf8_lossy(value.as_bytes())).unwrap_or_default();
    agent.chars().take(LONGEST_AGENT).collect()
}

/// Parses an address with or without a port, an IPv6 address with or without brackets.
fn address(text: &str) -> Option<IpAddr> {
    let plain = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let address = plain.parse().ok().or_else(|| Some(text.parse::<SocketAddr>().ok()?.ip()));
    address.map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(peer: &str, lines: &[&str], trusted: &[&str]) -> String {
        let mut request = http::Request::builder().uri("/x");
        for line in lines {
            request = request.header(FORWARDED_FOR, *line);
        }
        let (mut parts, ()) = request.body(()).unwrap().into_parts();
        parts.extensions.insert(Peer(peer.parse().unwrap()));
        let trusted_proxies = trusted.iter().map(|network| network.parse().unwrap()).collect();
        ClientAddress::of(&parts, &PublicSettings { url: None, trusted_proxies }).unwrap().0.to_string()
    }

    #[test]
    fn strangers_are_not_believed() {
        assert_eq!(client("9.9.9.9:1", &["1.2.3.4"], &[]), "9.9.9.9");
        assert_eq!(client("9.9.9.9:1", &["1.2.3.4"], &["10.0.0.0/8"]), "9.9.9.9");
        assert_eq!(client("[::ffff:9.9.9.9]:1", &[], &[]), "9.9.9.9");
    }

    #[test]
    fn trusted_proxies_name_the_client_and_the_client_names_nobody() {
        let behind = |lines: &[&str]| client("10.0.0.1:1", lines, &["10.0.0.0/8"]);
        assert_eq!(behind(&["203.0.113.9"]), "203.0.113.9");
        assert_eq!(behind(&["6.6.6.6, 203.0.113.9"]), "203.0.113.9", "what the client claims is left of it");
        assert_eq!(behind(&["6.6.6.6, 203.0.113.9, 10.1.1.1"]), "203.0.113.9");
        assert_eq!(behind(&["6.6.6.6", "203.0.113.9,10.1.1.1"]), "203.0.113.9", "several lines are one");
        assert_eq!(behind(&["203.0.113.9:4711"]), "203.0.113.9");
        assert_eq!(behind(&["[2001:db8::1]:443"]), "2001:db8::1");
        assert_eq!(behind(&["[2001:db8::1]"]), "2001:db8::1");
        assert_eq!(behind(&["2001:db8::1"]), "2001:db8::1");
    }

    #[test]
    fn without_a_named_address_the_nearest_known_one_counts() {
        let behind = |lines: &[&str]| client("10.0.0.1:1", lines, &["10.0.0.0/8"]);
        assert_eq!(behind(&[]), "10.0.0.1");
        assert_eq!(behind(&[""]), "10.0.0.1");
        assert_eq!(behind(&["6.6.6.6, unknown, 10.1.1.1"]), "10.1.1.1");
        assert_eq!(behind(&["10.2.2.2, 10.1.1.1"]), "10.2.2.2", "a client within the trusted network");
    }
}
