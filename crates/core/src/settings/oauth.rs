//! How the authorization server gives out codes, tokens and keys. May use: this folder.

use super::bounded::{positive, whole};
use super::reader::Reader;
use super::value::HttpAddress;
use std::time::Duration;

/// Longest life of a code; RFC 6749 recommends at most ten minutes.
const LONGEST_CODE: Duration = Duration::from_secs(600);
/// Longest time after which a revocation must be seen by every process.
const LONGEST_REVOCATION: Duration = Duration::from_secs(60);

/// Longest name of a site, in characters.
const LONGEST_NAME: usize = 60;

/// The authorization server (`[oauth]`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OAuthSettings {
    /// Life of an authorization code.
    pub code: Duration,
    /// Life of an access token.
    pub access_token: Duration,
    /// Life of a refresh token that is not used.
    pub refresh_token: Duration,
    /// How long a refresh whose answer was lost may be repeated; zero for never.
    pub refresh_retry: Duration,
    /// Age up to which what is known of a token is used without looking.
    pub revocation_delay: Duration,
    /// Failed attempts to prove a key allowed to one address in a minute.
    pub attempts: usize,
    /// Whether clients may register themselves (RFC 7591).
    pub registration: bool,
    /// What people know this place by, on the pages they see.
    pub site_name: Option<String>,
    /// Where people make their v1 keys.
    pub keys_url: Option<HttpAddress>,
}

impl OAuthSettings {
    pub(super) fn read(from: &mut Reader) -> Self {
        let code = |life: &Duration| !life.is_zero() && *life <= LONGEST_CODE;
        let delay = |delay: &Duration| *delay <= LONGEST_REVOCATION;
        Self {
            code: from.get_where("oauth.code", "a duration above zero and of at most \"10m\"", code),
            access_token: positive(from, "oauth.access_token"),
            refresh_token: positive(from, "oauth.refresh_token"),
            refresh_retry: from.get_where("oauth.refresh_retry", "a duration of at most \"60s\"", delay),
            revocation_delay: from.get_where("oauth.revocation_delay", "a duration of at most \"60s\"", delay),
            attempts: whole(from, "oauth.attempts", 1..=10_000),
            registration: from.get("oauth.registration"),
            site_name: from.optional_where("oauth.site_name", "a text of 1 to 60 characters", |name: &String| {
                (1..=LONGEST_NAME).contains(&name.trim().chars().count())
            }),
            keys_url: from.optional("oauth.keys_url"),
        }
    }
}
