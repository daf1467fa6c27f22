//! Rows return the same items, through any changes and through a file. May use: `translate`, this folder.

use super::{any_items, cases, id, plain_item};
use crate::index::files::Files;
use crate::index::rows::Rows;
use crate::index::verified::Verified;
use crate::translate::work_items::Item;
use proptest::prelude::*;
use std::collections::{BTreeMap, HashSet};
use uuid::Uuid;

fn content(rows: &Rows) -> Vec<Item> {
    rows.items().collect()
}

proptest! {
    #![proptest_config(cases(75))]

    #[test]
    fn changes_leave_what_a_map_would_hold(
        batches in proptest::collection::vec((any_items(30), any::<u64>()), 1..8)
    ) {
        let (mut rows, mut map) = (Rows::default(), BTreeMap::new());
        for (items, chance) in batches {
            let gone: HashSet<Uuid> =
                map.keys().enumerate().filter(|(at, _)| chance >> (at % 64) & 1 == 1).map(|(_, id)| *id).collect();
            map.retain(|id, _| !gone.contains(id));
            map.extend(items.iter().map(|item| (item.id, item.clone())));
            rows.apply(items, &gone);
            prop_assert_eq!(content(&rows), map.values().cloned().collect::<Vec<_>>());
            for id in map.keys() {
                prop_assert_eq!(rows.find(*id).map(|(_, row)| row.id), Some(*id));
            }
            prop_assert!(gone.iter().all(|id| map.contains_key(id) || rows.find(*id).is_none()));
        }
    }
}

/// Many items, so that there are many chunks.
fn many(count: u128) -> Vec<Item> {
    let one = plain_item(Uuid::nil());
    let spread = |number: u128| Uuid::from_u128(number.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835));
    (0..count).map(|number| Item { id: spread(number), name: format!("Ä {number}"), ..one.clone() }).collect()
}

#[test]
fn chunks_are_split_shared_and_made_anew() {
    let items = many(5000);
    let mut rows = Rows::default();
    for page in items.chunks(1000) {
        rows.apply(page.to_vec(), &HashSet::new());
    }
    assert_eq!(rows.len(), 5000);
    assert!(rows.chunks().iter().all(|chunk| !chunk.rows.is_empty() && chunk.rows.len() <= 512));
    let before = rows.clone();
    rows.apply(vec![Item { name: "new".into(), ..items[7].clone() }], &HashSet::new());
    let shared =
        before.chunks().iter().filter(|old| rows.chunks().iter().any(|new| std::sync::Arc::ptr_eq(old, new)));
    assert_eq!(shared.count(), before.chunks().len() - 1);
    assert_eq!(before.item(before.slot(items[7].id).unwrap()).name, "Ä 7");
    rows.apply(Vec::new(), &items[100..].iter().map(|item| item.id).collect());
    assert_eq!(rows.len(), 100);
    assert!(rows.chunks().len() <= 64, "{} chunks for 100 rows", rows.chunks().len());
    rows.apply(Vec::new(), &items.iter().map(|item| item.id).collect());
    assert_eq!(content(&rows), Vec::new());
}

#[test]
fn pools_do_not_grow_with_what_was() {
    let mut rows = Rows::default();
    let items = many(10);
    for round in 0..3000_u128 {
        let changed = |item: &Item| Item { labels: vec![id(9, round), item.id], ..item.clone() };
        rows.apply(items.iter().map(changed).collect(), &HashSet::new());
    }
    assert!(rows.pools().sets().len() < 10_000, "{} sets for 10 rows", rows.pools().sets().len());
}

#[test]
fn a_file_holds_the_rows_and_nothing_damaged_is_believed() {
    let directory = tempfile::tempdir().unwrap();
    let files = Files::of(directory.path(), "one".into());
    assert!(files.load_index().is_none() && !files.index.exists());
    let mut rows = Rows::default();
    rows.apply(many(1000), &HashSet::new());
    files.save_index(&Verified::new(rows.clone(), 7));
    let loaded = files.load_index().unwrap();
    assert_eq!((content(&loaded.rows), loaded.watermark), (content(&rows), 7));
    let path = std::fs::read_dir(directory.path()).unwrap().next().unwrap().unwrap().path();
    let whole = std::fs::read(&path).unwrap();
    for (at, damage) in [(0, 1), (7, 1), (20, 1), (50, 1), (whole.len() - 1, 128)] {
        let mut damaged = whole.clone();
        damaged[at] ^= damage;
        std::fs::write(&path, damaged).unwrap();
        assert!(files.load_index().is_none(), "byte {at}");
        assert!(!files.index.exists());
    }
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    assert!(files.load_index().is_none());
    let other = Files::of(directory.path(), "two".into());
    std::fs::write(other.index.path(), &whole).unwrap();
    assert!(other.load_index().is_none(), "of another list");
}

/// Collects the log.
#[derive(Clone, Default)]
struct Log(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_damaged_file_is_said_to_be_damaged() {
    let directory = tempfile::tempdir().unwrap();
    let files = Files::of(directory.path(), "one".into());
    files.save_index(&Verified::default());
    let mut bytes = std::fs::read(files.index.path()).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(files.index.path(), bytes).unwrap();
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
    tracing::subscriber::with_default(subscriber, || assert!(files.load_index().is_none()));
    let said = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(said.contains("WARN") && said.contains("built anew") && said.contains("checksum"), "{said}");
}
