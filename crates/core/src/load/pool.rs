//! A bounded number of places, shared fairly.
//!
//! Any [`Holder`] may take places until half of them are taken. Then a holder gets no further place when it has its
//! [`Share`] of the places that are still free. So the fuller the pool, the less a holder of many places gets. Even
//! many clients that take as much as they can leave room for a client that has no place.
//!
//! May use: `refusal`, `load::asker`.

use super::asker::{Asker, Holder, Tally};
use crate::refusal::Refusal;
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The share of one holder once half of a pool, or of the memory, is taken: a percentage of what is still free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share(pub usize);

impl Share {
    /// Returns the places or bytes of the share, at least one, while `free` are free.
    pub(super) fn of(self, free: usize) -> usize {
        (free / 100 * self.0 + free % 100 * self.0 / 100).max(1)
    }
}

/// A pool of places; clones are the same pool.
#[derive(Debug, Clone)]
pub struct Pool(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    size: usize,
    share: Share,
    state: Mutex<State>,
    left: Notify,
}

#[derive(Debug, Default)]
struct State {
    taken: usize,
    /// Number of callers that wait for a place. They come before newcomers.
    waiting: usize,
    holders: Tally,
    /// Instant since which newcomers are refused because there is no place at all.
    full_since: Option<Instant>,
}

/// The reason why there is no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoPlace {
    /// All places are taken.
    Places,
    /// There are free places, but not for this asker.
    Share,
}

impl From<NoPlace> for Refusal {
    fn from(_: NoPlace) -> Self {
        Self::Overloaded
    }
}

impl Pool {
    /// Creates a pool of `size` places, of which one holder may have `share`.
    pub fn new(size: usize, share: Share) -> Self {
        Self(Arc::new(Inner { size, share, state: Mutex::default(), left: Notify::new() }))
    }

    /// Takes a place at once.
    ///
    /// # Errors
    /// Fails when all places are taken or `asker` has its share.
    pub fn enter(&self, asker: Asker) -> Result<Place, NoPlace> {
        let mut state = self.state();
        match self.0.lack(&state, asker, state.waiting) {
            None => Ok(self.take(&mut state, asker)),
            Some(lack) => {
                if lack == NoPlace::Places {
                    state.full_since.get_or_insert_with(Instant::now);
                }
                Err(lack)
            }
        }
    }

    /// Takes a place as soon as one is free, for a caller that had one before and would lose its work.
    ///
    /// # Errors
    /// Fails when `asker` has its share meanwhile.
    pub async fn enter_again(&self, asker: Asker) -> Result<Place, NoPlace> {
        let waiter = Waiter::new(self);
        loop {
            {
                let mut state = self.state();
                match self.0.lack(&state, asker, 0) {
                    None => {
                        state.waiting -= 1;
                        let place = self.take(&mut state, asker);
                        drop(state);
                        // It was counted off above, in the same step in which it got its place.
                        std::mem::forget(waiter);
                        // Another waiter may find a place too: two notices that nobody waits for yet count as one.
                        self.0.left.notify_one();
                        return Ok(place);
                    }
                    Some(NoPlace::Share) => {
                        // Another waiter may find a place too.
                        self.0.left.notify_one();
                        return Err(NoPlace::Share);
                    }
                    Some(NoPlace::Places) => {}
                }
            }
            self.0.left.notified().await;
        }
    }

    /// Takes a place even beyond the size, for work that has begun and must be finished.
    pub fn enter_anyway(&self, asker: Asker) -> Place {
        self.take(&mut self.state(), asker)
    }

    /// Returns the number of places.
    pub fn size(&self) -> usize {
        self.0.size
    }

    /// Checks whether `asker` could have a place now.
    pub fn has_room_for(&self, asker: Asker) -> bool {
        let state = self.state();
        self.0.lack(&state, asker, state.waiting).is_none()
    }

    /// Returns the number of places that are counted for `holder`.
    pub fn held_by(&self, holder: Holder) -> usize {
        self.state().holders.of(holder)
    }

    /// Returns the number of places taken.
    pub fn taken(&self) -> usize {
        self.state().taken
    }

    /// Checks whether for this time all places have been taken and newcomers refused.
    pub fn full_for(&self, time: Duration) -> bool {
        self.state().full_since.is_some_and(|since| since.elapsed() >= time)
    }

    fn take(&self, state: &mut State, asker: Asker) -> Place {
        state.taken += 1;
        state.holders.add(asker, 1);
        Place { pool: self.clone(), asker }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock()
    }
}

impl Inner {
    fn lack(&self, state: &State, asker: Asker, before: usize) -> Option<NoPlace> {
        let taken = state.taken + before;
        if taken >= self.size {
            return Some(NoPlace::Places);
        }
        let most = self.share.of(self.size - taken);
        let has_its_share = taken * 2 >= self.size && state.holders.most_of(asker) >= most;
        has_its_share.then_some(NoPlace::Share)
    }
}

/// A waiting caller; counted until it has a place or gives up. It must own nothing, because `enter_again` forgets it.
struct Waiter<'a>(&'a Pool);

