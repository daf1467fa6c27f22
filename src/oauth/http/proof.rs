//! Forms that belong to a browser, and the person behind a key.
//!
//! A form carries what it is about, sealed for a random cookie of the browser it was shown in: it cannot be
//! changed, not be filled in elsewhere (CSRF), and expires. No session is kept anywhere.
//!
//! May use: `edge`, `units`, `v1`, this folder, `keyring`, `attempts`, `access`.

use super::page::as_answer;
use super::{Asked, OAuthPages};
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
use http::{HeaderValue, Response};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How long a form can be sent, in microseconds.
const FORM_LIFE: i64 = 10 * 60 * 1_000_000;
/// How long the cookie lives, in seconds.
const COOKIE_LIFE: u32 = 3600;

/// Why a person is not known, with the status to show it under.
pub(super) struct Unproven {
    pub(super) status: u16,
    pub(super) problem: &'static str,
    pub(super) retry_after: Option<u64>,
}

/// A page with a form for the browser that has the cookie; where a key proved nobody, with what that says of the answer.
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
    /// That of the browser, else a new one.
    pub(super) fn of(asked: &Asked) -> Self {
        Self::sent(asked)
            .unwrap_or_else(|| Self { value: URL_SAFE_NO_PAD.encode(secret::random()), secure: asked.is_secure() })
    }

    /// That of the browser, if it sent one.
    pub(super) fn sent(asked: &Asked) -> Option<Self> {
        let (secure, name) = (asked.is_secure(), name(asked.is_secure()));
        let lines = asked.parts.headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
        let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let value = pairs.find(|(known, _)| *known == name)?.1;
        let well_formed = URL_SAFE_NO_PAD.decode(value).is_ok_and(|bytes| bytes.len() == 32);
        well_formed.then(|| Self { value: value.to_owned(), secure })
    }

    /// Gives the cookie to the browser. Only our own pages send it back (`SameSite=Strict`), no script reads
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

fn name(secure: bool) -> &'static str {
    if secure { "__Host-causeway_form" } else { "causeway_form" }
}

impl OAuthPages {
    /// Seals what a form is about, for one purpose and one browser.
    pub(super) fn seal_form(&self, purpose: &str, cookie: &FormCookie, content: &impl Serialize) -> Option<String> {
        let dated = Dated { sealed_at: now_micros(), content };
        self.oauth.inner.keyring.as_ref()?.seal_value(&dated, &place(purpose, cookie))
    }

    /// What a form is about, when it was sealed for this purpose and browser, not long ago.
    pub(super) async fn open_form<T: DeserializeOwned>(
        &self,
        purpose: &str,
        asked: &Asked,
        form: Option<&str>,
    ) -> Option<T> {
        let cookie = FormCookie::sent(asked)?;
        let keyring = self.oauth.inner.keyring.as_ref()?;
        let dated: Dated<T> = keyring.unseal_value(form?, &place(purpose, &cookie)).await?;
        (now_micros() - dated.sealed_at <= FORM_LIFE).then_some(dated.content)
    }

    /// The person whose v1 key was typed in; v1 judges it, and an address has only so many wrong tries.
    pub(super) async fn person(&self, asked: &Asked, typed: &str) -> Result<(V1Key, Arc<User>), Unproven> {
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

/// What a form is bound to.
fn place(purpose: &str, cookie: &FormCookie) -> String {
    format!("{purpose} {}", cookie.value)
}

/// Whether a browser says that a form came from a page of another site. Older browsers say nothing.
pub(super) fn is_foreign(asked: &Asked) -> bool {
    asked.text_header("sec-fetch-site").is_some_and(|site| !matches!(site, "same-origin" | "none"))
}
