//! Waiting lines of this process: one line for each name, first come, first served.
//!
//! Several callers may be inside together if all of them only share the name. A caller that wants it exclusively waits
//! for them, and later callers wait behind it. Each caller gives the greatest number of callers that may wait before
//! it; when as many wait already, it is turned away at once. May use: nothing else.

use parking_lot::{Mutex, MutexGuard};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::{Semaphore, oneshot};

/// Turns held on the database at once. They are fewer than the connections, because a writer with a turn goes on to
/// read and write.
pub(super) const HELD: usize = 8;

/// The lines of this process, and the number of turns that it may hold on the database.
#[derive(Debug, Clone)]
pub(super) struct Turns {
    pub(super) lines: Lines,
    pub(super) connections: Arc<Semaphore>,
    /// The connections that turns may hold which wait for further names; one is left to the writers with these names.
    pub(super) growing: Arc<Semaphore>,
}

impl Turns {
    pub(super) fn new(held: usize) -> Self {
        let held = held.max(2);
        let [connections, growing] = [held, held - 1].map(|turns| Arc::new(Semaphore::new(turns)));
        Self { lines: Lines::default(), connections, growing }
    }
}

/// The lines of a process; all clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Lines(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    lines: Mutex<HashMap<Arc<str>, VecDeque<Place>>>,
    tickets: AtomicU64,
}

/// A place in a line.
#[derive(Debug)]
struct Place {
    ticket: u64,
    shared: bool,
    /// Channel that tells the caller that its turn has come; none for callers inside.
    waiting: Option<oneshot::Sender<()>>,
}

/// Error: the greatest allowed number of callers already wait for the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Full;

/// A place in a line, waiting or inside; dropping it gives up the place.
#[derive(Debug)]
pub(super) struct Inside {
    lines: Lines,
    name: Arc<str>,
    ticket: u64,
}

impl Lines {
    /// Waits for `name`, exclusively or `shared`; fails if `longest` callers already wait. Dropping the future gives
    /// up the place.
    pub async fn enter(&self, name: &str, shared: bool, longest: usize) -> Result<Inside, Full> {
        let (inside, called) = self.join_queue(name, shared, longest)?;
        if let Some(called) = called {
            // The sender stays in the line as long as the place, so the result can be ignored.
            let _ = called.await;
        }
        Ok(inside)
    }

    fn join_queue(
        &self,
        name: &str,
        shared: bool,
        longest: usize,
    ) -> Result<(Inside, Option<oneshot::Receiver<()>>), Full> {
        let name: Arc<str> = name.into();
        let mut lines = self.lines();
        let line = lines.entry(Arc::clone(&name)).or_default();
        let free = line.iter().all(|place| place.waiting.is_none() && place.shared && shared);
        if !free && line.iter().filter(|place| place.waiting.is_some()).count() >= longest {
            return Err(Full);
        }
        let ticket = self.0.tickets.fetch_add(1, Ordering::Relaxed);
        let (call, called) = oneshot::channel();
        line.push_back(Place { ticket, shared, waiting: (!free).then_some(call) });
        Ok((Inside { lines: self.clone(), name, ticket }, (!free).then_some(called)))
    }

