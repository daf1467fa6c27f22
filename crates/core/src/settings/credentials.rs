//! Secrets, and how credentials are given out: hints, sealed keys and the authorization server. May use: this folder.

use super::address::HttpAddress;
use super::reader::{Reader, positive, settings, whole};
use super::value::Secret;
use std::path::PathBuf;
use std::time::Duration;

settings! {
    /// Hints from v1's webhooks (`[hints]`); the door for them is closed without secrets.
    #[derive(Debug, Clone, PartialEq, Eq)]
    HintSettings {
        /// File with a line for each webhook: slug of the workspace and secret.
        secrets_file: Option<PathBuf> = Reader::optional,
    }
}

settings! {
    /// The secrets under which v1 keys are kept (`[secrets]`); none means no authorization server and no gateway keys.
    #[derive(Debug, Clone, PartialEq, Eq)]
    SecretSettings {
        /// File with secrets, one a line, the first for sealing, all for opening.
        key_file: Option<PathBuf> = Reader::optional,
        /// The same as text, separated by commas; wins over the file.
        key: Option<Secret> = Reader::secret,
    }
}

settings! {
    /// How the authorization server gives out codes, tokens and keys (`[oauth]`).
    #[derive(Debug, Clone, PartialEq, Eq)]
    OAuthSettings {
        /// Life of an authorization code.
        code: Duration = code,
        /// Life of an access token.
        access_token: Duration = positive,
        /// Life of a refresh token that is not used.
        refresh_token: Duration = positive,
        /// How long a refresh whose answer was lost may be repeated; zero for never.
        refresh_retry: Duration = delay,
        /// Age up to which what is known of a token is used without looking.
        revocation_delay: Duration = delay,
        /// Failed attempts to prove a key allowed to one address in a minute.
        attempts: usize = whole(1..=10_000),
        /// Whether clients may register themselves (RFC 7591).
        registration: bool = Reader::get,
        /// What people know this place by, on the pages they see.
        site_name: Option<String> = site_name,
        /// Where people make their v1 keys.
        keys_url: Option<HttpAddress> = Reader::optional,
    }
}

/// Longest life of a code; RFC 6749 recommends at most ten minutes.
const LONGEST_CODE: Duration = Duration::from_mins(10);
/// Longest time after which a revocation must be seen by every process.
const LONGEST_REVOCATION: Duration = Duration::from_mins(1);
/// Longest name of a site, in characters.
const LONGEST_NAME: usize = 60;

fn code(from: &mut Reader, key: &str) -> Duration {
    let form = "a duration above zero and of at most \"10m\"";
    from.get_where(key, form, |life: &Duration| !life.is_zero() && *life <= LONGEST_CODE)
}

fn delay(from: &mut Reader, key: &str) -> Duration {
    from.get_where(key, "a duration of at most \"60s\"", |delay: &Duration| *delay <= LONGEST_REVOCATION)
}

fn site_name(from: &mut Reader, key: &str) -> Option<String> {
    from.optional_where(key, "a text of 1 to 60 characters", |name: &String| {
        (1..=LONGEST_NAME).contains(&name.trim().chars().count())
    })
}
