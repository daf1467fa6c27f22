//! A number of places divided among several who want some: nobody gets less so that another has more than that.
//!
//! May use: nothing of this crate.

/// What each of `wants` gets of `total` (max-min fairness): as much as it wants, or the same as the others that want
/// more.
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
    fn who_wants_little_gets_it_and_the_others_the_same() {
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
                // One that gets less than it wants gets as much as anybody, but for one.
                prop_assert!(part == wanted || parts.iter().all(|other| *other <= part + 1));
            }
        }
    }
}
