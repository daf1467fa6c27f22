//! Division of a number of places among several parties: no party gets less so that a party with more can get more.
//! Also a queue in which several names take turns.
//!
//! May use: nothing of this crate.

use std::collections::{HashMap, VecDeque};

/// A queue with an order within each name, in which the names take turns. A name with many entries delays an entry of
/// another name by one turn of all names at most.
#[derive(Debug)]
pub(super) struct InTurns<T> {
    /// Names with waiting entries, the next one first.
    names: VecDeque<u64>,
    waiting: HashMap<u64, VecDeque<T>>,
    count: usize,
}

impl<T> Default for InTurns<T> {
    fn default() -> Self {
        Self { names: VecDeque::new(), waiting: HashMap::new(), count: 0 }
    }
}

impl<T> InTurns<T> {
    /// Returns the number of waiting entries.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Adds an entry after the other entries of its name.
    pub fn push_back(&mut self, name: u64, one: T) {
        let of_name = self.waiting.entry(name).or_insert_with(|| {
            self.names.push_back(name);
            VecDeque::new()
        });
        of_name.push_back(one);
        self.count += 1;
    }

    /// Keeps only the entries of this name for which `stay` returns true.
    pub fn retain(&mut self, name: u64, stay: impl FnMut(&T) -> bool) {
        let Some(of_name) = self.waiting.get_mut(&name) else { return };
        let before = of_name.len();
        of_name.retain(stay);
        self.count -= before - of_name.len();
        if of_name.is_empty() {
            self.waiting.remove(&name);
            self.names.retain(|known| *known != name);
        }
    }

    /// Returns the position of the first name for which `may` returns true.
    pub fn turn(&self, may: impl Fn(u64) -> bool) -> Option<usize> {
        self.names.iter().position(|name| may(*name))
    }

    /// Takes the first entry of the name at this position, and returns it with its name. The name moves to the end.
    pub fn take(&mut self, turn: usize) -> Option<(u64, T)> {
        let name = self.names.remove(turn)?;
        let of_name = self.waiting.get_mut(&name)?;
        let one = of_name.pop_front()?;
        if of_name.is_empty() {
            self.waiting.remove(&name);
        } else {
            self.names.push_back(name);
        }
        self.count -= 1;
        Some((name, one))
    }
}

/// Divides `total` by the `wants` (max-min fairness): each party gets what it wants, or the same as the others that
/// want more.
pub(super) fn by_demand(total: usize, wants: &[usize]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..wants.len()).collect();
    order.sort_unstable_by_key(|at| wants[*at]);
    let (mut left, mut parts) = (total, vec![0; wants.len()]);
    for (done, at) in order.into_iter().enumerate() {
        let part = wants[at].min(left / (wants.len() - done));
        parts[at] = part;
        left -= part;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_take_turns_and_each_has_its_own_in_order() {
        let mut queue = InTurns::default();
        for (name, one) in [(1, "a"), (1, "b"), (1, "c"), (2, "x"), (3, "y"), (2, "z")] {
            queue.push_back(name, one);
        }
        let next = |queue: &mut InTurns<_>, not: u64| {
            let turn = queue.turn(|name| name != not)?;
            queue.take(turn)
        };
        let mut order = Vec::new();
        for left in (0..4).rev() {
            order.extend(next(&mut queue, 0));
            assert_eq!(queue.len(), left + 2);
        }
        assert_eq!(order, [(1, "a"), (2, "x"), (3, "y"), (1, "b")]);
        queue.push_back(9, "new");
        assert_eq!(next(&mut queue, 2), Some((1, "c")), "those who may not go are passed, and keep their place");
        assert_eq!([next(&mut queue, 0), next(&mut queue, 0)], [Some((2, "z")), Some((9, "new"))]);
        assert_eq!(next(&mut queue, 0), None);
        assert_eq!(queue.len(), 0);
    }

    #[test]
    fn small_demands_are_met_and_the_rest_is_shared_evenly() {
        assert_eq!(by_demand(60, &[5, 100, 40]), [5, 28, 27]);
        assert_eq!(by_demand(60, &[5, 10]), [5, 10]);
        assert_eq!(by_demand(2, &[9, 9, 9]), [0, 1, 1]);
        assert_eq!(by_demand(2, &[]), [0; 0]);
    }

    proptest! {
        #[test]
        fn never_more_than_there_is_or_than_is_wanted(total in 0..100_usize, wants in prop::collection::vec(0..50_usize, 0..6)) {
            let parts = by_demand(total, &wants);
            prop_assert_eq!(parts.iter().sum::<usize>(), total.min(wants.iter().sum()));
            for (part, wanted) in parts.iter().zip(&wants) {
                prop_assert!(part <= wanted);
                // A party that gets less than it wants gets as much as any other party, or one less.
                prop_assert!(part == wanted || parts.iter().all(|other| *other <= part + 1));
            }
        }
    }
}
