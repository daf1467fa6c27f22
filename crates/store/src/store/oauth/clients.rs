//! Registered clients.
//!
//! May use: `fresh`, `units`, this folder, the engine.

use super::tables::{OAuthStore, words};
use crate::fresh::Changed;
use crate::store::error::StoreError;
use crate::store::rows::{Cells, NewRow, insert, query, sql};
use crate::units::now_micros;

/// A registered client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// `client_id`.
    pub id: String,
    /// Name shown to people.
    pub name: String,
    /// Hash of its secret; `None` for a public client.
    pub secret_hash: Option<String>,
    /// Addresses to which answers may be sent.
    pub redirect_uris: Vec<String>,
    /// Scopes it may ask for; empty for all.
    pub scopes: Vec<String>,
    /// Whether it registered itself.
    pub self_registered: bool,
    /// Time of registration, in microseconds since 1970; set by the store.
    pub created_at: i64,
}

const COLUMNS: &str = "SELECT id, name, secret_hash, redirect_uris, scopes, self_registered, created_at \
                       FROM oauth_client WHERE deleted_at IS NULL";

impl OAuthStore {
    /// Adds a client.
    ///
    /// # Errors
    /// [`StoreError`] when the client cannot be written, or its id is taken.
    pub async fn add_client(&self, client: &Client) -> Result<(), StoreError> {
        let row: NewRow = &[
            ("id", &client.id),
            ("name", &client.name),
            ("secret_hash", &client.secret_hash.clone().unwrap_or_default()),
            ("redirect_uris", &client.redirect_uris),
            ("scopes", &client.scopes.join(" ")),
            ("self_registered", &client.self_registered),
            ("created_at", &now_micros()),
        ];
        self.engine.change(insert("oauth_client", row)).await.map(drop)
    }

    /// Returns the client with this id.
    pub async fn client(&self, id: &str) -> Result<Option<Client>, StoreError> {
        if id.contains('\0') {
            // PostgreSQL does not accept such a text, not even in a search.
            return Ok(None);
        }
        let text = sql(format!("{COLUMNS} AND id = $1"));
        Ok(self.engine.rows(query(text, &[&id]), read).await?.pop())
    }

    /// Returns all clients, oldest first.
    pub async fn clients(&self) -> Result<Vec<Client>, StoreError> {
        self.engine.rows(query(sql(format!("{COLUMNS} ORDER BY created_at, id")), &[]), read).await
    }

    /// Returns the clients without a secret that an operator has registered, oldest first.
    pub async fn public_clients(&self) -> Result<Vec<Client>, StoreError> {
        let which = "AND secret_hash = '' AND self_registered = 0";
        self.engine.rows(query(sql(format!("{COLUMNS} {which} ORDER BY created_at, id")), &[]), read).await
    }

    /// Replaces the secret of a confidential client; false when there is no such client.
    pub async fn set_client_secret(&self, id: &str, secret_hash: &str) -> Result<bool, StoreError> {
        let text = "UPDATE oauth_client SET secret_hash = $2 WHERE id = $1 AND deleted_at IS NULL \
                    AND secret_hash <> ''";
        Ok(self.engine.change(query(text, &[&id, &secret_hash])).await? > 0)
    }

    /// Removes clients that registered themselves before `before` and have no grant, not even an ended one that is
    /// still kept; returns their number. Anybody may register clients, so they must not stay for ever.
    pub async fn forget_unused_clients(&self, before: i64) -> Result<u64, StoreError> {
        let text = "DELETE FROM oauth_client WHERE id IN (SELECT id FROM oauth_client WHERE self_registered = 1 \
                    AND created_at < $1 AND id NOT IN (SELECT client_id FROM oauth_grant) LIMIT $2)";
        self.engine.delete_in_pieces(text, before).await
    }

    /// Deletes a client and ends its grants; false when there is no such client.
    pub async fn delete_client(&self, id: &str) -> Result<bool, StoreError> {
        let mut writing = self.engine.writing().await?;
        // Also when it was already deleted: the answer to that write may have been lost.
        writing.voids(Changed::Credentials);
        let at = now_micros();
        let text = "UPDATE oauth_client SET deleted_at = $2 WHERE id = $1 AND deleted_at IS NULL";
        let done = writing.run(query(text, &[&id, &at])).await?;
        let text = "UPDATE oauth_grant SET revoked_at = $2, revoked_reason = 'client_deleted', sealed_key = '' \
                    WHERE client_id = $1 AND revoked_at IS NULL";
        writing.run(query(text, &[&id, &at])).await?;
        writing.commit().await?;
        Ok(done > 0)
    }
}

fn read(cells: &mut Cells<'_>) -> Result<Client, StoreError> {
    Ok(Client {
        id: cells.next()?,
        name: cells.next()?,
        secret_hash: Some(cells.next()?).filter(|hash: &String| !hash.is_empty()),
        redirect_uris: cells.next()?,
        scopes: words(cells.next()?),
        self_registered: cells.next()?,
        created_at: cells.next()?,
    })
}
