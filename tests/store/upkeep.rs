//! The work of operators: copy, restore, export, inspect, purge.

use crate::store::failing::{older_store, store_of_step};
use crate::store::place::{PROJECT, Place, V1, WORKSPACE, edit, execute, given, is_sqlite, number};
use causeway::catalogue::Catalogue;
use causeway::store::{
    DumpError, LeaveRecord, OverlayValue, OwnWrite, ShadowCount, ShadowDifference, Store, StoreError, Swept,
    UsageCaller, UsageRow,
};
use causeway::task::spawn;
use futures_util::future::join_all;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Barrier;

on_both_engines![
    an_export_restored_elsewhere_is_the_same_store,
    every_table_is_exported,
    a_store_that_holds_something_is_replaced_only_by_force,
    a_broken_dump_changes_nothing,
    a_store_with_a_table_of_a_newer_version_is_neither_exported_nor_replaced,
    copies_in_memory_do_not_survive_a_restore,
    a_sound_store_has_no_findings_and_every_fault_is_found,
    a_sweep_purges_what_has_been_missing_for_long,
    a_sweep_is_noticed_by_who_has_the_items_in_memory,
    tables_are_made_once,
    a_store_of_an_older_version_is_exported_before_it_is_brought_up_to_date,
    of_several_that_bring_an_older_store_up_to_date_at_once_none_fails,
    writes_that_were_settled_long_ago_are_forgotten,
];

/// Writes rows into every table that has a writer, with all kinds of values.
async fn fill(store: &Store) -> Arc<Catalogue> {
    edit(store, |edit| {
        let type_id = edit.create_type(None, &given(json!({"name": "Bug \u{1F41E} \"'\\"})))?;
        let size = given(json!({"display_name": "Size", "property_type": "OPTION", "options": [{"name": "S"}]}));
        let size = edit.create_property(None, &size)?;
        edit.attach(type_id, &[size])?;
        edit.import(PROJECT, &[type_id])?;
        edit.mark_default(type_id)
    })
    .await
    .unwrap();
    edit(store, |edit| edit.create_type(Some(PROJECT), &given(json!({"name": "gone"})))).await.unwrap();
    let gone = store.catalogue(WORKSPACE).await.unwrap();
    let gone = gone.types.values().find(|kind| kind.name == "gone").unwrap().id;
    edit(store, |edit| edit.delete_type(gone)).await.unwrap();
    let value = OverlayValue::new("sort_order", json!(0.1), Value::Null);
    store.put_overlay(WORKSPACE, "cycle", PROJECT, &[value]).await.unwrap();
    let log = "INSERT INTO audit_log (id, event_id, workspace_id, sequence_number, event_name, category, outcome, \
               source, actor_type, actor_display_name, actor_email, target_type, target_id, target_display_name, \
               reason, metadata, user_agent, search_text, created_at) VALUES";
    for number in 1..=3 {
        let values = format!(
            "('a{number}', 'e{number}', '{WORKSPACE}', {number}, 'n', 'c', 'success', 'api', 'user', '', '', '', \
             '', '', '', '{{}}', '', '', {number})"
        );
        execute(store, &format!("{log} {values}")).await;
    }
    let end =
        format!("INSERT INTO audit_end (workspace_id, sequence_number, created_at) VALUES ('{WORKSPACE}', 3, 3)");
    execute(store, &end).await;
    for (number, missing) in [(1, "NULL"), (2, "1000"), (3, "9000000000000000")] {
        execute(
            store,
            &format!(
                "INSERT INTO work_item (id, workspace_id, project_id, missing_since, changed_at) \
                 VALUES ('{number}', '{WORKSPACE}', '{PROJECT}', {missing}, 1)"
            ),
        )
        .await;
        execute(
            store,
            &format!(
                "INSERT INTO custom_value (work_item_id, property_id, position, value) \
                 VALUES ('{number}', 'p', 0, '0.30000000000000004')"
            ),
        )
        .await;
    }
    execute(store, "INSERT INTO project (id, items, epoch) VALUES ('x', 4, 9)").await;
    execute(
        store,
        "INSERT INTO intent (id, workspace_id, project_id, kind, user_id, sent, own, state, began_at, settled_at) \
         VALUES ('i', 'w', 'p', 'update', 'u', '{}', '{}', 'done', 1, 2)",
    )
    .await;
    execute(
        store,
        "INSERT INTO repeatable_request (id, user_id, fingerprint, state, attempt, began_at, ends_at, expires_at, answer, \
         sealed_with, size) VALUES ('r', 'u', 'f', 'done', 'a', 1, 2, 9000000000000000, 's', 'w', 1)",
    )
    .await;
    crate::store::oauth::fill(&store.oauth()).await;
    let texts = |text: &str| text.to_owned();
    let count = UsageRow {
        day: 20_000,
        operation: texts("states_list"),
        class: 2,
        caller: texts("ab"),
        client: texts("x"),
        calls: 3,
    };
    store.usage_secret().await.unwrap();
    store.add_usage(uuid::Uuid::new_v4(), 1, &[count]).await.unwrap();
    let (fingerprint, kind, person, title) = (texts("ab"), texts("v1 key"), texts("ada"), texts(""));
    let caller = UsageCaller { fingerprint, kind, person, title, credential: None };
    store.name_usage_callers(&[caller]).await.unwrap();
    store.mark_left("acme", "https://v2.example").await.unwrap();
    let (kind, own, digest) = (texts("types"), uuid::Uuid::new_v4(), texts("d"));
    let begun = LeaveRecord { kind, own, theirs: None, digest, is_done: false };
    let done = LeaveRecord { theirs: Some(texts("t")), is_done: true, ..begun.clone() };
    for record in [&begun, &done] {
        store.note_leave("https://v2.example", WORKSPACE, std::slice::from_ref(record)).await.unwrap();
        let noted = store.leave_records("https://v2.example", WORKSPACE).await.unwrap();
        assert_eq!(noted, std::slice::from_ref(record));
    }
    assert_eq!(store.leave_records("https://other.example", WORKSPACE).await.unwrap(), []);
    let (day, operation, requests) = (i64::from(causeway::usage::today()), texts("states_list"), 2);
    let compared = ShadowCount { day, operation: operation.clone(), outcome: texts("different"), requests };
    let (place, ours, theirs) = (texts("/name"), texts("a string of 3"), texts("null"));
    let found = ShadowDifference { operation, place, ours, theirs, requests, first_at: 1, last_at: 2 };
    store.add_shadow((uuid::Uuid::new_v4(), 1), &[compared], &[found], (10, 90)).await.unwrap();
    store.catalogue(WORKSPACE).await.unwrap()
}

