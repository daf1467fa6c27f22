//! Selections equal the result of `v2::page` for the same items; cursors keep their promise. May use: `plan`,
//! `translate`, `v2`, this folder.

use super::{NAMES, any_item, any_items, cases, few};
use crate::index::{Index, Lookups, Memberships, Needs};
use crate::plan::Column;
use crate::translate::work_items::{GROUPS, Item};
use crate::v2::cursor::Cursor;
use crate::v2::page;
use crate::v2::query::{Condition, ListCall, OrderBy, PageCall, Search, Test};
use crate::v2::record::{Cell, Record};
use bytes::Bytes;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use uuid::Uuid;

/// The cells of the calls in these tests: every column.
pub(super) fn columns() -> Vec<Column> {
    Column::all().collect()
}

/// Columns by which lists can be ordered.
pub(super) fn orders() -> Vec<Column> {
    Column::all().filter(|column| column.is_ordered()).collect()
}

pub(super) fn cell(column: Column) -> usize {
    Column::all().position(|known| known == column).unwrap()
}

pub(super) fn order(column: Column, descending: bool) -> OrderBy {
    OrderBy { field: column.name().into(), cell: cell(column), descending }
}

pub(super) fn keys() -> Vec<(String, usize)> {
    [Column::CreatedAt, Column::UpdatedAt, Column::SequenceId].map(|it| (it.name().to_owned(), cell(it))).to_vec()
}

/// An item as a record. Priority and group are words for filters, and numbers for orders.
fn record(item: &Item, lookups: &Lookups, ordering: bool) -> Record {
    let text = |text: Option<&str>| text.map_or(Cell::Null, |text| Cell::Text(text.into()));
    let id = |id: Option<Uuid>| id.map_or(Cell::Null, Cell::Id);
    let group = lookups.group_of_state.get(&item.state).copied();
    let live = |label: &&Uuid| lookups.live_labels.as_ref().is_none_or(|live| live.contains(label));
    let sets = |of: &Memberships| {
        of.named.iter().filter(|(_, items)| items.contains(&item.id)).map(|(set, _)| *set).collect::<Box<[_]>>()
    };
    let cell = |column: Column| match column {
        Column::Id => Cell::Id(item.id),
        Column::SequenceId => Cell::Number(item.sequence_id as f64),
        Column::Priority if ordering => Cell::Number(f64::from(item.priority as u8)),
        Column::Priority => text(Some(item.priority.as_str())),
        Column::StateId => Cell::Id(item.state),
        Column::StateGroup if ordering => group.map_or(Cell::Null, |group| Cell::Number(f64::from(group))),
        Column::StateGroup => text(group.map(|group| GROUPS[usize::from(group)])),
        Column::AssigneeId => Cell::Ids(item.assignees.clone().into()),
        Column::LabelId => Cell::Ids(item.labels.iter().filter(live).copied().collect()),
        Column::TypeId => id(lookups.type_of.get(&item.id).copied()),
        Column::ParentId => id(item.parent),
        Column::CycleId => Cell::Ids(sets(&lookups.cycles)),
        Column::ModuleId => Cell::Ids(sets(&lookups.modules)),
        Column::IsDraft => Cell::Bool(item.is_draft),
        Column::ExternalId => text(item.external_id.as_deref()),
        Column::ExternalSource => text(item.external_source.as_deref()),
        Column::CreatedAt => Cell::Instant(item.created_at),
        Column::UpdatedAt => Cell::Instant(item.updated_at),
        Column::StartDate => text(item.start_date.as_deref()),
        Column::TargetDate => text(item.target_date.as_deref()),
        Column::SortOrder => Cell::Number(item.sort_order),
        Column::Name => text(Some(&item.name)),
    };
    Record { id: item.id, json: Bytes::new(), cells: Column::all().map(cell).collect(), expansions: Box::default() }
}

/// All matching items in order, by the plain meaning.
pub(super) fn brute_force<'i>(items: &'i [Item], call: &ListCall, lookups: &Lookups) -> Vec<&'i Item> {
    let mut rows: Vec<(&Item, Record)> = items
        .iter()
        .filter(|item| page::Filter::of(call).passes(&record(item, lookups, false)))
        .map(|item| (item, record(item, lookups, true)))
        .collect();
    rows.sort_by(|a, b| page::order(&a.1, &b.1, &call.order));
    rows.into_iter().map(|(item, _)| item).collect()
}

