//! A store that cannot be written: reads go on, writes report it, and nothing is half done.

use crate::store::place::{Place, V1, WORKSPACE, all_connections, edit, execute, given, is_sqlite, number};
use crate::support::captured::Captured;
use crate::support::mounted::Mounted;
use causeway::fresh::Changes;
use causeway::refusal::Refusal;
use causeway::store::{Kind, OverlayValue, Store, StoreError, last_step};
use serde_json::json;
use std::path::Path;
use std::time::Duration;
use uuid::Uuid;

on_both_engines![
    a_read_only_store_opens_and_is_read,
    a_store_that_was_read_only_at_start_is_written_once_it_can_be,
    a_read_only_store_of_an_older_version_opens_and_is_brought_up_to_date_once_it_can_be,
    a_read_only_store_of_a_newer_version_is_refused,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_not_where_it_was_takes_no_writes() {
    let place = Place::sqlite();
    let store = place.open().await;
    define(&store, "Bug").await.unwrap();
    assert!(store.engine().is_writable());
    let elsewhere = place.folder().join("elsewhere.db");
    std::fs::rename(place.file(), &elsewhere).unwrap();
    let refuses = async || {
        assert!(!store.engine().is_writable());
        let refused = define(&store, "Task").await.unwrap_err();
        assert_eq!((refused.status(), refused.code()), (503, "store_unavailable"), "{refused:?}");
        assert!(store.ping().await.is_err());
        assert!(sqlx::query("SELECT 1").execute(store.engine().pool()).await.is_err(), "a statement of its own");
    };
    refuses().await;
    std::fs::write(place.file(), "another one").unwrap();
    refuses().await;
    // Connections opened meanwhile may lead to the other file.
    std::fs::rename(&elsewhere, place.file()).unwrap();
    refuses().await;
    let anew = place.open().await;
    anew.ping().await.unwrap();
    define(&anew, "Task").await.unwrap();
}

/// The message has only the words of the database: the driver adds a line of PostgreSQL's source.
#[tokio::test]
async fn a_database_that_is_not_there_is_told_with_what_to_do() {
    let place = Place::postgres().await;
    let refused = Store::open(&place.url().replacen("?", "_none?", 1), V1).await.unwrap_err();
    let told = refused.to_string();
    assert!(matches!(refused, StoreError::Unavailable(_)), "{refused:?}");
    assert!(told.contains("_none\" does not exist; make the database first"), "{told}");
}

/// As with a setting of the server that is read again while the gateway runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_that_may_only_read_from_now_on_are_found_and_replaced() {
    let place = Place::postgres().await;
    let store = place.open().await;
    define(&store, "Bug").await.unwrap();
    for connection in &mut all_connections(&store).await {
        sqlx::query("SET default_transaction_read_only = on").execute(&mut **connection).await.unwrap();
    }
    assert!(!store.is_read_only());
    store.ping().await.unwrap();
    assert!(store.is_read_only());
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
    store.ping().await.unwrap();
    assert!(!store.is_read_only());
    define(&store, "Task").await.unwrap();
}

/// More than any of these disks has free: a small write may still find room in a full one.
const HUGE: usize = 9_000_000;

async fn define(store: &Store, name: &str) -> Result<Uuid, Refusal> {
    define_long(store, name, 2000).await
}

async fn define_long(store: &Store, name: &str, length: usize) -> Result<Uuid, Refusal> {
    let body = given(json!({"name": name, "description": "d".repeat(length)}));
    edit(store, |edit| edit.create_type(None, &body)).await
}

async fn assert_only_read(store: &Store, types: usize) {
    assert_eq!(store.catalogue(WORKSPACE).await.unwrap().types.len(), types);
    let refused = define_long(store, "not now", HUGE).await.unwrap_err();
    assert_eq!((refused.status(), refused.code()), (503, "store_unavailable"), "{refused:?}");
    let value = OverlayValue::new("x", json!("d".repeat(HUGE)), json!(null));
    let refused = store.put_overlay(WORKSPACE, "cycle", WORKSPACE, &[value]).await.unwrap_err();
    assert_eq!(Refusal::from(refused).code(), "store_unavailable");
    assert_eq!(store.catalogue(WORKSPACE).await.unwrap().types.len(), types);
    store.ping().await.unwrap();
}

