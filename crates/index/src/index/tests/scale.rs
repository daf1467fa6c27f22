//! Large projects: selections give the same result as a plain look at all items, through any changes. The number of
//! rows that they look at grows with the page, not with the project. May use: `plan`, `translate`, `v2`, this folder.

use super::selecting::{brute_force, call, cell, columns, is_after, keys, lookups, order, orders};
use super::{any_item, cases, few, plain_item};
use crate::index::lookups::Lookups;
use crate::index::order::Order;
use crate::index::pool::Pools;
use crate::index::rows::Rows;
use crate::index::select::{Selected, Selection, select};
use crate::index::view::View;
use crate::plan::Column;
use crate::translate::work_items::Item;
use crate::v2::query::{Condition, ListCall, PageCall, Test};
use crate::v2::record::Cell;
use proptest::prelude::*;
use std::collections::{BTreeMap, HashSet};
use uuid::Uuid;

/// Random numbers, evenly distributed (splitmix64).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn id(&mut self) -> Uuid {
        Uuid::from_u128(u128::from(self.next()) << 64 | u128::from(self.next()))
    }

    /// Returns one of `kinds` with another id. Half of the items get values of their own in the orders.
    fn item(&mut self, id: Uuid, kinds: &[Item]) -> Item {
        let mut item = Item { id, ..kinds[self.below(kinds.len())].clone() };
        if self.below(2) == 0 {
            item.sequence_id = self.below(10_000) as i64;
            item.created_at = self.below(10_000) as i64;
            item.updated_at = self.below(10_000) as i64;
            item.sort_order = self.below(10_000) as f64 - 5000.0;
        }
        item
    }
}

/// Size of a change: existing rows that are written, new rows, and removed rows.
#[derive(Debug, Clone, Copy)]
struct Sizes(usize, usize, usize);

fn sizes() -> impl Strategy<Value = Sizes> {
    prop_oneof![
        4 => (0..3_usize, 0..3_usize, 0..3_usize).prop_map(|(a, b, c)| Sizes(a, b, c)),
        2 => (0..60_usize, 0..60_usize, 0..60_usize).prop_map(|(a, b, c)| Sizes(a, b, c)),
        1 => (0..900_usize, 0..900_usize, 0..900_usize).prop_map(|(a, b, c)| Sizes(a, b, c)),
    ]
}

fn change(rows: &mut Rows, map: &mut BTreeMap<Uuid, Item>, kinds: &[Item], sizes: Sizes, chance: &mut Chance) {
    let known: Vec<Uuid> = map.keys().copied().collect();
    let mut some = |count: usize| -> Vec<Uuid> {
        (0..if known.is_empty() { 0 } else { count }).map(|_| known[chance.below(known.len())]).collect()
    };
    let (written, gone): (_, HashSet<Uuid>) = (some(sizes.0), some(sizes.2).into_iter().collect());
    let mut items: Vec<Item> = written.into_iter().map(|id| chance.item(id, kinds)).collect();
    for _ in 0..sizes.1 {
        let id = chance.id();
        items.push(chance.item(id, kinds));
    }
    map.retain(|id, _| !gone.contains(id));
    map.extend(items.iter().map(|item| (item.id, item.clone())));
    rows.apply(items, &gone);
}

/// Checks that a selection equals the plain look at `items`.
fn check(found: &Selection, items: &[Item], call: &ListCall, lookups: &Lookups) -> Result<(), TestCaseError> {
    let all = brute_force(items, call, lookups);
    let total = all.len();
    let (rest, per_page, counts): (Vec<&Item>, usize, bool) = match &call.page {
        PageCall::Offset { offset, per_page, count } => {
            (all.into_iter().skip(*offset).collect(), *per_page, *count)
        }
        PageCall::Cursor { after, per_page, .. } => {
            let after = after.as_ref();
            let rest = all.into_iter().filter(|item| after.is_none_or(|after| is_after(item, after, &call.order)));
            (rest.collect(), *per_page, false)
        }
    };
    let page: Vec<Uuid> = rest.iter().take(per_page).map(|item| item.id).collect();
    prop_assert_eq!(found.rows.iter().map(|item| item.id).collect::<Vec<_>>(), page);
    prop_assert_eq!(found.has_more, rest.len() > per_page);
    prop_assert!(if counts { found.total == total } else { found.total <= total }, "{} of {total}", found.total);
    if matches!(call.page, PageCall::Offset { .. }) {
        prop_assert_eq!(found.total > found.start + per_page, found.has_more);
    }
    Ok(())
}

