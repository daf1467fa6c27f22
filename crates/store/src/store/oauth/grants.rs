//! Grants: the consents that people gave to clients.
//!
//! May use: `fresh`, `units`, this folder, the engine.

use super::tables::{OAuthStore, Sealed, words};
use crate::fresh::Changed;
use crate::store::engine::Writing;
use crate::store::error::StoreError;
use crate::store::rows::{Cells, NewRow, insert, query};
use crate::units::now_micros;
use uuid::Uuid;

/// Microseconds within which a client repeats a request that got no answer.
const LATELY: i64 = 60_000_000;
/// Statement that finds a grant by its id if it ended after a given time.
const ENDED_LATELY: &str = "SELECT id FROM oauth_grant WHERE id = $1 AND revoked_at > $2";

/// A new consent.
#[derive(Debug, Clone)]
pub struct NewGrant {
    /// Random id; the sealed key is bound to it.
    pub id: Uuid,
    /// The client that gets it.
    pub client_id: String,
    /// The person.
    pub user: Uuid,
    /// Allowed scopes.
    pub scopes: Vec<String>,
    /// The person's v1 key.
    pub sealed: Sealed,
}

/// The code that carries a consent to its client.
#[derive(Debug, Clone)]
pub struct NewCode {
    /// Hash of the code.
    pub hash: String,
    /// Address to which it is sent; the client must name it again.
    pub redirect_uri: String,
    /// PKCE challenge, if the client sent one.
    pub challenge: Option<String>,
    /// Time when it expires.
    pub expires_at: i64,
}

/// A live grant, as its owner sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Its id.
    pub id: Uuid,
    /// Name of the client.
    pub client_name: String,
    /// Allowed scopes.
    pub scopes: Vec<String>,
    /// Time of the consent.
    pub created_at: i64,
    /// Time when the last token was issued for it; zero for never.
    pub last_token_at: i64,
}

impl OAuthStore {
    /// Records a consent and its code.
    pub async fn add_grant(&self, grant: &NewGrant, code: &NewCode) -> Result<(), StoreError> {
        let mut writing = self.engine.writing().await?;
        let row: NewRow = &[
            ("id", &grant.id),
            ("client_id", &grant.client_id),
            ("user_id", &grant.user),
            ("scopes", &grant.scopes.join(" ")),
            ("sealed_key", &grant.sealed.text),
            ("sealed_with", &grant.sealed.with),
            ("created_at", &now_micros()),
            ("revoked_reason", &""),
        ];
        writing.run(insert("oauth_grant", row)).await?;
        let row: NewRow = &[
            ("hash", &code.hash),
            ("grant_id", &grant.id),
            ("redirect_uri", &code.redirect_uri),
            ("challenge", &code.challenge.clone().unwrap_or_default()),
            ("expires_at", &code.expires_at),
        ];
        writing.run(insert("oauth_code", row)).await?;
        writing.commit().await
    }

    /// Returns the live grants of a person, newest first.
    pub async fn grants_of(&self, user: Uuid) -> Result<Vec<Grant>, StoreError> {
        // The time is looked up for each grant separately: it is the grant's last entry in an index.
        let text = "SELECT g.id, c.name, g.scopes, g.created_at, \
                    COALESCE((SELECT MAX(t.issued_at) FROM oauth_token t WHERE t.grant_id = g.id), 0) \
                    FROM oauth_grant g JOIN oauth_client c ON c.id = g.client_id \
                    WHERE g.user_id = $1 AND g.revoked_at IS NULL ORDER BY g.created_at DESC, g.id";
        let grant = |cells: &mut Cells<'_>| {
            Ok(Grant {
                id: cells.next()?,
                client_name: cells.next()?,
                scopes: words(cells.next()?),
                created_at: cells.next()?,
                last_token_at: cells.next()?,
            })
        };
        self.engine.rows(query(text, &[&user]), grant).await
    }

    /// Returns the name of the client of a live grant of this person.
    pub async fn client_name_of(&self, user: Uuid, grant: Uuid) -> Result<Option<String>, StoreError> {
        let text = "SELECT c.name FROM oauth_grant g JOIN oauth_client c ON c.id = g.client_id WHERE g.id = $1 \
                    AND g.user_id = $2 AND g.revoked_at IS NULL";
        Ok(self.engine.rows(query(text, &[&grant, &user]), |cells| cells.next()).await?.pop())
    }

    /// Ends a grant of this person, and with it its codes and tokens; false when there is no such grant.
    pub async fn revoke_grant_of(&self, user: Uuid, grant: Uuid) -> Result<bool, StoreError> {
        let mut writing = self.engine.writing().await?;
        let text = "UPDATE oauth_grant SET revoked_at = $3, revoked_reason = 'person', sealed_key = '' \
                    WHERE id = $1 AND user_id = $2 AND revoked_at IS NULL";
        let ended = writing.run(query(text, &[&grant, &user, &now_micros()])).await? > 0;
        notify_ended(&mut writing, ended, ENDED_LATELY, &grant.to_string()).await?;
        writing.commit().await?;
        Ok(ended)
    }
}

/// Ends a grant, in a transaction of the caller; false when it had already ended.
pub(super) async fn revoke(writing: &mut Writing, grant: &str, reason: &str) -> Result<bool, StoreError> {
    let text = "UPDATE oauth_grant SET revoked_at = $2, revoked_reason = $3, sealed_key = '' WHERE id = $1 \
                AND revoked_at IS NULL";
    let ended = writing.run(query(text, &[&grant, &now_micros(), &reason])).await? > 0;
    notify_ended(writing, ended, ENDED_LATELY, grant).await?;
    Ok(ended)
}

/// Notifies all processes if a credential has `ended` now, or if it had ended a moment ago, because the answer to that
/// write may have been lost. The statement `lately` finds it by its key when it ended after a given time.
pub(super) async fn notify_ended(
    writing: &mut Writing,
    ended: bool,
    lately: &'static str,
    key: &str,
) -> Result<(), StoreError> {
    let looked = query(lately, &[&key, &(now_micros() - LATELY)]);
    if ended || looked.fetch_optional(&mut **writing).await?.is_some() {
        writing.voids(Changed::Credentials);
    }
    Ok(())
}
