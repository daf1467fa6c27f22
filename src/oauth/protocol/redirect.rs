//! Redirect addresses: which may be registered, and whether a presented address is a registered one.
//!
//! Addresses are compared as text (RFC 9700, 2.1). Nothing is normalised, so no two parsers can disagree. Only the port
//! of a loopback address may differ, because native apps get theirs from the system (RFC 8252, 7.3).
//!
//! May use: nothing.

use url::{Host, Url};

const LONGEST: usize = 2000;

/// Hosts of this machine, in their written form.
const LOOPBACK: [&str; 3] = ["http://127.0.0.1", "http://[::1]", "http://localhost"];

/// Returns the reason why an address may not be registered; `None` when it may.
pub fn objection(uri: &str) -> Option<&'static str> {
    if uri.len() > LONGEST || !uri.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Some("it must be printable ASCII and of at most 2000 bytes");
    }
    if uri.contains(['#', '\\', '*']) {
        return Some("it may have no fragment, backslash or wildcard");
    }
    let Ok(url) = Url::parse(uri) else { return Some("it is no absolute address") };
    if !url.username().is_empty() || url.password().is_some() {
        return Some("it may hold no user name or password");
    }
    // Other characters are valid in a URL, but would end a source in the consent page's policy.
    let plain = |host: &str| host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte));
    if matches!(url.host(), Some(Host::Domain(name)) if !plain(name)) {
        return Some("its host may hold letters, digits, dots, hyphens and underscores only");
    }
    match url.scheme() {
        "https" if url.host().is_some() && uri.starts_with("https://") => None,
        "http" if is_loopback(&url) && split(uri).is_some() => None,
        "http" => Some("plain http is for 127.0.0.1, [::1] and localhost only"),
        // A reversed domain name has an owner; anybody can use a short name (RFC 8252, 7.1).
        scheme if scheme.contains('.') && uri.starts_with(scheme) => None,
        _ => Some("its scheme must be https, or a private one with a dot, such as com.example.app"),
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

/// Checks whether `presented` is the address `registered`; the port of a loopback address may differ.
pub fn matches(registered: &str, presented: &str) -> bool {
    registered == presented || matches!((split(registered), split(presented)), (Some(a), Some(b)) if a == b)
}

/// Splits a loopback address without its port: the host and the rest.
fn split(uri: &str) -> Option<(&str, &str)> {
    let host = LOOPBACK.into_iter().find(|host| uri.starts_with(host))?;
    let rest = &uri[host.len()..];
    let rest = match rest.strip_prefix(':') {
        Some(port) => {
            let end = port.find(|c: char| !c.is_ascii_digit()).unwrap_or(port.len());
            let number: u16 = port[..end].parse().ok()?;
            if number == 0 || port.starts_with('0') {
                return None;
            }
            &port[end..]
        }
        None => rest,
    };
    (rest.is_empty() || rest.starts_with(['/', '?'])).then_some((host, rest))
}

/// Adds query parameters to `uri`, for the redirect back to the client.
pub fn with_parameters(uri: &str, parameters: &[(&str, &str)]) -> String {
    let sign = if uri.contains('?') { '&' } else { '?' };
    let mut query = form_urlencoded::Serializer::new(String::new());
    for (name, value) in parameters {
        query.append_pair(name, value);
    }
    format!("{uri}{sign}{}", query.finish())
}

/// Returns the source for `form-action` in a policy that allows a form's answer to redirect to `uri`.
pub fn policy_source(uri: &str) -> String {
    match Url::parse(uri) {
        // A policy has no notation for IPv6 hosts.
        Ok(url) if matches!(url.host(), Some(Host::Ipv6(_))) => format!("{}:", url.scheme()),
        Ok(url) if matches!(url.scheme(), "http" | "https") => url.origin().ascii_serialization(),
        Ok(url) => format!("{}:", url.scheme()),
        Err(_) => "'none'".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn safe_redirect_addresses_can_be_registered_and_unsafe_ones_cannot() {
        for fine in [
            "https://app.example.com/cb",
            "https://app.example.com/cb?tenant=1",
            "http://127.0.0.1/cb",
            "http://127.0.0.1:8123/cb",
            "http://[::1]/cb",
            "http://localhost:3000/cb",
            "com.example.app:/oauth",
            "com.example.app://oauth/cb",
        ] {
            assert_eq!(objection(fine), None, "{fine}");
        }
        for wrong in [
            "http://app.example.com/cb",
            "http://127.0.0.1.evil.example/cb",
            "http://localhost.evil.example/cb",
            "https://app.example.com/cb#x",
            "https://user@app.example.com/cb",
            "https://*.example.com/cb",
            "https://app.example.com\\@evil.example/",
            "https:app.example.com",
            "https://a;sandbox/cb",
            "https://a'b,c.example/cb",
            "javascript:alert(1)",
            "data:text/html,x",
            "myapp:/cb",
            "/cb",
            "",
            "https://app.example.com/c b",
            "https://äpp.example.com/",
        ] {
            assert!(objection(wrong).is_some(), "{wrong}");
        }
    }

    #[test]
    fn only_the_port_of_this_machine_may_differ() {
        for (registered, presented) in [
            ("https://a.example/cb", "https://a.example/cb"),
            ("http://127.0.0.1/cb", "http://127.0.0.1:50123/cb"),
            ("http://127.0.0.1:8000/cb", "http://127.0.0.1/cb"),
            ("http://[::1]/cb?x=1", "http://[::1]:1/cb?x=1"),
            ("http://localhost/cb", "http://localhost:3000/cb"),
        ] {
            assert!(matches(registered, presented), "{registered} {presented}");
        }
        for (registered, presented) in [
            ("https://a.example/cb", "https://a.example/cb/"),
            ("https://a.example/cb", "https://a.example/cb?x"),
            ("https://a.example/cb", "https://a.example:443/cb"),
            ("https://a.example/cb", "https://A.example/cb"),
            ("https://a.example/cb", "https://a.example/cb/../evil"),
            ("https://a.example/cb", "https://a.example.evil.example/cb"),
            ("https://a.example/cb", "https://a.example@evil.example/cb"),
            ("http://127.0.0.1/cb", "http://localhost/cb"),
            ("http://127.0.0.1/cb", "https://127.0.0.1/cb"),
            ("http://127.0.0.1/cb", "http://127.0.0.1:0/cb"),
            ("http://127.0.0.1/cb", "http://127.0.0.1:99999/cb"),
            ("http://127.0.0.1/cb", "http://127.0.0.1:80@evil.example/cb"),
            ("http://127.0.0.1/cb", "http://127.0.0.1.evil.example/cb"),
            ("http://127.0.0.1/cb", "http://127.0.0.1:/cb"),
            ("http://127.0.0.1/cb", "http://127.0.0.1:080/cb"),
            ("http://127.0.0.1/cb", "http://127.0.0.1:8000/other"),
            ("com.example.app:/cb", "com.example.app:/cb2"),
        ] {
            assert!(!matches(registered, presented), "{registered} {presented}");
        }
    }

    #[test]
    fn parameters_are_added_to_what_is_there() {
        assert_eq!(with_parameters("https://a/cb", &[("state", "a&b=c")]), "https://a/cb?state=a%26b%3Dc");
        assert_eq!(with_parameters("https://a/cb?x=1", &[("code", "c")]), "https://a/cb?x=1&code=c");
    }

    #[test]
    fn policies_name_the_origin() {
        assert_eq!(policy_source("https://a.example:8443/cb"), "https://a.example:8443");
        assert_eq!(policy_source("http://[::1]:5/cb"), "http:");
        assert_eq!(policy_source("com.example.app:/cb"), "com.example.app:");
    }
}