/// Checks that the orders that are ready, and the order by id, equal a fresh sort.
fn check_orders(rows: &Rows, map: &BTreeMap<Uuid, Item>, lookups: &Lookups) -> Result<(), TestCaseError> {
    let again = Rows::of(rows.chunks().to_vec(), Pools::clone(rows.pools()));
    let ids = |rows: &Rows, order: &Order| -> Vec<Uuid> {
        rows.sorted(order).upwards(0).map(|slot| rows.at(slot).1.id).collect()
    };
    prop_assert!(ids(rows, &Order::by(Column::Id)).iter().eq(map.keys()));
    for column in orders() {
        let order = Order::of(column, View { pools: rows.pools(), lookups });
        if rows.ready(&order).is_some() {
            prop_assert_eq!(ids(rows, &order), ids(&again, &order), "by {}", column.name());
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(8))]

    #[test]
    fn selections_are_true_through_any_changes(
        kinds in (0..60).map(|_| any_item(Uuid::nil())).collect::<Vec<_>>(),
        start in prop_oneof![1 => 0..10_usize, 3 => 1500..4000_usize],
        steps in proptest::collection::vec((sizes(), proptest::collection::vec((call(), any::<bool>()), 1..5)), 1..6),
        beside in lookups(&[]), seed: u64, (step, marked) in (proptest::sample::select(vec![2, 70]), 0..900_usize),
    ) {
        let (mut rows, mut map, mut chance) = (Rows::default(), BTreeMap::new(), Chance(seed));
        change(&mut rows, &mut map, &kinds, Sizes(0, start, 0), &mut chance);
        let mut beside = beside;
        let some: HashSet<Uuid> = map.keys().step_by(step).take(marked).copied().collect();
        beside.cycles.named.insert(few(5)[0], some.clone().into());
        beside.cycles.any = Some(some.into());
        for (sizes, calls) in steps {
            let items: Vec<Item> = map.values().cloned().collect();
            for (mut call, counts) in calls {
                if let PageCall::Offset { count, .. } = &mut call.page {
                    *count = counts;
                }
                check(&select(&rows, &call, &columns(), &beside).selection, &items, &call, &beside)?;
            }
            change(&mut rows, &mut map, &kinds, sizes, &mut chance);
            check_orders(&rows, &map, &beside)?;
        }
    }
}

/// Items, of which one in `share` has the parent that the list asks for.
fn project(count: usize, share: usize) -> Rows {
    let (mut rows, mut chance) = (Rows::default(), Chance(5));
    let kind = plain_item(Uuid::nil());
    let mut item = |number: usize| Item {
        id: chance.id(),
        parent: chance.below(share).eq(&0).then(|| few(4)[0]),
        sequence_id: number as i64,
        created_at: chance.below(count) as i64,
        updated_at: chance.below(count) as i64,
        ..kind.clone()
    };
    let items: Vec<Item> = (0..count).map(&mut item).collect();
    items.chunks(1000).for_each(|page| rows.apply(page.to_vec(), &HashSet::new()));
    rows
}

/// A list of all items, or of the items with that parent.
fn list(column: Column, descending: bool, filtered: bool, page: PageCall) -> ListCall {
    let parent = Condition { cell: cell(Column::ParentId), test: Test::AnyOf(vec![Cell::Id(few(4)[0])]) };
    let conditions = if filtered { vec![parent] } else { Vec::new() };
    ListCall { conditions, search: None, order: order(column, descending), page, expand: Vec::new() }
}