async fn writes_that_were_settled_long_ago_are_forgotten(place: Place) {
    let store = place.open().await;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_micros();
    let columns = "id, workspace_id, project_id, kind, user_id, sent, own, state, began_at, settled_at";
    let values = "'w', 'p', 'update', 'u', '{}', '{}', 'done', 1";
    // More rows than one batch deletes.
    let many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)";
    execute(&store, &format!("{many} INSERT INTO intent ({columns}) SELECT 'old' || i, {values}, 2 FROM n")).await;
    for (id, settled) in [("lately", now.to_string()), ("never", "NULL".to_owned())] {
        execute(&store, &format!("INSERT INTO intent ({columns}) VALUES ('{id}', {values}, {settled})")).await;
    }
    store.forget_settled().await.unwrap();
    let left = "SELECT COUNT(*) FROM intent WHERE id IN ('lately', 'never')";
    assert_eq!((number(&store, left).await, number(&store, "SELECT COUNT(*) FROM intent").await), (2, 2));
}

async fn exported(store: &Store) -> Vec<u8> {
    let mut lines = Vec::new();
    store.export(&mut lines).await.unwrap();
    lines
}

/// Returns the lines in a fixed order, without the numbers that a restore raises on purpose.
fn sorted(lines: &[u8]) -> Vec<String> {
    let text = std::str::from_utf8(lines).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

async fn an_export_restored_elsewhere_is_the_same_store(place: Place) {
    let store = place.open().await;
    let catalogue = fill(&store).await;
    let lines = exported(&store).await;
    for target in [Place::sqlite(), Place::postgres().await] {
        let other = Store::open_for_upkeep(&target.url()).await.unwrap();
        other.migrate().await.unwrap();
        other.import(&mut &lines[..], false).await.unwrap();
        assert_eq!(sorted(&exported(&other).await), sorted(&lines));
        other.close().await;
        // It belongs to the same deployment, and works.
        let other = target.open().await;
        assert_eq!(*other.catalogue(WORKSPACE).await.unwrap(), *catalogue);
        edit(&other, |edit| edit.create_type(None, &given(json!({"name": "next"})))).await.unwrap();
        assert!(Store::open(&target.url(), "https://other.example").await.is_err());
    }
}

async fn every_table_is_exported(place: Place) {
    let store = place.open().await;
    fill(&store).await;
    let text = String::from_utf8(exported(&store).await).unwrap();
    let mut exported: BTreeMap<String, i64> = BTreeMap::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        if let Some(table) = line["table"].as_str() {
            *exported.entry(table.to_owned()).or_default() += 1;
        }
    }
    let tables = if is_sqlite(&store) {
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE '_sqlx%'"
    } else {
        "SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'public' \
         AND table_name NOT LIKE '_sqlx%'"
    };
    let rows = sqlx::query(tables).fetch_all(store.engine().pool()).await.unwrap();
    assert!(rows.len() >= 15);
    for row in rows {
        let table: String = sqlx::Row::get(&row, 0);
        if ["process", "index_snapshot", "index_turn", "index_delta", "quota_part", "write_under_way"]
            .contains(&table.as_str())
        {
            // Rows about living processes, and rows that they can build again.
            continue;
        }
        let count = number(&store, &format!("SELECT COUNT(*) FROM {table}")).await;
        assert!(count > 0, "the test writes nothing to {table}");
        assert_eq!(exported.get(&table), Some(&count), "{table}");
    }
}

