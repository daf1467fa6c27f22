//! The audit log: its entries, their order, and the walk through a large one.

use crate::support::audit::{ACME, entry, fill, oldest_first, written};
use crate::support::postgres::Database;
use causeway::store::{AuditColumn, AuditEntry, AuditFilter, AuditOrder, AuditPage, AuditQuery, AuditStart, Store};
use causeway::task::spawn;
use sqlx::{AssertSqlSafe, Row};
use std::collections::HashSet;
use uuid::Uuid;

const V1: &str = "https://tracker.example";
/// Entries that other requests append during a walk; fewer than it has pages.
const APPENDED: usize = 20;

async fn in_memory() -> Store {
    Store::open("sqlite::memory:", V1).await.unwrap()
}

async fn page(store: &Store, query: &AuditQuery) -> AuditPage {
    store.audit_page(ACME, query).await.unwrap().read().unwrap()
}

async fn names_found(store: &Store, search: &str) -> Vec<String> {
    let query = AuditQuery { search: Some(search.into()), ..oldest_first() };
    page(store, &query).await.rows.into_iter().map(|row| row.target_display_name).collect()
}

/// Walks through all entries by cursor, in an order; calls `between` after each page.
async fn walked(store: &Store, query: &AuditQuery, mut between: impl AsyncFnMut(usize)) -> Vec<(Uuid, i64)> {
    let (mut query, mut all) = (query.clone(), Vec::new());
    loop {
        let found = page(store, &query).await;
        assert!(found.rows.len() <= query.per_page && found.total.is_none());
        all.extend(found.rows.iter().map(|row| (row.id, row.sequence_number)));
        between(all.len()).await;
        match found.rows.last().filter(|_| found.more) {
            Some(last) => query.start = AuditStart::After(last.created_at, last.id),
            None => return all,
        }
    }
}

async fn is_walked_exactly_once(store: &Store, how_many: usize) {
    fill(store, how_many).await;
    let mut appended = 0;
    let mut append = async |_: usize| {
        if appended < APPENDED {
            store.record(ACME, &[entry(appended)]).await.unwrap();
            appended += 1;
        }
    };
    let up = walked(store, &oldest_first(), &mut append).await;
    let numbers: Vec<i64> = up.iter().map(|(_, number)| *number).collect();
    // Within one instant the id decides, so the numbers of three neighbours may change places.
    let total = how_many + APPENDED;
    assert_eq!(up.len(), total, "what was appended during the walk is at its end");
    assert_eq!(numbers.iter().collect::<HashSet<_>>().len(), total, "nothing twice");
    assert!(numbers.iter().enumerate().all(|(place, number)| number.abs_diff(place as i64 + 1) < 3));
    let down = AuditQuery { descending: true, ..oldest_first() };
    let mut before = 0;
    let mut append = async |_: usize| {
        if before < APPENDED {
            store.record(ACME, &[entry(before)]).await.unwrap();
            before += 1;
        }
    };
    let mut back = walked(store, &down, &mut append).await;
    back.reverse();
    assert_eq!(back, up, "newer ones do not shift a walk downwards");
    let by_id = AuditQuery { order: AuditOrder::Id, ..oldest_first() };
    let ids: Vec<Uuid> = walked(store, &by_id, async |_: usize| {}).await.into_iter().map(|(id, _)| id).collect();
    assert!(ids.is_sorted() && ids.len() == total + APPENDED);
    let counted = AuditQuery { count: true, per_page: 1, ..oldest_first() };
    assert_eq!(page(store, &counted).await.total, Some(total + APPENDED));
}

#[tokio::test]
async fn a_large_log_is_walked_exactly_once_while_others_append() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("store.db").display());
    is_walked_exactly_once(&Store::open(&url, V1).await.unwrap(), 50_000).await;
    let database = Database::create().await;
    let store = Store::open(&database.url(), V1).await.unwrap();
    is_walked_exactly_once(&store, 10_000).await;
    store.close().await;
}

