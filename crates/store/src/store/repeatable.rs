//! Requests that clients may repeat with the same `Idempotency-Key`, each with its outcome.
//!
//! A request is running, done with its answer, or ended with an unknown outcome at v1 (`unknown`, or `refused` after v1
//! had refused a part of it). The caller that begins a request holds its row by the id of the attempt, until a time by
//! which the attempt must have ended. After that time, or when the outcome is unknown, the next attempt takes over and
//! must first find out the outcome. Requests of one person begin one after the other, in all gateway processes. So only
//! one of many with the same key runs, and bounds are exact. Each credential of a person has its own bound, so that one
//! app leaves room for the others.
//! May use: `units`, `v2` (times), this folder.

use super::engine::Writing;
use super::error::StoreError;
use super::kind::Kind;
use super::rows::{Cells, NewRow, insert, query};
use super::service::Store;
use crate::units::now_micros;
use crate::v2::time::Micros;
use std::collections::HashSet;
use uuid::Uuid;

/// Identity of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepeatableRequest {
    /// Hash of the person and credential, the operation with its path, and the key.
    pub id: String,
    /// The person.
    pub user: Uuid,
    /// The grant or gateway key; none for the v1 keys of the person.
    pub credential: Option<Uuid>,
    /// Hash of the whole request.
    pub fingerprint: String,
}

/// Bounds on time and amount of the data kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RepeatableBounds {
    /// Microseconds from the beginning of a request until it is removed.
    pub keep: Micros,
    /// Microseconds within which an attempt ends.
    pub attempt: Micros,
    /// Microseconds after the end of an attempt within which v1 may still carry out its write.
    pub late: Micros,
    /// Maximum number of requests of one person with v1 keys, and of each grant and gateway key; all grants and gateway
    /// keys of a person together may have four times as many.
    pub per_person: i64,
    /// Maximum number of bytes of answers, in the same way.
    pub per_person_size: i64,
}

/// Number of times that all grants and gateway keys of a person together may have the bounds of one.
const TOGETHER: i64 = 4;

/// Sums of kept requests.
#[derive(Default)]
struct Sums {
    rows: i64,
    size: i64,
    first: Option<Micros>,
}

impl Sums {
    fn add(&mut self, rows: i64, size: i64, first: Micros) {
        (self.rows, self.size) = (self.rows + rows, self.size.saturating_add(size));
        self.first = Some(self.first.map_or(first, |before| before.min(first)));
    }

    /// Returns when the first of them expires, if they have reached the bounds this many `times` over.
    fn full(&self, bounds: &RepeatableBounds, times: i64) -> Option<Micros> {
        let rows = bounds.per_person.saturating_mul(times);
        let size = bounds.per_person_size.saturating_mul(times);
        self.first.filter(|_| self.rows >= rows || self.size >= size)
    }
}

/// A sealed answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptAnswer {
    /// Nonce and ciphertext, as text.
    pub sealed: String,
    /// Key that it was sealed with: the id of a secret, or a fixed word for the client's own key.
    pub with: String,
}

/// An attempt that holds its request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The request.
    pub request: RepeatableRequest,
    id: Uuid,
    /// Time when the request first began.
    pub began_at: Micros,
    /// Time until which v1 may still carry out an earlier attempt.
    pub earlier_until: Micros,
    /// Record that an earlier attempt is known to have created.
    pub record: Option<Uuid>,
    /// Whether v1 had refused a part of an earlier attempt, which then sent the rest.
    pub refused: bool,
}

/// Result of beginning a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repeatable {
    /// No earlier attempt: the request is carried out.
    New(Attempt),
    /// An earlier attempt has an unknown outcome.
    Unknown(Attempt),
    /// The request is done; this is its answer.
    Done(KeptAnswer),
    /// The request is running, for at most this many microseconds longer.
    Running(Micros),
    /// Another request has used the same key.
    Other,
    /// The bounds are reached; the first request that counts expires in this many microseconds.
    Full(Micros),
}