fn value(column: Column) -> BoxedStrategy<Cell> {
    let ids = |kind| select(few(kind)).prop_map(Cell::Id).boxed();
    let words = |words: Vec<&'static str>| select(words).prop_map(|word| Cell::Text(word.into())).boxed();
    match column {
        Column::Id => any::<u128>().prop_map(|id| Cell::Id(Uuid::from_u128(id))).boxed(),
        Column::AssigneeId => ids(1),
        Column::LabelId => ids(2),
        Column::StateId => ids(3),
        Column::ParentId => ids(4),
        Column::CycleId | Column::ModuleId | Column::TypeId => ids(5),
        Column::Priority => words(vec!["urgent", "high", "medium", "low", "none", "other"]),
        Column::StateGroup => words(GROUPS.to_vec()),
        Column::IsDraft => any::<bool>().prop_map(Cell::Bool).boxed(),
        Column::ExternalId | Column::ExternalSource => words(vec!["a", "b", "A", ""]),
        Column::CreatedAt | Column::UpdatedAt => (-1..7_i64).prop_map(Cell::Instant).boxed(),
        Column::StartDate | Column::TargetDate => {
            words(vec!["2026-01-05", "2026-01-06", "2025-12-31", "0001-01-01"])
        }
        Column::SequenceId => (0..6_i32).prop_map(|number| Cell::Number(f64::from(number))).boxed(),
        Column::SortOrder => select(vec![-1.5, 0.0, 65_535.0]).prop_map(Cell::Number).boxed(),
        Column::Name => select(&NAMES[..]).prop_map(|name| Cell::Text(name.into())).boxed(),
    }
}

fn condition() -> impl Strategy<Value = Condition> {
    select(columns()).prop_flat_map(|column| {
        let test = prop_oneof![
            4 => proptest::collection::vec(value(column), 1..3).prop_map(Test::AnyOf),
            2 => any::<bool>().prop_map(Test::Unset),
            1 => value(column).prop_map(Test::AtLeast),
            1 => value(column).prop_map(Test::AtMost),
        ];
        // Ranges over sets have no meaning.
        let sets = [Column::CycleId, Column::ModuleId].contains(&column);
        test.prop_filter("ranges over sets", move |test| !sets || matches!(test, Test::AnyOf(_)))
            .prop_map(move |test| Condition { cell: cell(column), test })
    })
}

fn search() -> impl Strategy<Value = Option<Search>> {
    let needles = ["LOGIN", "i", "ß", "ss", "ς", "σ", "İ", "K", "fi", "%", "本", "ö", "größe"];
    let search = |needle: &str| Search { cells: vec![cell(Column::Name)], needle: needle.to_lowercase() };
    proptest::option::weighted(0.3, select(needles.to_vec()).prop_map(search))
}

fn page_call() -> impl Strategy<Value = PageCall> {
    let numbers = (any::<u128>(), 0..7_i64, 0..7_i64, 0..6_i64);
    let cursor = numbers.prop_map(|(id, created, updated, number)| Cursor {
        id: Uuid::from_u128(id),
        keys: vec![
            ("created_at".into(), Cell::Instant(created)),
            ("updated_at".into(), Cell::Instant(updated)),
            ("sequence_id".into(), Cell::Number(number as f64)),
        ],
    });
    let (offset, per_page) = (0..40_usize, 1..12_usize);
    prop_oneof![
        (offset, per_page.clone()).prop_map(|(offset, per_page)| PageCall::Offset {
            offset,
            per_page,
            count: true
        }),
        (proptest::option::of(cursor), per_page).prop_map(|(after, per_page)| PageCall::Cursor {
            after,
            per_page,
            keys: keys()
        }),
    ]
}

