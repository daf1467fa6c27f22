//! Stored answers: sealed, and opened again for a client that repeats the request.
//!
//! With secrets configured, answers are sealed in the same way as v1 keys. Without secrets, the client's own key is the
//! secret. The store has only a hash of this key, so only a client that can ask for an answer can read it.
//!
//! May use: `json`, `oauth` (the keyring), `refusal`, `store`, `v2`.

use super::key::Key;
use crate::json::SafeJson;
use crate::oauth::{Keyring, opened_by, sealed_by};
use crate::refusal::{FieldError, Refusal};
use crate::store::KeptAnswer;
use crate::v2::Reply;
use chacha20poly1305::{Key as CipherKey, KeyInit, XChaCha20Poly1305};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use uuid::Uuid;

/// Marks an answer sealed with the client's key; stored in place of the id of a secret.
const BY_THE_CLIENT: &str = "client";

#[derive(Serialize, Deserialize)]
enum Content<'a> {
    Success { status: u16, body: Option<Cow<'a, str>>, version: Option<Cow<'a, str>> },
    Refused { code: Cow<'a, str>, detail: Cow<'a, str>, errors: Vec<(Cow<'a, str>, Cow<'a, str>)> },
}

/// Seals and opens.
#[derive(Debug, Clone)]
pub struct Sealer(Option<Keyring>);

impl Sealer {
    /// Creates a sealer with the secrets of `keyring`; without a keyring it seals with the client's key.
    pub fn new(keyring: Option<Keyring>) -> Self {
        Self(keyring)
    }

    /// Seals an answer for `place`; none for an answer that is not stored.
    pub fn seal(&self, answer: &Result<Reply, Refusal>, key: &Key, place: &str) -> Option<KeptAnswer> {
        let text = serde_json::to_string(&content(answer)?).ok()?;
        if let Some(keyring) = &self.0 {
            let (sealed, with) = keyring.seal(&text, place);
            return Some(KeptAnswer { sealed, with });
        }
        Some(KeptAnswer { sealed: sealed_by(&cipher(key, place), &text, place), with: BY_THE_CLIENT.into() })
    }

    /// Opens an answer that was sealed for `place`.
    ///
    /// # Errors
    /// The stored refusal; `upstream_error` for an answer that cannot be opened or is no stored answer.
    pub async fn open(&self, kept: &KeptAnswer, key: &Key, place: &str) -> Result<Reply, Refusal> {
        let opened = match &self.0 {
            _ if kept.with == BY_THE_CLIENT => opened_by(&cipher(key, place), &kept.sealed, place),
            Some(keyring) => keyring.unseal(&kept.sealed, &kept.with, place).await,
            None => None,
        };
        match opened.as_deref().and_then(read) {
            Some(answer) => answer,
            None => Err(Refusal::upstream(
                "The request was carried out before, but its answer cannot be shown again. Look the record up before \
                 sending another request.",
                "a kept answer cannot be opened: its secret is not configured any more",
            )),
        }
    }
}

fn cipher(key: &Key, place: &str) -> XChaCha20Poly1305 {
    XChaCha20Poly1305::new(&CipherKey::from(key.secret(place)))
}

/// Returns the id of the record that an answer shows.
pub(super) fn record_of(answer: &Result<Reply, Refusal>) -> Option<Uuid> {
    let SafeJson(body) = serde_json::from_slice(answer.as_ref().ok()?.body.as_deref()?).ok()?;
    Uuid::try_parse(body.get("id")?.as_str()?).ok()
}

fn content(answer: &Result<Reply, Refusal>) -> Option<Content<'_>> {
    let refused = |code: &'static str, detail: &'_ str, errors: &'_ [FieldError]| Content::Refused {
        code: code.into(),
        detail: detail.to_owned().into(),
        errors: errors.iter().map(|error| (error.field.clone().into(), error.message.clone().into())).collect(),
    };
    match answer {
        Ok(reply) => Some(Content::Success {
            status: reply.status,
            body: reply.body.as_deref().map(String::from_utf8_lossy),
            version: reply.version.as_deref().map(Cow::Borrowed),
        }),
        Err(refusal @ Refusal::Validation { detail, errors }) => Some(refused(refusal.code(), detail, errors)),
        Err(
            refusal @ (Refusal::Conflict { detail }
            | Refusal::Forbidden { detail }
            | Refusal::WorkflowDenied { detail }
            | Refusal::NotFound { detail }),
        ) => Some(refused(refusal.code(), detail, &[])),
        Err(_) => None,
    }
}

/// Reads an opened text; none when it is not a stored answer.
pub fn read(text: &str) -> Option<Result<Reply, Refusal>> {
    let (code, detail, errors) = match serde_json::from_str(text).ok()? {
        Content::Success { status, body, version } => {
            let reply = match body {
                Some(body) => Reply::json(status, body.into_owned()),
                None => Reply { status, ..Reply::no_content() },
            };
            let reply = reply.of_version(version.map(Cow::into_owned));
            return (200..300).contains(&status).then_some(Ok(reply));
        }
        Content::Refused { code, detail, errors } => (code, detail.into_owned(), errors),
    };
    let errors = errors.into_iter().map(|(field, message)| FieldError::new(field, message)).collect();
    Some(Err(match &*code {
        "validation_error" => Refusal::Validation { detail, errors },
        "conflict" => Refusal::Conflict { detail },
        "forbidden" => Refusal::Forbidden { detail },
        "workflow_transition_denied" => Refusal::WorkflowDenied { detail },
        "resource_not_found" => Refusal::NotFound { detail },
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use http::HeaderMap;

    fn key(text: &str) -> Key {
        let mut headers = HeaderMap::new();
        headers.insert("idempotency-key", text.parse().unwrap());
        Key::read(&headers).unwrap().unwrap()
    }

    #[tokio::test]
    async fn an_answer_comes_back_as_it_was_to_whoever_has_the_key() {
        let sealer = Sealer::new(None);
        let reply = Reply::json(201, "{\"id\":\"ä\"}").of_version(Some("\"v\"".into()));
        let refusals = [
            Refusal::field("name", "is required"),
            Refusal::Conflict { detail: "taken".into() },
            Refusal::Forbidden { detail: "no".into() },
            Refusal::WorkflowDenied { detail: "no".into() },
            Refusal::not_found(),
        ];
        let answers = [Ok(reply), Ok(Reply { status: 200, ..Reply::no_content() })];
        for answer in answers.into_iter().chain(refusals.map(Err)) {
            let kept = sealer.seal(&answer, &key("k"), "place").expect("kept");
            let bytes = URL_SAFE_NO_PAD.decode(&kept.sealed).expect("base64");
            assert!(!bytes.windows(7).any(|part| part == b"Success" || part == b"Refused"), "nothing is readable");
            assert_eq!(sealer.open(&kept, &key("k"), "place").await, answer);
            assert_eq!(sealer.open(&kept, &key("other"), "place").await.unwrap_err().code(), "upstream_error");
            assert_eq!(sealer.open(&kept, &key("k"), "elsewhere").await.unwrap_err().code(), "upstream_error");
        }
        assert_eq!(sealer.seal(&Err(Refusal::Overloaded), &key("k"), "place"), None);
    }

    #[test]
    fn only_what_is_kept_is_read() {
        assert!(read(r#"{"Success":{"status":201,"body":"{}","version":null}}"#).is_some());
        for other in [
            "",
            "{}",
            r#"{"Success":{"status":500,"body":null,"version":null}}"#,
            r#"{"Success":{"status":0,"body":null,"version":null}}"#,
            r#"{"Refused":{"code":"overloaded","detail":"","errors":[]}}"#,
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
