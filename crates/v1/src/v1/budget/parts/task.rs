//! The work beside the requests that keeps the parts of this process.
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

/// Time from one look at who is there to the next; it costs no statement.
const LOOK: Duration = Duration::from_millis(200);
/// Time from one statement to the next, for parts that are known.
const EXCHANGE: Duration = Duration::from_secs(1);
/// The same when a key is new to this process.
const NEW: Duration = Duration::from_millis(50);
/// Longest wait for a statement.
const WAIT: Duration = Duration::from_secs(1);
/// Times that a statement is repeated at once because somebody else was quicker.
const TRIES: usize = 3;
/// Time without an answer after which the table is taken to be away.
const AWAY: Duration = Duration::from_secs(3);

/// The keys that this process uses.
pub(in crate::v1::budget) trait Lanes: Send + Sync {
    /// What each of them needs, by the name of its row.
    fn demands(&self) -> HashMap<String, Demand>;

    /// What one of them needs now.
    fn demand(&self, name: &str) -> Demand;

    /// What the others use of it, and what v1 was seen to allow; calls that wait look again.
    fn told(&self, name: &str, elsewhere: usize, learned: usize);

    /// There may be more of it.
    fn grown(&self, name: &str);
}

/// Keeps the parts of this process in `ledger`, as long as there are `lanes`; there are so many `processes`. The other
/// processes are known from now on, the rest is done by the future that is returned.
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
    // When the last statement was sent, when the last one for all keys was, and since when none was answered.
    let (mut last, mut whole, mut silent): (Option<Instant>, Option<Instant>, Option<Instant>) = (None, None, None);
    // Keys that have asked and were not looked at yet.
    let mut asking = HashSet::new();
    loop {
        let _ = timeout(LOOK, held.asked()).await;
        // Who asks meanwhile is in the same statement.
        if let Some(rest) = last.and_then(|last| NEW.checked_sub(last.elapsed())) {
            sleep(rest).await;
        }
        asking.extend(held.take_asking());
        let Some(lanes) = lanes() else { return };
        let members = ledger.members();
        // All keys are looked at once a second; in between only those that ask, or each new key would cost as much as
        // there are keys.
        let is_whole = !divider.has_entered() || whole.is_none_or(|at: Instant| at.elapsed() >= EXCHANGE);
        let look = |asking: &HashSet<String>| match is_whole {
            true => lanes.demands(),
            false => asking.iter().map(|name| (name.clone(), lanes.demand(name))).collect(),
        };
        let mut demands = look(&asking);
        divider.look(members.as_ref(), processes(), &demands, Instant::now());
        ledger.mark(divider.has_entered());
        let (Some(members), true) = (members, divider.divides()) else {
            // Nobody has a part now; whoever needs more then asks again.
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
