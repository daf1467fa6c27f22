//! The index at 100,000 items: time to build, memory held, and the time of a page with three filters, search
//! and a semantic order, beside a plain scan of the same items in the same run.
//!
//! `cargo bench --bench index`; no figures of other runs are compared, because machines differ.

use causeway::index::{Index, Lookups};
use causeway::plan::Column;
use causeway::translate::work_items::{GROUPS, Item, Priority};
use causeway::v2::query::{Condition, ListCall, OrderBy, PageCall, Search, Test};
use causeway::v2::record::Cell;
use std::collections::HashMap;
use std::hint::black_box;
use std::time::{Duration, Instant};
use uuid::Uuid;

const ITEMS: usize = 100_000;
const ROUNDS: usize = 101;
const COLUMNS: [Column; 7] = [
    Column::Id,
    Column::Priority,
    Column::StateGroup,
    Column::AssigneeId,
    Column::LabelId,
    Column::CreatedAt,
    Column::Name,
];

/// Even numbers in the sense of chance (splitmix64).
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

    fn some(&mut self, kind: u128, of: usize) -> Vec<Uuid> {
        (0..self.below(3)).map(|_| id(kind, self.below(of))).collect()
    }
}

fn id(kind: u128, number: usize) -> Uuid {
    Uuid::from_u128(kind << 96 | number as u128)
}

fn items() -> impl Iterator<Item = Item> {
    let words = ["Fix", "login", "form", "Größe", "export", "search", "mobile", "settings", "after", "update"];
    let priorities = [Priority::Urgent, Priority::High, Priority::Medium, Priority::Low, Priority::None];
    let mut chance = Chance(7);
    (0..ITEMS).map(move |number| {
        let name: Vec<&str> = (0..6).map(|_| words[chance.below(words.len())]).collect();
        let spread = u128::from(chance.next()) << 64 | u128::from(chance.next());
        Item {
            id: Uuid::from_u128(spread),
            name: name.join(" "),
            sequence_id: number as i64,
            priority: priorities[chance.below(5)],
            state: id(3, chance.below(6)),
            parent: (chance.below(4) == 0).then(|| id(9, chance.below(1000))),
            assignees: chance.some(1, 40),
            labels: chance.some(2, 60),
            start_date: (chance.below(2) == 0).then(|| format!("2026-{:02}-15", 1 + chance.below(12))),
            target_date: None,
            is_draft: false,
            archived_at: None,
            created_at: number as i64 * 97_000_000,
            updated_at: number as i64 * 97_000_000 + chance.below(1 << 40) as i64,
            created_by: Some(id(1, chance.below(40))),
            sort_order: number as f64 * 10_000.0,
            external_id: (chance.below(10) == 0).then(|| format!("old-{number}")),
            external_source: None,
            description: None,
            estimate_point: None,
        }
    })
}

/// Three filters, search and a semantic order.
fn call() -> ListCall {
    let cell = |column| COLUMNS.iter().position(|known| *known == column).expect("a cell");
    let any_of = |column, cells: Vec<Cell>| Condition { cell: cell(column), test: Test::AnyOf(cells) };
    ListCall {
        conditions: vec![
            any_of(Column::StateGroup, GROUPS[..3].iter().map(|group| Cell::Text((*group).into())).collect()),
            any_of(Column::Priority, ["urgent", "high", "medium"].map(|word| Cell::Text(word.into())).to_vec()),
            Condition { cell: cell(Column::AssigneeId), test: Test::Unset(false) },
        ],
        search: Some(Search { cells: vec![cell(Column::Name)], needle: "größe".into() }),
        order: OrderBy { field: "priority".into(), cell: cell(Column::Priority), descending: false },
        page: PageCall::Offset { offset: 0, per_page: 50, count: true },
        expand: Vec::new(),
    }
}

fn lookups() -> Lookups {
    let group_of_state: HashMap<Uuid, u8> = (0..6).map(|group| (id(3, group), group as u8)).collect();
    Lookups { group_of_state, ..Lookups::default() }
}

/// The same page by looking at every item and sorting what matches.
fn plain_scan(items: &[Item], lookups: &Lookups) -> (usize, Vec<Item>) {
    let passes = |item: &&Item| {
        lookups.group_of_state.get(&item.state).is_some_and(|group| *group < 3)
            && item.priority <= Priority::Medium
            && !item.assignees.is_empty()
            && item.name.to_lowercase().contains("größe")
    };
    let mut found: Vec<&Item> = items.iter().filter(passes).collect();
    found.sort_by_key(|item| (item.priority, item.id));
    (found.len(), found.into_iter().take(50).cloned().collect())
}

fn median(mut run: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let begun = Instant::now();
            run();
            begun.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[ROUNDS / 2]
}

/// Resident memory of this process in bytes; 0 where the system does not tell.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0");
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap_or(0) * 1024
}

fn main() {
    let (call, lookups) = (call(), lookups());
    let before = resident();
    let begun = Instant::now();
    let index = Index::of(items());
    let built = begun.elapsed();
    let held = resident().saturating_sub(before);
    let mib = |bytes: usize| bytes as f64 / f64::from(1 << 20);
    println!("items                                    {ITEMS}");
    println!("made and taken in, per item              {:.2} µs", built.as_secs_f64() * 1e6 / ITEMS as f64);
    println!("index by its own account                 {:.1} MiB", mib(index.bytes()));
    println!("resident, building included              {:.1} MiB", mib(held));
    let items: Vec<Item> = index.items().collect();
    let selected = index.select(&call, &COLUMNS, &lookups);
    let (total, rows) = plain_scan(&items, &lookups);
    assert_eq!((selected.total, &selected.rows), (total, &rows), "the scan and the index agree");
    println!("rows that match                          {total}");
    let own = median(|| drop(black_box(index.select(&call, &COLUMNS, &lookups))));
    let scan = median(|| drop(black_box(plain_scan(&items, &lookups))));
    println!("page of 50, median of {ROUNDS}                {:.3} ms", own.as_secs_f64() * 1e3);
    println!("the same by a plain scan                 {:.3} ms", scan.as_secs_f64() * 1e3);
    println!("ratio                                    {:.1}", scan.as_secs_f64() / own.as_secs_f64());
}