async fn a_read_only_store_opens_and_is_read(place: Place) {
    let store = place.open().await;
    define(&store, "Bug").await.unwrap();
    if is_sqlite(&store) {
        store.close().await;
        let read_only = Store::open(&format!("{}?mode=ro", place.url()), V1).await.unwrap();
        assert_only_read(&read_only, 1).await;
        return;
    }
    protect_store(&place, store).await;
    let read_only = place.open().await;
    assert_only_read(&read_only, 1).await;
}

/// Makes a SQLite file look as on a read-only file system, also to root: the files that a writer creates beside it
/// cannot be created, because folders of those names exist.
fn block(place: &Place, blocked: bool) {
    let file = place.file().display().to_string();
    for beside in [format!("{file}-shm"), format!("{file}.{}", std::process::id())] {
        if blocked {
            // A store that has just been closed may still be checking whether a file can be created there.
            let begun = std::time::Instant::now();
            while let Err(fault) = std::fs::create_dir(&beside) {
                assert!(begun.elapsed() < Duration::from_secs(10), "{beside}: {fault}");
                std::thread::sleep(Duration::from_millis(1));
            }
        } else {
            std::fs::remove_dir(beside).expect("the folder is removed");
        }
    }
}

/// Makes the store read-only from its next opening on, and closes it.
async fn protect_store(place: &Place, store: Store) {
    if is_sqlite(&store) {
        store.close().await;
        block(place, true);
        return;
    }
    execute(&store, &format!("ALTER DATABASE {} SET default_transaction_read_only = on", name_of(place))).await;
    store.close().await;
}

/// Makes the store writable again.
async fn release_store(place: &Place) {
    if place.url().starts_with("sqlite:") {
        block(place, false);
        return;
    }
    let other = Store::open_for_upkeep(&place.url()).await.unwrap();
    let mut connection = other.engine().pool().acquire().await.unwrap();
    let off = format!("ALTER DATABASE {} RESET default_transaction_read_only", name_of(place));
    for statement in ["SET default_transaction_read_only = off", &off] {
        sqlx::query(sqlx::AssertSqlSafe(statement.to_owned())).execute(&mut *connection).await.unwrap();
    }
    drop(connection);
    other.close().await;
}

/// Returns the name of a database.
fn name_of(place: &Place) -> String {
    place.url().rsplit('/').next().unwrap().split('?').next().unwrap().to_owned()
}

async fn define_when_writable(store: &Store) {
    define_as_soon_as_possible(store, "writable again").await;
}

