//! v1's quota as a budget: every call of the gateway's own waits here until its key may make it.
//!
//! v1 counts requests a key in a sliding minute (trap 57). Each key has a `lane` that counts the same way,
//! corrected by what v1 says about it, and lets the most urgent call through first. What a pass-through
//! client spends of the same key is counted as far as it goes through this gateway; the rest is seen in v1's
//! own figures.
//!
//! May use: `context`, the key.

mod lane;
mod pruned;
mod quota;
mod spent;
mod window;

pub use quota::Quota;
pub use spent::{Share, Spent};
pub use window::Told;

use super::key::KeyId;
use crate::context::{Context, Priority};
use lane::{Lane, Permit as LanePermit, Room as LaneRoom};
use parking_lot::Mutex;
use pruned::PrunedMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Kept back of a deadline: a call let through must also be answered.
const MARGIN: Duration = Duration::from_millis(500);
/// Lanes from which on idle ones are dropped.
const MANY: usize = 1024;

/// How much may be asked of v1.
#[derive(Debug, Clone)]
pub struct BudgetSettings {
    /// The time in which v1 counts; a minute, as v1 is shipped.
    pub window: Duration,
    /// What each key may.
    pub quota: Quota,
    /// What the gateway's own key may.
    pub service_quota: Quota,
    /// Calls of the quota that only writes may use.
    pub write_reserve: usize,
    /// The gateway's own key, if any.
    pub service: Option<KeyId>,
}

/// The budgets of all keys; cheap to clone, all clones are the same.
#[derive(Debug, Clone)]
pub struct Budget {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    settings: BudgetSettings,
    lanes: Mutex<PrunedMap<KeyId, Arc<Lane>>>,
    spent: Spent,
    /// When somebody else last made a call that was seen here.
    foreign: Mutex<Option<Instant>>,
}

/// A call that is being made. Dropped without a word it counts, for v1 may have got it.
#[derive(Debug)]
pub struct Permit(Option<LanePermit>);

/// Room for the calls of one request; see [`Budget::keep_room`].
#[derive(Debug)]
pub struct Room(#[expect(dead_code, reason = "dropped with this")] Option<LaneRoom>);

impl Permit {
    /// v1 answered.
    pub fn answered(mut self, told: &Told) {
        if let Some(permit) = self.0.take() {
            permit.answered(told);
        }
    }

    /// v1 certainly got nothing.
    pub fn not_sent(mut self) {
        if let Some(permit) = self.0.take() {
            permit.not_sent();
        }
    }
}

impl Budget {
    /// Budgets as `settings` say.
    pub fn new(settings: BudgetSettings) -> Self {
        Self {
            inner: Arc::new(Inner {
                settings,
                lanes: Mutex::new(PrunedMap::new(MANY)),
                spent: Spent::default(),
                foreign: Mutex::default(),
            }),
        }
    }

    /// No limit for anybody.
    pub fn unlimited() -> Self {
        let (window, quota) = (Duration::ZERO, Quota::Unlimited);
        Self::new(BudgetSettings { window, quota, service_quota: quota, write_reserve: 0, service: None })
    }

    fn quota_of(&self, key: KeyId) -> Quota {
        let settings = &self.inner.settings;
        if settings.service == Some(key) { settings.service_quota } else { settings.quota }
    }

    /// Whether the calls of `key` are paced at all.
    pub fn paces(&self, key: KeyId) -> bool {
        self.quota_of(key) != Quota::Unlimited
    }

    fn lane(&self, key: KeyId) -> Option<Arc<Lane>> {
        let quota = self.quota_of(key);
        if quota == Quota::Unlimited {
            return None;
        }
        let is_used = |lane: &Arc<Lane>| Arc::strong_count(lane) > 1 || !lane.is_idle();
        let settings = &self.inner.settings;
        let new = || Arc::new(Lane::new(quota, settings.write_reserve, settings.window));
        Some(Arc::clone(self.inner.lanes.lock().get_or_insert(key, is_used, new)))
    }

    /// The lane of `key`, when it has made calls.
    fn known(&self, key: KeyId) -> Option<Arc<Lane>> {
        self.inner.lanes.lock().get(&key).cloned()
    }

    /// Waits until `key` may make a call for `ctx`.
    ///
    /// # Errors
    /// The time until it could, when that is past the deadline.
    pub async fn admit(&self, key: KeyId, ctx: &Context) -> Result<Permit, Duration> {
        let permit = match self.lane(key) {
            None => None,
            Some(lane) => Some(lane.admit(ctx.priority, deadline(ctx), &ctx.meter).await?),
        };
        self.inner.spent.add(ctx.meter.spender(), ctx.priority);
        Ok(Permit(permit))
    }

    /// Waits until `key` may make `calls` calls at once, and keeps them for `ctx` while the answer lives: what is
    /// begun can be ended. Nothing is kept when the key may never make so many at once.
    ///
    /// # Errors
    /// As [`Budget::admit`].
    pub async fn keep_room(&self, key: KeyId, calls: usize, ctx: &Context) -> Result<Room, Duration> {
        Ok(Room(match self.lane(key) {
            None => None,
            Some(lane) => lane.keep(calls, ctx.priority, deadline(ctx), &ctx.meter).await?,
        }))
    }

    /// A call that somebody else makes with `key` and that nobody here can hold back.
    pub fn observe(&self, key: KeyId) -> Permit {
        self.inner.spent.add_foreign();
        *self.inner.foreign.lock() = Some(Instant::now());
        Permit(self.lane(key).map(|lane| lane.observe()))
    }

    /// Whether somebody else made a call within `time` that was seen here.
    pub fn is_foreign_within(&self, time: Duration) -> bool {
        self.inner.foreign.lock().is_some_and(|at| at.elapsed() <= time)
    }

    /// Whether `calls` more of this priority can be made with `key` and half of what is left still stays.
    pub fn spares(&self, key: KeyId, priority: Priority, calls: usize) -> bool {
        self.lane(key).is_none_or(|lane| lane.spares(priority, calls))
    }

    /// Whether reads with `key` should make do with what is kept: little is left of the quota, or somebody
    /// waits for it.
    pub fn is_short(&self, key: KeyId) -> bool {
        self.known(key).is_some_and(|lane| lane.is_short())
    }

    /// Time until `key` could make one more call of this priority.
    pub fn wait(&self, key: KeyId, priority: Priority) -> Duration {
        self.known(key).map_or(Duration::ZERO, |lane| lane.wait(priority))
    }

    /// Who has spent what.
    pub fn spent(&self) -> &Spent {
        &self.inner.spent
    }
}

/// Until when a call for `ctx` may wait.
fn deadline(ctx: &Context) -> Instant {
    Instant::now() + ctx.remaining().saturating_sub(MARGIN)
}
