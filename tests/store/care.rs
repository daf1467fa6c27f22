//! Information for operators about a store: its place and the remedy when it cannot be used, its content, and its move
//! along with its deployment.

use crate::store::failing::{older_store, store_of_step};
use crate::store::place::{Place, V1};
use crate::support::captured::Captured;
use causeway::fresh::Changes;
use causeway::settings::{LoadArgs, Settings};
use causeway::store::{Store, StoreError, in_words};
use std::process::{Command, Output};
use std::time::Duration;

on_both_engines![
    a_store_moves_with_its_deployment,
    a_store_that_a_gateway_serves_does_not_move_and_is_not_replaced,
    a_gateway_of_another_deployment_leaves_the_tables_as_they_are,
    the_rows_of_a_store_are_counted
];

async fn a_store_moves_with_its_deployment(place: Place) {
    place.open().await.close().await;
    let elsewhere = "https://moved.example";
    let refused = Store::open(&place.url(), elsewhere).await.unwrap_err();
    let told = refused.to_string();
    assert!(matches!(refused, StoreError::OtherDeployment { .. }), "{told}");
    assert!(told.contains("causeway store rebase --to https://moved.example"), "{told}");
    let store = Store::open_for_upkeep(&place.url()).await.unwrap();
    assert!(store.rebase("nowhere").await.is_err());
    let moved = store.rebase("HTTPS://moved.example:443/api/v1/").await.unwrap();
    assert_eq!(moved.1, elsewhere);
    store.close().await;
    Store::open(&place.url(), elsewhere).await.unwrap().close().await;
    let refused = Store::open(&place.url(), V1).await.unwrap_err();
    assert!(matches!(refused, StoreError::OtherDeployment { .. }), "{refused}");
}

async fn a_store_that_a_gateway_serves_does_not_move_and_is_not_replaced(place: Place) {
    let serving = place.open().await;
    let joined = serving.join(&Changes::default(), Duration::ZERO).await.unwrap();
    let store = Store::open_for_upkeep(&place.url()).await.unwrap();
    let refused = store.rebase("https://moved.example").await.unwrap_err().to_string();
    assert!(refused.contains("a gateway serves this store") && refused.contains("stop it"), "{refused}");
    let mut lines = Vec::new();
    store.export(&mut lines).await.unwrap();
    let refused = store.import(&mut &lines[..], true).await.unwrap_err().to_string();
    assert!(refused.contains("a gateway serves this store") && refused.contains("stop it"), "{refused}");
    assert_eq!(store.deployment().await.unwrap().as_deref(), Some(V1));
    joined.leave().await;
    store.rebase("https://moved.example").await.unwrap();
    store.import(&mut &lines[..], true).await.unwrap();
    assert_eq!(store.deployment().await.unwrap().as_deref(), Some(V1));
}

async fn a_gateway_of_another_deployment_leaves_the_tables_as_they_are(place: Place) {
    let (older, last) = older_store(&place).await;
    let refused = refusal_at_start(&place, "https://other.example").await;
    assert!(refused.contains(V1) && refused.contains("https://other.example"), "{refused}");
    assert_eq!(older.stats(&place.url()).await.unwrap().tables_version, last - 1);
}

/// The one that serves may be of the older version, which knows nothing of newer tables.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_that_is_refused_leaves_the_tables_of_the_one_that_serves_as_they_are() {
    let place = Place::sqlite();
    let (older, last) = older_store(&place).await;
    let joined = older.join(&Changes::default(), Duration::ZERO).await.unwrap();
    let refused = refusal_at_start(&place, V1).await;
    assert!(refused.contains("another gateway serves the store"), "{refused}");
    assert_eq!(older.stats(&place.url()).await.unwrap().tables_version, last - 1);
    joined.leave().await;
    older.close().await;
    let app = causeway::app::App::build(&settings(&place, V1)).await.expect("nobody serves it any more");
    let store = Store::open_for_upkeep(&place.url()).await.unwrap();
    assert_eq!(store.stats(&place.url()).await.unwrap().tables_version, last);
    let refused = refusal_at_start(&place, V1).await;
    assert!(refused.contains("another gateway serves the store"), "{refused}");
    drop(app);
}

/// Why a gateway before `v1` does not start on this store.
async fn refusal_at_start(place: &Place, v1: &str) -> String {
    causeway::app::App::build(&settings(place, v1)).await.err().expect("a refusal").to_string()
}

fn settings(place: &Place, v1: &str) -> Settings {
    let url = place.url();
    let overrides = [("upstream.base_url", v1), ("store.url", &url)];
    let overrides = overrides.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    Settings::load(LoadArgs { file: None, env: std::iter::empty(), overrides }).unwrap()
}

