//! Whether the answers that several clients got about one record could come from operations one after the other.
//!
//! A search in the manner of Wing and Gong: of all operations not yet placed, each that began before the first of them
//! was answered may come next, when the model accepts it with its answer. Tried positions are remembered, so that
//! no position is searched twice. It is our own code, because it is one search over a plain list.

use std::collections::HashSet;
use std::hash::Hash;

/// An operation with its answer, between two moments of one clock.
#[derive(Debug, Clone)]
pub struct Event<O> {
    /// When the request was sent.
    pub begun: u64,
    /// When its answer arrived.
    pub ended: u64,
    /// The request and its answer.
    pub what: O,
}

/// The result of the search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// An order exists.
    Fits {
        /// Number of positions examined.
        positions: usize,
    },
    /// No order exists.
    Violated {
        /// Greatest number of operations that could be placed.
        placed: usize,
    },
    /// More positions than allowed.
    Undecided,
}

/// Operations placed: all before `base`, and also those in `beyond`, in order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Position<S> {
    base: usize,
    beyond: Vec<usize>,
    state: S,
}

/// Searches an order of `history` that begins with `initial` and in which `step` accepts every operation; `step`
/// returns the state afterwards, or none when the answer is impossible.
pub fn check<S: Clone + Eq + Hash, O>(
    initial: S,
    history: &mut [Event<O>],
    step: impl Fn(&S, &O) -> Option<S>,
    most: usize,
) -> Verdict {
    history.sort_by_key(|event| event.begun);
    let (mut seen, mut placed) = (HashSet::new(), 0);
    let mut waiting = vec![Position { base: 0, beyond: Vec::new(), state: initial }];
    while let Some(at) = waiting.pop() {
        placed = placed.max(at.base + at.beyond.len());
        if at.base == history.len() {
            return Verdict::Fits { positions: seen.len() };
        }
        if !seen.insert(at.clone()) {
            continue;
        }
        if seen.len() > most {
            return Verdict::Undecided;
        }
        // The operation that was answered first is tried first, so it is put on top.
        for index in next(history, &at).into_iter().rev() {
            if let Some(state) = step(&at.state, &history[index].what) {
                waiting.push(after(&at, index, state));
            }
        }
    }
    Verdict::Violated { placed }
}

/// Returns the operations that may come next, the earliest answered first.
fn next<S, O>(history: &[Event<O>], at: &Position<S>) -> Vec<usize> {
    let mut first_end = u64::MAX;
    let mut found = Vec::new();
    for (index, event) in history.iter().enumerate().skip(at.base) {
        if event.begun > first_end {
            break;
        }
        if at.beyond.binary_search(&index).is_err() {
            first_end = first_end.min(event.ended);
            found.push(index);
        }
    }
    found.retain(|index| history[*index].begun < first_end);
    found.sort_by_key(|index| history[*index].ended);
    found
}

fn after<S>(at: &Position<S>, index: usize, state: S) -> Position<S> {
    let (mut base, mut beyond) = (at.base, at.beyond.clone());
    if let Err(place) = beyond.binary_search(&index) {
        beyond.insert(place, index);
    }
    while beyond.first() == Some(&base) {
        beyond.remove(0);
        base += 1;
    }
    Position { base, beyond, state }
}

mod tests {
    use super::*;

    /// A register that is written and read.
    #[derive(Debug, Clone)]
    enum Register {
        Write(u32),
        Read(u32),
    }

    fn verdict(history: &[(u64, u64, Register)]) -> Verdict {
        let event = |(begun, ended, what): &(u64, u64, Register)| Event {
            begun: *begun,
            ended: *ended,
            what: what.clone(),
        };
        let mut history: Vec<_> = history.iter().map(event).collect();
        let step = |state: &u32, what: &Register| match what {
            Register::Write(value) => Some(*value),
            Register::Read(value) => (value == state).then_some(*state),
        };
        check(0, &mut history, step, 100_000)
    }

    use Register::{Read, Write};

    #[test]
    fn a_possible_history_has_an_order() {
        let fits = |history: &[(u64, u64, Register)]| matches!(verdict(history), Verdict::Fits { .. });
        assert!(fits(&[]));
        assert!(fits(&[(1, 2, Write(1)), (3, 4, Read(1))]));
        // At the same time: either order.
        assert!(fits(&[(1, 4, Write(1)), (2, 3, Read(0)), (5, 6, Read(1))]));
        assert!(fits(&[(1, 4, Write(1)), (2, 3, Read(1)), (5, 6, Read(1))]));
        assert!(fits(&[(1, 9, Write(1)), (2, 8, Write(2)), (10, 11, Read(1)), (12, 13, Read(1))]));
        // One long operation beside many short ones.
        let mut many = vec![(1, 10_000, Write(7))];
        many.extend((1..500).map(|turn| (turn * 10, turn * 10 + 5, Read(if turn > 300 { 7 } else { 0 }))));
        assert!(fits(&many));
    }

    #[test]
    fn an_impossible_history_has_no_order() {
        let violated = |history: &[(u64, u64, Register)]| matches!(verdict(history), Verdict::Violated { .. });
        assert!(violated(&[(1, 2, Write(1)), (3, 4, Read(0))]), "lost");
        assert!(violated(&[(1, 2, Write(1)), (3, 4, Read(2))]), "from nowhere");
        assert!(violated(&[(1, 8, Write(1)), (2, 3, Read(1)), (4, 5, Read(0))]), "undone");
        assert!(violated(&[(1, 9, Write(1)), (2, 8, Write(2)), (10, 11, Read(1)), (12, 13, Read(2))]));
    }
}