/// Defines a type as soon as that is possible; until then it is refused as temporarily unavailable.
async fn define_as_soon_as_possible(store: &Store, name: &str) {
    let begun = std::time::Instant::now();
    while let Err(refused) = define(store, name).await {
        assert_eq!(refused.code(), "store_unavailable", "{refused:?}");
        assert!(begun.elapsed() < std::time::Duration::from_secs(60), "it stays read-only");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

async fn a_store_that_was_read_only_at_start_is_written_once_it_can_be(place: Place) {
    let store = place.open().await;
    define(&store, "Bug").await.unwrap();
    protect_store(&place, store).await;
    let store = place.open().await;
    assert_only_read(&store, 1).await;
    assert!(store.is_read_only());
    let refused = define(&store, "not now").await.unwrap_err();
    assert_eq!((refused.status(), refused.code()), (503, "store_unavailable"), "{refused:?}");
    release_store(&place).await;
    // No restart: the store is checked again about once a second.
    define_when_writable(&store).await;
    assert!(!store.is_read_only());
    // By now every connection can write, also several at once.
    let writes = (0..6).map(|n| {
        let store = &store;
        async move { define(store, &format!("type {n}")).await }
    });
    for written in futures_util::future::join_all(writes).await {
        written.unwrap();
    }
    assert_eq!(store.catalogue(WORKSPACE).await.unwrap().types.len(), 8);
    assert_eq!(store.findings().await.unwrap(), Vec::<String>::new());
    store.close().await;
}

/// Two gateways that both write one file would each answer from a memory without the other's writes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_could_only_be_read_has_one_gateway_as_soon_as_it_is_written() {
    let place = Place::sqlite();
    protect_store(&place, place.open().await).await;
    let (first, second) = (place.open().await, place.open().await);
    let joined = first.join(&Changes::default(), Duration::ZERO).await.expect("it can be read");
    let _reads = second.join(&Changes::default(), Duration::ZERO).await.expect("by both");
    release_store(&place).await;
    define_when_writable(&first).await;
    let third = place.open().await;
    let refused = third.join(&Changes::default(), Duration::ZERO).await.expect_err("the first one serves it");
    assert!(matches!(refused, StoreError::Served { .. }), "{refused:?}");
    let refused = third.rebase("https://moved.example").await.expect_err("the first one serves it");
    assert!(matches!(refused, StoreError::InUse), "{refused:?}");
    drop(joined);
    third.join(&Changes::default(), Duration::ZERO).await.expect("nobody serves it any more");
}

/// As in a folder that cannot be written when both start.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_gateways_that_began_without_the_lock_one_writes_and_the_others_read_on() {
    let place = Place::sqlite();
    protect_store(&place, place.open().await).await;
    let lock = place.folder().join("store.db.lock");
    std::fs::create_dir(&lock).expect("a folder in its place");
    let (first, second) = (place.open().await, place.open().await);
    let first_joined = first.join(&Changes::default(), Duration::ZERO).await.expect("it can be read");
    let second_joined = second.join(&Changes::default(), Duration::ZERO).await.expect("it can be read");
    release_store(&place).await;
    let log = Captured::default();
    {
        let _listening = log.listen();
        tokio::time::sleep(Duration::from_millis(1_100)).await;
        let refused = define(&first, "not now").await.expect_err("there is no lock yet");
        assert_eq!(refused.code(), "store_unavailable", "{refused:?}");
        assert!(first.is_read_only());
    }
    assert!(log.text().contains("store.db.lock of the store cannot be opened"), "{}", log.text());
    std::fs::remove_dir(&lock).expect("the folder is removed");
    define_when_writable(&first).await;
    for round in 0..3 {
        tokio::time::sleep(Duration::from_millis(600)).await;
        let refused = define(&second, "not now").await.expect_err("the first one has the lock");
        assert_eq!((refused.status(), refused.code()), (503, "store_unavailable"), "{refused:?}");
        assert!(second.is_read_only());
        define(&first, &format!("type {round}")).await.unwrap();
    }
    assert_eq!(second.catalogue(WORKSPACE).await.unwrap().types.len(), 4, "it sees what the first one writes");
    drop(first_joined);
    define_as_soon_as_possible(&second, "after the first one").await;
    drop(second_joined);
}

#[tokio::test]
async fn a_lock_that_cannot_be_opened_is_told_as_what_it_is() {
    let place = Place::sqlite();
    let store = place.open().await;
    let lock = place.folder().join("store.db.lock");
    std::fs::create_dir(&lock).expect("a folder in its place");
    let joined = store.join(&Changes::default(), Duration::ZERO).await.map(|_| ()).expect_err("no lock");
    let moved = store.rebase("https://moved.example").await.map(|_| ()).expect_err("no lock");
    for refused in [joined, moved] {
        let told = refused.to_string();
        assert!(matches!(refused, StoreError::NoLock { .. }), "{refused:?}");
        assert!(told.contains(&lock.display().to_string()) && told.contains("move it away"), "{told}");
    }
}

/// Opens a store whose last step is still to come, and returns it with the number of that step.
pub async fn older_store(place: &Place) -> (Store, i64) {
    let kind = if place.url().starts_with("sqlite") { Kind::Sqlite } else { Kind::Postgres };
    let last = last_step(kind);
    (store_of_step(place, last - 1).await, last)
}