impl<'a> Waiter<'a> {
    fn new(pool: &'a Pool) -> Self {
        pool.state().waiting += 1;
        Self(pool)
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.0.state().waiting -= 1;
    }
}

/// A place in a pool; given back when dropped.
#[derive(Debug)]
pub struct Place {
    pool: Pool,
    asker: Asker,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.pool.state();
        state.taken -= 1;
        state.full_since = None;
        state.holders.remove(self.asker, 1);
        drop(state);
        self.pool.0.left.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(last: u8) -> Asker {
        Asker::new(Some(std::net::IpAddr::from([10, 0, 0, last])), None)
    }

    fn fill(pool: &Pool, asker: Asker) -> Vec<Place> {
        std::iter::from_fn(|| pool.enter(asker).ok()).collect()
    }

    #[test]
    fn alone_one_gets_half_and_then_a_newcomer_goes_first() {
        let pool = Pool::new(64, Share(25));
        let first = fill(&pool, from(1));
        assert_eq!(first.len(), 32);
        assert_eq!(fill(&pool, from(2)).len(), 6, "a quarter of the 26 that are free then");
        drop(first);
        assert_eq!(pool.taken(), 0);
        assert!(pool.enter(from(1)).is_ok());
    }

    #[test]
    fn many_who_take_what_they_can_leave_room_for_others() {
        let pool = Pool::new(1024, Share(25));
        let mut held = Vec::new();
        for last in 1..=4 {
            held.extend(fill(&pool, from(last)));
        }
        assert!(held.len() < 800, "four leave a quarter: {}", held.len());
        for last in 5..=20 {
            held.extend(fill(&pool, from(last)));
            assert!(pool.has_room_for(from(last + 1)), "after {last}");
        }
    }

    #[test]
    fn unidentified_callers_may_take_all_places() {
        let pool = Pool::new(8, Share(25));
        let nobody = Asker::default();
        let all = fill(&pool, nobody);
        assert_eq!((all.len(), pool.enter(nobody).unwrap_err()), (8, NoPlace::Places));
        assert!(pool.full_for(Duration::ZERO) && !pool.full_for(Duration::from_secs(60)));
        drop(all);
        assert!(!pool.full_for(Duration::ZERO));
    }

    #[test]
    fn a_credential_has_its_share_from_wherever_it_is_used() {
        let pool = Pool::new(16, Share(25));
        let asker = |last: u8| Asker::new(Some(std::net::IpAddr::from([10, 0, 1, last])), Some(7));
        let held: Vec<Place> = (0..16).filter_map(|last| pool.enter(asker(last)).ok()).collect();
        assert_eq!(held.len(), 8);
        assert!(pool.enter(asker(99)).is_err() && pool.enter(from(1)).is_ok());
    }

    #[tokio::test]
    async fn a_returning_request_waits_and_precedes_newcomers() {
        let pool = Pool::new(1, Share(25));
        let place = pool.enter(from(1)).unwrap();
        let waiting = tokio::spawn({
            let pool = pool.clone();
            async move { pool.enter_again(from(2)).await }
        });
        while pool.state().waiting == 0 {
            tokio::task::yield_now().await;
        }
        drop(place);
        assert!(pool.enter(from(3)).is_err(), "somebody waits already");
        let place = waiting.await.unwrap().unwrap();
        drop(place);
        assert_eq!((pool.taken(), pool.state().waiting), (0, 0));
    }

    #[tokio::test]
    async fn a_waiter_with_its_share_leaves_the_place_to_the_next_waiter() {
        let pool = Pool::new(4, Share(25));
        let mut held: Vec<Place> = [1, 3, 4, 5].map(|last| pool.enter(from(last)).unwrap()).into();
        let mut waiting = Vec::new();
        for last in [1, 2] {
            let again = pool.clone();
            waiting.push(tokio::spawn(async move { again.enter_again(from(last)).await }));
            while pool.state().waiting < waiting.len() {
                tokio::task::yield_now().await;
            }
        }
        held.pop();
        let [first, second]: [_; 2] = waiting.try_into().unwrap();
        assert_eq!(first.await.unwrap().unwrap_err(), NoPlace::Share);
        let second = tokio::time::timeout(Duration::from_secs(10), second).await.expect("it is told of the place");
        assert!(second.unwrap().is_ok());
    }

    #[tokio::test]
    async fn a_cancelled_waiter_blocks_no_other_request() {
        let pool = Pool::new(1, Share(25));
        let place = pool.enter(from(1)).unwrap();
        let waiting = tokio::time::timeout(Duration::from_millis(10), pool.enter_again(from(2))).await;
        assert!(waiting.is_err());
        drop(place);
        assert!(pool.enter(from(3)).is_ok());
    }

    #[test]
    fn requests_already_begun_may_exceed_the_pool_size() {
        let pool = Pool::new(1, Share(25));
        let places = [pool.enter_anyway(from(1)), pool.enter_anyway(from(1))];
        assert!(!pool.has_room_for(from(2)));
        drop(places);
        assert!(pool.has_room_for(from(2)) && pool.state().holders.is_empty());
    }
}
