//! Where the gateway listens: free, or taken by a gateway or by something else.
//!
//! May use: `settings`, `asking`, `report`.

use super::asking::{ask, client};
use super::report::Report;
use crate::settings::Settings;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpListener};

/// Looks at the address; the address of the gateway that runs there, when one does.
pub(super) async fn look(settings: &Settings, report: &mut Report) -> Option<String> {
    const PART: &str = "listen";
    let address = settings.listen.address;
    let Err(fault) = TcpListener::bind(address) else {
        report.fine(PART, format!("{address} is free; no gateway runs there"));
        return None;
    };
    match fault.kind() {
        ErrorKind::AddrInUse => {}
        ErrorKind::PermissionDenied => {
            let remedy = "choose a port above 1023, or give the service the capability CAP_NET_BIND_SERVICE";
            report.fault(PART, format!("{address} may not be listened on by this user"), remedy);
            return None;
        }
        _ => {
            let remedy = "name an address of this machine in the setting listen.address";
            report.fault(PART, format!("{address} cannot be listened on: {fault}"), remedy);
            return None;
        }
    }
    let base = format!("http://{}", reachable(address));
    let asked = match client() {
        Ok(client) => ask(client.get(format!("{base}/api/v2/users/me/"))).await.ok(),
        Err(_) => None,
    };
    if asked.is_some_and(|answer| answer.is_of_a_gateway()) {
        report.fine(PART, format!("a gateway runs at {address}"));
        return Some(base);
    }
    let remedy = "end it, or choose another address with the setting listen.address";
    report.fault(PART, format!("{address} is taken by another program, which is no causeway"), remedy);
    None
}

/// Where this machine reaches what listens on `address`.
fn reachable(address: SocketAddr) -> SocketAddr {
    let own: IpAddr = if address.is_ipv4() { [127, 0, 0, 1].into() } else { std::net::Ipv6Addr::LOCALHOST.into() };
    if address.ip().is_unspecified() { SocketAddr::new(own, address.port()) } else { address }
}
