//! `causeway leave` as an operator runs it, and killed on the way again and again.
//!
//! Every day twice on each engine with a few records of each kind; with LONG_TESTS=1 ten times with 40 types, 200
//! properties, 1,000 options, 50 contexts and 20,000 values, half of them of projects and half of the workspace.

#[path = "../leave/filled.rs"]
mod filled;
#[allow(dead_code)]
#[path = "../leave/two.rs"]
mod two;
#[allow(dead_code)]
#[path = "../leave/walk.rs"]
mod walk;

use super::support::postgres::Database;
use causeway::store::{LeaveRecord, Store};
use filled::fill;
use serde_json::{Value, json};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use two::{ACME, HERE, KEY, Side, Two, id};
use walk::{READS, Walked, walk};

/// Result of a command: exit code, standard output, standard error.
type Ended = (i32, String, String);

fn command(two: &Two, arguments: &[&str]) -> Command {
    let (store, v1) = two.places();
    let mut command = Command::new(env!("CARGO_BIN_EXE_causeway"));
    command
        .args(["leave", "--to", two.there.base(), "--workspace", "acme", "--upstream", &v1])
        .args(arguments)
        .env("CAUSEWAY_STORE__URL", store)
        .env("CAUSEWAY_KEY", KEY)
        .env("CAUSEWAY_TARGET_KEY", KEY)
        .stdin(Stdio::null());
    command
}

