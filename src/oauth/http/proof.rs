//! Forms that belong to a browser, and the person behind a key.
//!
//! A form carries its own state, sealed for a random cookie of the browser that showed it. So the state cannot be
//! changed or used in another browser (CSRF), and it expires. No session is stored anywhere.
//!
//! May use: `edge`, `units`, `v1`, this folder, `keyring`, `attempts`, `access`.

use super::page::as_answer;
use super::{OAuthPages, ParsedRequest};
use crate::access::User;
use crate::edge::Body;
use crate::oauth::admin::usable;
use crate::oauth::attempts::WINDOW;
use crate::oauth::protocol::secret;
use crate::units::now_micros;
use crate::v1::V1Key;
use askama::Template;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::{COOKIE, RETRY_AFTER, SET_COOKIE};
use http::{HeaderMap, HeaderValue, Response};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Time for which a form can be sent, in microseconds.
const FORM_LIFE: i64 = 10 * 60 * 1_000_000;
/// Lifetime of the cookie, in seconds.
const COOKIE_LIFE: u32 = 3600;

/// Reason why a person is not known, with the status of the page that shows it.
pub(super) struct Unproven {
    pub(super) status: u16,
    pub(super) problem: &'static str,
    pub(super) retry_after: Option<u64>,
}

/// Builds a page with a form for the browser with this cookie. `unproven` sets the status and `Retry-After`.
pub(super) fn with_form(
    cookie: &FormCookie,
    page: &impl Template,
    destination: &str,
    unproven: Option<&Unproven>,
) -> Response<Body> {
    let mut response = cookie.on(as_answer(unproven.map_or(200, |unproven| unproven.status), page, destination));
    if let Some(seconds) = unproven.and_then(|unproven| unproven.retry_after) {
        response.headers_mut().insert(RETRY_AFTER, seconds.max(1).into());
    }
    response
}

#[derive(Serialize, Deserialize)]
struct Dated<T> {
    sealed_at: i64,
    content: T,
}

/// The cookie that a browser's forms are bound to.
pub(super) struct FormCookie {
    value: String,
    secure: bool,
}

impl FormCookie {
    /// Returns the browser's cookie, or a new one.
    pub(super) fn of(asked: &ParsedRequest) -> Self {
        Self::sent(asked)
            .unwrap_or_else(|| Self { value: URL_SAFE_NO_PAD.encode(secret::random()), secure: asked.is_secure() })
    }

    /// Returns the browser's cookie, if the browser sent one.
    pub(super) fn sent(asked: &ParsedRequest) -> Option<Self> {
        let secure = asked.is_secure();
        let value = well_formed(&asked.parts.headers, name(secure))?;
        Some(Self { value: value.to_owned(), secure })
    }

    /// Sets the cookie in the browser. Only the gateway's own pages send it back (`SameSite=Strict`), no script reads
    /// it, and with TLS no other host can set it (`__Host-`).
    fn on(&self, mut response: Response<Body>) -> Response<Body> {
        let secure = if self.secure { "; Secure" } else { "" };
        let cookie = format!(
            "{}={}; Path=/; Max-Age={COOKIE_LIFE}; HttpOnly; SameSite=Strict{secure}",
            name(self.secure),
            self.value
        );
        if let Ok(cookie) = HeaderValue::from_str(&cookie) {
            response.headers_mut().append(SET_COOKIE, cookie);
        }
        response
    }
}

/// Returns the value of the first well-formed cookie of this name. Cookies of other pages may hold any bytes.
fn well_formed<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let pairs = headers.get_all(COOKIE).iter().flat_map(|line| line.as_bytes().split(|byte| *byte == b';'));
    let pairs = pairs.filter_map(|pair| std::str::from_utf8(pair).ok()?.trim().split_once('='));
    let mut values = pairs.filter(|(known, _)| *known == name).map(|(_, value)| value);
    values.find(|value| URL_SAFE_NO_PAD.decode(value).is_ok_and(|bytes| bytes.len() == 32))
}

