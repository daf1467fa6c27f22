//! The last answers of v1 to reads that every request makes again: single items, look-ups, pages straight
//! from v1, single comments. They are used only while v1 is unreachable or failing.
//!
//! An answer is cached for all callers who see the same at v1: a role class of a project (the caller's card has proven
//! it), or one key. It is invalidated by any write, through the gateway or on the pass-through, that could change it;
//! writes never update it. While v1 is in trouble, equal requests share a read, so that a recovering v1 is asked once
//! for each thing. A read that takes long is not shared any more: v1 may never answer it, but answer the next one at
//! once. The cache is bounded by bytes.
//!
//! May use: `fresh`, `refusal`, `v1` (answers), `shelf` (the audience).

use super::shelf::Audience;
use crate::fresh::{Changed, Changes, Figures, Fresh, Reading};
use crate::refusal::Refusal;
use crate::v1::{KeyId, V1Request, V1Response};
use bytes::Bytes;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::time::timeout;

const BYTES: u64 = 32 * 1024 * 1024;
/// Approximate size of an entry beside its body.
const ENTRY: usize = 400;
/// Longest wait for a read that another request began, counted from its beginning.
const PATIENCE: Duration = Duration::from_secs(1);

/// The callers to whom v1 shows the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::run) enum Shown {
    /// A role class of the project in the path.
    Class(Audience),
    Key(KeyId),
}

/// A read of v1, and the callers it is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::run) struct Question {
    pub shown: Shown,
    pub path: String,
    pub query: String,
}

impl Question {
    pub fn new(shown: Shown, request: &V1Request) -> Self {
        Self { shown, path: request.path.clone(), query: request.query.clone() }
    }
}

/// An answer, and the changes that invalidate it.
type Answer = (V1Response, Arc<[Changed]>);

#[derive(Clone)]
pub(in crate::run) struct Answers {
    kept: Fresh<Question, Answer, Refusal>,
    /// Shared reads; this cache stores nothing.
    reads: Fresh<Question, V1Response, Refusal>,
    age: Duration,
}

impl Answers {
    /// Creates a cache that keeps answers for `age`; with zero it keeps none.
    pub fn new(age: Duration, changes: &Changes) -> Self {
        let weigh = |question: &Question, (answer, _): &Answer| {
            (question.path.len() + question.query.len() + answer.body.len() + ENTRY) as u64
        };
        Self {
            kept: Fresh::new(changes, BYTES).weighing(weigh).useless_after(age),
            reads: Fresh::new(changes, 0),
            age,
        }
    }

    /// Returns another cache with the same content that keeps answers for `age`.
    pub fn with_age(&self, age: Duration) -> Self {
        Self { kept: self.kept.clone().useless_after(age), age, ..self.clone() }
    }

    pub fn figures(&self) -> Figures {
        self.kept.figures()
    }

    /// Returns the cached answer to `question` and when it was requested, if nothing has invalidated it.
    pub fn kept(&self, question: &Question) -> Option<(V1Response, Instant)> {
        let kept = self.kept.any(question)?;
        let (answer, voids) = kept.value;
        self.kept.changes().need(&voids, self.age).is_met(kept.began).then_some((answer, kept.began.at))
    }

    /// Reads with `read` and caches a success; `voids` returns the changes that invalidate it. `voids` returns none for
    /// an answer that does not fit the request. Such an answer is not cached: it would replace the last correct one.
    pub async fn read(
        &self,
        question: &Question,
        read: impl Future<Output = Result<V1Response, Refusal>>,
        voids: impl FnOnce(&V1Response) -> Option<Vec<Changed>>,
    ) -> Result<V1Response, Refusal> {
        let began = self.kept.changes().now();
        let answer = read.await?;
        if !self.age.is_zero()
            && answer.status == 200
            && answer.body.len() as u64 <= BYTES
            && let Some(voids) = voids(&answer)
        {
            // Copy the body: a small body is a part of the buffer into which it was read, and holds a part of
            // `limits.memory` as long as it lives.
            let body = Bytes::copy_from_slice(&answer.body);
            self.kept.put(question, (V1Response { body, ..answer.clone() }, voids.into()), began);
        }
        Ok(answer)
    }

