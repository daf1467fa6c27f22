//! One question to the database for all who ask it at the same time.
//!
//! Readers compare a number in the database with that of their copy, so this question is asked with every request.
//! Whoever comes while it is on its way must not get its answer, for something may have been written since it was
//! sent; but all who came meanwhile share the next one. So however many ask at once, one question is on its way
//! for each key, and no answer is older than the asking.
//!
//! May use: nothing of this crate.

use moka::sync::Cache;
use parking_lot::{Mutex, MutexGuard};
use std::future::Future;
use std::sync::Arc;
use tokio::sync::{Mutex as Turn, OnceCell};
use uuid::Uuid;

/// Keys remembered; one that was forgotten is only asked for once more.
const KEYS: u64 = 100_000;

/// Those who wait for one answer; `None` in it when the question failed.
type Group<T> = Arc<OnceCell<Option<T>>>;

/// Questions by key.
#[derive(Debug, Clone)]
pub(super) struct Grouped<T>(Cache<Uuid, Arc<Desk<T>>>)
where
    T: Send + Sync + 'static;

/// Where one question is asked.
#[derive(Debug)]
struct Desk<T> {
    /// Those for whom nothing was sent yet.
    waiting: Mutex<Group<T>>,
    /// Held while a question is on its way.
    turn: Turn<()>,
}

impl<T> Default for Desk<T> {
    fn default() -> Self {
        Self { waiting: Mutex::default(), turn: Turn::default() }
    }
}

impl<T> Desk<T> {
    fn waiting(&self) -> MutexGuard<'_, Group<T>> {
        self.waiting.lock()
    }
}

impl<T> Grouped<T>
where
    T: Clone + Send + Sync + 'static,
{
    pub(super) fn new() -> Self {
        Self(Cache::new(KEYS))
    }

    /// What `question` answers, sent by whoever of the group comes first; it is sent after every one of them has asked.
    ///
    /// # Errors
    /// Those of `question`, which each of the group then asks for itself.
    pub(super) async fn ask<E, F>(&self, key: Uuid, question: impl Fn() -> F) -> Result<T, E>
    where
        F: Future<Output = Result<T, E>>,
    {
        let desk = self.0.get_with(key, Arc::default);
        let group = Arc::clone(&desk.waiting());
        let first = async {
            let _turn = desk.turn.lock().await;
            {
                let mut waiting = desk.waiting();
                // Whoever comes from here on waits for the next one.
                if Arc::ptr_eq(&waiting, &group) {
                    *waiting = Group::default();
                }
            }
            question().await.ok()
        };
        match group.get_or_init(|| first).await {
            Some(answer) => Ok(answer.clone()),
            None => question().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::sync::Semaphore;

    /// A database whose answer is the number of questions that have reached it, given when it is let.
    #[derive(Default)]
    struct Database {
        asked: AtomicUsize,
        broken: bool,
        let_through: Option<Semaphore>,
    }

    impl Database {
        async fn answer(&self) -> Result<usize, &'static str> {
            let number = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
            if let Some(gate) = &self.let_through {
                gate.acquire().await.expect("a gate").forget();
            }
            if self.broken { Err("broken") } else { Ok(number) }
        }

        async fn until_asked(&self, questions: usize) {
            while self.asked.load(Ordering::SeqCst) < questions {
                tokio::task::yield_now().await;
            }
        }
    }

    fn asking(
        grouped: &Grouped<usize>,
        database: &Arc<Database>,
    ) -> tokio::task::JoinHandle<Result<usize, &'static str>> {
        let (grouped, database) = (grouped.clone(), Arc::clone(database));
        tokio::spawn(async move { grouped.ask(Uuid::nil(), || database.answer()).await })
    }

    fn gated() -> Arc<Database> {
        Arc::new(Database { let_through: Some(Semaphore::new(0)), ..Database::default() })
    }

    fn let_through(database: &Database, questions: usize) {
        database.let_through.as_ref().expect("a gate").add_permits(questions);
    }

    #[tokio::test]
    async fn who_comes_while_a_question_is_on_its_way_shares_the_next_one() {
        let (grouped, database) = (Grouped::new(), gated());
        let first = asking(&grouped, &database);
        database.until_asked(1).await;
        let late: Vec<_> = (0..10).map(|_| asking(&grouped, &database)).collect();
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        let_through(&database, 2);
        assert_eq!(first.await.expect("a task"), Ok(1));
        for one in late {
            assert_eq!(one.await.expect("a task"), Ok(2), "not the answer to what was sent before");
        }
        assert_eq!(database.asked.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn another_takes_over_when_the_first_goes_away() {
        let (grouped, database) = (Grouped::new(), gated());
        let first = asking(&grouped, &database);
        database.until_asked(1).await;
        let second = asking(&grouped, &database);
        let third = asking(&grouped, &database);
        tokio::task::yield_now().await;
        first.abort();
        database.until_asked(2).await;
        let_through(&database, 2);
        assert_eq!((second.await.expect("a task"), third.await.expect("a task")), (Ok(2), Ok(2)));
    }

    #[tokio::test]
    async fn a_failure_is_nobody_elses() {
        let database = Arc::new(Database { broken: true, ..Database::default() });
        let grouped = Grouped::new();
        for _ in 0..2 {
            assert_eq!(asking(&grouped, &database).await.expect("a task"), Err("broken"));
        }
        let mended = Arc::new(Database::default());
        assert_eq!(asking(&grouped, &mended).await.expect("a task"), Ok(1));
    }
}
