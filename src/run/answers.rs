//! The last answers of v1 to reads that are made anew for every request: single items, look-ups, pages straight
//! from v1, single comments. They are used only while v1 is unreachable or failing.
//!
//! An answer is kept for those v1 shows the same: a role class of a project, whose card the caller has proven,
//! or the key that asked. It is void as soon as something was written that it could show, through the gateway
//! or on the pass-through; nothing is carried into it. While v1 is in trouble those who ask for the same share a
//! read, so that a v1 that comes back is asked once for each thing. Bounded by bytes.
//!
//! May use: `coalesce`, `refusal`, `v1` (answers), `shelf` (the audience).

use super::shelf::Audience;
use crate::coalesce::Coalesce;
use crate::refusal::Refusal;
use crate::v1::{KeyId, V1Request, V1Response};
use moka::sync::Cache;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Bytes kept of all answers together.
const BYTES: u64 = 32 * 1024 * 1024;
/// What an entry costs beside its body, about.
const ENTRY: usize = 400;
/// Reasons remembered.
const REASONS: u64 = 100_000;

/// Whom v1 shows the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Shown {
    /// A role class of the project in the path.
    Class(Audience),
    /// One key.
    Key(KeyId),
}

/// A read of v1 and whom it is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Question {
    pub shown: Shown,
    pub path: String,
    pub query: String,
}

impl Question {
    pub fn new(shown: Shown, request: &V1Request) -> Self {
        Self { shown, path: request.path.clone(), query: request.query.clone() }
    }
}

/// What a write can change, and what an answer can show.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Matter {
    /// Everything of a workspace.
    Workspace(Box<str>),
    /// Everything of a project.
    Project(Uuid),
    /// Pages of a project's work items.
    Pages(Uuid),
    /// One record.
    Record(Uuid),
}

#[derive(Debug, Clone)]
struct Kept {
    answer: V1Response,
    read: Moment,
    about: Vec<Matter>,
}

/// A moment on the clock and in the order of events.
#[derive(Debug, Clone, Copy)]
struct Moment {
    at: Instant,
    tick: u64,
}

/// All answers kept.
pub(super) struct Answers {
    kept: Cache<Question, Kept>,
    written: Cache<Matter, Moment>,
    reads: Coalesce<(Question, u64), (V1Response, Instant)>,
    ticks: AtomicU64,
    keeps: bool,
}

impl Answers {
    /// Keeps answers for `age`; nothing when that is zero.
    pub fn new(age: Duration) -> Self {
        let weigh = |question: &Question, kept: &Kept| {
            let bytes = question.path.len() + question.query.len() + kept.answer.body.len() + ENTRY;
            u32::try_from(bytes).unwrap_or(u32::MAX)
        };
        Self {
            kept: Cache::builder().max_capacity(BYTES).weigher(weigh).time_to_live(age).build(),
            // What was read before is older than anything kept by then.
            written: Cache::builder().max_capacity(REASONS).time_to_live(age + Duration::from_secs(3600)).build(),
            reads: Coalesce::default(),
            ticks: AtomicU64::new(1),
            keeps: !age.is_zero(),
        }
    }

    fn now(&self) -> Moment {
        Moment { at: Instant::now(), tick: self.ticks.fetch_add(1, Ordering::SeqCst) }
    }

    /// Something was, or may have been, written that concerns `matter`.
    pub fn written(&self, matter: Matter) {
        if self.keeps {
            self.written.insert(matter, self.now());
        }
    }

    /// Whether something of `matter` was written after `read_at`.
    pub fn is_void(&self, matter: &Matter, read_at: Instant) -> bool {
        self.written.get(matter).is_some_and(|written| written.at >= read_at)
    }

    /// The answer to `question`, when one is kept that nothing has voided, and when it was asked for.
    pub fn kept(&self, question: &Question) -> Option<(V1Response, Instant)> {
        let kept = self.kept.get(question)?;
        let void = |matter| self.written.get(matter).is_some_and(|written| written.tick > kept.read.tick);
        (!kept.about.iter().any(void)).then_some((kept.answer, kept.read.at))
    }

    /// Reads with `read` and keeps a success; `about` tells what it shows. None when that is something else than was
    /// asked for, which is not kept: it would take the place of the last true answer.
    pub async fn read(
        &self,
        question: &Question,
        read: impl Future<Output = Result<V1Response, Refusal>>,
        about: impl FnOnce(&V1Response) -> Option<Vec<Matter>>,
    ) -> Result<V1Response, Refusal> {
        let begun = self.now();
        let answer = read.await?;
        if self.keeps
            && answer.status == 200
            && let Some(about) = about(&answer)
        {
            let kept = Kept { about, answer: answer.clone(), read: begun };
            self.kept.insert(question.clone(), kept);
        }
        Ok(answer)
    }

