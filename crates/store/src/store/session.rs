//! Access to the database: single statements and transactions. If the request is recorded, each statement sent for it
//! becomes a step of its trace, with its kind and without its text and values.
//!
//! May use: `task`, `trace`, the kind and the errors of this folder.

use super::error::StoreError;
use super::kind::Kind;
use crate::task::spawn;
use crate::trace::{Detail, Steps, current, new_span};
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use futures_util::{FutureExt, StreamExt};
use sqlx::any::{AnyArguments, AnyQueryResult, AnyRow, AnyStatement, AnyTypeInfo};
use sqlx::error::BoxDynError;
use sqlx::{Any, AnyPool, Either, Error, Execute, Executor, SqlSafeStr, SqlStr, Transaction};
use std::ops::Deref;
use std::time::Instant;

/// Stream of rows and results.
type Pieces<'e> = BoxStream<'e, Result<Either<AnyQueryResult, AnyRow>, Error>>;
/// One row, if there is any.
type Row<'e> = BoxFuture<'e, Result<Option<AnyRow>, Error>>;

/// The pool, for single statements.
#[derive(Debug, Clone, Copy)]
pub struct Pool<'p> {
    pool: &'p AnyPool,
    kind: Kind,
}

/// A transaction; rolled back unless committed.
#[derive(Debug)]
pub struct Session {
    transaction: Transaction<'static, Any>,
    kind: Kind,
}

impl<'p> Pool<'p> {
    pub(super) fn new(pool: &'p AnyPool, kind: Kind) -> Self {
        Self { pool, kind }
    }

    /// Begins a transaction with the statement `begin`; the caller has waited since `wanted`.
    pub(super) async fn begin(self, begin: &'static str, wanted: Instant) -> Result<Session, Error> {
        let step = UnderWay::begun(self.kind, "BEGIN", wanted);
        let transaction = noted(step, self.begun(begin)).await?;
        Ok(Session { transaction, kind: self.kind })
    }

    /// Begins a transaction in a task of its own, so that it completes even if the caller is dropped. The PostgreSQL
    /// driver forgets a transaction that is dropped while it begins: the connection would return to the pool inside
    /// the transaction, and later statements of other callers would be part of it.
    async fn begun(self, begin: &'static str) -> Result<Transaction<'static, Any>, Error> {
        if self.kind == Kind::Sqlite {
            return self.pool.begin_with(begin).await;
        }
        let connection = self.pool.acquire().await?;
        let beginning = spawn(Transaction::begin(connection, Some(begin.into_sql_str())));
        beginning.await.unwrap_or(Err(Error::WorkerCrashed))
    }
}

impl Deref for Pool<'_> {
    type Target = AnyPool;

    fn deref(&self) -> &AnyPool {
        self.pool
    }
}

impl Session {
    /// Commits the writes, even if the caller is dropped meanwhile. Otherwise the PostgreSQL driver would send a
    /// rollback after the commit, when there is no transaction any more.
    ///
    /// # Errors
    /// When the database does not confirm the commit.
    pub async fn commit(self) -> Result<(), sqlx::Error> {
        let step = UnderWay::begun(self.kind, "COMMIT", Instant::now());
        if self.kind == Kind::Sqlite {
            return noted(step, self.transaction.commit()).await;
        }
        let committing = spawn(self.transaction.commit());
        noted(step, async { committing.await.unwrap_or(Err(Error::WorkerCrashed)) }).await
    }

    /// Ends the transaction without any writes.
    pub async fn rollback(self) -> Result<(), StoreError> {
        Ok(self.transaction.rollback().await?)
    }
}

/// Implements an executor that sends statements on a connection and records them.
macro_rules! recorded {
    (<$life:lifetime> $kind:ty, $this:ident on $way:expr) => {
        impl<$life> Executor<$life> for $kind {
            type Database = Any;

            fn fetch_many<'e, 'q: 'e, E>($this, query: E) -> Pieces<'e>
            where
                $life: 'e,
                E: 'q + Execute<'q, Any>,
            {
                many($way, $this.kind, query)
            }

            fn fetch_optional<'e, 'q: 'e, E>($this, query: E) -> Row<'e>
            where
                $life: 'e,
                E: 'q + Execute<'q, Any>,
            {
                one($way, $this.kind, query)
            }

            fn prepare_with<'e>(
                $this,
                sql: SqlStr,
                parameters: &'e [AnyTypeInfo],
            ) -> BoxFuture<'e, Result<AnyStatement, Error>>
            where
                $life: 'e,
            {
                ($way).prepare_with(sql, parameters)
            }
        }
    };
}