impl Store {
    /// Begins a request, or returns its outcome.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be written; then the request must not be carried out.
    pub async fn begin_repeatable(
        &self,
        request: RepeatableRequest,
        bounds: &RepeatableBounds,
    ) -> Result<Repeatable, StoreError> {
        let mut writing = self.engine.writing().await?;
        if self.engine.kind() == Kind::Postgres {
            let text = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))::text";
            query(text, &[&format!("repeatable {}", request.user)]).fetch_one(&mut *writing).await?;
        }
        let now = now_micros();
        let text = "DELETE FROM repeatable_request WHERE user_id = $1 AND expires_at <= $2";
        writing.run(query(text, &[&request.user, &now])).await?;
        let text = "SELECT fingerprint, state, ends_at, began_at, answer, sealed_with, record_id FROM \
                    repeatable_request WHERE id = $1";
        let row = query(text, &[&request.id]).fetch_optional(&mut *writing).await?;
        let found = match row {
            Some(row) => Self::found(&mut writing, request, &row, bounds, now).await?,
            None => Self::first(&mut writing, request, bounds, now).await?,
        };
        writing.commit().await?;
        Ok(found)
    }

    async fn found(
        writing: &mut Writing,
        request: RepeatableRequest,
        row: &sqlx::any::AnyRow,
        bounds: &RepeatableBounds,
        now: Micros,
    ) -> Result<Repeatable, StoreError> {
        let mut cells = Cells::of(row);
        let (fingerprint, state): (String, String) = (cells.next()?, cells.next()?);
        let (ends_at, began_at): (Micros, Micros) = (cells.next()?, cells.next()?);
        let answer = KeptAnswer { sealed: cells.next()?, with: cells.next()? };
        let record: Option<Uuid> = cells.next()?;
        match state.as_str() {
            _ if fingerprint != request.fingerprint => Ok(Repeatable::Other),
            "done" => Ok(Repeatable::Done(answer)),
            "running" if ends_at > now => Ok(Repeatable::Running(ends_at - now)),
            _ => {
                let late = if state == "running" { bounds.late } else { 0 };
                let (id, earlier_until) = (Uuid::new_v4(), ends_at + late);
                let refused = state == "refused";
                let attempt = Attempt { request, id, began_at, earlier_until, record, refused };
                let text = "UPDATE repeatable_request SET state = 'running', attempt = $2, ends_at = $3 \
                            WHERE id = $1";
                writing.run(query(text, &[&attempt.request.id, &attempt.id, &(now + bounds.attempt)])).await?;
                Ok(Repeatable::Unknown(attempt))
            }
        }
    }

    async fn first(
        writing: &mut Writing,
        request: RepeatableRequest,
        bounds: &RepeatableBounds,
        now: Micros,
    ) -> Result<Repeatable, StoreError> {
        let text = "SELECT credential, COUNT(*), CAST(SUM(size) AS BIGINT), MIN(expires_at) FROM repeatable_request \
                    WHERE user_id = $1 GROUP BY credential";
        let (mut own, mut together) = (Sums::default(), Sums::default());
        for row in &query(text, &[&request.user]).fetch_all(&mut **writing).await? {
            let mut cells = Cells::of(row);
            let credential: Option<Uuid> = cells.next()?;
            let (rows, size, first): (i64, i64, Micros) = (cells.next()?, cells.next()?, cells.next()?);
            if credential == request.credential {
                own.add(rows, size, first);
            }
            if credential.is_some() && request.credential.is_some() {
                together.add(rows, size, first);
            }
        }
        if let Some(first) = own.full(bounds, 1).or_else(|| together.full(bounds, TOGETHER)) {
            return Ok(Repeatable::Full((first - now).max(0)));
        }
        let (id, record, refused) = (Uuid::new_v4(), None, false);
        let attempt = Attempt { request, id, began_at: now, earlier_until: now, record, refused };
        let row: NewRow = &[
            ("id", &attempt.request.id),
            ("user_id", &attempt.request.user),
            ("credential", &attempt.request.credential),
            ("fingerprint", &attempt.request.fingerprint),
            ("state", &"running"),
            ("attempt", &attempt.id),
            ("began_at", &now),
            ("ends_at", &(now + bounds.attempt)),
            ("expires_at", &(now + bounds.keep)),
            ("answer", &""),
            ("sealed_with", &""),
            ("size", &0_i64),
        ];
        writing.run(insert("repeatable_request", row)).await?;
        Ok(Repeatable::New(attempt))
    }

    /// Stores the answer of a request, and the id of the record that it shows.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be written; the outcome of the request then counts as unknown.
    pub async fn keep_answer(
        &self,
        attempt: &Attempt,
        answer: &KeptAnswer,
        record: Option<Uuid>,
    ) -> Result<(), StoreError> {
        let text = "UPDATE repeatable_request SET state = 'done', answer = $3, sealed_with = $4, size = $5, \
                    record_id = $6 WHERE id = $1 AND attempt = $2";
        let (Attempt { request, id, .. }, KeptAnswer { sealed, with }) = (attempt, answer);
        let size = i64::try_from(sealed.len()).unwrap_or(i64::MAX);
        self.engine.write(query(text, &[&request.id, id, sealed, with, &size, &record])).await.map(drop)
    }

    /// Removes a request that has changed nothing, so that its key is free again.
    pub async fn free_repeatable(&self, attempt: &Attempt) -> Result<(), StoreError> {
        let text = "DELETE FROM repeatable_request WHERE id = $1 AND attempt = $2";
        self.engine.write(query(text, &[&attempt.request.id, &attempt.id])).await.map(drop)
    }

    /// Records that the outcome of a request is unknown, and that v1 may still carry it out until `until`; `record` is
    /// the one that it is known to have created. With `refused`, v1 had refused a part of it.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be written; the request then counts as running until its time is over.
    pub async fn leave_unknown(
        &self,
        attempt: &Attempt,
        until: Micros,
        record: Option<Uuid>,
        refused: bool,
    ) -> Result<(), StoreError> {
        let text = "UPDATE repeatable_request SET state = $5, ends_at = $3, record_id = $4 \
                    WHERE id = $1 AND attempt = $2";
        let state = if refused { "refused" } else { "unknown" };
        self.engine.write(query(text, &[&attempt.request.id, &attempt.id, &until, &record, &state])).await.map(drop)
    }

    /// Returns the records that other requests of the person are known to have created, or of `everybody` where records
    /// do not show who made them. Also returns whether the outcome of another request with the same fingerprint is open,
    /// so that a record that is found could belong to that request.
    pub async fn records_of_others(
        &self,
        attempt: &Attempt,
        everybody: bool,
    ) -> Result<(HashSet<Uuid>, bool), StoreError> {
        let text = "SELECT record_id, state, fingerprint, user_id FROM repeatable_request \
                    WHERE (user_id = $1 OR $3 = 1) AND id <> $2";
        let asked = query(text, &[&attempt.request.user, &attempt.request.id, &everybody]);
        let rows = asked.fetch_all(self.engine.pool()).await?;
        let (mut records, mut open) = (HashSet::new(), false);
        for row in &rows {
            let mut cells = Cells::of(row);
            records.extend(cells.next::<Option<Uuid>>()?);
            let (state, fingerprint): (String, String) = (cells.next()?, cells.next()?);
            let is_own = cells.next::<Uuid>()? == attempt.request.user;
            open |= (is_own || everybody) && state != "done" && fingerprint == attempt.request.fingerprint;
        }
        Ok((records, open))
    }

    /// Removes expired requests and returns their number.
    pub async fn sweep_repeatable(&self) -> Result<u64, StoreError> {
        let text = "DELETE FROM repeatable_request WHERE id IN (SELECT id FROM repeatable_request \
                    WHERE expires_at <= $1 LIMIT $2)";
        self.engine.delete_in_pieces(text, now_micros()).await
    }
}
