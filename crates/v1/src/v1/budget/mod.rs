//! v1's quota as a budget: every call of the gateway itself waits here until its key may make it.
//!
//! v1 counts requests per key in a sliding minute (trap 57). Each key has a `lane` that counts the same way and is
//! corrected by v1's own figures. It lets the most urgent call through first. Calls of a pass-through client
//! with the same key are counted when they go through this gateway; all others appear only in v1's figures.
//!
//! Several processes that share a Redis reserve their calls there (`pool`). Processes that share only a database divide
//! the quota by demand (`parts`). While neither is available they divide it evenly, by their number. With a quota for
//! the deployment as a whole, every call also waits in a lane of all keys.
//!
//! May use: `context`, `shared`, `task`, the key.

mod lane;
mod missed;
mod parts;
mod pool;
mod pruned;
mod spent;
mod window;

use crate::task::spawn;
pub use lane::Processes;
pub use parts::{Change, Ledger, Members, Seen};
pub use spent::{Share, SpentCalls};
pub use window::{Quota, QuotaNotice};

use super::key::KeyId;
use crate::context::{Context, Priority};
use crate::shared::Shared;
use lane::{Lane, Others, Permit as LanePermit, Room as LaneRoom};
use parking_lot::Mutex;
use parts::{Demand, Held, Lanes};
use pool::Pool;
use pruned::PrunedMap;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Number of lanes from which on idle lanes are dropped.
const MANY: usize = 1024;

/// Quotas of v1.
#[derive(Debug, Clone)]
pub struct BudgetSettings {
    /// Length of the window in which v1 counts; a minute by v1's default.
    pub window: Duration,
    /// Quota of each key.
    pub quota: Quota,
    /// Quota of the gateway's own key.
    pub service_quota: Quota,
    /// Quota of all keys together.
    pub total: Quota,
    /// Calls of the quota that only writes may use.
    pub write_reserve: usize,
    /// The gateway's own key, if any.
    pub service: Option<KeyId>,
}

/// A quota that has no room for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shortage {
    /// Time until it has room.
    pub wait: Duration,
    /// Whether it is the quota of all keys together, and not that of one key.
    pub of_all: bool,
}

impl Shortage {
    fn of_key(wait: Duration) -> Self {
        Self { wait, of_all: false }
    }

    fn of_all(wait: Duration) -> Self {
        Self { wait, of_all: true }
    }
}

/// The budgets of all keys; cheap to clone, all clones share them.
#[derive(Debug, Clone)]
pub struct Budget {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    settings: BudgetSettings,
    pool: Option<Pool>,
    processes: Option<Arc<dyn Processes>>,
    /// The parts of this process; used only when there is no shared pool.
    parts: Option<Arc<Held>>,
    /// The lane of all keys.
    total: Option<Arc<Lane>>,
    lanes: Mutex<PrunedMap<KeyId, Arc<Lane>>>,
    spent: SpentCalls,
    /// The gateway's own key, if any.
    service: Mutex<Option<KeyId>>,
    /// Time of the last call of the pass-through.
    foreign: Mutex<Option<Instant>>,
}

/// A permitted call. A sent call that is dropped without a result counts as used, because v1 may have received it.
#[derive(Debug)]
pub struct Permit {
    of_key: Option<LanePermit>,
    of_all: Option<LanePermit>,
}

/// Figures of the budgets of all keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Figures {
    /// Number of keys that were used recently.
    pub keys: usize,
    /// Calls left in this minute for the client key that has the fewest.
    pub clients: Option<usize>,
    /// Calls left for the gateway's own key.
    pub service: Option<usize>,
    /// Waiting calls, by [`Priority`].
    pub waiting: [usize; Priority::COUNT],
}