async fn a_store_that_holds_something_is_replaced_only_by_force(place: Place) {
    let store = place.open().await;
    fill(&store).await;
    let lines = exported(&store).await;
    let target = place.another().await;
    let other = target.open().await;
    fill(&other).await;
    let before = exported(&other).await;
    let refused = other.import(&mut &lines[..], false).await.unwrap_err();
    assert!(matches!(refused, DumpError::NotEmpty), "{refused:?}");
    assert_eq!(exported(&other).await, before);
    other.import(&mut &lines[..], true).await.unwrap();
    let texts = ["\"version\":", "\"items\":"];
    let same = |line: &&String| !texts.iter().any(|text| line.contains(text));
    let (now, then) = (sorted(&exported(&other).await), sorted(&lines));
    assert_eq!(now.iter().filter(same).collect::<Vec<_>>(), then.iter().filter(same).collect::<Vec<_>>());
    sqlx::query("DELETE FROM audit_log").execute(other.engine().pool()).await.expect_err("the guard is back");
}

async fn a_broken_dump_changes_nothing(place: Place) {
    let store = place.open().await;
    fill(&store).await;
    let before = exported(&store).await;
    let lines: Vec<&str> = std::str::from_utf8(&before).unwrap().lines().collect();
    let whole = lines.join("\n");
    for (what, broken) in [
        ("cut off", lines[..lines.len() - 1].join("\n")),
        ("cut off within a line", whole[..whole.len() / 2].to_owned()),
        ("a line is missing", [&lines[..3], &lines[4..]].concat().join("\n")),
        ("a line twice", [&lines[..4], &lines[3..]].concat().join("\n")),
        ("another form", whole.replacen("\"causeway_store\":1", "\"causeway_store\":2", 1)),
        ("later tables", whole.replacen("\"tables_version\":", "\"tables_version\":9", 1)),
        ("an unknown table", whole.replacen("\"table\":\"project\"", "\"table\":\"projects\"", 1)),
        ("an unknown column", whole.replacen("\"epoch\":", "\"epochs\":", 1)),
        ("a wrong type", whole.replacen("\"epoch\":9", "\"epoch\":\"9\"", 1)),
        ("no head", lines[1..].join("\n")),
        ("nothing", String::new()),
        ("something else", "{\"a\": 1}".to_owned()),
    ] {
        let refused = store.import(&mut broken.as_bytes(), true).await;
        assert!(matches!(refused, Err(DumpError::Content { .. })), "{what}: {refused:?}");
        assert_eq!(exported(&store).await, before, "{what}");
    }
}

