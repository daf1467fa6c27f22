//! Registered clients.
//!
//! May use: `fresh`, `units`, this folder, the engine.

use super::tables::{OAuthStore, joined, words};
use crate::fresh::Changed;
use crate::store::error::StoreError;
use crate::units::now_micros;
use sqlx::Row;
use sqlx::any::AnyRow;

/// A registered client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// `client_id`.
    pub id: String,
    /// What people know it by.
    pub name: String,
    /// Hash of its secret; `None` for a public client.
    pub secret_hash: Option<String>,
    /// Where answers may be sent.
    pub redirect_uris: Vec<String>,
    /// What it may ask for; empty for everything.
    pub scopes: Vec<String>,
    /// Whether it registered itself.
    pub self_registered: bool,
    /// When, in microseconds since 1970; set by the store.
    pub created_at: i64,
}

const COLUMNS: &str = "SELECT id, name, secret_hash, redirect_uris, scopes, self_registered, created_at \
                       FROM oauth_client WHERE deleted_at IS NULL";

impl OAuthStore {
    /// Adds a client.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be written, or the id is taken.
    pub async fn add_client(&self, client: &Client) -> Result<(), StoreError> {
        let adding = sqlx::query(
            "INSERT INTO oauth_client (id, name, secret_hash, redirect_uris, scopes, self_registered, created_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
        )
        .bind(client.id.clone())
        .bind(client.name.clone())
        .bind(client.secret_hash.clone().unwrap_or_default())
        .bind(serde_json::Value::from_iter(client.redirect_uris.iter().cloned()).to_string())
        .bind(joined(&client.scopes))
        .bind(i64::from(client.self_registered))
        .bind(now_micros())
        .execute(self.engine.pool());
        self.engine.while_there(adding).await?;
        Ok(())
    }

    /// The client with this id.
    pub async fn client(&self, id: &str) -> Result<Option<Client>, StoreError> {
        if id.contains('\0') {
            // PostgreSQL takes no such text, not even to look for it.
            return Ok(None);
        }
        let text = crate::store::engine::sql(format!("{COLUMNS} AND id = $1"));
        let reading = sqlx::query(text).bind(id.to_owned()).fetch_optional(self.engine.pool());
        let row = self.engine.while_there(reading).await?;
        row.as_ref().map(read).transpose()
    }

    /// All clients, oldest first.
    pub async fn clients(&self) -> Result<Vec<Client>, StoreError> {
        let text = crate::store::engine::sql(format!("{COLUMNS} ORDER BY created_at, id"));
        let reading = sqlx::query(text).fetch_all(self.engine.pool());
        self.engine.while_there(reading).await?.iter().map(read).collect()
    }

    /// Those without a secret that an operator has registered, oldest first.
    pub async fn public_clients(&self) -> Result<Vec<Client>, StoreError> {
        let which = "AND secret_hash = '' AND self_registered = 0";
        let text = crate::store::engine::sql(format!("{COLUMNS} {which} ORDER BY created_at, id"));
        let reading = sqlx::query(text).fetch_all(self.engine.pool());
        self.engine.while_there(reading).await?.iter().map(read).collect()
    }

    /// Gives a confidential client another secret; false when there is no such client.
    pub async fn set_client_secret(&self, id: &str, secret_hash: &str) -> Result<bool, StoreError> {
        let changing = sqlx::query(
            "UPDATE oauth_client SET secret_hash = $2 WHERE id = $1 AND deleted_at IS NULL AND secret_hash <> ''",
        )
        .bind(id.to_owned())
        .bind(secret_hash.to_owned())
        .execute(self.engine.pool());
        let done = self.engine.while_there(changing).await?;
        Ok(done.rows_affected() > 0)
    }

    /// Deletes a client and ends its grants; false when there is no such client.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be written; then nothing was.
    pub async fn delete_client(&self, id: &str) -> Result<bool, StoreError> {
        let mut writing = self.engine.writing().await?;
        // Also when it had been deleted: the answer to that write may have been lost.
        writing.voids(Changed::Credentials);
        let at = now_micros();
        let done = sqlx::query("UPDATE oauth_client SET deleted_at = $2 WHERE id = $1 AND deleted_at IS NULL")
            .bind(id.to_owned())
            .bind(at)
            .execute(&mut *writing)
            .await?;
        sqlx::query(
            "UPDATE oauth_grant SET revoked_at = $2, revoked_reason = 'client_deleted', sealed_key = '' \
             WHERE client_id = $1 AND revoked_at IS NULL",
        )
        .bind(id.to_owned())
        .bind(at)
        .execute(&mut *writing)
        .await?;
        writing.commit().await?;
        Ok(done.rows_affected() > 0)
    }
}

fn read(row: &AnyRow) -> Result<Client, StoreError> {
    let (secret, uris): (String, String) = (row.try_get(2)?, row.try_get(3)?);
    Ok(Client {
        id: row.try_get(0)?,
        name: row.try_get(1)?,
        secret_hash: (!secret.is_empty()).then_some(secret),
        redirect_uris: serde_json::from_str(&uris).map_err(|_| StoreError::unreadable("redirect_uris", &uris))?,
        scopes: words(row.try_get::<String, _>(4)?.as_str()),
        self_registered: row.try_get::<i64, _>(5)? != 0,
        created_at: row.try_get(6)?,
    })
}
