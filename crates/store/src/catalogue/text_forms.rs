//! Texts with a form: what counts as a web address and as an e-mail address in values and defaults.
//!
//! May use: nothing.

pub(super) fn is_url(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let rest = lower.strip_prefix("https://").or_else(|| lower.strip_prefix("http://"));
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    !host.is_empty() && !text.contains(|c: char| c.is_whitespace() || c.is_control())
}

pub(super) fn is_email(text: &str) -> bool {
    let whole = !text.contains(|c: char| c.is_whitespace() || c.is_control());
    let parts = text.split_once('@');
    whole && parts.is_some_and(|(who, host)| !who.is_empty() && !host.is_empty() && !host.contains('@'))
}
