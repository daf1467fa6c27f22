//! Codes and tokens: each is exchanged once, and a second use ends its grant.
//!
//! May use: `fresh`, `units`, this folder, the engine.

use super::grants;
use super::tables::{OAuthStore, Sealed, words};
use crate::fresh::Changed;
use crate::store::engine::Writing;
use crate::store::error::StoreError;
use crate::store::rows::{Cells, NewRow, insert, query, sql};
use crate::units::now_micros;
use sqlx::Row;
use strum::IntoStaticStr;
use uuid::Uuid;

/// Kind of token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum TokenKind {
    /// Opens operations.
    Access,
    /// Is exchanged for the next pair.
    Refresh,
}

/// A token to be issued.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// Hash of the token.
    pub hash: String,
    /// Its kind.
    pub kind: TokenKind,
    /// Scopes that it opens, separated by blanks.
    pub scopes: String,
    /// Time when it expires.
    pub expires_at: i64,
}

/// A code and its grant.
#[derive(Debug, Clone)]
pub struct Code {
    /// The grant.
    pub grant: Uuid,
    /// The client that it was issued to.
    pub client_id: String,
    /// The person who allowed it.
    pub user: Uuid,
    /// Allowed scopes, separated by blanks.
    pub scopes: String,
    /// Address to which it was sent.
    pub redirect_uri: String,
    /// PKCE challenge, if there was one.
    pub challenge: Option<String>,
}

/// A token and the grant it belongs to.
#[derive(Debug, Clone)]
pub struct Token {
    /// The grant.
    pub grant: Uuid,
    /// The client that it was issued to.
    pub client_id: String,
    /// The person it acts for.
    pub user: Uuid,
    /// Its kind.
    pub kind: TokenKind,
    /// Scopes that it opens.
    pub scopes: Vec<String>,
    /// The v1 key of the person; empty when the grant has ended.
    pub sealed: Sealed,
    /// Time when it was issued.
    pub issued_at: i64,
    /// Time when it expires.
    pub expires_at: i64,
    /// Whether it was exchanged, revoked, or its grant has ended.
    pub ended: bool,
}

/// Decision of the caller about a presented code or refresh token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Issue the tokens.
    Accept,
    /// Issue nothing, change nothing.
    Ignore,
    /// Issue nothing, and end the grant.
    Burn,
}

/// Result of presenting a code.
#[derive(Debug)]
pub enum Exchange {
    /// The tokens are recorded.
    Done(Code),
    /// Unknown, expired, or not accepted.
    Refused,
    /// Presented before, or in a way that ended its grant. The result says whether the end was written.
    Ended(Code, Result<(), StoreError>),
}

/// Result of presenting a refresh token.
#[derive(Debug)]
pub enum Refresh {
    /// The tokens are recorded.
    Done {
        /// Whether they replaced tokens that were issued before.
        replaced: bool,
    },
    /// Unknown, expired, of an ended grant, or not accepted.
    Refused,
    /// It had been exchanged or revoked before, which ends its grant. The result says whether the end was written.
    Reused(Result<(), StoreError>),
}

const CODE: &str = "SELECT c.grant_id, g.client_id, g.user_id, g.scopes, c.redirect_uri, c.challenge, c.expires_at, \
                    COALESCE(c.used_at, 0) FROM oauth_code c JOIN oauth_grant g ON g.id = c.grant_id \
                    WHERE c.hash = $1 AND g.revoked_at IS NULL";
const TOKEN: &str = "SELECT t.grant_id, g.client_id, g.user_id, t.kind, t.scopes, g.sealed_key, g.sealed_with, \
                     t.issued_at, t.expires_at, COALESCE(t.used_at, 0), COALESCE(t.revoked_at, 0), \
                     COALESCE(g.revoked_at, 0) FROM oauth_token t JOIN oauth_grant g ON g.id = t.grant_id \
                     WHERE t.hash = $1";

