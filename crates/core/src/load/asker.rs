//! The address and credential that a place is taken for.
//!
//! May use: `network`.

use crate::network::network;
use foldhash::quality::RandomState;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A holder of places, which are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Holder {
    /// An IPv4 address, or the /64 of an IPv6 one: a client that has one of its addresses has all of them.
    Address(IpAddr),
    /// A hash of a credential as it was presented, proven or not.
    Credential(u64),
}

impl Holder {
    /// Returns the holder that `address` belongs to; `None` for 127.0.0.1 and ::1. Behind a proxy on this machine that
    /// is not declared, all clients have one address, usually this one.
    pub fn of_address(address: IpAddr) -> Option<Self> {
        match address.to_canonical() {
            IpAddr::V4(Ipv4Addr::LOCALHOST) | IpAddr::V6(Ipv6Addr::LOCALHOST) => None,
            address => Some(Self::Address(network(address))),
        }
    }
}

/// The holders that a request is counted for: its address and its credential, as far as it has them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Asker {
    holders: [Option<Holder>; 2],
}

impl Asker {
    /// Creates the asker for a request from `address` with a credential of this hash.
    pub fn new(address: Option<IpAddr>, credential: Option<u64>) -> Self {
        Self { holders: [address.and_then(Holder::of_address), credential.map(Holder::Credential)] }
    }

    /// Returns the holders that it is counted for.
    pub fn holders(&self) -> impl Iterator<Item = Holder> + use<> {
        self.holders.into_iter().flatten()
    }
}

/// The amount that each holder has.
#[derive(Debug, Default)]
pub(super) struct Tally(HashMap<Holder, usize, RandomState>);

impl Tally {
    pub(super) fn of(&self, holder: Holder) -> usize {
        self.0.get(&holder).copied().unwrap_or(0)
    }

    /// Returns the most that any holder of `asker` has; 0 when it has no holder.
    pub(super) fn most_of(&self, asker: Asker) -> usize {
        asker.holders().map(|holder| self.of(holder)).max().unwrap_or(0)
    }

    pub(super) fn add(&mut self, asker: Asker, how_much: usize) {
        for holder in asker.holders() {
            let held = self.0.entry(holder).or_default();
            *held = held.saturating_add(how_much);
        }
    }

    pub(super) fn remove(&mut self, asker: Asker, how_much: usize) {
        for holder in asker.holders() {
            if let Entry::Occupied(mut held) = self.0.entry(holder) {
                *held.get_mut() = held.get().saturating_sub(how_much);
                if *held.get() == 0 {
                    held.remove();
                }
            }
        }
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(address: &str) -> Option<Holder> {
        Holder::of_address(address.parse().unwrap())
    }

    #[test]
    fn the_addresses_of_an_undeclared_proxy_on_this_machine_are_nobody() {
        for address in ["127.0.0.1", "::1", "::ffff:127.0.0.1"] {
            assert_eq!(holder(address), None, "{address}");
        }
        assert_ne!(holder("127.0.0.2"), None);
    }

    #[test]
    fn a_network_of_ipv6_is_one_holder_and_an_address_of_ipv4_is() {
        assert_eq!(holder("2001:db8::1"), holder("2001:db8::ffff:2"));
        assert_ne!(holder("2001:db8::1"), holder("2001:db8:0:1::1"));
        assert_eq!(holder("::ffff:9.9.9.9"), holder("9.9.9.9"));
        assert_ne!(holder("9.9.9.9"), holder("9.9.9.8"));
    }
}
