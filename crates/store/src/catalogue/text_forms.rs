//! Texts with a form: rules for web addresses and e-mail addresses in values and defaults.
//!
//! A text that is written is checked more strictly than a text that is read: a value that was stored once stays
//! visible. May use: nothing.

use std::net::Ipv6Addr;

/// Checks whether a text that is written is an absolute http or https URL with a host.
pub(super) fn is_url(text: &str) -> bool {
    reads_as_url(text) && authority(text).is_some_and(names_a_host)
}

/// Checks whether a stored text is shown as a URL.
pub(super) fn reads_as_url(text: &str) -> bool {
    authority(text).is_some_and(|authority| !authority.is_empty()) && is_unbroken(text)
}

/// Returns the part between the scheme and the path.
fn authority(text: &str) -> Option<&str> {
    let behind = |scheme: &str| {
        let (start, rest) = text.split_at_checked(scheme.len())?;
        start.eq_ignore_ascii_case(scheme).then_some(rest)
    };
    behind("https://").or_else(|| behind("http://"))?.split(['/', '?', '#']).next()
}

/// Checks whether an authority has a host, and a port, if any, that is a number.
fn names_a_host(authority: &str) -> bool {
    let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    match place.strip_prefix('[') {
        Some(rest) => is_bracketed_host(rest),
        None => is_plain_host(place),
    }
}

/// Checks the text behind an opening bracket: an address, the closing bracket, and a port, if any.
fn is_bracketed_host(rest: &str) -> bool {
    let Some((address, behind)) = rest.split_once(']') else { return false };
    is_address(address) && (behind.is_empty() || behind.strip_prefix(':').is_some_and(is_port))
}

/// Checks for a name, and a port, if any.
fn is_plain_host(place: &str) -> bool {
    let Some((host, port)) = place.rsplit_once(':') else { return is_name(place) };
    is_name(host) && is_port(port)
}

/// Checks for the number of a port, which may be left out behind its colon.
fn is_port(port: &str) -> bool {
    port.is_empty() || port.parse::<u16>().is_ok()
}

/// Checks whether a text is an IPv6 address or one of a future version; it may name a zone.
fn is_address(text: &str) -> bool {
    let address = text.split('%').next().unwrap_or_default();
    address.parse::<Ipv6Addr>().is_ok() || text.starts_with(['v', 'V']) && text.contains('.')
}

fn is_name(host: &str) -> bool {
    !host.contains([':', '[', ']']) && host.chars().any(|c| c != '.')
}

/// Checks whether a text that is written is an e-mail address and nothing else.
pub(super) fn is_email(text: &str) -> bool {
    let parts = text.split_once('@').filter(|_| reads_as_email(text));
    parts.is_some_and(|(who, host)| is_mailbox(who) && is_mail_host(host))
}

/// Checks whether a stored text is shown as an e-mail address.
pub(super) fn reads_as_email(text: &str) -> bool {
    let parts = text.split_once('@');
    is_unbroken(text) && parts.is_some_and(|(who, host)| !who.is_empty() && !host.is_empty() && !host.contains('@'))
}

/// Checks a mailbox name: characters that separate addresses, or addresses from names, are allowed only in quotes.
fn is_mailbox(who: &str) -> bool {
    who.starts_with('"') || !who.contains(['<', '>', '(', ')', '[', ']', ',', ';', ':', '\\'])
}

fn is_mail_host(host: &str) -> bool {
    if let Some(address) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return !address.is_empty() && address.chars().all(|c| c.is_ascii_alphanumeric() || ".:-".contains(c));
    }
    let belongs = |c: char| !c.is_ascii() || c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let is_label = |label: &str| {
        !label.is_empty() && !label.starts_with('-') && !label.ends_with('-') && label.chars().all(belongs)
    };
    host.strip_suffix('.').unwrap_or(host).split('.').all(is_label)
}

fn is_unbroken(text: &str) -> bool {
    !text.contains(|c: char| c.is_whitespace() || c.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_a_host() {
        for good in [
            "http://a",
            "HTTPS://x.test/a?b",
            "https://h.test:8443/x",
            "https://h.test:/",
            "http://user:p:w@h.test/",
            "http://127.0.0.1:80",
            "http://[::1]:80/",
            "http://[fe80::1%25eth0]/",
            "https://münchen.example/straße?q=ä#ü",
            "https://उदाहरण.परीक्षा",
            "https://a_b.test./(x)/[y]/{z}|'\"",
            "https://h.test?x=http://:80",
            "https://h.test/@[",
        ] {
            assert!(is_url(good), "{good}");
        }
        for bad in [
            "http://:80",
            "http://@",
            "http://[",
            "http://:@/",
            "http://.",
            "http://..:80/",
            "http://[]",
            "http://[::1",
            "http://[::1]x",
            "http://h:port/",
            "http://h:99999/",
            "http://a:b:80",
            "http://",
            "http:///x",
            "http://?x",
            "http://a b",
            "ftp://h",
            "/relative",
            "h.test",
            "",
        ] {
            assert!(!is_url(bad), "{bad}");
        }
    }

    #[test]
    fn an_email_address_stands_alone() {
        for good in [
            "a@b",
            "ada+tag@mail.acme.test",
            "first.last@acme.test",
            "o'brien@acme.test",
            "\"a,b\"@acme.test",
            "a..b.@acme.test",
            "!#$%&*/=?^_`{|}~-@a-b.test",
            "jörg@münchen.example",
            "a@उदाहरण.परीक्षा",
            "a@[192.0.2.1]",
            "a@[IPv6:::1]",
        ] {
            assert!(is_email(good), "{good}");
        }
        for bad in [
            "<a@b.c>",
            "a,b@c",
            "a@-",
            "a@b-",
            "a@-b.c",
            "a@.",
            "a@b..c",
            "a@b,c@d",
            "a@b;",
            "a@b>",
            "mailto:a@b",
            "a@[]",
            "@b",
            "a@",
            "nobody",
            "a b@c",
            "",
        ] {
            assert!(!is_email(bad), "{bad}");
        }
    }

    #[test]
    fn values_stored_under_looser_rules_are_still_shown() {
        assert!(reads_as_url("http://:80") && reads_as_email("<a@b.c>"));
        assert!(!reads_as_url("https://") && !reads_as_email("nobody"));
    }
}