impl OAuthStore {
    /// Exchanges a code for `tokens`, at most once even with several requests at once. A replay ends the grant.
    pub async fn exchange_code(
        &self,
        hash: &str,
        judge: impl FnOnce(&Code) -> Verdict + Send,
        tokens: impl FnOnce(&Code) -> [NewToken; 2] + Send,
    ) -> Result<Exchange, StoreError> {
        let mut writing = self.engine.writing().await?;
        lock_grant(&mut writing, "oauth_code", hash).await?;
        let Some(row) = query(CODE, &[&hash]).fetch_optional(&mut *writing).await? else {
            return Ok(Exchange::Refused);
        };
        let (code, expires_at, used_at) = read_code(&mut Cells::of(&row))?;
        let verdict = judge(&code);
        if verdict == Verdict::Ignore || (used_at == 0 && expires_at <= now_micros()) {
            return Ok(Exchange::Refused);
        }
        let text = "UPDATE oauth_code SET used_at = $2 WHERE hash = $1 AND used_at IS NULL";
        let taken = writing.run(query(text, &[&hash, &now_micros()])).await?;
        if taken == 0 || verdict == Verdict::Burn {
            grants::revoke(&mut writing, &code.grant.to_string(), "code_misused").await?;
            return Ok(Exchange::Ended(code, writing.commit().await));
        }
        for token in tokens(&code) {
            add(&mut writing, code.grant, hash, &token).await?;
        }
        writing.commit().await?;
        Ok(Exchange::Done(code))
    }

    /// Exchanges a refresh token for its successors. A second exchange ends the grant, unless the first was at most
    /// `retry` microseconds ago and its successor was never presented: then the answer was lost, and the successors are
    /// replaced.
    pub async fn refresh(
        &self,
        hash: &str,
        retry: i64,
        judge: impl FnOnce(&Token) -> Verdict + Send,
        tokens: impl FnOnce(&Token) -> [NewToken; 2] + Send,
    ) -> Result<Refresh, StoreError> {
        let mut writing = self.engine.writing().await?;
        lock_grant(&mut writing, "oauth_token", hash).await?;
        let Some(row) = query(TOKEN, &[&hash]).fetch_optional(&mut *writing).await? else {
            return Ok(Refresh::Refused);
        };
        let token = read_token(&mut Cells::of(&row))?;
        let (used_at, revoked_at, grant_ended): (i64, i64, i64) =
            (row.try_get(9)?, row.try_get(10)?, row.try_get(11)?);
        let at = now_micros();
        let dead = grant_ended != 0 || token.kind != TokenKind::Refresh || token.expires_at <= at;
        if dead || judge(&token) != Verdict::Accept {
            return Ok(Refresh::Refused);
        }
        let text = "UPDATE oauth_token SET used_at = $2 WHERE hash = $1 AND used_at IS NULL \
                    AND revoked_at IS NULL";
        let taken = writing.run(query(text, &[&hash, &at])).await?;
        let since_first_use = if used_at == 0 { 0 } else { at - used_at };
        let answer_lost = revoked_at == 0 && since_first_use <= retry;
        let again = taken == 0;
        if again && !(retry > 0 && answer_lost && replace_successors(&mut writing, hash).await?) {
            grants::revoke(&mut writing, &token.grant.to_string(), "refresh_token_reused").await?;
            return Ok(Refresh::Reused(writing.commit().await));
        }
        for next in tokens(&token) {
            add(&mut writing, token.grant, hash, &next).await?;
        }
        writing.commit().await?;
        Ok(Refresh::Done { replaced: again })
    }

    /// Returns the token with this hash, ended or not.
    pub async fn token(&self, hash: &str) -> Result<Option<Token>, StoreError> {
        Ok(self.engine.rows(query(TOKEN, &[&hash]), read_token).await?.pop())
    }

    /// Ends an access token alone, or, for a refresh token, its whole grant with all successors, even if the refresh
    /// token was exchanged before. Returns false when nothing was left to end.
    pub async fn revoke_token(&self, hash: &str, token: &Token) -> Result<bool, StoreError> {
        let mut writing = self.engine.writing().await?;
        // A concurrent exchange either comes first, and its tokens end too, or comes later and is rejected.
        lock_grant(&mut writing, "oauth_token", hash).await?;
        let ended = match token.kind {
            TokenKind::Refresh => grants::revoke(&mut writing, &token.grant.to_string(), "client").await?,
            TokenKind::Access => {
                let text = "UPDATE oauth_token SET revoked_at = $2 WHERE hash = $1 AND revoked_at IS NULL \
                            AND NOT EXISTS (SELECT 1 FROM oauth_grant g WHERE g.id = grant_id \
                            AND g.revoked_at IS NOT NULL)";
                let ended = writing.run(query(text, &[&hash, &now_micros()])).await? > 0;
                let text = "SELECT hash FROM oauth_token WHERE hash = $1 AND revoked_at > $2";
                grants::notify_ended(&mut writing, ended, text, hash).await?;
                ended
            }
        };
        writing.commit().await?;
        Ok(ended)
    }

