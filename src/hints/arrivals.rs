//! Deliveries whose bodies have not arrived completely.
//!
//! Only the complete body shows whether v1 has sent a delivery. v1's bodies arrive at once, and there are never many of
//! them; an attacker who wants to occupy the places sends slowly. So when too many deliveries wait, the one that has
//! waited longest is given up.
//!
//! May use: nothing of this crate.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use tokio::sync::oneshot;

/// Most bodies that may be awaited at once.
const MOST: usize = 64;

/// The deliveries whose bodies are awaited.
#[derive(Default)]
pub(super) struct Arrivals(Mutex<PendingDeliveries>);

#[derive(Default)]
struct PendingDeliveries {
    /// Number of the last delivery; grows with each delivery.
    last: u64,
    /// Senders by the number of the delivery. Dropping a sender gives its delivery up.
    all: BTreeMap<u64, oneshot::Sender<()>>,
}

impl Arrivals {
    /// Waits for `body` and returns its result; none when it is given up because too many others have come meanwhile.
    pub(super) async fn wait_for<T>(&self, body: impl Future<Output = T>) -> Option<T> {
        let (place, given_up) = self.begin();
        let came = tokio::select! {
            biased;
            came = body => Some(came),
            _ = given_up => None,
        };
        drop(place);
        came
    }

    fn begin(&self) -> (Place<'_>, oneshot::Receiver<()>) {
        let (keeps, given_up) = oneshot::channel();
        let mut waiting = self.0.lock();
        waiting.last += 1;
        let number = waiting.last;
        waiting.all.insert(number, keeps);
        if waiting.all.len() > MOST {
            waiting.all.pop_first();
        }
        (Place { of: self, number }, given_up)
    }
}

/// The place of one delivery; given back when dropped.
struct Place<'a> {
    of: &'a Arrivals,
    number: u64,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.of.0.lock().all.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use std::future::{pending, ready};

    #[tokio::test]
    async fn the_one_waited_for_longest_is_given_up_for_others() {
        let arrivals = Arrivals::default();
        let mut slow: Vec<_> = (0..MOST).map(|_| Box::pin(arrivals.wait_for(pending::<()>()))).collect();
        for one in &mut slow {
            assert!(one.now_or_never().is_none());
        }
        let mut late = Box::pin(arrivals.wait_for(pending::<()>()));
        assert!((&mut late).now_or_never().is_none());
        let over: Vec<bool> = slow.iter_mut().map(|one| one.now_or_never() == Some(None)).collect();
        assert!(over[0] && !over[1..].contains(&true), "{over:?}");
        // A delivery that has arrived, or was dropped, needs no place.
        drop(slow);
        for _ in 0..2 * MOST {
            assert_eq!(arrivals.wait_for(ready(7)).await, Some(7));
        }
        assert!(late.now_or_never().is_none());
        assert_eq!(arrivals.0.lock().all.len(), 0);
    }
}