async fn the_rows_of_a_store_are_counted(place: Place) {
    let new = Store::open_for_upkeep(&place.url()).await.unwrap();
    let stats = new.stats(&place.url()).await.unwrap();
    assert_eq!((stats.tables_version, stats.deployment, stats.rows.len()), (0, None, 0));
    assert!(stats.steps_to_take > 0);
    new.close().await;
    let store = place.open().await;
    let stats = store.stats(&place.url()).await.unwrap();
    assert_eq!((stats.steps_to_take, stats.rows[0]), (0, ("service", 1)));
    assert!(stats.deployment.is_some() && stats.bytes > 0 && stats.rows.len() > 20, "{stats:?}");
}

/// Runs the program.
pub fn causeway(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_causeway")).args(arguments).output().expect("the program runs")
}

/// Returns the standard error of the program.
pub fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_fault_of_the_store_is_told_once_with_its_path_and_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let (missing, letter) = (folder.path().join("no/store.db"), folder.path().join("letter.db"));
    std::fs::write(&letter, "this is a letter, not a database; it is long enough to have a header".repeat(50))
        .unwrap();
    for (file, remedy) in [(&missing, "there is no folder"), (&letter, "restore it from a backup")] {
        let url = format!("sqlite:{}", file.display());
        let told = told(&causeway(&["serve", "--upstream", "http://127.0.0.1:9", "--store", &url]));
        assert_eq!(told.matches("the store ").count(), 1, "{told}");
        let place = file.display().to_string();
        assert!(told.contains(&place) && told.contains(remedy), "{told}");
    }
    let postgres = "postgres://ada:secret@127.0.0.1:9/causeway";
    let told = told(&causeway(&["store", "check", "--store", postgres]));
    assert!(told.contains("postgres://127.0.0.1:9/causeway") && told.contains("PostgreSQL runs"), "{told}");
    assert!(!told.contains("secret"), "{told}");
}

#[tokio::test]
async fn the_command_line_moves_counts_and_overwrites_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (url, copy) =
        (format!("sqlite:{}", folder.path().join("store.db").display()), folder.path().join("copy.db"));
    Store::open(&url, "https://old.example").await.unwrap().close().await;
    let with = |arguments: &[&str]| causeway(&[arguments, &["--store", &url]].concat());
    let moved = with(&["store", "rebase", "--to", "https://new.example"]);
    let out = String::from_utf8_lossy(&moved.stdout).into_owned();
    assert!(moved.status.success() && out.contains("https://old.example") && out.contains("https://new.example"));
    let counted = with(&["store", "stats", "--json"]);
    let stats: serde_json::Value = serde_json::from_slice(&counted.stdout).unwrap();
    assert_eq!((&stats["deployment"], &stats["rows"]["service"]), (&"https://new.example".into(), &1.into()));
    let lines = with(&["store", "stats"]);
    assert!(String::from_utf8_lossy(&lines.stdout).contains("up to date"));
    std::fs::write(&copy, "mine").unwrap();
    for command in ["backup", "export"] {
        let refused = with(&["store", command, "--to", copy.to_str().unwrap()]);
        let told = told(&refused);
        assert!(!refused.status.success() && told.contains("exists already and was left as it is"), "{told}");
        assert_eq!(std::fs::read_to_string(&copy).unwrap(), "mine");
        let nowhere = folder.path().join("missing/copy.db").display().to_string();
        let refused = with(&["store", command, "--to", &nowhere]);
        let told = String::from_utf8_lossy(&refused.stderr);
        assert!(told.contains(&format!("the copy {nowhere} cannot be written")), "{told}");
        assert!(!refused.status.success() && !told.contains("the store cannot be used"), "{told}");
    }
}

#[tokio::test]
async fn a_store_that_a_newer_version_reads_alone_is_neither_checked_nor_copied() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("store.db").display());
    let copy = folder.path().join("copy");
    let store = Store::open(&url, V1).await.unwrap();
    let newer = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
                 VALUES (9999, 'newer', true, x'00', 1)";
    sqlx::query(newer).execute(store.engine().pool()).await.unwrap();
    let commands = [
        vec!["store", "check"],
        vec!["store", "export", "--to", copy.to_str().unwrap()],
        vec!["store", "backup", "--to", copy.to_str().unwrap()],
    ];
    for (least, allowed) in [(9999_i64, false), (1, true)] {
        sqlx::query("UPDATE service SET min_reader = $1").bind(least).execute(store.engine().pool()).await.unwrap();
        for command in &commands {
            let ended = causeway(&[&command[..], &["--store", &url]].concat());
            let told = told(&ended);
            assert_eq!(ended.status.success(), allowed, "{command:?}: {told}");
            assert!(allowed || told.contains("cannot be used by this version"), "{command:?}: {told}");
            assert_eq!(std::fs::remove_file(&copy).is_ok(), allowed && command[1] != "check");
        }
    }
    store.close().await;
}

