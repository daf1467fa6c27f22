//! Chooses the answers to compare, and holds their queue. A request never waits for it, and it copies nothing but
//! handles.
//!
//! May use: `plan`, `settings`, `v1` (keys), this folder.

use super::compare::Side;
use super::found::Outcome;
use super::tally::Tally;
use crate::plan::Plan;
use crate::settings::ShadowSettings;
use crate::v1::V1Key;
use futures_util::future::BoxFuture;
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Most answers in the queue.
const WAITING: usize = 256;
/// Most bytes of the answers in the queue.
const BYTES: usize = 32 * 1024 * 1024;

/// Makes the gateway's answer again; none when that is not possible, or not from present data of v1.
pub type Again = Box<dyn Fn() -> BoxFuture<'static, Option<Side>> + Send + Sync>;

/// An answer in the queue.
pub(super) struct Offer {
    pub(super) operation: Arc<str>,
    pub(super) chosen: Chosen,
    pub(super) ours: Side,
    pub(super) order: Option<String>,
    /// Time of the answer.
    pub(super) taken: Instant,
    _room: Room,
}

/// Memory of one answer in the queue; given back when dropped.
struct Room(Arc<AtomicUsize>, usize);

impl Drop for Room {
    fn drop(&mut self) {
        self.0.fetch_sub(self.1, Ordering::Relaxed);
    }
}

/// Takes answers to compare. Cheap to clone.
#[derive(Clone)]
pub struct Shadow {
    plan: Arc<Plan>,
    names: Arc<[Arc<str>]>,
    settings: ShadowSettings,
    limiter: Arc<DefaultDirectRateLimiter>,
    tally: Tally,
    waiting: Arc<AtomicUsize>,
    queue: mpsc::Sender<Offer>,
}

/// A read that was chosen for comparison before it is answered.
pub struct Chosen {
    /// Path and query of the request.
    pub path: String,
    /// The key that acts for the caller.
    pub key: V1Key,
    /// The requested order, if any.
    pub order_by: Option<String>,
    /// Makes the answer again.
    pub again: Again,
}

impl Shadow {
    /// Creates it for the operations of `plan`; also returns the other end of the queue.
    pub(super) fn new(plan: Arc<Plan>, settings: ShadowSettings, tally: Tally) -> (Self, mpsc::Receiver<Offer>) {
        let (queue, waiting) = mpsc::channel(WAITING);
        let rate = u32::try_from(settings.rate).ok().and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MIN);
        let shadow = Self {
            names: plan.operations.iter().map(|operation| operation.id.as_str().into()).collect(),
            plan,
            settings,
            limiter: Arc::new(RateLimiter::direct(Quota::per_second(rate))),
            tally,
            waiting: Arc::default(),
            queue,
        };
        (shadow, waiting)
    }

    /// Decides whether the next read of the operation with this index in the plan is compared. A read beyond the rate
    /// limit is counted.
    pub fn chooses(&self, operation: usize) -> bool {
        if fastrand::usize(..100) >= self.settings.share {
            return false;
        }
        let chosen = self.limiter.check().is_ok();
        if !chosen {
            self.count(operation, Outcome::Dropped);
        }
        chosen
    }

    /// Counts a read of the operation with this index in the plan that cannot be compared.
    pub fn pass_over(&self, operation: usize) {
        self.count(operation, Outcome::NotComparable);
    }

    /// Puts `ours` into the queue, to be compared later with the other side's answer.
    pub fn offer(&self, operation: usize, chosen: Chosen, ours: Side) {
        let size = ours.body.len();
        let before = self.waiting.fetch_add(size, Ordering::Relaxed);
        let room = Room(Arc::clone(&self.waiting), size);
        if before.saturating_add(size) > BYTES {
            return self.count(operation, Outcome::Dropped);
        }
        let offer = Offer {
            operation: Arc::clone(&self.names[operation]),
            order: self.order(operation, chosen.order_by.as_deref()),
            chosen,
            ours,
            taken: Instant::now(),
            _room: room,
        };
        if self.queue.try_send(offer).is_err() {
            self.count(operation, Outcome::Dropped);
        }
    }

    fn count(&self, operation: usize, outcome: Outcome) {
        self.tally.add(&self.names[operation], outcome, Vec::new());
    }

    /// Returns the field by which the rows of a list are ordered.
    fn order(&self, operation: usize, asked: Option<&str>) -> Option<String> {
        let order = self.plan.operations[operation].order.as_ref()?;
        let field = |text: &str| text.strip_prefix('-').unwrap_or(text).to_owned();
        let asked = asked.map(field).filter(|asked| order.allowed.contains(asked));
        Some(asked.unwrap_or_else(|| field(&order.default)))
    }
}
