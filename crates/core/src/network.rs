//! The addresses that belong to one subscriber.
//!
//! May use: nothing of this crate.

use std::net::{IpAddr, Ipv6Addr};

/// Returns the network that counts as one address: for IPv6 the /64, which is what one subscriber gets.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        v4 => v4,
    }
}