fn name(secure: bool) -> &'static str {
    if secure { "__Host-causeway_form" } else { "causeway_form" }
}

impl OAuthPages {
    /// Seals the state of a form for one purpose and one browser.
    pub(super) fn seal_form(&self, purpose: &str, cookie: &FormCookie, content: &impl Serialize) -> Option<String> {
        let dated = Dated { sealed_at: now_micros(), content };
        self.oauth.inner.keyring.as_ref()?.seal_value(&dated, &place(purpose, cookie))
    }

    /// Opens the state of a form; `None` unless it was sealed recently for this purpose and browser.
    pub(super) async fn open_form<T: DeserializeOwned>(
        &self,
        purpose: &str,
        asked: &ParsedRequest,
        form: Option<&str>,
    ) -> Option<T> {
        let cookie = FormCookie::sent(asked)?;
        let keyring = self.oauth.inner.keyring.as_ref()?;
        let dated: Dated<T> = keyring.unseal_value(form?, &place(purpose, &cookie)).await?;
        (now_micros() - dated.sealed_at <= FORM_LIFE).then_some(dated.content)
    }

    /// Returns the person whose v1 key was typed in. v1 checks the key, and each address has a limited number of
    /// wrong attempts.
    pub(super) async fn person(&self, asked: &ParsedRequest, typed: &str) -> Result<(V1Key, Arc<User>), Unproven> {
        let attempts = &self.oauth.inner.attempts;
        if !attempts.take(asked.address) {
            return Err(Unproven {
                status: 429,
                problem: "Too many wrong keys came from your address. Wait a minute, then try again.",
                retry_after: Some(WINDOW.as_secs()),
            });
        }
        let wrong = || Unproven {
            status: 403,
            problem: "This key is not accepted. Use a key of your own that is still valid.",
            retry_after: None,
        };
        let key = usable(typed).ok_or_else(wrong)?;
        match self.oauth.inner.access.owner_of(&key, &asked.context).await {
            Ok(user) => {
                attempts.succeeded(asked.address);
                Ok((key, user))
            }
            Err(refusal) if refusal.status() == 401 => Err(wrong()),
            Err(refusal) => {
                attempts.succeeded(asked.address);
                tracing::warn!(code = refusal.code(), "a person's key could not be checked");
                let (status, retry_after) = if refusal.status() == 429 { (429, Some(60)) } else { (503, Some(5)) };
                Err(Unproven { status, problem: "Your key could not be checked just now. Try again.", retry_after })
            }
        }
    }
}

/// Returns the place that a form is bound to.
fn place(purpose: &str, cookie: &FormCookie) -> String {
    format!("{purpose} {}", cookie.value)
}

/// Checks whether the browser says that a form came from a page of another site. Older browsers say nothing.
pub(super) fn is_cross_site(asked: &ParsedRequest) -> bool {
    asked.text_header("sec-fetch-site").is_some_and(|site| !matches!(site, "same-origin" | "none"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cookie_is_found_beside_others() {
        let value = URL_SAFE_NO_PAD.encode([7; 32]);
        let own = format!("own={value}");
        let lines = |lines: &[&[u8]]| -> HeaderMap {
            let value = |line: &&[u8]| (COOKIE, HeaderValue::from_bytes(line).unwrap());
            lines.iter().map(value).collect()
        };
        for sent in [
            lines(&[format!("a=1; {own}").as_bytes()]),
            lines(&[b"a=1", own.as_bytes()]),
            lines(&[format!("name=Jos\u{e9}; {own}").as_bytes()]),
            lines(&[&[b"name=\xe9; ".as_slice(), own.as_bytes()].concat()]),
            lines(&[format!("own=zzz; {own}; own=zzz").as_bytes()]),
        ] {
            assert_eq!(well_formed(&sent, "own"), Some(value.as_str()), "{sent:?}");
        }
        assert_eq!(well_formed(&lines(&[b"own=zzz"]), "own"), None);
    }
}