/// Number of rows returned, and number of rows looked at, when a list is read to its end.
fn walk(rows: &Rows, column: Column, descending: bool, filtered: bool) -> (usize, usize) {
    let (mut after, mut came, mut looked_at) = (None, 0, 0);
    loop {
        let page = PageCall::Cursor { after: after.take(), per_page: 10, keys: keys() };
        let call = list(column, descending, filtered, page);
        let Selected { selection, looked_at: at } = select(rows, &call, &columns(), &Lookups::default());
        (came, looked_at) = (came + selection.rows.len(), looked_at + at);
        after = selection.next;
        if after.is_none() {
            return (came, looked_at);
        }
    }
}

#[test]
fn a_walk_looks_at_each_row_once() {
    let rows = project(20_000, 40);
    for column in [Column::CreatedAt, Column::UpdatedAt, Column::SequenceId, Column::Id] {
        for descending in [false, true] {
            assert_eq!(walk(&rows, column, descending, false), (20_000, 20_000), "by {}", column.name());
            let (came, looked_at) = walk(&rows, column, descending, true);
            assert!(came > 300 && looked_at < 25_000, "{looked_at} of 20,000 looked at for {came}");
        }
    }
}

#[test]
fn a_walk_through_rare_rows_looks_at_all_of_them_no_more_than_a_fixed_number_of_times() {
    for (count, share) in [(5000, 150), (20_000, 300), (20_000, 5000)] {
        let rows = project(count, share);
        let (came, looked_at) = walk(&rows, Column::CreatedAt, true, true);
        assert!(came > 0 && looked_at <= 20 * count, "{looked_at} of {count} looked at for {came}");
    }
}

#[test]
fn a_deep_page_looks_at_no_more_than_ten_times_what_the_first_does() {
    let rows = project(30_000, 2);
    for (column, filtered) in [(Column::CreatedAt, false), (Column::Priority, false), (Column::CreatedAt, true)] {
        let looked_at = |offset| {
            let call = list(column, true, filtered, PageCall::Offset { offset, per_page: 50, count: true });
            let Selected { selection, looked_at } = select(&rows, &call, &columns(), &Lookups::default());
            assert_eq!((selection.rows.len(), selection.has_more), (50, true));
            looked_at
        };
        let (first, deep) = (looked_at(0), looked_at(10_000));
        assert!(deep <= 10 * first, "{first} at first, {deep} at an offset of 10,000");
        if !filtered {
            assert_eq!((first, deep), (50, 50));
        }
    }
}

#[test]
fn a_small_change_leaves_the_orders_that_are_there() {
    let mut rows = project(5000, 2);
    let order = Order::by(Column::UpdatedAt);
    assert!(rows.ready(&order).is_none());
    let before = rows.sorted(&order);
    let item = Item { updated_at: i64::MAX, ..rows.item(77) };
    rows.apply(vec![item.clone()], &HashSet::new());
    let after = rows.ready(&order).expect("it was carried on");
    assert_eq!((after.len(), rows.at(after.at(4999)).1.id), (5000, item.id));
    assert_ne!(rows.at(before.at(4999)).1.id, item.id, "whoever has the version before keeps it");
    assert!(rows.ready(&Order::by(Column::Priority)).is_none(), "nobody asked for it");
}

#[test]
fn a_number_is_found_with_and_without_its_order() {
    let mut rows = project(3000, 2);
    let large = 1 << 60;
    let twice = [large, large + 1].map(|number| Item {
        id: Uuid::from_u128(number as u128),
        sequence_id: number,
        ..rows.item(0)
    });
    rows.apply(twice.to_vec(), &HashSet::new());
    let index = crate::index::project_index::Index::new(crate::index::verified::Verified::new(rows, 0));
    let found = || [7, 2999, 3000, large, large + 1].map(|number| index.by_sequence(number));
    let plain = found();
    index.verified.rows.sorted(&Order::by(Column::SequenceId));
    assert_eq!(found(), plain);
    assert_eq!(plain.map(|items| items.len()), [1, 1, 0, 1, 1]);
}
