//! The background work that maintains the parts of this process.
//!
//! May use: this folder.

use super::divider::Divider;
use super::held::Held;
use super::ledger::Ledger;
use super::row::Demand;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// Pause between two checks of the known processes; a check costs no statement.
const LOOK: Duration = Duration::from_millis(200);
/// Pause between two statements for known parts.
const EXCHANGE: Duration = Duration::from_secs(1);
/// Pause between two statements when a key is new to this process.
const NEW: Duration = Duration::from_millis(50);
/// Longest wait for a statement.
const WAIT: Duration = Duration::from_secs(1);
/// Number of tries of a statement when another process has written a row first.
const TRIES: usize = 3;
/// Time without an answer after which the table counts as unreachable.
const AWAY: Duration = Duration::from_secs(3);

/// The keys that this process uses.
pub(in crate::v1::budget) trait Lanes: Send + Sync {
    /// Returns the demand for each key, by the name of its row.
    fn demands(&self) -> HashMap<String, Demand>;

    /// Returns the present demand for one key.
    fn demand(&self, name: &str) -> Demand;

    /// Takes in the use of a key by others, and the quota that v1 was seen to allow. Waiting calls check again
    /// when it is larger than the known one.
    fn told(&self, name: &str, elsewhere: usize, learned: usize);

    /// Reports that more of the key may be available.
    fn grown(&self, name: &str);
}

/// Maintains the parts of this process in `ledger`, as long as `lanes` exist. `processes` returns the number of
/// processes. The other processes are known when this returns; the returned future does the rest.
pub(in crate::v1::budget) fn divide<L: Lanes>(
    ledger: Arc<dyn Ledger>,
    held: Arc<Held>,
    window: Duration,
    processes: impl Fn() -> usize + Send,
    lanes: impl Fn() -> Option<L> + Send,
) -> impl Future<Output = ()> + Send {
    let mut divider = Divider::new(ledger.me(), window, Arc::clone(&held));
    if let Some(lanes) = lanes() {
        divider.look(ledger.members().as_ref(), processes(), &lanes.demands(), Instant::now());
    }
    keep(divider, ledger, held, processes, lanes)
}

async fn keep<L: Lanes>(
    mut divider: Divider,
    ledger: Arc<dyn Ledger>,
    held: Arc<Held>,
    processes: impl Fn() -> usize + Send,
    lanes: impl Fn() -> Option<L> + Send,
) {
    // Time of the last statement, time of the last one for all keys, and time since which none was answered.
    let (mut last, mut whole, mut silent): (Option<Instant>, Option<Instant>, Option<Instant>) = (None, None, None);
    // Keys that need more and were not checked yet.
    let mut asking = HashSet::new();
    loop {
        let _ = timeout(LOOK, held.asked()).await;
        // Keys that ask meanwhile join the same statement.
        if let Some(rest) = last.and_then(|last| NEW.checked_sub(last.elapsed())) {
            sleep(rest).await;
        }
        asking.extend(held.take_asking());
        let Some(lanes) = lanes() else { return };
        let members = ledger.members();
        // All keys are checked once a second. In between only the asking keys are checked; otherwise each new key would
        // cost a check of every key.
        let is_whole = !divider.has_entered() || whole.is_none_or(|at: Instant| at.elapsed() >= EXCHANGE);
        let look = |asking: &HashSet<String>| match is_whole {
            true => lanes.demands(),
            false => asking.iter().map(|name| (name.clone(), lanes.demand(name))).collect(),
        };
        let mut demands = look(&asking);
        divider.look(members.as_ref(), processes(), &demands, Instant::now());
        ledger.mark(divider.has_entered());
        let (Some(members), true) = (members, divider.divides()) else {
            // No key has a part now. A key that needs more later asks again.
            asking.clear();
            continue;
        };
        let urgent = !divider.has_entered() || (members.all_divide && divider.lacks_any(&demands));
        let is_to_write = urgent || (is_whole && divider.has_any());
        if !is_to_write {
            asking.clear();
            continue;
        }
        for repeated in 0..TRIES {
            let begun = Instant::now();
            last = Some(begun);
            if is_whole {
                whole = last;
            }
            if repeated > 0 {
                demands = look(&asking);
            }
            let used = |name: &str| lanes.demand(name).used;
            let planned = match is_whole {
                true => divider.plan(&demands, &members, used, begun),
                false => divider.plan_new(&demands, &members, used, begun),
            };
            let changes = planned.iter().map(|planned| planned.change.clone()).collect();
            let first = divider.since() == 0;
            let Ok(Some(seen)) = timeout(WAIT, ledger.exchange(changes, divider.since())).await else {
                if begun - *silent.get_or_insert(begun) >= AWAY {
                    divider.give_up(Instant::now());
                    silent = None;
                }
                break;
            };
            silent = None;
            let (more, again) = divider.learn(planned, seen, Instant::now());
            let told: Vec<&String> = if is_whole { divider.known().collect() } else { demands.keys().collect() };
            for name in told {
                if let Some((elsewhere, learned)) = divider.known_of(name) {
                    lanes.told(name, elsewhere, learned);
                }
            }
            more.iter().for_each(|name| lanes.grown(name));
            if !divider.has_entered() {
                divider.enter(&lanes.demands());
            }
            ledger.mark(divider.has_entered());
            asking.retain(|name| demands.get(name).is_some_and(|demand| divider.lacks(name, demand)));
            if !again && !first {
                break;
            }
        }
    }
}