pub(super) fn call() -> impl Strategy<Value = ListCall> {
    let conditions = proptest::collection::vec(condition(), 0..3);
    (conditions, search(), select(orders()), any::<bool>(), page_call()).prop_map(
        |(conditions, search, field, descending, page)| {
            let eligible = field.is_resumed() && field != Column::SortOrder;
            let field = if eligible || matches!(page, PageCall::Offset { .. }) { field } else { Column::Id };
            ListCall { conditions, search, order: order(field, descending), page, expand: Vec::new() }
        },
    )
}

pub(super) fn lookups(items: &[Item]) -> impl Strategy<Value = Lookups> + use<> {
    let ids: Vec<Uuid> = items.iter().map(|item| item.id).collect();
    let most = ids.len();
    let groups = proptest::collection::hash_map(select(few(3)), 0..6_u8, 0..4);
    let live = proptest::option::of(subsequence(few(2), 0..=4));
    let sets = proptest::collection::vec((select(few(5)), subsequence(ids.clone(), 0..=most)), 0..3);
    let types = proptest::collection::hash_map(select(if most == 0 { few(6) } else { ids }), select(few(5)), 0..4);
    (groups, live, sets.clone(), sets, types).prop_map(|(group_of_state, live, cycles, modules, type_of)| Lookups {
        group_of_state,
        live_labels: live.map(|live| live.into_iter().collect()),
        cycles: memberships(cycles),
        modules: memberships(modules),
        type_of: type_of.into(),
    })
}

fn memberships(sets: Vec<(Uuid, Vec<Uuid>)>) -> Memberships {
    let named: HashMap<Uuid, Arc<HashSet<Uuid>>> =
        sets.into_iter().map(|(set, items)| (set, Arc::new(items.into_iter().collect()))).collect();
    let any = named.values().flat_map(|items| items.iter().copied()).collect();
    Memberships { named, any: Some(Arc::new(any)) }
}

fn situation() -> impl Strategy<Value = (Vec<Item>, Lookups, ListCall)> {
    any_items(30).prop_flat_map(|items| (lookups(&items), Just(items), call()).prop_map(|(l, i, c)| (i, l, c)))
}

/// Whether a row comes after a cursor, by the plain meaning.
pub(super) fn is_after(item: &Item, cursor: &Cursor, by: &OrderBy) -> bool {
    let own = record(item, &Lookups::default(), true);
    let key = cursor.key(&by.field).map_or(std::cmp::Ordering::Equal, |key| own.cells[by.cell].order(key));
    let ascending = key.then_with(|| item.id.cmp(&cursor.id));
    (if by.descending { ascending.reverse() } else { ascending }).is_gt()
}

