//! Lists of ids. May use: nothing of this crate.

use std::collections::HashSet;
use uuid::Uuid;

/// Up to this number, ids are compared with each other, which takes no memory. More ids would take quadratic time.
const FEW: usize = 32;

/// Returns the ids in their order, each once.
pub(super) fn each_once(mut ids: Vec<Uuid>) -> Vec<Uuid> {
    if ids.len() > FEW || (1..ids.len()).any(|at| ids[..at].contains(&ids[at])) {
        let mut seen = HashSet::with_capacity(ids.len());
        ids.retain(|id| seen.insert(*id));
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_ids_are_kept_once_in_their_order() {
        let ids =
            |numbers: &[u128]| -> Vec<Uuid> { numbers.iter().map(|number| Uuid::from_u128(*number)).collect() };
        assert_eq!(each_once(ids(&[])), ids(&[]));
        assert_eq!(each_once(ids(&[3, 1, 3, 2, 1])), ids(&[3, 1, 2]));
        let many: Vec<u128> = (0..100).rev().collect();
        assert_eq!(each_once(ids(&[many.clone(), many.clone()].concat())), ids(&many));
    }
}
