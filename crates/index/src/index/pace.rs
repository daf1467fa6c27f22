//! How many pages builds and sweeps read at once, found out by how quickly v1 gives them.
//!
//! A page of work items is the dearest thing v1 is asked for, and one page more at once can take away what other
//! clients of v1 live on long before a page itself becomes slower. So each read begins with one page at a time, and
//! one more is added only when ten whole pages in a row were about as quick as the quickest and nobody else asked v1
//! through this gateway meanwhile. One slow page takes that back for the rest of the read. All reads share their
//! places: two builds side by side are one page at a time too.
//!
//! May use: nothing of this crate.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// Most pages at once.
const MOST: usize = 4;
/// Quick pages in a row that speak for one more at once.
const EVIDENCE: u32 = 10;
/// How much longer than the quickest a quick page may take.
const QUICK: f64 = 1.2;

/// The places of all reads; cheap to clone, all clones are the same.
#[derive(Debug, Clone, Default)]
pub(super) struct Pace(Arc<Mutex<Places>>);

#[derive(Debug, Default)]
struct Places {
    under_way: usize,
    /// Who waits, in order, and below how many each may go.
    waiting: VecDeque<(usize, oneshot::Sender<Turn>)>,
}

/// The pace of one read.
#[derive(Debug)]
pub(super) struct Read {
    pace: Pace,
    learnt: Mutex<Learnt>,
}

#[derive(Debug)]
struct Learnt {
    at_once: usize,
    most: usize,
    quickest: f64,
    quick: u32,
}

/// A page under way; its place is free again when this is dropped.
#[derive(Debug)]
pub(super) struct Turn(Pace);

impl Pace {
    /// A read begins, with one page at a time.
    pub fn begin(&self) -> Read {
        let learnt = Learnt { at_once: 1, most: MOST, quickest: f64::INFINITY, quick: 0 };
        Read { pace: self.clone(), learnt: Mutex::new(learnt) }
    }

    /// Those who may go now; they are told after the lock is given back, because one that has left gives its place back
    /// at once.
    fn next(&self) -> Vec<(oneshot::Sender<Turn>, Turn)> {
        let (mut places, mut going) = (self.0.lock(), Vec::new());
        while let Some((sender, below)) = places.waiting.pop_front().map(|(below, sender)| (sender, below)) {
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
    /// Pages to have under way now; `urgent` when somebody else asks v1.
    pub fn at_once(&self, urgent: bool) -> usize {
        if urgent { 1 } else { self.learnt.lock().at_once }
    }

    /// Waits for the turn of a page; `at_once` pages of all reads may be under way then.
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

    /// A whole page took so long. It speaks for one more at once only when nothing was `urgent` meanwhile.
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
            // Nobody waits there any more: dropped with the answer, the place goes to the next.
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
    fn whoever_else_asks_v1_keeps_it_at_one() {
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
