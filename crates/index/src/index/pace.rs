//! Number of pages that builds and sweeps read at once, adapted to the speed of v1.
//!
//! A page of work items is the most expensive request to v1. One more page at once can take capacity from other clients
//! of v1 long before a page itself becomes slower. So each read begins with one page at a time. One more is added only
//! when ten whole pages in a row took about as long as the quickest page, and no other request went to v1 through this
//! gateway meanwhile. One slow page takes that back for the rest of the read. All reads share their places: two builds
//! at the same time also read one page at a time together.
//!
//! May use: nothing of this crate.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// Most pages at once.
const MOST: usize = 4;
/// Number of quick pages in a row after which one more page at once is allowed.
const EVIDENCE: u32 = 10;
/// Longest time of a quick page, as a multiple of the quickest page.
const QUICK: f64 = 1.2;

/// Places for pages in flight, shared by all reads. Cheap to clone, all clones are the same.
#[derive(Debug, Clone, Default)]
pub(super) struct Pace(Arc<Mutex<Places>>);

#[derive(Debug, Default)]
struct Places {
    under_way: usize,
    /// Waiting pages in order. Each may start when fewer pages than its number are in flight.
    waiting: VecDeque<(usize, oneshot::Sender<Turn>)>,
}

/// The pace of one read.
#[derive(Debug)]
pub(super) struct Read {
    pace: Pace,
    learnt: Mutex<PaceState>,
}

#[derive(Debug)]
struct PaceState {
    at_once: usize,
    most: usize,
    quickest: f64,
    quick: u32,
}

/// A page in flight; its place is free again when this is dropped.
#[derive(Debug)]
pub(super) struct Turn(Pace);

impl Pace {
    /// Begins a read, with one page at a time.
    pub fn begin(&self) -> Read {
        let learnt = PaceState { at_once: 1, most: MOST, quickest: f64::INFINITY, quick: 0 };
        Read { pace: self.clone(), learnt: Mutex::new(learnt) }
    }

    /// Takes the waiting pages that may start now. They are notified after the lock is released, because a receiver
    /// that is gone gives its place back at once.
    fn next(&self) -> Vec<(oneshot::Sender<Turn>, Turn)> {
        let (mut places, mut going) = (self.0.lock(), Vec::new());
        while let Some((below, sender)) = places.waiting.pop_front() {
            if sender.is_closed() {
                continue;
            }
            if places.under_way >= below {
                places.waiting.push_front((below, sender));
                break;
            }
            places.under_way += 1;
            going.push((sender, Turn(self.clone())));
        }
        going
    }
}

impl Read {
    /// Returns the number of pages to have in flight now; `urgent` when another request asks v1.
    pub fn at_once(&self, urgent: bool) -> usize {
        if urgent { 1 } else { self.learnt.lock().at_once }
    }

    /// Waits for the turn of a page. At most `at_once` pages of all reads are in flight then.
    pub async fn turn(&self, at_once: usize) -> Turn {
        loop {
            let receiver = {
                let mut places = self.pace.0.lock();
                if places.waiting.is_empty() && places.under_way < at_once {
                    places.under_way += 1;
                    return Turn(self.pace.clone());
                }
                let (sender, receiver) = oneshot::channel();
                places.waiting.push_back((at_once, sender));
                receiver
            };
            if let Ok(turn) = receiver.await {
                return turn;
            }
        }
    }

    /// Notes the time of a whole page. It counts for one more page at once only when nothing was `urgent` meanwhile.
    pub fn took(&self, took: Duration, urgent: bool) {
        let (mut learnt, took) = (self.learnt.lock(), took.as_secs_f64());
        learnt.quickest = learnt.quickest.min(took);
        if took > learnt.quickest * QUICK {
            // A number that was too much once in this read is not tried again.
            learnt.most = learnt.at_once.saturating_sub(1).clamp(1, learnt.most);
            learnt.at_once = learnt.at_once.min(learnt.most);
            learnt.quick = 0;
        } else if urgent {
            learnt.quick = 0;
        } else {
            learnt.quick += 1;
            if learnt.quick >= EVIDENCE {
                learnt.at_once = (learnt.at_once + 1).min(learnt.most);
                learnt.quick = 0;
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.0.lock().under_way -= 1;
        for (sender, turn) in self.0.next() {
            // When the receiver is gone, the returned turn is dropped here, and its place goes to the next page.
            drop(sender.send(turn));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: Duration = Duration::from_millis(3800);

    fn after(read: &Read, pages: u32, took: Duration, urgent: bool) -> usize {
        (0..pages).for_each(|_| read.took(took, urgent));
        read.at_once(false)
    }

    #[test]
    fn it_begins_with_one_and_grows_while_pages_stay_as_quick() {
        let read = Pace::default().begin();
        assert_eq!(after(&read, 9, PAGE, false), 1);
        assert_eq!(after(&read, 1, PAGE, false), 2);
        assert_eq!(after(&read, 10, PAGE.mul_f64(1.1), false), 3);
        assert_eq!(after(&read, 100, PAGE, false), MOST);
        assert_eq!(Pace::default().begin().at_once(false), 1);
    }

    #[test]
    fn one_slow_page_takes_it_back_for_good() {
        let read = Pace::default().begin();
        assert_eq!(after(&read, 20, PAGE, false), 3);
        assert_eq!(after(&read, 1, PAGE.mul_f64(1.5), false), 2);
        assert_eq!(after(&read, 100, PAGE, false), 2);
        assert_eq!(after(&read, 5, PAGE.mul_f64(1.5), false), 1);
        assert_eq!(after(&read, 100, PAGE, false), 1);
    }

    #[test]
    fn other_callers_of_v1_keep_the_parallelism_at_one() {
        let read = Pace::default().begin();
        assert_eq!(after(&read, 100, PAGE, true), 1);
        assert_eq!(after(&read, 10, PAGE, false), 2);
        assert_eq!(read.at_once(true), 1);
    }

    #[tokio::test]
    async fn all_reads_share_the_places_in_order() {
        let pace = Pace::default();
        let (one, other) = (pace.begin(), pace.begin());
        let held = one.turn(1).await;
        let order = Mutex::new(Vec::new());
        let wait = |read, name| {
            let order = &order;
            async move {
                let turn = Read::turn(read, 1).await;
                order.lock().push(name);
                tokio::task::yield_now().await;
                drop(turn);
            }
        };
        let gone = tokio::time::timeout(Duration::from_millis(1), one.turn(1)).await;
        assert!(gone.is_err(), "the place is taken");
        let let_go = async { drop(held) };
        tokio::join!(wait(&one, 1), wait(&other, 2), wait(&one, 3), let_go);
        assert_eq!(*order.lock(), [1, 2, 3]);
        drop(one.turn(1).await);
    }

    #[tokio::test]
    async fn two_places_let_two_go() {
        let pace = Pace::default();
        let read = pace.begin();
        let turns = (read.turn(2).await, read.turn(2).await);
        assert!(tokio::time::timeout(Duration::from_millis(1), read.turn(2)).await.is_err());
        drop(turns);
        assert_eq!(pace.0.lock().under_way, 0);
    }
}
