//! The index at 100,000 items: time to build, memory held, and the time of a page with three filters, search and a
//! semantic order, beside a plain scan of the same items in the same run. Then the same kinds of pages at 10,000 and at
//! 500,000 items: the cost of a page must depend on the page and hardly on the project.
//!
//! `cargo bench --bench index`; with `-- --check` it fails when a ratio or the memory is above its bound. No figures of
//! other runs are compared, because machines differ.

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
const FEW: usize = 10_000;
const MANY: usize = 500_000;
/// The deepest offset that lists accept.
const DEEP: usize = 10_000;
const ROUNDS: usize = 101;
/// Limit of a page's cost at [`MANY`] items divided by that at [`FEW`].
const GROWTH: f64 = 8.0;
/// Limit of a deep page's cost divided by that of the first.
const DEPTH: f64 = 10.0;
/// Limit of the bytes for one item, every order included.
const BYTES: usize = 300;
/// Limit of the memory of the process with [`ITEMS`] items.
const RESIDENT: usize = 64 << 20;
const COLUMNS: [Column; 7] = [
    Column::Id,
    Column::Priority,
    Column::StateGroup,
    Column::AssigneeId,
    Column::LabelId,
    Column::CreatedAt,
    Column::Name,
];

/// Evenly distributed random numbers (splitmix64).
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

fn items(count: usize) -> impl Iterator<Item = Item> {
    let words = ["Fix", "login", "form", "Größe", "export", "search", "mobile", "settings", "after", "update"];
    let priorities = [Priority::Urgent, Priority::High, Priority::Medium, Priority::Low, Priority::None];
    let mut chance = Chance(7);
    (0..count).map(move |number| {
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
            point: None,
        }
    })
}

/// A call with three filters, search and a semantic order.
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

/// Returns the same page by examining every item and sorting the matches.
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

/// Returns the resident memory of this process in bytes; 0 where the system does not report it.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0");
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap_or(0) * 1024
}

/// A page of 50 from `offset`, in order of creation, the newest first.
fn newest(conditions: Vec<Condition>, search: Option<Search>, offset: usize, count: bool) -> ListCall {
    let created = COLUMNS.iter().position(|known| *known == Column::CreatedAt).expect("a cell");
    ListCall {
        conditions,
        search,
        order: OrderBy { field: "created_at".into(), cell: created, descending: true },
        page: PageCall::Offset { offset, per_page: 50, count },
        expand: Vec::new(),
    }
}

/// Returns the call with three filters and search, which one item in a hundred matches, without a total.
fn sharp(base: ListCall) -> ListCall {
    let mut call = base;
    call.conditions[2].test = Test::AnyOf((0..3).map(|person| Cell::Id(id(1, person))).collect());
    ListCall { page: PageCall::Offset { offset: 0, per_page: 50, count: false }, ..call }
}

/// Kinds of pages whose cost is bounded by that of the same page at few items.
fn kinds() -> Vec<(&'static str, ListCall)> {
    let sharp_one = sharp(call());
    let by_creation = newest(sharp_one.conditions.clone(), sharp_one.search.clone(), 0, false);
    vec![
        ("first page", newest(Vec::new(), None, 0, true)),
        ("3 filters, search, 1 %, by priority", sharp_one),
        ("3 filters, search, 1 %, by creation", by_creation),
    ]
}

fn time(index: &Index, call: &ListCall, lookups: &Lookups) -> f64 {
    median(|| drop(black_box(index.select(call, &COLUMNS, lookups)))).as_secs_f64() * 1e6
}

/// Measures pages at few and at many items, and returns whether each bound holds.
fn growth(lookups: &Lookups) -> Vec<(String, bool)> {
    let (few, many) = (Index::of(items(FEW)), Index::of(items(MANY)));
    let mut bounds = Vec::new();
    println!("\npage of 50, median of {ROUNDS}                 {FEW} items  {MANY} items   ratio");
    for (name, call) in kinds() {
        let (small, large) = (time(&few, &call, lookups), time(&many, &call, lookups));
        println!("{name:<38} {small:>10.1} µs {large:>11.1} µs {:>7.1}", large / small);
        bounds.push((format!("{name}: at most {GROWTH} times"), large <= GROWTH * small));
    }
    println!("\npage of 50 at {MANY}                       first  at offset {DEEP}   ratio");
    for (name, conditions) in [("no filter", Vec::new()), ("3 filters, with the total", call().conditions)] {
        let page = |offset| time(&many, &newest(conditions.clone(), None, offset, true), lookups);
        let (first, deep) = (page(0), page(DEEP));
        println!("{name:<38} {first:>10.1} µs {deep:>11.1} µs {:>7.1}", deep / first);
        bounds.push((format!("{name}, deep: at most {DEPTH} times the first"), deep <= DEPTH * first));
    }
    let item = many.items().nth(MANY / 2).expect("an item");
    let written = median(|| drop(black_box(many.with(vec![item.clone()])))).as_secs_f64() * 1e6;
    println!("one item written, at {MANY}           {written:>10.1} µs");
    println!("bytes for one item                     {:>10}", many.bytes() / MANY);
    bounds.push((format!("at most {BYTES} bytes for one item"), many.bytes() / MANY <= BYTES));
    bounds
}

fn main() {
    let (call, lookups) = (call(), lookups());
    let before = resident();
    let begun = Instant::now();
    let index = Index::of(items(ITEMS));
    let built = begun.elapsed();
    let (held, in_all) = (resident().saturating_sub(before), resident());
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
    drop(items);
    let mut bounds = growth(&lookups);
    bounds.push((format!("{ITEMS} items: at most {:.0} MiB resident", mib(RESIDENT)), in_all <= RESIDENT));
    let broken: Vec<&String> = bounds.iter().filter(|(_, holds)| !holds).map(|(name, _)| name).collect();
    if std::env::args().any(|argument| argument == "--check") && !broken.is_empty() {
        eprintln!("not held: {broken:?}");
        std::process::exit(1);
    }
}