/// Several processes append, one entry or several at once, to two workspaces.
async fn numbers_follow_the_commits(url: &str) {
    let handles = [Store::open(url, V1).await.unwrap(), Store::open(url, V1).await.unwrap()];
    let other = Uuid::from_u128(2);
    let writers: Vec<_> = (0..40)
        .map(|n| {
            let store = handles[n % 2].clone();
            spawn(async move {
                let workspace = if n % 4 == 3 { other } else { ACME };
                let entries: Vec<AuditEntry> = (0..=n % 3).map(entry).collect();
                store.record(workspace, &entries).await.unwrap();
                entries.len()
            })
        })
        .collect();
    let mut total = 0;
    for writer in writers {
        total += writer.await.unwrap();
    }
    let mut found = 0;
    for workspace in [ACME, other] {
        let rows = handles[0].audit_page(workspace, &oldest_first()).await.unwrap().read().unwrap().rows;
        let numbers: Vec<i64> = rows.iter().map(|row| row.sequence_number).collect();
        assert_eq!(numbers, (1..=rows.len() as i64).collect::<Vec<_>>(), "from 1, without gaps, in order of time");
        assert!(rows.windows(2).all(|two| two[0].created_at < two[1].created_at), "no two in one instant");
        found += rows.len();
    }
    assert_eq!(found, total);
    for store in handles {
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sequence_numbers_grow_strictly_with_several_writers() {
    let folder = tempfile::tempdir().unwrap();
    numbers_follow_the_commits(&format!("sqlite:{}", folder.path().join("store.db").display())).await;
    let database = Database::create().await;
    numbers_follow_the_commits(&database.url()).await;
}

#[tokio::test]
async fn a_clock_that_is_a_little_behind_waits_and_a_wrong_time_is_not_handed_on() {
    let store = in_memory().await;
    let at = |ahead: i64| format!("UPDATE audit_end SET created_at = created_at + {ahead}");
    written(&store, ACME, 0..1).await;
    sqlx::query(AssertSqlSafe(at(30_000_000))).execute(store.engine().pool()).await.unwrap();
    written(&store, ACME, 1..3).await;
    sqlx::query(AssertSqlSafe(at(86_400_000_000))).execute(store.engine().pool()).await.unwrap();
    written(&store, ACME, 3..4).await;
    let rows = page(&store, &oldest_first()).await.rows;
    let of = |number: i64| rows.iter().find(|row| row.sequence_number == number).unwrap().created_at;
    assert_eq!((of(2), of(3)), (of(1) + 30_000_001, of(1) + 30_000_002));
    assert!(of(4) - of(1) < 30_000_000, "back to the clock");
}

#[tokio::test]
async fn searches_know_the_letter_case_of_every_script_and_no_patterns() {
    async fn check(store: &Store) {
        let named = |name: &str| AuditEntry { target_display_name: name.into(), ..entry(0) };
        let entries = ["ÄRGER", "Straße", "ЖУК", "ΟΔΟΣ 5", "100%", "under_score"].map(named);
        store.record(ACME, &entries).await.unwrap();
        for (search, found) in [
            ("ärger", vec!["ÄRGER"]),
            ("STRASSE", vec!["Straße"]),
            ("жу", vec!["ЖУК"]),
            ("οδος", vec!["ΟΔΟΣ 5"]),
            ("%", vec!["100%"]),
            ("00%", vec!["100%"]),
            ("r_s", vec!["under_score"]),
            ("r%s", vec![]),
            ("ACME.TEST", vec!["ÄRGER", "Straße", "ЖУК", "ΟΔΟΣ 5", "100%", "under_score"]),
            ("acme.testär", vec![]),
            ("a\0", vec![]),
            ("it's \"quoted\" \\", vec![]),
        ] {
            assert_eq!(names_found(store, search).await, found, "{search}");
        }
        let never = AuditFilter::Is(AuditColumn::TargetId, "a\0b".into());
        assert!(page(store, &AuditQuery { filters: vec![never], ..oldest_first() }).await.rows.is_empty());
    }
    check(&in_memory().await).await;
    let database = Database::create().await;
    let store = Store::open(&database.url(), V1).await.unwrap();
    check(&store).await;
    store.close().await;
}

#[tokio::test]
async fn the_total_is_told_only_when_asked_and_is_right_at_every_offset() {
    let store = in_memory().await;
    written(&store, ACME, 0..25).await;
    written(&store, Uuid::from_u128(3), 0..5).await;
    for (offset, rows, more) in
        [(0, 10, true), (10, 10, true), (15, 10, false), (20, 5, false), (25, 0, false), (99, 0, false)]
    {
        let start = AuditStart::Offset(offset);
        let query = AuditQuery { start, per_page: 10, count: true, ..oldest_first() };
        let found = page(&store, &query).await;
        assert_eq!((found.rows.len(), found.more, found.total), (rows, more, Some(25)), "{offset}");
        assert_eq!(page(&store, &AuditQuery { count: false, ..query }).await.total, None);
    }
}

#[tokio::test]
async fn the_log_cannot_be_changed() {
    let store = in_memory().await;
    written(&store, ACME, 0..1).await;
    for text in ["UPDATE audit_log SET reason = 'x'", "DELETE FROM audit_log"] {
        assert!(sqlx::query(text).execute(store.engine().pool()).await.is_err(), "{text}");
    }
    let row = sqlx::query("SELECT reason FROM audit_log").fetch_one(store.engine().pool()).await.unwrap();
    assert_eq!(row.get::<String, _>(0), entry(0).reason);
}

#[tokio::test]
async fn a_repeated_failure_is_written_once_a_minute() {
    let store = in_memory().await;
    let (once, other) = (entry(1), Uuid::from_u128(4));
    for (workspace, key, written) in
        [(ACME, "a", true), (ACME, "a", false), (ACME, "b", true), (other, "a", true), (other, "a", false)]
    {
        assert_eq!(store.record_coalesced(workspace, key, 1, &once).await.unwrap(), written);
    }
    assert_eq!(page(&store, &oldest_first()).await.rows.len(), 2);
    store.close().await;
    store.record_coalesced(ACME, "c", 1, &once).await.unwrap_err();
    store
        .record_coalesced(ACME, "c", 1, &once)
        .await
        .expect_err("what could not be written does not count as written");
}