recorded!(<'p> Pool<'p>, self on self.pool);
recorded!(<'c> &'c mut Session, self on &mut *self.transaction);

/// Returns all results of `query` on `way`; adds a step if the request is recorded.
fn many<'e, 'q: 'e>(
    way: impl Executor<'e, Database = Any>,
    kind: Kind,
    query: impl Execute<'q, Any> + 'q,
) -> Pieces<'e> {
    match current() {
        None => way.fetch_many(query),
        Some(steps) => {
            let (query, step) = Statement::of(query).noted(steps, kind);
            pieces(step, way.fetch_many(query))
        }
    }
}

/// Does the same for a query that returns one row or none.
fn one<'e, 'q: 'e>(
    way: impl Executor<'e, Database = Any>,
    kind: Kind,
    query: impl Execute<'q, Any> + 'q,
) -> Row<'e> {
    match current() {
        None => way.fetch_optional(query),
        Some(steps) => {
            let (query, step) = Statement::of(query).noted(steps, kind);
            noted(Some(step), way.fetch_optional(query)).boxed()
        }
    }
}

/// The parts of a statement; its text can only be read by consuming the query.
struct Statement {
    sql: SqlStr,
    arguments: Option<Result<Option<AnyArguments>, BoxDynError>>,
    persistent: bool,
}

impl Statement {
    fn of<'q>(mut query: impl Execute<'q, Any>) -> Self {
        let (arguments, persistent) = (Some(query.take_arguments()), query.persistent());
        Self { sql: query.sql(), arguments, persistent }
    }

    fn noted(self, steps: Steps, kind: Kind) -> (Self, UnderWay) {
        let operation = operation_of(self.sql.as_str());
        (self, UnderWay { steps, kind, operation, begun: Instant::now(), failed: false })
    }
}

impl Execute<'_, Any> for Statement {
    fn sql(self) -> SqlStr {
        self.sql
    }

    fn statement(&self) -> Option<&AnyStatement> {
        None
    }

    fn take_arguments(&mut self) -> Result<Option<AnyArguments>, BoxDynError> {
        self.arguments.take().unwrap_or(Ok(None))
    }

    fn persistent(&self) -> bool {
        self.persistent
    }
}

/// Returns the kind of a statement by its first word: a constant of the gateway, so nothing of the statement leaks.
fn operation_of(sql: &str) -> &'static str {
    let first = sql.split_whitespace().next().unwrap_or_default();
    let known = ["SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "PRAGMA"];
    known.into_iter().find(|known| first.eq_ignore_ascii_case(known)).unwrap_or("OTHER")
}

/// A statement in flight; it becomes a step when it has ended or the caller is dropped.
struct UnderWay {
    steps: Steps,
    kind: Kind,
    operation: &'static str,
    begun: Instant,
    failed: bool,
}

impl UnderWay {
    /// Creates a statement that began at `begun`, if the request is recorded.
    fn begun(kind: Kind, operation: &'static str, begun: Instant) -> Option<Self> {
        current().map(|steps| Self { steps, kind, operation, begun, failed: false })
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let engine = match self.kind {
            Kind::Sqlite => "sqlite",
            Kind::Postgres => "postgresql",
        };
        let detail = Detail::Statement { engine, operation: self.operation, failed: self.failed };
        self.steps.add(new_span(), "store", self.begun, detail);
    }
}

fn pieces<'e>(mut step: UnderWay, pieces: Pieces<'e>) -> Pieces<'e> {
    let watched = pieces.inspect(move |piece| {
        // Moves the whole step into the closure, so that it ends with the stream.
        let step: &mut UnderWay = &mut step;
        step.failed |= piece.is_err();
    });
    watched.boxed()
}

async fn noted<T>(step: Option<UnderWay>, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let outcome = work.await;
    if let Some(mut step) = step {
        step.failed = outcome.is_err();
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_told_by_its_kind_alone() {
        assert_eq!(operation_of("SELECT version FROM workspace WHERE id = $1"), "SELECT");
        assert_eq!(operation_of("\n  insert INTO x VALUES ('secret')"), "INSERT");
        assert_eq!(operation_of("WITH x AS (SELECT 1) SELECT * FROM x"), "WITH");
        assert_eq!(operation_of("secret"), "OTHER");
        assert_eq!(operation_of(""), "OTHER");
    }
}