    /// Reads with `read`, together with all requests that ask now. None when another request's read takes long, or its
    /// outcome may be about that request's key: then the caller must read on its own.
    pub async fn share<F>(
        &self,
        question: &Question,
        read: impl FnOnce() -> F,
    ) -> Option<Result<V1Response, Refusal>>
    where
        F: Future<Output = Result<V1Response, Refusal>> + Send + 'static,
    {
        let (own, asked) = (AtomicBool::new(false), self.kept.changes().need(&[], Duration::ZERO));
        let patience = match self.reads.under_way_since(question) {
            Some(began) => PATIENCE.checked_sub(self.kept.changes().now().at.saturating_duration_since(began))?,
            None => PATIENCE,
        };
        let read = |reading: Reading<Question, V1Response, Refusal>| {
            own.store(true, Ordering::Relaxed);
            let reads = read();
            async move { reading.end(reads.await) }
        };
        let mut shared = pin!(self.reads.get(question, asked, read));
        let outcome = match timeout(patience, &mut shared).await {
            Ok(outcome) => outcome,
            Err(_) if own.load(Ordering::Relaxed) => shared.await,
            Err(_) => return None,
        };
        let outcome = outcome.map(|kept| kept.value);
        let counts = match &outcome {
            _ if own.load(Ordering::Relaxed) => true,
            Ok(answer) => answer.status == 200,
            Err(refusal) => refusal.is_upstream_failure(),
        };
        counts.then_some(outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fresh::Clock;
    use futures_util::future::join_all;
    use std::sync::atomic::AtomicUsize;
    use uuid::Uuid;

    fn question() -> Question {
        Question { shown: Shown::Class(Audience::Members), path: "x/".into(), query: String::new() }
    }

    fn answer(body: &str) -> V1Response {
        V1Response { status: 200, body: Bytes::from(body.to_owned()), is_json: true, retry_after: None }
    }

    async fn read(answers: &Answers, body: &str) {
        let about = |_: &V1Response| Some(vec![Changed::Written(Uuid::nil()), Changed::Record(Uuid::nil())]);
        answers.read(&question(), async { Ok(answer(body)) }, about).await.unwrap();
    }

    fn kept(answers: &Answers) -> Option<String> {
        let kept = answers.kept(&question());
        kept.map(|(answer, _)| String::from_utf8_lossy(&answer.body).into_owned())
    }

    #[tokio::test]
    async fn an_answer_is_void_when_something_it_shows_was_written() {
        let answers = Answers::new(Duration::from_secs(60), &Changes::default());
        read(&answers, "1").await;
        answers.kept.changes().tell(Changed::Record(Uuid::from_u128(7)));
        answers.kept.changes().tell(Changed::Workspace("acme".into()));
        assert_eq!(kept(&answers).as_deref(), Some("1"));
        for matter in [Changed::Record(Uuid::nil()), Changed::Written(Uuid::nil())] {
            answers.kept.changes().tell(matter);
            assert_eq!(kept(&answers), None);
            read(&answers, "2").await;
            assert_eq!(kept(&answers).as_deref(), Some("2"));
        }
    }

    /// A body may be a piece of a large buffer, and hold a part of the memory of requests.
    #[tokio::test]
    async fn a_cached_answer_does_not_keep_its_buffer_alive() {
        let answers = Answers::new(Duration::from_secs(60), &Changes::default());
        let buffer: Arc<[u8]> = Arc::from(b"{\"id\": 1} and what came after it".as_slice());
        let body = Bytes::from_owner(Arc::clone(&buffer)).slice(..9);
        let whole = V1Response { body, ..answer("") };
        let read = answers.read(&question(), async { Ok(whole) }, |_| Some(Vec::new())).await.unwrap();
        assert_eq!((kept(&answers).as_deref(), Arc::strong_count(&buffer)), (Some("{\"id\": 1}"), 2));
        drop(read);
        assert_eq!(Arc::strong_count(&buffer), 1);
    }

    #[tokio::test]
    async fn a_write_during_a_read_invalidates_its_answer() {
        let answers = Answers::new(Duration::from_secs(60), &Changes::default());
        let reading = async {
            answers.kept.changes().tell(Changed::Written(Uuid::nil()));
            Ok(answer("old"))
        };
        answers.read(&question(), reading, |_| Some(vec![Changed::Written(Uuid::nil())])).await.unwrap();
        assert_eq!(kept(&answers), None);
    }

    #[tokio::test]
    async fn nothing_is_kept_of_a_refusal_nor_when_nothing_may_be_used() {
        let answers = Answers::new(Duration::from_secs(60), &Changes::default());
        let missing = async { Ok(V1Response { status: 404, ..answer("{}") }) };
        answers.read(&question(), missing, |_| Some(Vec::new())).await.unwrap();
        assert_eq!(kept(&answers), None);
        read(&answers, "1").await;
        answers.read(&question(), async { Ok(answer("another record")) }, |_| None).await.unwrap();
        assert_eq!(kept(&answers).as_deref(), Some("1"), "the last answer to what was asked");
        let answers = Answers::new(Duration::ZERO, &Changes::default());
        read(&answers, "1").await;
        assert_eq!(kept(&answers), None);
    }

    /// Another caller's 404 may be about its key; the own one costs no second call.
    #[tokio::test]
    async fn a_refused_read_counts_only_for_the_request_that_began_it() {
        let (answers, question) = (Answers::new(Duration::from_secs(60), &Changes::default()), question());
        for (status, without) in [(200, 0), (404, 1)] {
            let calls = AtomicUsize::new(0);
            let share = || {
                answers.share(&question, || {
                    calls.fetch_add(1, Ordering::Relaxed);
                    async move { Ok(V1Response { status, ..answer("{}") }) }
                })
            };
            // The first begins a read. The others ask later, so one of them begins the next read, for both.
            let outcomes = join_all([share(), share(), share()]).await;
            let statuses: Vec<u16> =
                outcomes.into_iter().flatten().map(|outcome| outcome.unwrap().status).collect();
            assert_eq!(calls.load(Ordering::Relaxed), 2);
            assert_eq!(statuses, vec![status; 3 - without]);
        }
    }

    /// While v1 is in trouble, one read gets no answer, and v1 answers the next ones at once.
    #[tokio::test(start_paused = true)]
    async fn a_shared_read_that_hangs_holds_the_others_up_for_a_moment_only() {
        let clock = Clock::stopped();
        let answers = Arc::new(Answers::new(Duration::from_secs(60), &Changes::new(clock.clone())));
        let hanging = Arc::clone(&answers);
        let hangs = tokio::spawn(async move { hanging.share(&question(), std::future::pending).await });
        tokio::task::yield_now().await;
        let begun = tokio::time::Instant::now();
        let beside = answers.share(&question(), || async { Ok(answer("1")) }).await;
        assert!(
            beside.is_none() && begun.elapsed() <= PATIENCE + Duration::from_millis(2),
            "{:?}",
            begun.elapsed()
        );
        assert!(!hangs.is_finished(), "whoever has begun it has nothing else to wait for");
        // A later request does not wait at all.
        clock.advance(PATIENCE);
        let begun = tokio::time::Instant::now();
        assert!(answers.share(&question(), || async { Ok(answer("1")) }).await.is_none());
        assert_eq!(begun.elapsed(), Duration::ZERO);
        hangs.abort();
    }
}
