//! Requests that clients may repeat with the same `Idempotency-Key`, each with what became of it.
//!
//! A request is running, done with its answer, or ended without anybody knowing what v1 did. The caller that begins one
//! holds its row by the id of the attempt until a time by which the attempt must have ended; after it, or when the
//! outcome is not known, the next attempt takes over and has to find out first. Requests of one person begin one after
//! the other, in all gateway processes, so that of many at once with the same key one runs, and bounds hold exactly.
//! May use: `units`, `v2` (times), this folder.

use super::engine::Writing;
use super::error::StoreError;
use super::kind::Kind;
use super::rows::{Cells, read_id};
use super::service::Store;
use crate::units::now_micros;
use crate::v2::time::Micros;
use sqlx::Row;
use std::collections::HashSet;
use uuid::Uuid;

/// What a request is known by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepeatableRequest {
    /// Hash of who asked, for what, and with which key.
    pub id: String,
    /// The person.
    pub user: Uuid,
    /// Hash of the whole request.
    pub fingerprint: String,
}

/// How long and how much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RepeatableBounds {
    /// Microseconds from the beginning of a request until it is forgotten.
    pub keep: Micros,
    /// Microseconds within which an attempt ends.
    pub attempt: Micros,
    /// Microseconds by which v1 may carry a write out later than its attempt ended.
    pub late: Micros,
    /// Most requests of one person.
    pub per_person: i64,
    /// Most bytes of answers of one person.
    pub per_person_size: i64,
}

/// A sealed answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptAnswer {
    /// Nonce and ciphertext, as text.
    pub sealed: String,
    /// What it was sealed with.
    pub with: String,
}

/// An attempt that holds its request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The request.
    pub request: RepeatableRequest,
    id: Uuid,
    /// When the request began first.
    pub began_at: Micros,
    /// Until when an earlier attempt may still be carried out.
    pub earlier_until: Micros,
}

/// What a request finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repeatable {
    /// Nothing: it is carried out.
    New(Attempt),
    /// An earlier attempt of which nobody knows what became of it.
    Unknown(Attempt),
    /// Its answer.
    Done(KeptAnswer),
    /// Itself at work, at most this many microseconds longer.
    Running(Micros),
    /// Another request with the same key.
    Other,
    /// As much as is kept for the person; the first of it is forgotten in this many microseconds.
    Full(Micros),
}

impl Store {
    /// Begins a request, or tells what became of it.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be written; then nothing may be carried out.
    pub async fn begin_repeatable(
        &self,
        request: RepeatableRequest,
        bounds: &RepeatableBounds,
    ) -> Result<Repeatable, StoreError> {
        let mut writing = self.engine.writing().await?;
        self.wait_for_turn_of(&mut writing, request.user).await?;
        let now = now_micros();
        sqlx::query("DELETE FROM repeatable_request WHERE user_id = $1 AND expires_at <= $2")
            .bind(request.user.to_string())
            .bind(now)
            .execute(&mut *writing)
            .await?;
        let row = sqlx::query(
            "SELECT fingerprint, state, ends_at, began_at, answer, sealed_with FROM repeatable_request WHERE id = $1",
        )
        .bind(request.id.clone())
        .fetch_optional(&mut *writing)
        .await?;
        let found = match row {
            Some(row) => self.found(&mut writing, request, &row, bounds, now).await?,
            None => self.first(&mut writing, request, bounds, now).await?,
        };
        writing.commit().await?;
        Ok(found)
    }

