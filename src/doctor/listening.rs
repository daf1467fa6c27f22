//! The address that the gateway listens on: free, or used by a gateway or another program; and its certificate.
//!
//! May use: `edge` (the certificate), `settings`, `asking`, `rights`, `report`.

use super::asking::{ask, client, client_of};
use super::report::Report;
use super::rights::is_private;
use crate::edge::Tls;
use crate::settings::Settings;
use http::header::WWW_AUTHENTICATE;
use jiff::{SignedDuration, Timestamp};
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::Path;

/// Remaining time of a certificate below which it is a warning.
const SOON: SignedDuration = SignedDuration::from_hours(14 * 24);

/// Size in bytes from which a page is not one of the operators' listener.
const LONGEST_PAGE: u64 = 1 << 20;

pub(super) async fn look(settings: &Settings, report: &mut Report) {
    const PART: &str = "listen";
    certificate(settings, report);
    let address = settings.listen.address;
    let fault = match TcpListener::bind(address) {
        Err(fault) => fault,
        Ok(_held) => {
            let found = format!(
                "{address} is free; no gateway runs there (with socket activation systemd listens elsewhere: at the \
                 address of the socket unit)"
            );
            report.fine(PART, found);
            return operators(settings, report).await;
        }
    };
    match fault.kind() {
        ErrorKind::AddrInUse => {}
        ErrorKind::PermissionDenied => {
            let remedy = "choose a port above 1023, or give the service the capability CAP_NET_BIND_SERVICE";
            return report.fault(PART, format!("{address} may not be listened on by this user"), remedy);
        }
        _ => {
            let remedy = "name an address of this machine in the setting listen.address";
            return report.fault(PART, format!("{address} cannot be listened on: {fault}"), remedy);
        }
    }
    let scheme = if settings.listen.tls.is_some() { "https" } else { "http" };
    let base = format!("{scheme}://{}", reachable(address));
    // Accept any certificate, because it names the public address and not this one.
    let asked = match client_of(|builder| builder.danger_accept_invalid_certs(true)) {
        Ok(client) => ask(client.get(format!("{base}/api/v2/users/me/"))).await.ok(),
        Err(_) => None,
    };
    if asked.is_some_and(|answer| answer.is_of_a_gateway()) {
        return report.fine(PART, format!("a gateway runs at {address}"));
    }
    let remedy = "end it, or choose another address with the setting listen.address";
    report.fault(PART, format!("{address} is taken by another program, which is no causeway"), remedy);
}

/// Checks whether the operators' address is free. A gateway that runs at `listen.address` uses it itself, so it is not
/// checked then. A gateway with socket activation runs elsewhere and uses it, too.
async fn operators(settings: &Settings, report: &mut Report) {
    const PART: &str = "admin";
    let Some(address) = settings.admin.listen else { return };
    match TcpListener::bind(address) {
        Ok(_) => report.fine(PART, format!("{address} is free")),
        Err(fault) if fault.kind() == ErrorKind::AddrInUse && is_for_operators(address).await => {
            let remedy = "nothing to do if it is this gateway's, with socket activation; otherwise choose another address \
                          or port in the setting admin.listen";
            report.warn(PART, format!("the operators' listener of a gateway runs at {address}"), remedy);
        }
        Err(fault) => {
            let remedy = "choose another address or port in the setting admin.listen";
            report.fault(PART, format!("{address} cannot be listened on: {fault}"), remedy);
        }
    }
}

/// Checks whether the operators' listener of a gateway answers at `address`: it asks for the token, or shows its start
/// page.
async fn is_for_operators(address: SocketAddr) -> bool {
    let Ok(client) = client() else { return false };
    let Ok(answer) = client.get(format!("http://{}/", reachable(address))).send().await else { return false };
    let mut asked = answer.headers().get_all(WWW_AUTHENTICATE).iter();
    if asked.any(|value| value.to_str().is_ok_and(|value| value.contains("realm=\"causeway operators\""))) {
        return true;
    }
    let is_short = answer.content_length().is_some_and(|length| length <= LONGEST_PAGE);
    is_short && answer.text().await.is_ok_and(|page| page.contains("<h1>Causeway, for operators</h1>"))
}

/// Checks whether the certificate can be used, until when, and who may read its key.
pub fn certificate(settings: &Settings, report: &mut Report) {
    const PART: &str = "tls";
    let Some(files) = &settings.listen.tls else { return };
    match Tls::open(files) {
        Err(fault) => report.fault(
            PART,
            fault.to_string(),
            "name a certificate and its key, both as PEM, in the settings listen.tls.certificate_file and \
             listen.tls.key_file",
        ),
        Ok(_) if !is_private(PART, &files.key_file, report) => {}
        Ok(tls) => lasting(tls.ends_at(), &files.certificate_file, report),
    }
}

/// Checks how long the certificate remains valid.
fn lasting(ends_at: i64, file: &Path, report: &mut Report) {
    const PART: &str = "tls";
    let end = Timestamp::from_second(ends_at).unwrap_or(Timestamp::MAX);
    let (file, day) = (file.display(), end.strftime("%Y-%m-%d"));
    let left = end.duration_since(Timestamp::now());
    let renew = "renew it into the same files; the gateway takes the new one within seconds";
    if left.is_negative() {
        report.fault(PART, format!("the certificate in {file} ended on {day}; clients refuse it"), renew);
    } else if left < SOON {
        report.warn(PART, format!("the certificate in {file} ends soon, on {day}"), renew);
    } else {
        report.fine(PART, format!("the certificate and its key can be used, until {day}"));
    }
}

/// Returns an address at which this machine reaches a program that listens on `address`.
fn reachable(address: SocketAddr) -> SocketAddr {
    let own: IpAddr = if address.is_ipv4() { [127, 0, 0, 1].into() } else { std::net::Ipv6Addr::LOCALHOST.into() };
    if address.ip().is_unspecified() { SocketAddr::new(own, address.port()) } else { address }
}
