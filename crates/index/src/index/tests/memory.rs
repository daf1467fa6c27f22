//! The shared storage in memory, with failures on the way to it. May use: `fresh`, `store`, this folder.

use crate::fresh::Clock;
use crate::index::deployment::{Deployment, Turn};
use crate::store::{DeltaTurn, StoredDelta, TakenTurn};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Delivery of messages to a process, with its possible failures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Way {
    Well,
    Nothing,
    WithoutTheFirst,
    Backwards,
    Twice,
    Damaged,
    /// The storage does not respond.
    Away,
}

/// The storage that all processes share, in memory.
pub struct Memory {
    clock: Clock,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    told: Vec<(i64, Instant, Vec<u8>)>,
    turn: Option<(Uuid, Instant)>,
    number: i64,
    kept: HashMap<String, Vec<u8>>,
    way: Option<Way>,
}

impl Memory {
    pub fn new(clock: Clock) -> Arc<Self> {
        Arc::new(Self { clock, state: Mutex::default() })
    }

    pub fn goes(&self, way: Way) {
        self.state.lock().way = Some(way);
    }

    /// Ends the present turn, as if its process hung.
    pub fn loses_turn(&self) {
        self.state.lock().turn = None;
    }
}

fn ready<T: Send + 'static>(value: T) -> BoxFuture<'static, T> {
    Box::pin(std::future::ready(value))
}

impl Deployment for Memory {
    fn load(&self, name: String) -> BoxFuture<'static, Option<Vec<u8>>> {
        ready(self.state.lock().kept.get(&name).cloned())
    }

    fn save(&self, name: String, bytes: Vec<u8>, _: Duration) -> BoxFuture<'static, ()> {
        self.state.lock().kept.insert(name, bytes);
        ready(())
    }

    fn alone(&self, _: String) -> BoxFuture<'static, Turn> {
        ready(Turn::Unknown)
    }

    fn deltas(&self, _: String, after: i64, within: Duration) -> BoxFuture<'static, Option<Vec<StoredDelta>>> {
        let (state, now) = (self.state.lock(), self.clock.now());
        let told = state.told.iter().map(|(number, began, bytes)| StoredDelta {
            number: *number,
            age: now - *began,
            bytes: bytes.clone(),
        });
        let mut told: Vec<StoredDelta> = told.filter(|one| one.number > after && one.age <= within).collect();
        match state.way {
            None | Some(Way::Well) => {}
            Some(Way::Away) => return ready(None),
            Some(Way::Nothing) => told.clear(),
            Some(Way::WithoutTheFirst) => drop(told.drain(..1.min(told.len()))),
            Some(Way::Backwards) => told.reverse(),
            Some(Way::Twice) => told = told.iter().flat_map(|one| [one.clone(), one.clone()]).collect(),
            Some(Way::Damaged) => told.iter_mut().for_each(|one| {
                let middle = one.bytes.len() / 2;
                one.bytes[middle] ^= 1;
            }),
        }
        ready(Some(told))
    }

    fn refresher(&self, _: String) -> BoxFuture<'static, Option<TakenTurn>> {
        let (mut state, now) = (self.state.lock(), self.clock.now());
        ready(match (state.way, state.turn) {
            (Some(Way::Away), _) => None,
            (_, Some((_, taken))) => Some(TakenTurn::Others(now - taken)),
            _ => {
                let holder = Uuid::new_v4();
                state.turn = Some((holder, now));
                Some(TakenTurn::Mine(DeltaTurn { holder, number: state.number }))
            }
        })
    }

    fn renew(&self, _: String, _: DeltaTurn) -> BoxFuture<'static, ()> {
        ready(())
    }

    fn end(&self, _: String, turn: DeltaTurn, told: Option<Vec<u8>>) -> BoxFuture<'static, Option<i64>> {
        let mut state = self.state.lock();
        let Some((_, taken)) = state.turn.take_if(|(holder, _)| *holder == turn.holder) else { return ready(None) };
        let Some(bytes) = told else { return ready(None) };
        state.number += 1;
        let number = state.number;
        state.told.push((number, taken, bytes));
        if state.told.len() > 4 {
            state.told.remove(0);
        }
        ready(Some(number))
    }
}