    /// Deletes codes and tokens that expired before `before`, and grants that cannot be used any more; returns the
    /// number of deleted rows.
    pub async fn prune(&self, before: i64) -> Result<u64, StoreError> {
        let mut gone = 0;
        for text in [
            "DELETE FROM oauth_code WHERE hash IN (SELECT hash FROM oauth_code WHERE expires_at < $1 LIMIT $2)",
            "DELETE FROM oauth_token WHERE hash IN (SELECT hash FROM oauth_token WHERE expires_at < $1 LIMIT $2)",
            "DELETE FROM oauth_grant WHERE id IN (SELECT g.id FROM oauth_grant g WHERE g.created_at < $1 \
             AND NOT EXISTS (SELECT 1 FROM oauth_token t WHERE t.grant_id = g.id) \
             AND NOT EXISTS (SELECT 1 FROM oauth_code c WHERE c.grant_id = g.id) LIMIT $2)",
        ] {
            gone += self.engine.delete_in_pieces(text, before).await?;
        }
        Ok(gone)
    }
}

/// Locks the grant of a code or token, so that other requests of the same grant wait, in any gateway process, until
/// this transaction has ended. Rows read from here on cannot change before they are written: one of several replays
/// ends the grant, and the others find it ended. SQLite has one writer anyway.
async fn lock_grant(writing: &mut Writing, table: &str, hash: &str) -> Result<(), StoreError> {
    let text = format!(
        "UPDATE oauth_grant SET revoked_at = revoked_at WHERE id = (SELECT grant_id FROM {table} WHERE hash = $1)"
    );
    writing.run(query(sql(text), &[&hash])).await.map(drop)
}

/// Ends the successors of a refresh token; false when the refresh token among them was already presented.
async fn replace_successors(writing: &mut Writing, parent: &str) -> Result<bool, StoreError> {
    writing.voids(Changed::Credentials);
    let at = now_micros();
    let text = "UPDATE oauth_token SET revoked_at = $2 WHERE parent = $1 AND kind = 'refresh' \
                AND used_at IS NULL AND revoked_at IS NULL";
    let replaced = writing.run(query(text, &[&parent, &at])).await?;
    let text = "UPDATE oauth_token SET revoked_at = $2 WHERE parent = $1 AND kind = 'access' \
                AND revoked_at IS NULL";
    writing.run(query(text, &[&parent, &at])).await?;
    Ok(replaced > 0)
}

async fn add(writing: &mut Writing, grant: Uuid, parent: &str, token: &NewToken) -> Result<(), StoreError> {
    let row: NewRow = &[
        ("hash", &token.hash),
        ("grant_id", &grant),
        ("kind", &<&str>::from(token.kind)),
        ("scopes", &token.scopes),
        ("parent", &parent),
        ("issued_at", &now_micros()),
        ("expires_at", &token.expires_at),
    ];
    writing.run(insert("oauth_token", row)).await.map(drop)
}

fn read_code(cells: &mut Cells<'_>) -> Result<(Code, i64, i64), StoreError> {
    let code = Code {
        grant: cells.next()?,
        client_id: cells.next()?,
        user: cells.next()?,
        scopes: cells.next()?,
        redirect_uri: cells.next()?,
        challenge: Some(cells.next()?).filter(|challenge: &String| !challenge.is_empty()),
    };
    Ok((code, cells.next()?, cells.next()?))
}

fn read_token(cells: &mut Cells<'_>) -> Result<Token, StoreError> {
    Ok(Token {
        grant: cells.next()?,
        client_id: cells.next()?,
        user: cells.next()?,
        kind: if cells.next::<String>()? == "refresh" { TokenKind::Refresh } else { TokenKind::Access },
        scopes: words(cells.next()?),
        sealed: Sealed { text: cells.next()?, with: cells.next()? },
        issued_at: cells.next()?,
        expires_at: cells.next()?,
        ended: [cells.next()?, cells.next()?, cells.next()?].iter().any(|at: &i64| *at != 0),
    })
}
