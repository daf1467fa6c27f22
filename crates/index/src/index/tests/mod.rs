//! The index against plain references: selections against brute force, refreshes against a model of v1. May use:
//! `translate`, this folder.

mod building;
mod deltas;
mod memory;
mod model;
mod processes;
mod refreshing;
mod scale;
mod selecting;
mod storing;

use crate::translate::work_items::{Item, Priority};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use uuid::Uuid;

/// Number of cases of a property: few for daily runs, forty times as many for long tests.
pub(super) fn cases(everyday: u32) -> ProptestConfig {
    let long = std::env::var_os("LONG_TESTS").is_some_and(|value| value == "1");
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(if long { 40 * everyday } else { everyday })
    }
}

/// One of a few ids of a kind, so that tests use the same ids often.
pub(super) fn id(kind: u128, number: u128) -> Uuid {
    Uuid::from_u128(kind << 64 | number)
}

pub(super) fn few(kind: u128) -> Vec<Uuid> {
    (1..=4).map(|number| id(kind, number)).collect()
}

/// An item with this id and default values.
pub(super) fn plain_item(id: Uuid) -> Item {
    Item {
        id,
        name: format!("Item {id}"),
        sequence_id: 1,
        priority: Priority::None,
        state: self::id(3, 1),
        parent: None,
        assignees: Vec::new(),
        labels: Vec::new(),
        start_date: None,
        target_date: None,
        is_draft: false,
        archived_at: None,
        created_at: 0,
        updated_at: 0,
        created_by: None,
        sort_order: 0.0,
        external_id: None,
        external_source: None,
        description: None,
        estimate_point: None,
        point: None,
    }
}

pub(super) const NAMES: [&str; 12] = [
    "Fix login",
    "fix LOGIN form",
    "",
    "Größe prüfen",
    "GRÖSSE",
    "ΟΔΟΣ",
    "οδος",
    "İstanbul",
    "ﬁle",
    "100% _done_",
    "Kelvin K",
    "日本語 テスト",
];
const DAYS: [&str; 4] = ["2026-01-05", "2026-01-06", "2025-12-31", "odd"];

/// Any item with this id.
pub(super) fn any_item(id: Uuid) -> impl Strategy<Value = Item> {
    let day = || proptest::option::of(select(&DAYS[..]).prop_map(str::to_owned));
    let word = || proptest::option::of(select(vec!["a", "b", "A"]).prop_map(str::to_owned));
    let priority = select(vec![Priority::Urgent, Priority::High, Priority::Medium, Priority::Low, Priority::None]);
    let sets = (subsequence(few(1), 0..3), subsequence(few(2), 0..3));
    let ids = (select(few(3)), proptest::option::of(select(few(4))), proptest::option::of(select(few(1))));
    let numbers = (0..6_i64, 0..6_i64, 0..6_i64, select(vec![-1.5, -0.0, 0.0, 65_535.0]));
    let texts = (select(&NAMES[..]), day(), day(), word(), word());
    (sets, ids, numbers, texts, priority, prop::bool::weighted(0.1)).prop_map(
        move |(sets, ids, numbers, texts, priority, is_draft)| Item {
            id,
            name: texts.0.to_owned(),
            sequence_id: numbers.0,
            priority,
            state: ids.0,
            parent: ids.1,
            assignees: sets.0,
            labels: sets.1,
            start_date: texts.1,
            target_date: texts.2,
            is_draft,
            archived_at: None,
            created_at: numbers.1,
            updated_at: numbers.2,
            created_by: ids.2,
            sort_order: numbers.3,
            external_id: texts.3,
            external_source: texts.4,
            description: None,
            estimate_point: None,
            point: None,
        },
    )
}

/// Up to `most` items with different ids, in any order.
pub(super) fn any_items(most: usize) -> impl Strategy<Value = Vec<Item>> {
    let ids = proptest::collection::hash_set(any::<u128>().prop_map(Uuid::from_u128), 0..most);
    ids.prop_flat_map(|ids| ids.into_iter().map(any_item).collect::<Vec<_>>())
}