/// The table would be missing in the export, and would keep its rows in the replaced store.
async fn a_store_with_a_table_of_a_newer_version_is_neither_exported_nor_replaced(place: Place) {
    let store = place.open().await;
    fill(&store).await;
    let lines = exported(&store).await;
    let checksum = if is_sqlite(&store) { "x'00'" } else { "'\\x00'" };
    let newer = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)";
    execute(&store, &format!("{newer} VALUES (9999, 'newer', true, {checksum}, 1)")).await;
    exported(&store).await;
    execute(&store, "CREATE TABLE of_later (id TEXT)").await;
    for refused in [store.export(&mut Vec::new()).await, store.import(&mut &lines[..], true).await] {
        let told = refused.unwrap_err().to_string();
        assert!(told.contains("a newer one has made the table of_later"), "{told}");
    }
}

async fn copies_in_memory_do_not_survive_a_restore(place: Place) {
    let store = place.open().await;
    edit(&store, |edit| edit.create_type(None, &given(json!({"name": "old"})))).await.unwrap();
    let lines = exported(&store).await;
    let serving = place.open().await;
    edit(&serving, |edit| edit.create_type(None, &given(json!({"name": "since"})))).await.unwrap();
    assert_eq!(serving.catalogue(WORKSPACE).await.unwrap().types.len(), 2);
    store.import(&mut &lines[..], true).await.unwrap();
    assert_eq!(serving.catalogue(WORKSPACE).await.unwrap().types.len(), 1);
}

async fn a_sound_store_has_no_findings_and_every_fault_is_found(place: Place) {
    let store = place.open().await;
    fill(&store).await;
    assert_eq!(store.findings().await.unwrap(), Vec::<String>::new());
    assert_eq!(store.missing_items().await.unwrap(), 2);
    for (fault, repair, expected) in [
        (
            "UPDATE audit_end SET sequence_number = 4",
            "UPDATE audit_end SET sequence_number = 3",
            "does not end where its counter says",
        ),
        ("UPDATE intent SET settled_at = NULL", "UPDATE intent SET settled_at = 2", "not settled"),
        (
            "UPDATE work_item_type SET is_default = 1, is_epic = 1 WHERE is_default = 1",
            "UPDATE work_item_type SET is_epic = 0",
            &format!("workspace {WORKSPACE}"),
        ),
        (
            "UPDATE property SET settings = 'x' WHERE deleted_at IS NULL",
            "UPDATE property SET settings = '{}'",
            "cannot be read",
        ),
    ] {
        execute(&store, fault).await;
        let findings = store.findings().await.unwrap();
        assert!(findings.len() == 1 && findings[0].contains(expected), "{fault}: {findings:?}");
        execute(&store, repair).await;
    }
    let log = "INSERT INTO audit_log (id, event_id, workspace_id, sequence_number, event_name, category, outcome, \
               source, actor_type, actor_display_name, actor_email, target_type, target_id, target_display_name, \
               reason, metadata, user_agent, search_text, created_at) SELECT 'a9', 'e9', workspace_id, 5, 'n', 'c', 'success', \
               'api', 'user', '', '', '', '', '', '', '{}', '', '', 9 FROM audit_log WHERE id = 'a1'";
    execute(&store, log).await;
    execute(&store, "UPDATE audit_end SET sequence_number = 5").await;
    let findings = store.findings().await.unwrap();
    assert!(findings.len() == 1 && findings[0].contains("gaps"), "{findings:?}");
}

async fn a_sweep_purges_what_has_been_missing_for_long(place: Place) {
    let store = place.open().await;
    fill(&store).await;
    let day = Duration::from_secs(86_400);
    assert_eq!(store.sweep(30 * day).await.unwrap(), Swept { work_items: 1, values: 1 });
    assert_eq!(store.sweep(30 * day).await.unwrap(), Swept { work_items: 0, values: 0 });
    assert_eq!(number(&store, "SELECT COUNT(*) FROM work_item").await, 2);
    assert_eq!(number(&store, "SELECT COUNT(*) FROM custom_value").await, 2);
}

