//! Secrets, and the issuing of credentials: hints, sealed keys and the authorization server. May use: this folder.

use super::address::HttpAddress;
use super::reader::{Reader, positive, settings, whole};
use super::value::Secret;
use std::path::PathBuf;
use std::time::Duration;

settings! {
    /// Hints from v1's webhooks (`[hints]`). Without secrets the gateway does not accept hints.
    #[derive(Debug, Clone, PartialEq, Eq)]
    HintSettings {
        /// File with a line for each webhook: slug of the workspace and secret.
        secrets_file: Option<PathBuf> = Reader::optional,
    }
}

settings! {
    /// The secrets that encrypt v1 keys (`[secrets]`). Without them there is no authorization server and no gateway
    /// key.
    #[derive(Debug, Clone, PartialEq, Eq)]
    SecretSettings {
        /// File with secrets, one per line. The first one encrypts; each of them can decrypt.
        key_file: Option<PathBuf> = Reader::optional,
        /// The same secrets as text, separated by commas; takes precedence over the file.
        key: Option<Secret> = Reader::secret,
    }
}

settings! {
    /// The authorization server: how it issues codes, tokens and keys (`[oauth]`).
    #[derive(Debug, Clone, PartialEq, Eq)]
    OAuthSettings {
        /// Lifetime of an authorization code.
        code: Duration = code,
        /// Lifetime of an access token.
        access_token: Duration = positive,
        /// Lifetime of a refresh token that is not used.
        refresh_token: Duration = positive,
        /// Time in which a refresh whose answer was lost may be repeated; zero for never.
        refresh_retry: Duration = delay,
        /// Maximum age of cached data about a token that is used without a look-up.
        revocation_delay: Duration = delay,
        /// Failed attempts to prove a key, and registrations, that one address may make in a minute.
        attempts: usize = whole(1..=10_000),
        /// Whether clients may register themselves (RFC 7591).
        registration: bool = Reader::get,
        /// Name of this site on the pages that people see.
        site_name: Option<String> = site_name,
        /// Address at which people create their v1 keys.
        keys_url: Option<HttpAddress> = Reader::optional,
    }
}

/// Maximum lifetime of a code; RFC 6749 recommends at most ten minutes.
const LONGEST_CODE: Duration = Duration::from_mins(10);
/// Maximum time after which every process must know of a revocation.
const LONGEST_REVOCATION: Duration = Duration::from_mins(1);
/// Maximum length of the site's name, in characters.
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