proptest! {
    #![proptest_config(cases(375))]

    #[test]
    fn a_selection_equals_brute_force((items, lookups, call) in situation()) {
        let index = Index::of(items.clone());
        let found = index.select(&call, &columns(), &lookups);
        let all = brute_force(&items, &call, &lookups);
        prop_assert_eq!(found.total, all.len());
        let (rest, per_page): (Vec<&Item>, usize) = match &call.page {
            PageCall::Offset { offset, per_page, .. } => (all.into_iter().skip(*offset).collect(), *per_page),
            PageCall::Cursor { after, per_page, .. } => {
                let after = after.as_ref();
                let rest = all.into_iter().filter(|i| after.is_none_or(|after| is_after(i, after, &call.order)));
                (rest.collect(), *per_page)
            }
        };
        let ids = |items: &[&Item]| items.iter().map(|item| item.id).collect::<Vec<_>>();
        prop_assert_eq!(found.rows.iter().map(|item| item.id).collect::<Vec<_>>(), ids(&rest[..rest.len().min(per_page)]));
        prop_assert_eq!(found.has_more, rest.len() > per_page);
        for (row, item) in found.rows.iter().zip(&rest) {
            let live = |label: &Uuid| lookups.live_labels.as_ref().is_none_or(|live| live.contains(label));
            let labels = item.labels.iter().copied().filter(live).collect();
            prop_assert_eq!(row, &Item { labels, ..(*item).clone() });
        }
        let on_cursors = matches!(call.page, PageCall::Cursor { .. });
        prop_assert_eq!(found.next.map(|next| next.id), found.rows.last().filter(|_| found.has_more && on_cursors).map(|row| row.id));
    }

    #[test]
    fn offset_pages_of_a_still_set_hold_every_row_once(
        items in any_items(40), field in select(orders()), descending: bool, per_page in 1..9_usize
    ) {
        let index = Index::of(items.clone());
        let mut seen = Vec::new();
        for offset in (0..items.len().max(1)).step_by(per_page) {
            let page = PageCall::Offset { offset, per_page, count: true };
            let call = ListCall { conditions: vec![], search: None, order: order(field, descending), page, expand: vec![] };
            let found = index.select(&call, &columns(), &Lookups::default());
            prop_assert_eq!((found.total, found.has_more), (items.len(), offset + per_page < items.len()));
            seen.extend(found.rows.into_iter().map(|item| item.id));
        }
        prop_assert_eq!(seen.len(), items.len());
        prop_assert_eq!(seen.into_iter().collect::<HashSet<_>>(), items.iter().map(|item| item.id).collect());
    }

    /// Rows may come, go or change between two pages. In an order by a value that never changes, a row that exists
    /// throughout comes exactly once. In the order by the last change, untouched rows come exactly once; touched rows
    /// come at least once when the order is ascending.
    #[test]
    fn a_cursor_walk_keeps_its_promise(
        items in any_items(30), field in select(vec![Column::CreatedAt, Column::SequenceId, Column::Id, Column::UpdatedAt]),
        descending: bool, per_page in 1..6_usize,
        changes in proptest::collection::vec((any::<u128>(), any::<usize>(), 0..3_u8), 0..30),
        spare in any_item(Uuid::nil()),
    ) {
        let (mut now, mut touched, mut gone) = (items.clone(), HashSet::new(), HashSet::new());
        let (mut after, mut seen, mut clock, mut changes) = (None, Vec::new(), 10, changes.into_iter());
        for _ in 0..200 {
            let page = PageCall::Cursor { after: after.take(), per_page, keys: keys() };
            let call = ListCall { conditions: vec![], search: None, order: order(field, descending), page, expand: vec![] };
            let found = Index::of(now.clone()).select(&call, &columns(), &Lookups::default());
            seen.extend(found.rows.iter().map(|item| item.id));
            let Some(next) = found.next else { break };
            after = Cursor::decode(&next.encode());
            prop_assert_eq!(after.as_ref(), Some(&next));
            for (new, at, what) in changes.by_ref().take(2) {
                clock += 1;
                let at = at % now.len().max(1);
                match what {
                    0 => now.push(Item { id: Uuid::from_u128(new), updated_at: clock, ..spare.clone() }),
                    1 if !now.is_empty() => { gone.insert(now.remove(at).id); }
                    2 if !now.is_empty() => {
                        now[at].updated_at = clock;
                        now[at].name.push('x');
                        touched.insert(now[at].id);
                    }
                    _ => {}
                }
            }
        }
        for item in items.iter().filter(|item| !gone.contains(&item.id)) {
            let times = seen.iter().filter(|id| **id == item.id).count();
            let moved = field == Column::UpdatedAt && touched.contains(&item.id);
            prop_assert!(if !moved { times == 1 } else { descending || times >= 1 }, "{} came {times} times", item.id);
        }
    }
}

#[test]
fn needs_name_what_a_call_looks_at() {
    let condition = |column, test| Condition { cell: cell(column), test };
    let (a, b) = (few(5)[0], few(5)[1]);
    let call = ListCall {
        conditions: vec![
            condition(Column::CycleId, Test::AnyOf(vec![Cell::Id(a), Cell::Id(b), Cell::Id(a)])),
            condition(Column::ModuleId, Test::Unset(true)),
            condition(Column::LabelId, Test::Unset(true)),
        ],
        search: None,
        order: order(Column::StateGroup, false),
        page: PageCall::Offset { offset: 0, per_page: 1, count: true },
        expand: vec![],
    };
    let needs = Needs::of(&call, &columns());
    assert_eq!((needs.cycles.named, needs.cycles.any), (vec![a, b], false));
    assert_eq!((needs.modules.named, needs.modules.any), (vec![], true));
    assert!(needs.groups && needs.labels && !needs.types);
}