async fn a_sweep_is_noticed_by_who_has_the_items_in_memory(place: Place) {
    let (serving, item) = (place.open().await, uuid::Uuid::from_u128(5));
    assert!(serving.write_item(WORKSPACE, PROJECT, item, &OwnWrite::default()).await.unwrap());
    serving.mark_missing(PROJECT, &[item], &[], i64::MAX).await.unwrap();
    assert!(serving.project_items(PROJECT).await.unwrap().knows(item));
    let command = place.open().await;
    assert_eq!(command.sweep(Duration::ZERO).await.unwrap().work_items, 1);
    assert!(!serving.project_items(PROJECT).await.unwrap().knows(item));
}

async fn tables_are_made_once(place: Place) {
    let store = Store::open_for_upkeep(&place.url()).await.unwrap();
    let steps = store.migrate().await.unwrap();
    assert!(steps.len() >= 2 && steps[0].starts_with("0001 "), "{steps:?}");
    assert_eq!(store.migrate().await.unwrap(), Vec::<String>::new());
}

/// An operator with the new program makes the backup with it. Step 8 is the last of version 0.2.0.
async fn a_store_of_an_older_version_is_exported_before_it_is_brought_up_to_date(place: Place) {
    let older = store_of_step(&place, 8).await;
    execute(&older, &format!("INSERT INTO project (id, items, epoch) VALUES ('{PROJECT}', 4, 9)")).await;
    let lines = exported(&older).await;
    let head: Value = serde_json::from_slice(lines.split(|byte| *byte == b'\n').next().unwrap()).unwrap();
    assert_eq!(head["tables_version"], 8);
    for target in [Place::sqlite(), Place::postgres().await] {
        let other = Store::open_for_upkeep(&target.url()).await.unwrap();
        other.migrate().await.unwrap();
        assert_eq!(other.import(&mut &lines[..], false).await.unwrap(), 2, "the deployment and the project");
        assert_eq!(number(&other, "SELECT epoch FROM project").await, 9);
    }
    // An empty place is no store of an older version, and its backup would be empty.
    let nothing = Place::sqlite();
    let empty = Store::open_for_upkeep(&nothing.url()).await.unwrap();
    let refused = empty.export(&mut Vec::new()).await.unwrap_err();
    assert!(matches!(refused, DumpError::Store(StoreError::Schema(_))), "{refused:?}");
}