    fn lines(&self) -> MutexGuard<'_, HashMap<Arc<str>, VecDeque<Place>>> {
        self.0.lines.lock()
    }

    /// Returns the number of callers in a line, inside or waiting.
    #[cfg(test)]
    fn length(&self, name: &str) -> usize {
        self.lines().get(name).map_or(0, VecDeque::len)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        let mut lines = self.lines.lines();
        let Some(line) = lines.get_mut(&self.name) else { return };
        line.retain(|place| place.ticket != self.ticket);
        // The first caller may be inside, and with it all callers right behind it that share.
        for (index, place) in line.iter_mut().enumerate() {
            if index > 0 && !place.shared {
                break;
            }
            if let Some(call) = place.waiting.take() {
                let _ = call.send(());
            }
            if !place.shared {
                break;
            }
        }
        if line.is_empty() {
            lines.remove(&self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;
    use tokio::task::JoinHandle;

    const MANY: usize = 1_000;

    /// Waits until `length` callers are in the line of `name`.
    async fn until(lines: &Lines, name: &str, length: usize) {
        while lines.length(name) != length {
            tokio::task::yield_now().await;
        }
    }

    fn waiter(lines: &Lines, shared: bool, number: usize, log: &Arc<Mutex<Vec<usize>>>) -> JoinHandle<()> {
        let (lines, log) = (lines.clone(), Arc::clone(log));
        tokio::spawn(async move {
            let inside = lines.enter("a", shared, MANY).await.unwrap();
            log.lock().push(number);
            drop(inside);
        })
    }

    #[tokio::test]
    async fn waiters_enter_in_the_order_of_their_arrival() {
        let (lines, log) = (Lines::default(), Arc::default());
        let first = lines.enter("a", false, MANY).await.unwrap();
        let mut waiting = Vec::new();
        for number in 0..100 {
            waiting.push(waiter(&lines, number % 3 == 0, number, &log));
            until(&lines, "a", number + 2).await;
        }
        drop(first);
        for one in waiting {
            one.await.unwrap();
        }
        assert_eq!(*log.lock(), (0..100).collect::<Vec<_>>());
        assert!(lines.lines().is_empty(), "nothing is remembered of names nobody wants");
    }

    #[tokio::test]
    async fn shared_holders_enter_together_and_never_overtake_an_exclusive_waiter() {
        let (lines, log) = (Lines::default(), Arc::default());
        let one = lines.enter("a", true, MANY).await.unwrap();
        let other = lines.enter("a", true, MANY).await.unwrap();
        let alone = waiter(&lines, false, 1, &log);
        until(&lines, "a", 3).await;
        let late = waiter(&lines, true, 2, &log);
        until(&lines, "a", 4).await;
        drop(one);
        tokio::task::yield_now().await;
        assert!(log.lock().is_empty(), "somebody is still inside");
        drop(other);
        alone.await.unwrap();
        late.await.unwrap();
        assert_eq!(*log.lock(), [1, 2]);
    }

    #[tokio::test]
    async fn a_full_line_lets_nobody_in() {
        let lines = Lines::default();
        let first = lines.enter("a", false, 1).await.unwrap();
        let second = tokio::spawn({
            let lines = lines.clone();
            async move { lines.enter("a", false, 1).await }
        });
        until(&lines, "a", 2).await;
        assert_eq!(lines.enter("a", false, 1).await.unwrap_err(), Full);
        assert!(lines.enter("b", false, 0).await.is_ok(), "another line is free");
        drop(first);
        assert!(second.await.unwrap().is_ok());
    }

    #[tokio::test]
    async fn a_waiter_that_leaves_the_line_does_not_block_others() {
        let (lines, log) = (Lines::default(), Arc::default());
        let first = lines.enter("a", false, MANY).await.unwrap();
        let leaving = waiter(&lines, false, 1, &log);
        until(&lines, "a", 2).await;
        let staying = waiter(&lines, false, 2, &log);
        until(&lines, "a", 3).await;
        leaving.abort();
        until(&lines, "a", 2).await;
        drop(first);
        staying.await.unwrap();
        assert_eq!(*log.lock(), [2]);
        // A caller that is called and leaves at the same moment passes the call on.
        let first = lines.enter("a", false, MANY).await.unwrap();
        let leaving = waiter(&lines, false, 3, &log);
        until(&lines, "a", 2).await;
        let staying = waiter(&lines, false, 4, &log);
        until(&lines, "a", 3).await;
        drop(first);
        leaving.abort();
        tokio::time::timeout(Duration::from_secs(10), staying).await.unwrap().unwrap();
    }

    /// A step of a caller in the model: it enters a line, exclusively or shared, or leaves (or gives up) by its number.
    #[derive(Debug, Clone)]
    enum Step {
        Enter { shared: bool },
        Leave { which: usize },
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let enter = any::<bool>().prop_map(|shared| Step::Enter { shared });
        let leave = (0..20usize).prop_map(|which| Step::Leave { which });
        prop::collection::vec(prop_oneof![enter, leave], 1..60)
    }

    proptest! {
        /// Compares with the plain rule: inside are the first caller of the line and all that share behind it.
        #[test]
        fn inside_are_the_first_and_those_who_share_with_it(steps in steps()) {
            const LONGEST: usize = 6;
            let lines = Lines::default();
            let mut places: Vec<(bool, Inside, Option<oneshot::Receiver<()>>, bool)> = Vec::new();
            for step in steps {
                match step {
                    Step::Enter { shared } => {
                        let inside = |places: &[(bool, Inside, Option<oneshot::Receiver<()>>, bool)]| {
                            let first = places.first().is_some_and(|place| place.0);
                            match places.is_empty() {
                                true => 0,
                                false if first => places.iter().take_while(|place| place.0).count(),
                                false => 1,
                            }
                        };
                        let waiting = places.len() - inside(&places);
                        let free = places.iter().all(|place| place.0 && shared);
                        match lines.join_queue("a", shared, LONGEST) {
                            Ok((place, called)) => {
                                prop_assert!(free || waiting < LONGEST);
                                places.push((shared, place, called, false));
                            }
                            Err(Full) => prop_assert!(!free && waiting >= LONGEST),
                        }
                    }
                    Step::Leave { which } if which < places.len() => drop(places.remove(which)),
                    Step::Leave { .. } => {}
                }
                let first_shares = places.first().is_some_and(|place| place.0);
                let mut may = true;
                for (index, (shared, _, called, entered)) in places.iter_mut().enumerate() {
                    may = may && (index == 0 || (first_shares && *shared));
                    let now = match called {
                        None => true,
                        Some(called) => *entered || called.try_recv().is_ok(),
                    };
                    *entered = now;
                    prop_assert_eq!(now, may, "place {}", index);
                }
            }
        }
    }
}