/// Opens a store made by a version that knew the steps up to this one.
pub async fn store_of_step(place: &Place, known: i64) -> Store {
    let store = Store::open_for_upkeep(&place.url()).await.unwrap();
    let kind = if is_sqlite(&store) { "sqlite" } else { "postgres" };
    let steps = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/store/src/store/migrations").join(kind);
    let mut steps = sqlx::migrate::Migrator::new(steps).await.unwrap();
    steps.migrations.to_mut().retain(|step| step.version <= known);
    steps.run(&*store.engine().pool()).await.unwrap();
    let claim = format!("INSERT INTO service (id, v1_base_url, recorded_at) VALUES (1, '{V1}', 0)");
    execute(&store, &claim).await;
    store
}

async fn a_read_only_store_of_an_older_version_opens_and_is_brought_up_to_date_once_it_can_be(place: Place) {
    let (store, last) = older_store(&place).await;
    protect_store(&place, store).await;
    let other = Store::open(&place.url(), "https://other.example").await.unwrap_err();
    assert!(matches!(other, StoreError::OtherDeployment { .. }), "{other:?}");
    let store = place.open().await;
    assert!(store.is_read_only());
    // Tables that are not those of this version are never read.
    let begun = std::time::Instant::now();
    let refusals = [
        store.catalogue(WORKSPACE).await.map(|_| ()).unwrap_err().into(),
        store.ping().await.unwrap_err().into(),
        store.oauth().client("nobody").await.map(|_| ()).unwrap_err().into(),
        define(&store, "not now").await.unwrap_err(),
    ];
    for refused in refusals {
        assert_eq!((refused.status(), refused.code()), (503, "store_unavailable"), "{refused:?}");
    }
    assert!(begun.elapsed() < std::time::Duration::from_secs(4), "it is refused at once");
    release_store(&place).await;
    define_when_writable(&store).await;
    assert!(!store.is_read_only());
    assert_eq!(number(&store, "SELECT MAX(version) FROM _sqlx_migrations").await, last);
    assert_eq!(store.catalogue(WORKSPACE).await.unwrap().types.len(), 1);
    assert_eq!(store.findings().await.unwrap(), Vec::<String>::new());
    store.ping().await.unwrap();
    store.close().await;
}