    /// Reads with `read`, together with all who ask now: at most two reads, the one under way, which began before
    /// the caller asked and may be too old, and the next.
    pub async fn share<F>(&self, question: &Question, read: impl Fn() -> F) -> Result<V1Response, Refusal>
    where
        F: Future<Output = Result<V1Response, Refusal>> + Send + 'static,
    {
        let asked = Instant::now();
        let once = || {
            self.reads.run((question.clone(), 0), || {
                let (begun, reading) = (Instant::now(), read());
                async move { Ok((reading.await?, begun)) }
            })
        };
        let (answer, begun) = once().await?;
        if begun >= asked {
            return Ok(answer);
        }
        Ok(once().await?.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use std::sync::Arc;

    fn question() -> Question {
        Question { shown: Shown::Class(Audience::Members), path: "x/".into(), query: String::new() }
    }

    fn answer(body: &str) -> V1Response {
        V1Response { status: 200, body: Bytes::from(body.to_owned()), is_json: true, retry_after: None }
    }

    async fn read(answers: &Answers, body: &str) {
        let about = |_: &V1Response| Some(vec![Matter::Project(Uuid::nil()), Matter::Record(Uuid::nil())]);
        answers.read(&question(), async { Ok(answer(body)) }, about).await.unwrap();
    }

    fn kept(answers: &Answers) -> Option<String> {
        let kept = answers.kept(&question());
        kept.map(|(answer, _)| String::from_utf8_lossy(&answer.body).into_owned())
    }

    #[tokio::test]
    async fn an_answer_is_void_when_something_it_shows_was_written() {
        let answers = Answers::new(Duration::from_secs(60));
        read(&answers, "1").await;
        answers.written(Matter::Record(Uuid::from_u128(7)));
        answers.written(Matter::Workspace("acme".into()));
        assert_eq!(kept(&answers).as_deref(), Some("1"));
        for matter in [Matter::Record(Uuid::nil()), Matter::Project(Uuid::nil())] {
            answers.written(matter);
            assert_eq!(kept(&answers), None);
            read(&answers, "2").await;
            assert_eq!(kept(&answers).as_deref(), Some("2"));
        }
        let before = Instant::now();
        answers.written(Matter::Project(Uuid::nil()));
        assert!(answers.is_void(&Matter::Project(Uuid::nil()), before));
        assert!(!answers.is_void(&Matter::Project(Uuid::nil()), Instant::now()));
    }

    #[tokio::test]
    async fn what_was_written_during_a_read_voids_its_answer() {
        let answers = Answers::new(Duration::from_secs(60));
        let reading = async {
            answers.written(Matter::Project(Uuid::nil()));
            Ok(answer("old"))
        };
        answers.read(&question(), reading, |_| Some(vec![Matter::Project(Uuid::nil())])).await.unwrap();
        assert_eq!(kept(&answers), None);
    }

    #[tokio::test]
    async fn nothing_is_kept_of_a_refusal_nor_when_nothing_may_be_used() {
        let answers = Answers::new(Duration::from_secs(60));
        let missing = async { Ok(V1Response { status: 404, ..answer("{}") }) };
        answers.read(&question(), missing, |_| Some(Vec::new())).await.unwrap();
        assert_eq!(kept(&answers), None);
        read(&answers, "1").await;
        answers.read(&question(), async { Ok(answer("another record")) }, |_| None).await.unwrap();
        assert_eq!(kept(&answers).as_deref(), Some("1"), "the last answer to what was asked");
        let answers = Answers::new(Duration::ZERO);
        read(&answers, "1").await;
        assert_eq!(kept(&answers), None);
    }

    #[tokio::test]
    async fn many_readers_share_two_reads_at_most() {
        let (answers, reads) = (Arc::new(Answers::new(Duration::ZERO)), Arc::new(AtomicU64::new(0)));
        let asking: Vec<_> = (0..100)
            .map(|_| {
                let (answers, reads) = (Arc::clone(&answers), Arc::clone(&reads));
                tokio::spawn(async move {
                    let slow = || {
                        let reads = Arc::clone(&reads);
                        async move {
                            tokio::time::sleep(Duration::from_millis(20)).await;
                            reads.fetch_add(1, Ordering::SeqCst);
                            Ok(answer("1"))
                        }
                    };
                    answers.share(&question(), slow).await.unwrap();
                })
            })
            .collect();
        for one in asking {
            one.await.unwrap();
        }
        assert!(reads.load(Ordering::SeqCst) <= 2);
    }
}