/// Room for the calls of one request; see [`Budget::keep_room`].
#[derive(Debug)]
pub struct Room(#[expect(dead_code, reason = "dropped with this")] [Option<LaneRoom>; 2]);

impl Permit {
    /// Marks the call as sent.
    pub fn sends(&mut self) {
        self.of_key.iter_mut().chain(&mut self.of_all).for_each(LanePermit::sends);
    }

    /// Reports v1's answer.
    pub fn answered(self, told: &QuotaNotice) {
        if let Some(permit) = self.of_key {
            permit.answered(told);
        }
        if let Some(permit) = self.of_all {
            match told.is_before_the_throttle() {
                // Strangers can have as many of these as they like, so they take no call from all others.
                true => permit.not_sent(),
                // v1's figures are about the key alone. A call that its throttle refused still counts for all keys.
                false => permit.answered(&QuotaNotice { status: 200, ..QuotaNotice::default() }),
            }
        }
    }

    /// Reports that v1 certainly received nothing.
    pub fn not_sent(self) {
        for permit in self.of_key.into_iter().chain(self.of_all) {
            permit.not_sent();
        }
    }
}

impl Budget {
    /// Creates the budgets of `settings`.
    pub fn new(settings: BudgetSettings) -> Self {
        Self::among(settings, None, None)
    }

    /// Creates the budgets of one of several processes, which reserve their calls in `shared`. Without `shared`, and
    /// while it is away, each has an even part of the quota, by their number, or a part by demand ([`Budget::divide`]).
    pub fn among(settings: BudgetSettings, shared: Option<Shared>, processes: Option<Arc<dyn Processes>>) -> Self {
        let pool = shared.map(Pool::new);
        let parts = pool.is_none().then(Arc::<Held>::default);
        let mut inner = Inner {
            service: Mutex::new(settings.service),
            settings,
            pool,
            processes,
            parts,
            total: None,
            lanes: Mutex::new(PrunedMap::new(MANY)),
            spent: SpentCalls::default(),
            foreign: Mutex::default(),
        };
        if inner.settings.total != Quota::Unlimited {
            inner.total = Some(inner.new_lane(inner.settings.total, b"all keys"));
        }
        Self { inner: Arc::new(inner) }
    }

    /// Divides the quotas by demand with the other processes that use `ledger`, as long as these budgets are in use.
    /// Does nothing when there is a shared pool.
    pub fn divide(&self, ledger: Arc<dyn Ledger>) {
        let inner = &self.inner;
        let Some(held) = inner.parts.clone() else { return };
        let (window, processes) = (inner.settings.window, inner.processes.clone());
        let processes = move || processes.as_ref().map_or(1, |known| known.processes());
        let all = Arc::downgrade(inner);
        let lanes = move || all.upgrade().map(|inner| inner.by_name());
        spawn(parts::divide(ledger, held, window, processes, lanes));
    }

    /// Creates budgets without any limit.
    pub fn unlimited() -> Self {
        let (window, quota) = (Duration::ZERO, Quota::Unlimited);
        let (service_quota, total) = (quota, quota);
        Self::new(BudgetSettings { window, quota, service_quota, total, write_reserve: 0, service: None })
    }

    fn quota_of(&self, key: KeyId) -> Quota {
        let settings = &self.inner.settings;
        if *self.inner.service.lock() == Some(key) { settings.service_quota } else { settings.quota }
    }

    /// Sets the gateway's own key from now on. Earlier calls with it count as a client's.
    pub fn serve(&self, key: Option<KeyId>) {
        let before = std::mem::replace(&mut *self.inner.service.lock(), key);
        if before == key {
            return;
        }
        for key in [before, key].into_iter().flatten() {
            let (quota, lane) = (self.quota_of(key), self.inner.lanes.lock().get(&key).cloned());
            if let Some(lane) = lane {
                lane.limit(quota);
            }
        }
    }

    /// Checks whether the calls of `key` are paced at all.
    pub fn paces(&self, key: KeyId) -> bool {
        self.quota_of(key) != Quota::Unlimited
    }

    fn lane(&self, key: KeyId) -> Option<Arc<Lane>> {
        let quota = self.quota_of(key);
        if quota == Quota::Unlimited {
            return None;
        }
        let is_used = |lane: &Arc<Lane>| Arc::strong_count(lane) > 1 || !lane.is_idle();
        let new = || self.inner.new_lane(quota, &key.0);
        Some(Arc::clone(self.inner.lanes.lock().get_or_insert(key, is_used, new)))
    }

    /// Returns the lane of `key`, and the lane of all keys.
    fn lanes_of(&self, key: KeyId) -> [Option<Arc<Lane>>; 2] {
        [self.lane(key), self.inner.total.clone()]
    }

    /// Returns the lane of `key`, if the key has made calls, and the lane of all keys.
    fn known_lanes(&self, key: KeyId) -> impl Iterator<Item = Arc<Lane>> {
        let known = self.inner.lanes.lock().get(&key).cloned();
        known.into_iter().chain(self.inner.total.clone())
    }

    /// Waits until `key` may make a call for `ctx`.
    ///
    /// # Errors
    /// The quota that has no room for it before the deadline.
    pub async fn admit(&self, key: KeyId, ctx: &Context) -> Result<Permit, Shortage> {
        let mut permit = Permit { of_key: None, of_all: None };
        if let Some(lane) = self.lane(key) {
            let admitted = lane.admit(ctx.priority, deadline(ctx), &ctx.meter).await;
            permit.of_key = Some(admitted.map_err(Shortage::of_key)?);
        }
        if let Some(lane) = &self.inner.total {
            // When this fails, the key's permit is dropped unsent and so uses nothing.
            let admitted = lane.admit(ctx.priority, deadline(ctx), &ctx.meter).await;
            permit.of_all = Some(admitted.map_err(Shortage::of_all)?);
        }
        self.inner.spent.add(ctx.meter.spender(), ctx.priority);
        Ok(permit)
    }

    /// Waits until `key` may make `calls` calls at once, and reserves them for `ctx` while the returned value lives. So
    /// a request that has begun can be completed. Nothing is reserved when the key can never make so many at once.
    ///
    /// # Errors
    /// See [`Budget::admit`].
    pub async fn keep_room(&self, key: KeyId, calls: usize, ctx: &Context) -> Result<Room, Shortage> {
        let mut rooms = [None, None];
        let shortages = [Shortage::of_key, Shortage::of_all];
        for ((room, lane), shortage) in rooms.iter_mut().zip(self.lanes_of(key)).zip(shortages) {
            if let Some(lane) = lane {
                let kept = lane.keep(calls, ctx.priority, deadline(ctx), &ctx.meter).await;
                *room = kept.map_err(shortage)?;
            }
        }
        Ok(Room(rooms))
    }

    /// Returns the largest number of calls possible with `key` within `time`, counting at least one window of v1.
    /// Returns `None` when there is no limit.
    pub fn most_within(&self, key: KeyId, priority: Priority, time: Duration) -> Option<usize> {
        let lanes = self.lanes_of(key).into_iter().flatten();
        let processes = self.inner.processes.as_ref().map_or(1, |known| known.processes().max(1));
        let most = lanes.map(|lane| lane.most_at_once(priority).saturating_mul(processes)).min()?;
        let windows = time.as_secs_f64() / self.inner.settings.window.as_secs_f64();
        Some((most as f64 * windows.max(1.0)) as usize)
    }

    /// Checks whether calls with `key` have a limit.
    pub fn is_limited(&self, key: KeyId) -> bool {
        self.lanes_of(key).iter().any(Option::is_some)
    }

    /// Notes a call of the pass-through with any key.
    pub fn note_foreign(&self) {
        self.inner.spent.add_foreign();
        *self.inner.foreign.lock() = Some(Instant::now());
    }

    /// Counts a call of the pass-through with `key`, which cannot be held back. v1 must have accepted the key, because
    /// anyone can invent one.
    pub fn observe(&self, key: KeyId) -> Permit {
        let [of_key, of_all] = self.lanes_of(key).map(|lane| lane.map(|lane| lane.observe()));
        Permit { of_key, of_all }
    }

    /// Checks whether the pass-through made a call within `time`.
    pub fn is_foreign_within(&self, time: Duration) -> bool {
        self.inner.foreign.lock().is_some_and(|at| at.elapsed() <= time)
    }

    /// Checks whether `calls` more calls of this priority would leave at least half of the remaining quota of `key`.
    pub fn spares(&self, key: KeyId, priority: Priority, calls: usize) -> bool {
        self.lanes_of(key).iter().flatten().all(|lane| lane.spares(priority, calls))
    }

    /// Checks whether reads with `key` should prefer the cache, because little is left of the quota or calls wait for
    /// it.
    pub fn is_short(&self, key: KeyId) -> bool {
        if let Some(total) = &self.inner.total {
            // For a single key this is not needed: v1's figures include the use by others.
            total.refresh_use_by_others();
        }
        self.known_lanes(key).any(|lane| lane.is_short())
    }

    /// Checks whether a call with `key` that a request needs is waiting for the quota.
    pub fn is_queued(&self, key: KeyId) -> bool {
        self.known_lanes(key).any(|lane| lane.is_queued())
    }

    /// Returns the quota for which `key` would wait longest to make one more call of this priority.
    pub fn shortage(&self, key: KeyId, priority: Priority) -> Shortage {
        let known = self.inner.lanes.lock().get(&key).cloned();
        let wait = |lane: Option<&Arc<Lane>>| lane.map(|lane| lane.wait(priority)).unwrap_or_default();
        let (of_key, of_all) = (wait(known.as_ref()), wait(self.inner.total.as_ref()));
        if of_all > of_key { Shortage::of_all(of_all) } else { Shortage::of_key(of_key) }
    }

    /// Returns the figures of the budgets of all keys.
    pub fn figures(&self) -> Figures {
        let lanes: Vec<(KeyId, Arc<Lane>)> =
            self.inner.lanes.lock().iter().map(|(key, lane)| (*key, Arc::clone(lane))).collect();
        let mut figures = Figures { keys: lanes.len(), ..Figures::default() };
        let service = *self.inner.service.lock();
        for (key, lane) in lanes {
            let (left, waiting) = lane.standing();
            let of_kind = if service == Some(key) { &mut figures.service } else { &mut figures.clients };
            *of_kind = Some(of_kind.map_or(left, |least| least.min(left)));
            figures.waiting.iter_mut().zip(waiting).for_each(|(all, own)| *all += own);
        }
        figures
    }

    /// Returns the calls that each credential has used.
    pub fn spent(&self) -> &SpentCalls {
        &self.inner.spent
    }
}

impl Inner {
    /// Creates a lane of `quota`. `name` is the key, or stands for all keys, and is never shown.
    fn new_lane(&self, quota: Quota, name: &[u8]) -> Arc<Lane> {
        let BudgetSettings { write_reserve, window, .. } = self.settings;
        let pool = self.pool.as_ref().map(|pool| pool.window(name, window));
        let part = self.parts.clone().map(|parts| (parts, Shared::hidden_tag("quota", &[name])));
        let others = Others { pool, processes: self.processes.clone(), part };
        Arc::new(Lane::new(quota, write_reserve, window).among(others))
    }

    /// Returns all lanes that divide their quota, by the names of their rows.
    fn by_name(&self) -> HashMap<String, Arc<Lane>> {
        let lanes: Vec<Arc<Lane>> = self.lanes.lock().iter().map(|(_, lane)| Arc::clone(lane)).collect();
        let named = |lane: Arc<Lane>| Some((lane.name()?.to_owned(), lane));
        lanes.into_iter().chain(self.total.clone()).filter_map(named).collect()
    }
}

/// Returns the time until which a call for `ctx` may wait.
fn deadline(ctx: &Context) -> Instant {
    Instant::now() + ctx.quota_wait_limit()
}

/// Snapshot of the lanes by the names of their rows.
impl Lanes for HashMap<String, Arc<Lane>> {
    fn demands(&self) -> HashMap<String, Demand> {
        self.iter().map(|(name, lane)| (name.clone(), lane.demand())).collect()
    }

    fn demand(&self, name: &str) -> Demand {
        self.get(name).map_or_else(Demand::default, |lane| lane.demand())
    }

    fn told(&self, name: &str, elsewhere: usize, learned: usize) {
        if let Some(lane) = self.get(name) {
            lane.hear(elsewhere, learned);
        }
    }

    fn grown(&self, name: &str) {
        if let Some(lane) = self.get(name) {
            lane.look_again();
        }
    }
}