async fn a_read_only_store_of_a_newer_version_is_refused(place: Place) {
    let store = place.open().await;
    execute(
        &store,
        "INSERT INTO _sqlx_migrations SELECT 9999, 'later', installed_on, success, checksum, 1 \
         FROM _sqlx_migrations WHERE version = 1",
    )
    .await;
    execute(
        &store,
        "INSERT INTO service (id, v1_base_url, recorded_at, min_writer) VALUES (1, '', 0, 9999) \
                     ON CONFLICT (id) DO UPDATE SET min_writer = 9999",
    )
    .await;
    protect_store(&place, store).await;
    let refused = Store::open(&place.url(), V1).await.unwrap_err();
    assert!(matches!(refused, StoreError::Schema(_)), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_stops_writes_and_nothing_else() {
    let place = Place::sqlite();
    let mounted = Mounted::at(place.folder(), "1200k");
    let store = place.open().await;
    define(&store, "first").await.unwrap();
    if mounted.is_none() {
        // As on a full disk, the file cannot grow; each connection has its own limit.
        let mut connections = Vec::new();
        for _ in 0..4 {
            connections.push(store.engine().pool().acquire().await.unwrap());
        }
        for connection in &mut connections {
            sqlx::query("PRAGMA max_page_count = 120").execute(&mut **connection).await.unwrap();
        }
    }
    let mut written = 1;
    let refused = loop {
        match define(&store, &format!("type {written}")).await {
            Ok(_) => written += 1,
            Err(refused) => break refused,
        }
        assert!(written < 5_000, "the disk is never full");
    };
    assert_eq!((refused.status(), refused.code()), (503, "store_unavailable"), "{refused:?}");
    assert!(written > 5);
    for _ in 0..3 {
        assert_only_read(&store, written).await;
    }
    // On a disk that is really full, the commits fail.
    assert_eq!(store.engine().is_writable(), mounted.is_none());
    assert_eq!(store.findings().await.unwrap(), Vec::<String>::new());
    // When there is room again, the store works again by itself.
    match &mounted {
        Some(mounted) => mounted.remount("size=8m"),
        None => {
            let mut connections = Vec::new();
            for _ in 0..4 {
                connections.push(store.engine().pool().acquire().await.unwrap());
            }
            for connection in &mut connections {
                sqlx::query("PRAGMA max_page_count = 100000").execute(&mut **connection).await.unwrap();
            }
        }
    }
    define(&store, "room again").await.unwrap();
    assert!(store.engine().is_writable());
    assert_eq!(store.catalogue(WORKSPACE).await.unwrap().types.len(), written + 1);
    store.close().await;
    let again = place.open().await;
    assert_eq!(again.catalogue(WORKSPACE).await.unwrap().types.len(), written + 1);
    assert_eq!(again.findings().await.unwrap(), Vec::<String>::new());
    again.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_only_file_system_is_read() {
    let place = Place::sqlite();
    let mounted = Mounted::at(place.folder(), "4m");
    let store = place.open().await;
    define(&store, "Bug").await.unwrap();
    store.close().await;
    match &mounted {
        Some(mounted) => mounted.remount("ro"),
        None => protect(&place, 0o500, 0o400),
    }
    let read_only = place.open().await;
    assert_only_read(&read_only, 1).await;
    assert_eq!(number(&read_only, "SELECT COUNT(*) FROM work_item_type").await, 1);
    read_only.close().await;
    match &mounted {
        Some(mounted) => mounted.remount("rw"),
        None => protect(&place, 0o700, 0o600),
    }
    let store = place.open().await;
    define(&store, "writable again").await.unwrap();
    store.close().await;
}

/// Waits until the store can be written; it is checked about once a second.
async fn until_written(store: &Store) {
    let begun = std::time::Instant::now();
    while store.is_read_only() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it stays read-only");
        tokio::time::sleep(Duration::from_millis(50)).await;
        store.ping().await.unwrap();
    }
}

/// A connection opened meanwhile could only read for its whole life.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_can_only_be_read_for_a_while_is_written_by_every_connection_afterwards() {
    let place = Place::sqlite();
    let store = place.open().await;
    define(&store, "Bug").await.unwrap();
    // One stays, as in an idle gateway. On a busy machine, opening the store may have made all connections.
    for connection in all_connections(&store).await.drain(1..) {
        connection.close().await.unwrap();
    }
    let read_only = Mounted::read_only(place.folder());
    if read_only.is_none() {
        protect(&place, 0o500, 0o400);
    }
    let mut connections = Vec::new();
    for _ in 0..4 {
        connections.push(store.engine().pool().acquire().await.unwrap());
    }
    drop(connections);
    assert!(store.is_read_only());
    assert_eq!(store.catalogue(WORKSPACE).await.unwrap().types.len(), 1);
    match read_only {
        Some(mounted) => drop(mounted),
        None => protect(&place, 0o700, 0o600),
    }
    until_written(&store).await;
    define(&store, "writable again").await.unwrap();
    for connection in &mut all_connections(&store).await {
        sqlx::query("UPDATE workspace SET version = version").execute(&mut **connection).await.unwrap();
    }
    store.close().await;
}

/// Even when no request wants to write.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_can_only_be_read_from_now_on_is_found() {
    let place = Place::sqlite();
    let store = place.open().await;
    define(&store, "Bug").await.unwrap();
    store.ping().await.unwrap();
    assert!(!store.is_read_only());
    let read_only = Mounted::read_only(place.folder());
    if read_only.is_none() {
        protect(&place, 0o500, 0o400);
    }
    store.ping().await.unwrap();
    assert!(store.is_read_only());
    match read_only {
        Some(mounted) => drop(mounted),
        None => protect(&place, 0o700, 0o600),
    }
    until_written(&store).await;
    define(&store, "writable again").await.unwrap();
    store.close().await;
}

fn protect(place: &Place, folder: u32, file: u32) {
    use std::os::unix::fs::PermissionsExt;
    let set = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    set(&place.file(), file);
    set(place.folder(), folder);
}
