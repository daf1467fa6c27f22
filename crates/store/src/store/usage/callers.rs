//! Callers behind the fingerprints of the counts, and the secret that the fingerprints are made with.
//!
//! May use: `units`, this folder.

use super::super::error::StoreError;
use super::super::rows::{all, query, value};
use super::super::service::Store;
use crate::units::now_micros;
use uuid::Uuid;

/// The caller behind a fingerprint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageCaller {
    /// The fingerprint.
    pub fingerprint: String,
    /// Kind of credential.
    pub kind: String,
    /// The name of the person at v1.
    pub person: String,
    /// Title of the key, or name of the app.
    pub title: String,
    /// Grant or gateway key from which the title is read; only used in writes.
    pub credential: Option<Uuid>,
}

impl Store {
    /// Returns the secret that fingerprints are made with, created on first use: 64 hexadecimal digits.
    pub async fn usage_secret(&self) -> Result<String, StoreError> {
        let reading = || query("SELECT secret FROM usage_secret WHERE id = 1", &[]);
        let read = || value(self.engine.pool(), reading());
        if let Some(secret) = read().await? {
            return Ok(secret);
        }
        let made = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        let text = "INSERT INTO usage_secret (id, secret) VALUES (1, $1) ON CONFLICT DO NOTHING";
        self.engine.write(query(text, &[&made])).await?;
        read().await?.ok_or_else(|| StoreError::Internal("the secret of the counts is not there".into()))
    }

    /// Records the callers behind fingerprints; titles of keys and names of apps are looked up here.
    pub async fn name_usage_callers(&self, callers: &[UsageCaller]) -> Result<(), StoreError> {
        let mut writing = self.engine.writing().await?;
        for caller in callers {
            let mut title = caller.title.clone();
            if let Some(credential) = caller.credential {
                let text = "SELECT name FROM oauth_client WHERE id = (SELECT client_id FROM oauth_grant \
                            WHERE id = $1) UNION ALL SELECT title FROM gateway_key WHERE id = $1";
                title = value(&mut *writing, query(text, &[&credential])).await?.unwrap_or(title);
            }
            let text = "INSERT INTO usage_caller (fingerprint, kind, person, title, seen_at) \
                        VALUES ($1, $2, $3, $4, $5) ON CONFLICT (fingerprint) \
                        DO UPDATE SET kind = excluded.kind, person = excluded.person, title = excluded.title, \
                        seen_at = excluded.seen_at";
            writing
                .run(query(text, &[&caller.fingerprint, &caller.kind, &caller.person, &title, &now_micros()]))
                .await?;
        }
        writing.commit().await
    }

    /// Returns the callers behind the fingerprints, as far as known.
    pub async fn usage_callers(&self) -> Result<Vec<UsageCaller>, StoreError> {
        let text = "SELECT fingerprint, kind, person, title FROM usage_caller ORDER BY 1";
        all(self.engine.pool(), query(text, &[]), |cells| {
            Ok(UsageCaller {
                fingerprint: cells.next()?,
                kind: cells.next()?,
                person: cells.next()?,
                title: cells.next()?,
                credential: None,
            })
        })
        .await
    }
}
