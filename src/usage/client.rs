//! The name of a client in a uniform form: product and version of the User-Agent.
//!
//! Texts from clients are treated as hostile: only letters, digits and a few signs are kept, up to a small length.
//! May use: nothing of this crate.

/// Longest name of a product that is kept.
const LONGEST_NAME: usize = 40;
/// Most parts of a version that are kept.
const VERSION_PARTS: usize = 3;

/// Returns product and version of a User-Agent, such as `plane-sdk/1.2.0`; for browsers the name alone.
pub fn client_of(agent: Option<&[u8]>) -> String {
    let text = String::from_utf8_lossy(agent.unwrap_or_default());
    let first = text.split([' ', '\t', '(']).find(|word| !word.is_empty());
    let Some(first) = first else { return "none".into() };
    let (name, version) = first.split_once('/').unwrap_or((first, ""));
    if name == "Mozilla" {
        let known = [("Edg/", "edge"), ("OPR/", "opera"), ("Firefox/", "firefox"), ("Chrome/", "chrome")];
        let known = known.into_iter().chain([("Safari/", "safari")]).find(|(sign, _)| text.contains(sign));
        return known.map_or("browser", |(_, name)| name).into();
    }
    let legal = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || !name.chars().all(legal) || name.len() > LONGEST_NAME {
        return "unreadable".into();
    }
    let parts = version.split('.').take_while(|part| part.len() <= 6 && !part.is_empty());
    let whole = parts.map_while(|part| part.bytes().all(|byte| byte.is_ascii_digit()).then_some(part));
    let version: Vec<&str> = whole.take(VERSION_PARTS).collect();
    let name = name.to_ascii_lowercase();
    if version.is_empty() { name } else { format!("{name}/{}", version.join(".")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_product_and_version_are_kept() {
        for (agent, client) in [
            ("plane-sdk/1.2.3.4 (Linux; x86_64)", "plane-sdk/1.2.3"),
            ("Plane-SDK/1.2rc1", "plane-sdk/1"),
            ("python-requests/2.31.0", "python-requests/2.31.0"),
            ("curl", "curl"),
            ("", "none"),
            ("  \t", "none"),
            ("Mozilla/5.0 (X11) AppleWebKit/537 (KHTML) Chrome/120.0 Safari/537.36", "chrome"),
            ("Mozilla/5.0 (X11; rv:1) Gecko/20100101 Firefox/121.0", "firefox"),
            ("<script>alert(1)</script>/1", "unreadable"),
            ("=cmd|'/C calc'!A0", "unreadable"),
            ("a\u{202e}b/1", "unreadable"),
            ("ops/ada@example.com", "ops"),
            ("ops/4111111111111111", "ops"),
        ] {
            assert_eq!(client_of(Some(agent.as_bytes())), client, "{agent}");
        }
        assert_eq!(client_of(None), "none");
        assert_eq!(client_of(Some(&[0xff, 0xfe])), "unreadable");
        assert_eq!(client_of(Some("x".repeat(41).as_bytes())), "unreadable");
    }
}
