//! The address that clients use, with every proxy before the gateway. It must lead to the right gateway, proxies must
//! pass on the right host and scheme, and they must not collect whole bodies first.
//!
//! May use: `outgoing`, `settings`, `asking`, `report`.

use super::asking::{ask, client};
use super::report::{CheckInputs, Report};
use crate::outgoing::Answer;
use crate::settings::Settings;
use bytes::Bytes;
use reqwest::{Body, Client};
use std::time::Duration;

const PART: &str = "public";
/// Longest time that a proxy takes when it forwards a request at once.
const AT_ONCE: Duration = Duration::from_secs(3);
/// Path of the document that shows the gateway's own idea of its address.
const ISSUER: &str = "/.well-known/oauth-authorization-server";

pub(super) async fn look(settings: &Settings, wanted: &CheckInputs, report: &mut Report) {
    let set = settings.public.url.as_ref().map(|url| url.as_str().to_owned());
    let has_secrets = settings.secrets.key.is_some() || settings.secrets.key_file.is_some();
    let Some(address) = wanted.through.clone().or(set) else {
        match has_secrets {
            true => report.warn(
                PART,
                "OAuth is on and public_url is not set: its issuer is what each request says",
                "set public_url",
            ),
            false => report.fine(PART, "not looked at: set public_url, or give --through URL"),
        }
        return;
    };
    let address = address.trim_end_matches('/');
    if has_secrets && address.starts_with("http://") && !is_local(address) {
        let found = format!("OAuth over {address} shows keys and tokens to everybody on the way");
        report.fault(PART, found, "use https in public_url, with TLS at the reverse proxy");
    }
    if settings.listen.address.ip().is_loopback()
        && settings.public.trusted_proxies.is_empty()
        && !is_local(address)
    {
        let found = "all clients seem to come from the proxy: limits and audit log know one address";
        report.warn(PART, found, "name the proxy in trusted_proxies, for example [\"127.0.0.1/32\"]");
    }
    let Ok(client) = client() else { return };
    let answer = match ask(client.get(format!("{address}/api/v2/users/me/"))).await {
        Ok(answer) => answer,
        Err(silence) => return report.fault(PART, format!("{address}: {}", silence.found), silence.remedy),
    };
    if !answer.is_of_a_gateway() {
        let found = format!("{address} is answered by something else ({}), not by a gateway", answer.status);
        return report.fault(PART, found, "let the proxy pass requests to listen.address, and start the gateway");
    }
    let told = same_address(&client, address, &answer, report).await;
    let prompt = passes_on_at_once(address, report).await;
    if told && prompt {
        report.fine(PART, format!("{address} leads to a gateway that knows its address"));
    }
}

fn is_local(address: &str) -> bool {
    let after_scheme = address.split_once("://").map_or(address, |(_, rest)| rest);
    let host = after_scheme.split('/').next().unwrap_or_default();
    let port = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    let name = port.map_or(host, |(name, _)| name);
    ["127.0.0.1", "localhost", "[::1]"].contains(&name)
}

/// Checks whether the gateway knows its address. The type of a problem and the issuer show the address it assumes.
async fn same_address(client: &Client, address: &str, answer: &Answer, report: &mut Report) -> bool {
    let believed = answer.text("type").split("/errors/").next().unwrap_or_default().to_owned();
    let issuer = match ask(client.get(format!("{address}{ISSUER}"))).await {
        Ok(answer) if answer.status == 200 => answer.text("issuer").to_owned(),
        _ => believed.clone(),
    };
    if believed == address && issuer == address {
        return true;
    }
    if believed == address {
        let found = format!("the OAuth issuer is {issuer}, but clients use {address}");
        report.fault(PART, found, format!("set public_url to {address}"));
        return false;
    }
    let host = |address: &str| address.split("://").nth(1).unwrap_or(address).to_owned();
    let remedy = match host(&believed) == host(address) {
        true => "set public_url, or let the proxy send X-Forwarded-Proto and name the proxy in trusted_proxies",
        false => {
            "set public_url, or let the proxy pass the header Host on as it is, or let it send X-Forwarded-Host and name \
             it in trusted_proxies"
        }
    };
    report.fault(PART, format!("the gateway takes itself for {believed}, but clients use {address}"), remedy);
    false
}

/// Checks for a proxy that collects bodies. A gateway rejects a write without a credential before its body has arrived;
/// only a collecting proxy waits for the body.
async fn passes_on_at_once(address: &str, report: &mut Report) -> bool {
    // Use a new connection, because an open one may already have passed the collecting proxy.
    let Ok(client) = client() else { return true };
    let body = futures_util::stream::pending::<Result<Bytes, std::io::Error>>();
    let request = client.post(format!("{address}/api/v2/workspaces/doctor/work-item-types/"));
    let request = request.header("Content-Type", "application/json").body(Body::wrap_stream(body));
    if tokio::time::timeout(AT_ONCE, request.send()).await.is_ok() {
        return true;
    }
    let found = "whatever stands before the gateway collects the bodies of requests before it passes them on";
    report.warn(PART, found, "switch that off, in nginx with `proxy_request_buffering off`");
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_name_of_a_host_is_local() {
        for address in [
            "http://localhost",
            "http://localhost:8080/x",
            "http://127.0.0.1:80",
            "http://[::1]:8080",
            "http://[::1]/",
        ] {
            assert!(is_local(address), "{address}");
        }
        for address in
            ["http://localhost.example.com", "http://127.0.0.1.example.com:80", "http://v2.example.com/localhost"]
        {
            assert!(!is_local(address), "{address}");
        }
    }
}