async fn ended(mut command: Command) -> Ended {
    let output = tokio::task::spawn_blocking(move || command.output()).await.expect("a thread");
    let output = output.expect("the program runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().expect("no signal"), text(output.stdout), text(output.stderr))
}

/// Returns the records of the workspace that are noted as begun or carried.
async fn noted(two: &Two) -> Vec<LeaveRecord> {
    let acme = uuid::Uuid::parse_str("00000000-0000-4000-b000-000000000001").expect("an id");
    two.store.leave_records(two.there.base(), acme).await.expect("a store")
}

/// Runs the command once for each number, and kills it when that many records were carried.
async fn killed(two: &Two, numbers: &[usize]) {
    for number in numbers {
        let mut child: Child =
            command(two, &[]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts");
        let carried = loop {
            let carried = noted(two).await.len();
            if carried >= *number {
                break carried;
            }
            assert_eq!(child.try_wait().expect("a process"), None, "it ended after {carried} of {number} records");
            tokio::time::sleep(Duration::from_millis(2)).await;
        };
        child.kill().expect("a kill");
        assert_eq!(child.wait().expect("an end").code(), None, "it ended by itself");
        println!("killed after {carried} records");
    }
}

/// Kills runs at these numbers of records; what the last run leaves is alike on both sides. The reads that told so.
async fn survives(two: &Two, numbers: &[usize]) -> Walked {
    let began = Instant::now();
    killed(two, numbers).await;
    println!("killed runs took {:?}", began.elapsed());
    let is_open = noted(two).await.iter().any(|record| record.theirs.is_none());
    let began = Instant::now();
    let (code, out, err) = ended(command(two, &[])).await;
    assert_eq!(code, 0, "{out}{err}");
    // The last request of the killed run may still be in flight.
    assert_eq!(err.contains("waiting 3 s"), is_open, "{err}");
    assert!(began.elapsed() >= Duration::from_secs(if is_open { 3 } else { 0 }));
    println!("the last run took {:?}\n{out}", began.elapsed());
    let began = Instant::now();
    let (code, out, err) = ended(command(two, &[])).await;
    assert!(code == 0 && out.contains("There was nothing to do"), "{out}{err}");
    println!("a run with nothing to do took {:?}", began.elapsed());
    let began = Instant::now();
    let walked = walk(two).await;
    assert_eq!(walked.unlike, Vec::<String>::new());
    println!("{} reads of {} operations are alike, {:?}", walked.reads, walked.operations.len(), began.elapsed());
    walked
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_run_goes_on_where_it_stopped_on_sqlite() {
    let two = Two::new().await;
    fill(&two).await;
    assert_eq!(survives(&two, &[5, 20]).await.operations.len(), READS);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_run_goes_on_where_it_stopped_on_postgres() {
    let database = Database::create().await;
    let two = Two::large(0, Some(&database.url())).await;
    fill(&two).await;
    assert_eq!(survives(&two, &[5, 20]).await.operations.len(), READS);
    // The notes about carried records are in the store, so a restored backup has them too.
    let (url, v1) = two.places();
    let store = Store::open(&url, &v1).await.expect("a store");
    let stats = store.stats(&url).await.expect("its rows");
    assert!(stats.rows.iter().any(|(name, rows)| *name == "leave_record" && *rows > 20), "{:?}", stats.rows);
    store.close().await;
}

/// A second run is refused with the advice to wait, and the first one is not disturbed.
async fn keeps_others_out(two: &Two) {
    let mut first: Child =
        command(two, &[]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program starts");
    let signal = |child: &Child, signal| {
        rustix::process::kill_process(rustix::process::Pid::from_child(child), signal).expect("a process");
    };
    while noted(two).await.len() < 5 {
        assert_eq!(first.try_wait().expect("a process"), None, "it ended before it carried anything");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    // The run is stopped in the middle of its work, so it holds the lock for as long as the others run.
    signal(&first, rustix::process::Signal::STOP);
    for wish in [&[][..], &["--check"]] {
        let (code, out, err) = ended(command(two, wish)).await;
        assert_eq!((code, out.as_str()), (1, ""), "{err}");
        assert!(err.contains("another `causeway leave` works on the store") && err.contains("wait until"), "{err}");
    }
    let (code, out, err) = ended(command(two, &["--dry-run"])).await;
    assert!([0, 2].contains(&code) && out.contains("acme"), "a dry run may look: {out}{err}");
    signal(&first, rustix::process::Signal::CONT);
    let first =
        tokio::task::spawn_blocking(move || first.wait_with_output()).await.expect("a thread").expect("an end");
    let said = String::from_utf8_lossy(&first.stderr);
    if said.contains("the store cannot be used") {
        // It was stopped in a statement, or before one, for longer than its lease of the database.
        assert_eq!(first.status.code(), Some(1), "{said}");
        let (code, out, err) = ended(command(two, &[])).await;
        assert_eq!(code, 0, "{out}{err}");
    } else {
        assert_eq!(first.status.code(), Some(0), "{said}");
    }
    let (code, out, err) = ended(command(two, &[])).await;
    assert!(code == 0 && out.contains("There was nothing to do"), "{out}{err}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_runs_at_once_are_kept_apart_on_sqlite() {
    let two = Two::new().await;
    fill(&two).await;
    keeps_others_out(&two).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_runs_at_once_are_kept_apart_on_postgres() {
    let database = Database::create().await;
    let two = Two::large(0, Some(&database.url())).await;
    fill(&two).await;
    keeps_others_out(&two).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_kills_do_not_keep_a_large_workspace_from_leaving() {
    if std::env::var_os("LONG_TESTS").is_none() {
        return;
    }
    let two = Two::large(2_000, None).await;
    let began = Instant::now();
    large(&two).await;
    println!("filled in {:?}", began.elapsed());
    let numbers: Vec<usize> = (0..10).map(|kill| 20 + kill * 330).collect();
    let walked = survives(&two, &numbers).await;
    // Each work item is shown by its id and by its key.
    assert!(walked.reads > 2 * 2_000, "{} reads", walked.reads);
}

/// 20 types, 100 properties and 500 options of a project and the same number in the workspace, which also has 50
/// contexts, and 2,000 work items with ten values each.
async fn large(two: &Two) {
    let here = Side::here(two);
    let mut kinds = Vec::new();
    for is_workspace in [false, true] {
        here.mode(is_workspace).await;
        let base = if is_workspace { ACME.to_owned() } else { here.web("").trim_end_matches('/').to_owned() };
        let word = if is_workspace { "common" } else { "own" };
        for number in 0..20 {
            let (name, description) = (format!("Type {word} {number}"), format!("description {number}"));
            let body = json!({"name": name, "description": description});
            let kind = id(&here.made(&format!("{base}/work-item-types/"), body).await);
            let mut properties = Vec::new();
            for place in 0..5 {
                properties.push(property(here, &base, &format!("{word} {number} {place}"), place).await);
            }
            let ids: Vec<Value> = properties.iter().map(|(property, _)| property["id"].clone()).collect();
            here.made(&format!("{base}/work-item-types/{kind}/properties/"), json!({"properties": ids})).await;
            if is_workspace {
                for (place, (property, _)) in properties.iter().enumerate() {
                    // Each property has one context from the start; every second one gets another.
                    if (number * 5 + place) % 2 == 0 {
                        let contexts = format!("{base}/work-item-properties/{}/contexts/", id(property));
                        let options: Vec<Value> = property["options"]
                            .as_array()
                            .expect("options")
                            .iter()
                            .map(|one| json!({"id": one["id"]}))
                            .collect();
                        let body = json!({"name": "Web", "project_ids": [HERE[0]], "issue_type_ids": [kind],
                            "options": options, "is_multi": place > 1});
                        here.made(&contexts, body).await;
                    }
                }
            }
            kinds.push((kind, properties));
        }
        if is_workspace {
            let ids: Vec<&String> = kinds[20..].iter().map(|(kind, _)| kind).collect();
            here.made(&here.web("work-item-types/import/"), json!({"work_item_types": ids})).await;
        }
    }
    let mut items = Vec::new();
    let mut next = Some(0);
    while let Some(offset) = next {
        let page = here.read(&here.web(&format!("work-items/?per_page=200&offset={offset}"))).await;
        items.extend(page.data().iter().map(id));
        next = page.json["next"].as_u64();
    }
    let tasks: Vec<_> = items.iter().take(2_000).enumerate().collect();
    for (at, item) in tasks {
        let (kind, properties) = &kinds[at % kinds.len()];
        let fields: serde_json::Map<String, Value> = properties
            .iter()
            .enumerate()
            .map(|(place, (property, _))| {
                (property["name"].as_str().expect("a name").to_owned(), values(property, place, at))
            })
            .collect();
        here.changed(&here.web(&format!("work-items/{item}/")), json!({"type_id": kind, "custom_fields": fields}))
            .await;
    }
}

/// The first two of five properties take one value, the others several, so that five have ten or more; the first
/// three are choices.
async fn property(here: Side<'_>, base: &str, name: &str, place: usize) -> (Value, usize) {
    let kind = ["OPTION", "OPTION", "OPTION", "TEXT", "DECIMAL"][place];
    let mut body = json!({"display_name": name, "property_type": kind, "is_multi": place > 1});
    // 500 options for 60 such properties.
    let count = if kind == "OPTION" { if place == 0 { 9 } else { 8 } } else { 0 };
    if count > 0 {
        body["options"] = (0..count).map(|number| json!({"name": format!("{name} choice {number}")})).collect();
    }
    (here.made(&format!("{base}/work-item-properties/"), body).await, count)
}

fn values(property: &Value, place: usize, at: usize) -> Value {
    let option = |n: usize| property["options"][(at + n) % 8]["id"].clone();
    match place {
        0 | 1 => option(0),
        2 => json!([option(0), option(1), option(2)]),
        3 => json!([format!("text {at}"), "more", "and more"]),
        _ => json!([at, at as f64 / 8.0]),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_come_from_files_or_the_environment_and_the_exit_code_tells() {
    let two = Two::new().await;
    let here = Side::here(&two);
    here.made(&here.web("work-item-types/"), json!({"name": "Bug"})).await;
    let mut keyless = command(&two, &["--dry-run"]);
    keyless.env_remove("CAUSEWAY_TARGET_KEY");
    let (code, _, err) = ended(keyless).await;
    assert!(code == 1 && err.contains("CAUSEWAY_TARGET_KEY"), "{err}");
    let folder = tempfile::tempdir().expect("a folder");
    let [right, wrong, empty] = [("right", "ada\n"), ("wrong", "nobody"), ("empty", "\n")].map(|(name, text)| {
        let file = folder.path().join(name);
        std::fs::write(&file, text).expect("a file");
        file.display().to_string()
    });
    let with = |target: &str, own: &str| {
        let mut command = command(&two, &["--dry-run", "--json", "--target-key-file", target, "--key-file", own]);
        command.env_remove("CAUSEWAY_TARGET_KEY").env_remove("CAUSEWAY_KEY");
        ended(command)
    };
    let (code, out, err) = with(&right, &right).await;
    assert_eq!(code, 0, "{err}");
    let told: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(told["workspaces"][0]["outcome"], "planned");
    assert_eq!(told["workspaces"][0]["found"]["types"]["carried"], 1, "{told}");
    let (code, _, err) = with(&wrong, &right).await;
    assert!(code == 1 && err.contains("does not accept the key"), "{err}");
    let (code, _, err) = with(&right, &wrong).await;
    assert!(code == 1 && err.contains("v1 ("), "{err}");
    let (code, _, err) = with(&empty, &right).await;
    assert!(code == 1 && err.contains("should hold the key"), "{err}");
    let (code, out, err) = ended(command(&two, &["--check"])).await;
    assert!(code == 2 && out.contains("The sides are not alike"), "{out}{err}");
    let (code, out, err) = ended(command(&two, &[])).await;
    assert!(code == 0 && out.contains("The workspace is left."), "{out}{err}");
    let (code, out, err) = ended(command(&two, &["--check"])).await;
    assert!(code == 0 && out.contains("Both sides are alike"), "{out}{err}");
    let (code, _, err) = ended(command(&two, &["--check", "--dry-run"])).await;
    assert!(code == 2 && err.contains("cannot be used with"), "{err}");
    let mut foreign = command(&two, &[]);
    foreign.env("CAUSEWAY_UPSTREAM__BASE_URL", two.there.base());
    let (code, _, err) = ended(foreign).await;
    assert_eq!(code, 0, "a flag goes before the environment: {err}");
}