    async fn wait_for_turn_of(&self, writing: &mut Writing, user: Uuid) -> Result<(), StoreError> {
        if self.engine.kind() == Kind::Postgres {
            sqlx::query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))::text")
                .bind(format!("repeatable {user}"))
                .fetch_one(&mut **writing)
                .await?;
        }
        Ok(())
    }

    async fn found(
        &self,
        writing: &mut Writing,
        request: RepeatableRequest,
        row: &sqlx::any::AnyRow,
        bounds: &RepeatableBounds,
        now: Micros,
    ) -> Result<Repeatable, StoreError> {
        let mut cells = Cells::of(row);
        let (fingerprint, state) = (cells.text()?, cells.text()?);
        let (ends_at, began_at) = (cells.whole()?, cells.whole()?);
        let answer = KeptAnswer { sealed: cells.text()?, with: cells.text()? };
        match state.as_str() {
            _ if fingerprint != request.fingerprint => Ok(Repeatable::Other),
            "done" => Ok(Repeatable::Done(answer)),
            "running" if ends_at > now => Ok(Repeatable::Running(ends_at - now)),
            _ => {
                let late = if state == "running" { bounds.late } else { 0 };
                let attempt = Attempt { request, id: Uuid::new_v4(), began_at, earlier_until: ends_at + late };
                sqlx::query(
                    "UPDATE repeatable_request SET state = 'running', attempt = $2, ends_at = $3 WHERE id = $1",
                )
                .bind(attempt.request.id.clone())
                .bind(attempt.id.to_string())
                .bind(now + bounds.attempt)
                .execute(&mut **writing)
                .await?;
                Ok(Repeatable::Unknown(attempt))
            }
        }
    }

    async fn first(
        &self,
        writing: &mut Writing,
        request: RepeatableRequest,
        bounds: &RepeatableBounds,
        now: Micros,
    ) -> Result<Repeatable, StoreError> {
        let row = sqlx::query(
            "SELECT COUNT(*), CAST(COALESCE(SUM(size), 0) AS BIGINT), COALESCE(MIN(expires_at), 0) \
             FROM repeatable_request WHERE user_id = $1",
        )
        .bind(request.user.to_string())
        .fetch_one(&mut **writing)
        .await?;
        let mut cells = Cells::of(&row);
        let (rows, size, first) = (cells.whole()?, cells.whole()?, cells.whole()?);
        if rows >= bounds.per_person || (rows > 0 && size >= bounds.per_person_size) {
            return Ok(Repeatable::Full((first - now).max(0)));
        }
        let attempt = Attempt { request, id: Uuid::new_v4(), began_at: now, earlier_until: now };
        sqlx::query(
            "INSERT INTO repeatable_request (id, user_id, fingerprint, state, attempt, began_at, ends_at, expires_at, \
             answer, sealed_with, size) VALUES ($1, $2, $3, 'running', $4, $5, $6, $7, '', '', 0)",
        )
        .bind(attempt.request.id.clone())
        .bind(attempt.request.user.to_string())
        .bind(attempt.request.fingerprint.clone())
        .bind(attempt.id.to_string())
        .bind(now)
        .bind(now + bounds.attempt)
        .bind(now + bounds.keep)
        .execute(&mut **writing)
        .await?;
        Ok(Repeatable::New(attempt))
    }

    /// Keeps the answer of a request, with the record it shows.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be written; the request then counts as one whose outcome is not known.
    pub async fn keep_answer(
        &self,
        attempt: &Attempt,
        answer: &KeptAnswer,
        record: Option<Uuid>,
    ) -> Result<(), StoreError> {
        let mut writing = self.engine.writing().await?;
        sqlx::query(
            "UPDATE repeatable_request SET state = 'done', answer = $3, sealed_with = $4, size = $5, record_id = $6 \
             WHERE id = $1 AND attempt = $2",
        )
        .bind(attempt.request.id.clone())
        .bind(attempt.id.to_string())
        .bind(answer.sealed.clone())
        .bind(answer.with.clone())
        .bind(i64::try_from(answer.sealed.len()).unwrap_or(i64::MAX))
        .bind(record.map(|id| id.to_string()))
        .execute(&mut *writing)
        .await?;
        writing.commit().await
    }

    /// Forgets a request that has changed nothing, so that its key is free again.
    pub async fn free_repeatable(&self, attempt: &Attempt) -> Result<(), StoreError> {
        let mut writing = self.engine.writing().await?;
        sqlx::query("DELETE FROM repeatable_request WHERE id = $1 AND attempt = $2")
            .bind(attempt.request.id.clone())
            .bind(attempt.id.to_string())
            .execute(&mut *writing)
            .await?;
        writing.commit().await
    }

    /// Notes that nobody knows what became of a request, which may still be carried out until `until`.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be written; it then counts as running until its time is over.
    pub async fn leave_unknown(&self, attempt: &Attempt, until: Micros) -> Result<(), StoreError> {
        let mut writing = self.engine.writing().await?;
        sqlx::query("UPDATE repeatable_request SET state = 'unknown', ends_at = $3 WHERE id = $1 AND attempt = $2")
            .bind(attempt.request.id.clone())
            .bind(attempt.id.to_string())
            .bind(until)
            .execute(&mut *writing)
            .await?;
        writing.commit().await
    }

    /// Records that other requests of the person are known to have made, and whether another request like this one is
    /// not decided, so that a record that is found could be its record.
    pub async fn records_of_others(&self, attempt: &Attempt) -> Result<(HashSet<Uuid>, bool), StoreError> {
        let rows = sqlx::query(
            "SELECT record_id, state, fingerprint FROM repeatable_request WHERE user_id = $1 AND id <> $2",
        )
        .bind(attempt.request.user.to_string())
        .bind(attempt.request.id.clone())
        .fetch_all(self.engine.pool())
        .await?;
        let (mut records, mut open) = (HashSet::new(), false);
        for row in &rows {
            if let Some(record) = row.try_get::<Option<&str>, _>(0)? {
                records.insert(read_id(record)?);
            }
            let (state, fingerprint): (&str, &str) = (row.try_get(1)?, row.try_get(2)?);
            open |= state != "done" && fingerprint == attempt.request.fingerprint;
        }
        Ok((records, open))
    }

    /// Removes what is kept no longer; returns how many requests.
    pub async fn sweep_repeatable(&self) -> Result<u64, StoreError> {
        let mut writing = self.engine.writing().await?;
        let swept = sqlx::query("DELETE FROM repeatable_request WHERE expires_at <= $1")
            .bind(now_micros())
            .execute(&mut *writing)
            .await?;
        writing.commit().await?;
        Ok(swept.rows_affected())
    }
}