/// A gateway that starts while an operator runs `store migrate`, for example.
async fn of_several_that_bring_an_older_store_up_to_date_at_once_none_fails(place: Place) {
    let (older, last) = older_store(&place).await;
    older.close().await;
    let (place, barrier) = (Arc::new(place), Arc::new(Barrier::new(8)));
    let several = (0..8).map(|_| {
        let (url, barrier) = (place.url(), Arc::clone(&barrier));
        spawn(async move {
            let store = Store::open_for_upkeep(&url).await.unwrap();
            barrier.wait().await;
            store.migrate().await.map(drop)
        })
    });
    for outcome in join_all(several.collect::<Vec<_>>()).await {
        outcome.unwrap().unwrap();
    }
    let store = place.open().await;
    assert_eq!(number(&store, "SELECT MAX(version) FROM _sqlx_migrations").await, last);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_is_copied_while_it_is_written() {
    let place = Place::sqlite();
    let store = place.open().await;
    fill(&store).await;
    let writer = {
        let store = store.clone();
        spawn(async move {
            for number in 0..30 {
                let name = given(json!({"name": format!("{number}")}));
                edit(&store, |edit| edit.create_type(None, &name)).await.unwrap();
            }
        })
    };
    let copy = place.folder().join("copy.db");
    store.copy_to(&copy).await.unwrap();
    writer.await.unwrap();
    assert_eq!(std::fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
    let found = Store::open(&format!("sqlite:{}", copy.display()), V1).await.unwrap();
    assert_eq!(found.findings().await.unwrap(), Vec::<String>::new());
    assert!(!found.catalogue(WORKSPACE).await.unwrap().types.is_empty());
    let again = store.copy_to(&copy).await.unwrap_err();
    assert!(again.to_string().contains("exists"), "{again}");
    found.close().await;
    Store::open(&format!("sqlite:{}", copy.display()), V1).await.expect("the file that was there is untouched");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_line_backs_up_restores_and_checks() {
    let place = Place::sqlite();
    let store = place.open().await;
    let catalogue = fill(&store).await;
    let run = |arguments: &[&str], url: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_causeway"));
        let output = command.arg("store").args(arguments).args(["--store", url]).output().unwrap();
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        (output.status.success(), text)
    };
    let target = Place::sqlite();
    let second = Place::postgres().await;
    let copy = place.folder().join("copy.db").display().to_string();
    let lines = place.folder().join("lines.jsonl").display().to_string();
    let (done, text) = run(&["check"], &place.url());
    assert!(done && text.contains("sound"), "{text}");
    let (done, text) = run(&["backup", "--to", &copy], &place.url());
    assert!(done, "{text}");
    let (done, text) = run(&["restore", "--from", &copy], &second.url());
    assert!(done && text.contains("restored"), "{text}");
    let (done, text) = run(&["backup", "--to", &lines], &second.url());
    assert!(done, "{text}");
    let (done, text) = run(&["restore", "--from", &lines], &target.url());
    assert!(done, "{text}");
    assert_eq!(*target.open().await.catalogue(WORKSPACE).await.unwrap(), *catalogue);
    let (done, text) = run(&["restore", "--from", &lines], &target.url());
    assert!(!done && text.contains("--force"), "{text}");
    // The file of an open store has a log with data that is not in the file yet.
    let open = place.url().trim_start_matches("sqlite:").to_owned();
    let (done, text) = run(&["restore", "--from", &open, "--force"], &target.url());
    assert!(!done && text.contains("that is the store of a gateway and no backup"), "{text}");
    let (link, new) = (place.folder().join("link.db"), place.folder().join("new.db"));
    std::os::unix::fs::symlink("store.db", &link).unwrap();
    let (done, text) = run(&["restore", "--from", &link.display().to_string(), "--force"], &target.url());
    assert!(!done && text.contains("that is the store of a gateway and no backup"), "{text}");
    // A link may come before the store that it leads to.
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(&new, &link).unwrap();
    let (done, text) = run(&["restore", "--from", &copy], &format!("sqlite:{}", link.display()));
    assert!(done && text.contains("restored") && new.is_file(), "{text}");
    // A file without tables belongs to another program, or was copied without its log.
    let stranger = place.folder().join("stranger.db");
    let empty = sqlx::SqlitePool::connect(&format!("sqlite:{}?mode=rwc", stranger.display())).await.unwrap();
    sqlx::query("CREATE TABLE notes (id INTEGER)").execute(&empty).await.unwrap();
    empty.close().await;
    let (done, text) = run(&["restore", "--from", &stranger.display().to_string(), "--force"], &target.url());
    assert!(!done && text.contains("holds no store of a gateway"), "{text}");
    // A restore brings a backup of an older version up to date, and leaves the backup itself unchanged.
    let older = Place::sqlite();
    let (opened, _) = older_store(&older).await;
    opened.close().await;
    let file = older.url().trim_start_matches("sqlite:").to_owned();
    let before = std::fs::read(&file).unwrap();
    let (done, text) = run(&["restore", "--from", &file, "--force"], &target.url());
    assert!(done && text.contains("1 row restored"), "{text}");
    assert_eq!(std::fs::read(&file).unwrap(), before);
    assert_eq!(target.open().await.deployment().await.unwrap().as_deref(), Some(V1));
    let (done, text) = run(&["restore", "--from", &lines, "--force"], &target.url());
    assert!(done, "{text}");
    let (done, text) = run(&["sweep", "--purge-older-than", "30d"], &target.url());
    assert!(done && text.contains("purged 1 work item with"), "{text}");
    let forget = ["forget", "--project", &PROJECT.to_string()];
    let (done, text) = run(&forget, &second.url());
    assert!(done && text.contains("would forget") && text.contains("imported types: 1"), "{text}");
    for imported in [1, 0] {
        let (done, text) = run(&[&forget[..], &["--yes"]].concat(), &second.url());
        assert!(done && text.contains(&format!("imported types: {imported}")), "{text}");
    }
    assert!(second.open().await.catalogue(WORKSPACE).await.unwrap().imports.is_empty());
    execute(&store, "UPDATE intent SET settled_at = NULL").await;
    let (done, text) = run(&["check"], &place.url());
    assert!(!done && text.contains("not settled"), "{text}");
    let (done, text) = run(&["check"], "sqlite:/nowhere/store.db");
    assert!(!done && text.contains("no store"), "{text}");
}