/// A command of the older version, which had stayed in a crontab, once deleted data of a newer version.
#[tokio::test]
async fn a_store_that_only_a_newer_version_may_write_is_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("store.db").display());
    let store = Store::open(&url, V1).await.unwrap();
    let newer = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
                 VALUES (9999, 'newer', true, x'00', 1)";
    sqlx::query(newer).execute(store.engine().pool()).await.unwrap();
    let id = "00000000-0000-4000-8000-000000000000";
    for (least, allowed) in [(9999_i64, false), (1, true)] {
        sqlx::query("UPDATE service SET min_writer = $1").bind(least).execute(store.engine().pool()).await.unwrap();
        for command in [
            vec!["store", "migrate"],
            vec!["store", "migrate", "--plan"],
            vec!["store", "sweep", "--purge-older-than", "30d"],
            vec!["store", "forget", "--project", id, "--yes"],
            vec!["store", "rebase", "--to", "https://new.example"],
            vec!["shadow", "clear"],
        ] {
            let ended = causeway(&[&command[..], &["--store", &url]].concat());
            let told = told(&ended);
            assert_eq!(ended.status.success(), allowed, "{command:?}: {told}");
            assert!(allowed || told.contains("cannot be used by this version"), "{command:?}: {told}");
        }
    }
    store.close().await;
}

#[tokio::test]
async fn commands_that_need_the_tables_of_this_version_say_so_on_an_older_store() {
    let place = Place::sqlite();
    store_of_step(&place, 5).await.close().await;
    let id = "00000000-0000-4000-8000-000000000000";
    for command in [
        vec!["migration"],
        vec!["shadow", "report"],
        vec!["shadow", "clear"],
        vec!["store", "check"],
        vec!["store", "sweep", "--purge-older-than", "30d"],
        vec!["store", "forget", "--project", id],
        vec!["store", "settle", "--write", id, "--drop"],
    ] {
        let ended = causeway(&[&command[..], &["--store", &place.url()]].concat());
        let told = told(&ended);
        assert!(
            !ended.status.success() && told.contains("run `causeway store migrate` first"),
            "{command:?}: {told}"
        );
    }
}

#[test]
fn settings_count_on_both_sides_of_the_name_of_a_report() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("missing.db").display().to_string();
    let url = format!("sqlite:{store}");
    for command in [["--store", &url, "client", "x"], ["client", "x", "--store", &url]] {
        let ended = causeway(&[&["migration"][..], &command[..]].concat());
        let told = told(&ended);
        assert!(!ended.status.success() && told.contains(&store), "{command:?}: {told}");
    }
    let ended =
        causeway(&["migration", "--set", "log.format=json", "client", "x", "--set", "store.url=sqlite:x.db"]);
    let told = told(&ended);
    assert!(!ended.status.success() && told.contains("unexpected argument '--set'"), "{told}");
}

#[test]
fn a_restore_that_fails_leaves_no_new_store() {
    let folder = tempfile::tempdir().unwrap();
    let (cut_off, store) = (folder.path().join("cut-off.jsonl"), folder.path().join("store.db"));
    std::fs::write(&cut_off, "{\"causeway_store\":1,\"tables_version\":1}\n").unwrap();
    let url = format!("sqlite:{}", store.display());
    let failed = causeway(&["store", "restore", "--from", cut_off.to_str().unwrap(), "--store", &url]);
    assert!(!failed.status.success() && told(&failed).contains("cut off"), "{}", told(&failed));
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["cut-off.jsonl"]);
    std::fs::write(folder.path().join("store.db-wal"), "of another store").unwrap();
    let failed = causeway(&["store", "restore", "--from", cut_off.to_str().unwrap(), "--store", &url]);
    assert!(!failed.status.success() && told(&failed).contains("move it away"), "{}", told(&failed));
}

#[test]
fn a_folder_in_which_indices_cannot_be_kept_is_told_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let (file, store) = (folder.path().join("file"), folder.path().join("missing/store.db"));
    std::fs::write(&file, "").unwrap();
    let (directory, url) = (format!("index.directory={}", file.display()), format!("sqlite:{}", store.display()));
    let ended = causeway(&["serve", "--upstream", "http://127.0.0.1:9", "--store", &url, "--set", &directory]);
    let said = [ended.stdout, ended.stderr].map(|out| String::from_utf8_lossy(&out).into_owned()).concat();
    let trouble =
        format!("indices cannot be kept in index.directory, and each start builds them again: {}", file.display());
    assert!(said.contains(&trouble), "{said}");
}

#[tokio::test]
async fn a_store_that_can_only_be_read_is_told_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = format!("sqlite:{}", folder.path().join("store.db").display());
    Store::open(&file, "http://127.0.0.1:9").await.unwrap().close().await;
    let url = format!("{file}?mode=ro");
    assert_eq!(in_words(&url), folder.path().join("store.db").display().to_string());
    let overrides = [("upstream.base_url", "http://127.0.0.1:9"), ("store.url", &url)];
    let overrides = overrides.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let settings = Settings::load(LoadArgs { file: None, env: std::iter::empty(), overrides }).unwrap();
    let log = Captured::default();
    let _listening = log.listen();
    causeway::app::App::build(&settings).await.unwrap();
    assert!(log.text().contains("the store can only be read"), "{}", log.text());
}
