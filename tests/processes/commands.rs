//! `explain` and `verify` as an operator or a script uses them: the output on each stream, and the exit code.

use super::child::Child;
use super::support::gateway::serve_sandbox;
use super::support::mounted::Mounted;
use super::support::scripted::{Exchange, ScriptedV1};
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::store::{OverlayValue, Store};
use serde_json::{Value, json as value};
use std::path::Path;
use std::process::{Command, Stdio};
use uuid::Uuid;

const KEY: &str = "demo-admin-key";

/// Result of a command: exit code, standard output, standard error.
pub type Ended = (i32, String, String);

pub async fn run(arguments: &[&str]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_causeway"));
    command.args(arguments).env_remove("CAUSEWAY_KEY").stdin(Stdio::null());
    // The gateway that it may call runs on this thread's runtime.
    let output = tokio::task::spawn_blocking(move || command.output()).await.expect("a thread");
    let output = output.expect("the program runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().expect("no signal"), text(output.stdout), text(output.stderr))
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|fault| panic!("{fault}: {text}"))
}

async fn gateway() -> Child {
    let sandbox = Sandbox::new(Config { seed: Seed::Demo, ..Config::default() });
    Child::start(&serve_sandbox(&sandbox).await, "sqlite::memory:").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn explain_tells_and_sends_nothing_unless_told_to() {
    let list = "/api/v2/workspaces/acme/members/?per_page=10";
    let (code, out, err) = run(&["explain", "GET", list]).await;
    assert_eq!((code, err.as_str()), (0, ""));
    for word in
        ["workspace_members_list", "mappings/workspace_members.toml:", "workspaces.members:read", "per_page"]
    {
        assert!(out.contains(word), "no {word} in {out}");
    }
    let (code, out, _) = run(&["explain", "GET", list, "--json"]).await;
    let told = json(&out);
    assert_eq!((code, &told["operation"]), (0, &"workspace_members_list".into()));
    assert!(told.get("answer").is_none(), "nothing was sent: {told}");
    let child = gateway().await;
    let sent = ["explain", "GET", list, "--json", "--run", "--against", child.base(), "--key", KEY];
    let (code, out, _) = run(&sent).await;
    let told = json(&out);
    assert_eq!((code, &told["answer"]["status"]), (0, &200.into()));
    let calls =
        told["answer"]["headers"]["Causeway-V1-Calls"].as_str().and_then(|calls| calls.parse::<usize>().ok());
    let planned = |name: &str| told[name].as_array().expect("calls").len();
    assert!(calls.is_some_and(|calls| (1..=planned("cold") + planned("proofs")).contains(&calls)), "{told}");
    let (code, out, _) = run(&sent[..3].iter().chain(&sent[4..]).copied().collect::<Vec<_>>()).await;
    assert!(code == 0 && out.contains("200") && out.contains("Causeway-V1-Calls"), "{out}");
}

#[tokio::test]
async fn a_missing_public_address_is_a_warning_in_check_and_at_start() {
    let (code, out, err) = run(&["check", "--set", "listen.address=0.0.0.0:8080"]).await;
    assert!((code, err.as_str()) == (0, "") && out.contains("\nwarning   public_url is not set"), "{out}{err}");
    let (code, out, _) = run(&["check", "--set", "listen.address=127.0.0.1:8080"]).await;
    assert!(code == 0 && !out.contains("warning"), "{out}");
    // A store that cannot be opened ends the start after the warning.
    let serve = ["serve", "--upstream", "http://127.0.0.1:1", "--set", "listen.address=0.0.0.0:0", "--set"];
    let (code, _, err) = run(&[&serve[..], &["store.url=sqlite:/nonexistent/folder/x.db"]].concat()).await;
    assert!(code != 0 && err.contains("WARN") && err.contains("public_url is not set"), "{err}");
}

#[tokio::test]
async fn explain_says_on_standard_error_what_it_cannot_explain() {
    for (arguments, code, sentence) in [
        (vec!["explain", "GET", "/api/v2/nothing/"], 1, "no operation has this path"),
        (vec!["explain", "PUT", "/api/v2/users/me/"], 1, "405 method_not_allowed"),
        (vec!["explain", "POST", "/api/v1/users/me/", "--body", "{"], 1, "--body is no JSON"),
        (
            vec!["explain", "POST", "/api/v1/workspaces/acme/projects/x/labels/", "--body", "[]"],
            1,
            "no JSON object",
        ),
        (vec!["explain", "GET", "/api/v2/users/me/", "--run"], 2, "--against"),
        (vec!["explain", "GET"], 2, "PATH"),
    ] {
        let (ended, out, err) = run(&arguments).await;
        assert_eq!((ended, out.as_str()), (code, ""), "{arguments:?}: {err}");
        assert!(err.contains(sentence), "{arguments:?}: {err}");
    }
}

#[tokio::test]
async fn explain_names_the_file_that_was_read() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::copy("mappings/states.toml", folder.path().join("states.toml")).expect("a mapping");
    let own = folder.path().display().to_string();
    let project = "/api/v2/workspaces/acme/projects/00000000-0000-4000-c000-000000000001";
    for (list, file) in [("states", format!("{own}/states.toml:")), ("labels", "mappings/labels.toml:".into())] {
        let list = format!("{project}/{list}/");
        let (code, out, err) = run(&["explain", "GET", &list, "--set", &format!("mappings={own}")]).await;
        assert!(code == 0 && out.contains(&format!("mapping     {file}")), "{out}{err}");
        let (_, out, _) = run(&["explain", "GET", &list, "--json", "--set", &format!("mappings={own}")]).await;
        assert!(json(&out)["mapping"].as_str().is_some_and(|told| told.starts_with(&file)), "{out}");
    }
}

#[tokio::test]
async fn explain_tells_what_replaces_a_call_of_v1() {
    let project = "/api/v1/workspaces/acme/projects/00000000-0000-4000-c000-000000000001";
    let item = format!("{project}/issues/00000000-0000-4000-e000-000000000001/");
    let body = r#"{"state": "s", "assignees": ["a"], "sort_order": 1, "archived_at": null}"#;
    let (code, out, err) = run(&["explain", "PATCH", &item, "--body", body]).await;
    assert_eq!((code, err.as_str()), (0, ""));
    for line in [
        "v1          v1_work_items_update: change a work item",
        "v2          PATCH /api/v2/workspaces/acme/projects/00000000-0000-4000-c000-000000000001/work-items/\
         00000000-0000-4000-e000-000000000001/\n",
        r#"body        {"state_id":"s","assignee_ids":["a"]}"#,
        "/unarchive/\n",
        "renamed     body: assignees is assignee_ids",
        "lost        body: sort_order: v2 sets it itself",
        "renamed     answer: labels is label_ids",
        "lost        answer: description_html: v2 does not show it",
    ] {
        assert!(out.contains(line), "{line}\n{out}");
    }
    // An archived work item is unarchived before the change; an item to be archived is changed first.
    let archiving = body.replace("null", "\"2026-11-22\"");
    for (body, ends) in [(body, ["/unarchive/", "/"]), (&archiving, ["/", "/archive/"])] {
        let (_, out, _) = run(&["explain", "PATCH", &item, "--body", body]).await;
        let requests: Vec<&str> = out.lines().filter(|line| line.starts_with("v2 ")).collect();
        assert_eq!(requests.len(), 2, "{out}");
        let id = "00000000-0000-4000-e000-000000000001";
        for (request, end) in requests.iter().zip(ends) {
            assert!(request.ends_with(&format!("{id}{end}")), "{out}");
        }
    }
    let list =
        format!("{project}/work-items/?order_by=-created_at&per_page=1000&cursor=1000:2:0&fields=id&priority=x");
    let (code, out, _) = run(&["explain", "GET", &list, "--json"]).await;
    let told: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((code, told["extent"].as_str()), (0, Some("part")), "{out}");
    let target = told["requests"][0]["target"].as_str().expect("a target");
    assert!(target.contains("order_by=-created_at") && target.contains("per_page=200"), "{target}");
    assert!(target.contains("offset=2000") && !target.contains("priority"), "{target}");
    // v1 accepts an external pair only with both parts, and then answers with the record itself.
    let list = format!("{project}/issues/?external_id=7");
    let (_, out, _) = run(&["explain", "GET", &list]).await;
    assert!(out.contains("/work-items/\n") && out.contains("query: external_id: v1 reads it only beside"), "{out}");
    let (_, out, _) = run(&["explain", "GET", &format!("{list}&external_source=jira")]).await;
    assert!(out.contains("external_id=7") && out.contains("external_source=jira"), "{out}");
    assert!(out.contains("in place of the one record by itself, or v1's 404 where there is none."), "{out}");
    assert!(!out.contains("v1's has 1,000"), "{out}");
    // v1 has no pages of people.
    let (_, out, _) = run(&["explain", "GET", &format!("{project}/members/")]).await;
    assert!(out.contains("200 at most.") && out.contains("v1's bare array") && !out.contains("1,000"), "{out}");
    // v1's search shows rows of another form.
    let (_, out, _) = run(&["explain", "GET", "/api/v1/workspaces/acme/work-items/search/?search=x"]).await;
    assert!(out.contains("in place of v1's `issues`, all on one page.") && !out.contains("1,000"), "{out}");
    assert!(out.contains("answer: workspace__slug: v2 does not show it"), "{out}");
    assert!(!out.contains("renamed     answer") && !out.contains("description_html"), "{out}");
    let (_, out, _) = run(&["explain", "GET", &item]).await;
    assert!(out.contains("renamed     answer: labels is label_ids"), "{out}");
    let (_, out, _) = run(&["explain", "GET", &format!("{item}activities/")]).await;
    assert!(out.contains("v2 has no successor. v2 has no activities of work items"), "{out}");
    let (code, out, _) = run(&["explain", "GET", "/api/v1/workspaces/acme/projects/"]).await;
    assert!(code == 0 && out.contains("v2 has no successor. v2 has no list of projects"), "{out}");
    let (code, out, _) = run(&["explain", "GET", "/api/v1/workspaces/acme/secret-7/"]).await;
    assert!(code == 0 && out.contains("GET workspaces/{name}/{id}/") && !out.contains("secret"), "{out}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn verify_tells_by_its_exit_code_whether_all_is_well() {
    let child = gateway().await;
    let acme = ["verify", "--against", child.base(), "--key", KEY, "--workspace", "acme"];
    let (code, out, err) = run(&acme).await;
    // The demo has no types, properties and contexts yet, so their reads cannot be proven.
    assert_eq!((code, err.as_str()), (2, ""), "{out}");
    let verdict = out.split("\nNOT PROVEN\n").nth(1).expect("a verdict");
    assert!(verdict.contains("there is nothing for pk; give --project"), "{verdict}");
    let (code, out, _) = run(&acme[..5]).await;
    assert!(code == 2 && out.contains("no --workspace was given; give --workspace SLUG"), "{out}");
    let told = json(&run(&[&acme[..], &["--json"]].concat()).await.1);
    let lines = told["lines"].as_array().expect("lines");
    let listed = out.lines().filter(|line| ["pass", "skipped"].iter().any(|word| line.starts_with(word))).count();
    assert_eq!((lines.len(), listed, &told["failed"]), (88, 88, &0.into()));
    let (code, out, err) = run(&["verify", "--against", child.base(), "--key", "nobody"]).await;
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains("does not accept the key"), "{err}");
    // Anything at this address is not a gateway.
    let nobody = "http://127.0.0.1:9";
    let (code, _, err) = run(&["verify", "--against", nobody, "--key", KEY]).await;
    assert!(code == 1 && err.contains(nobody), "{err}");
    // v1 itself is no gateway: it does not know v2.
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
    let v1 = serve_sandbox(&sandbox).await;
    let (code, _, err) = run(&["verify", "--against", &v1, "--key", KEY, "--workspace", "acme"]).await;
    assert!(code == 1 && err.contains("is no causeway") && err.lines().count() == 1, "{err}");
    // With all records present all reads are proven, and with --write all operations.
    let (code, out, _) = run(&[&acme[..], &["--write"]].concat()).await;
    assert!(code == 0 && out.contains("\nPROVEN: every operation was carried out"), "{out}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn verify_names_the_setting_without_which_not_all_can_be_proven() {
    let sandbox = Sandbox::new(Config { seed: Seed::Demo, ..Config::default() });
    let setting = [("CAUSEWAY_TYPES__WORKSPACE_LEVEL", "false")];
    let child = Child::start_with(&serve_sandbox(&sandbox).await, "sqlite::memory:", &setting).await;
    let acme = ["verify", "--against", child.base(), "--key", KEY, "--workspace", "acme", "--write"];
    let (code, out, _) = run(&acme).await;
    let verdict = out.split("\nNOT PROVEN\n").nth(1).expect("a verdict");
    assert!(code == 2 && verdict.contains("types.workspace_level") && !verdict.contains("--key"), "{verdict}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_are_proven_where_there_is_something_of_everything() {
    let furnished = super::support::furnished::Furnished::with(&[]).await;
    let base = furnished.gateway.base().to_owned();
    let web = super::support::gateway::WEB.rsplit('/').next().expect("an id");
    let (code, out, err) =
        run(&["verify", "--against", &base, "--key", "ada", "--workspace", "acme", "--project", web]).await;
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.contains("\nREADS PROVEN: writes were only shown to refuse"), "{out}");
}

#[tokio::test]
async fn explain_judges_a_body_as_the_gateway_would() {
    let items = "/api/v2/workspaces/acme/projects/00000000-0000-4000-c000-000000000001/work-items/";
    let body = r#"{"priority": "urgentt", "start_date": "2026-02-02", "target_date": "2026-02-01", "naem": "x"}"#;
    let (code, out, _) = run(&["explain", "POST", items, "--body", body, "--json"]).await;
    let told = json(&out);
    assert_eq!((code, &told["ignored"]), (0, &serde_json::json!(["naem"])));
    let fields: Vec<&str> =
        told["refused"].as_array().expect("faults").iter().filter_map(|fault| fault["field"].as_str()).collect();
    assert_eq!(fields, ["name", "priority"], "{told:#}");
    let dates = r#"{"name": "x", "start_date": "2026-02-02", "target_date": "2026-02-01"}"#;
    let (_, out, _) = run(&["explain", "POST", items, "--body", dates]).await;
    assert!(out.contains("target_date: must not be before start_date"), "{out}");
    let (_, out, _) = run(&["explain", "POST", items, "--body", "{"]).await;
    assert!(out.contains("cannot be read as JSON"), "{out}");
    let (_, out, _) = run(&["explain", "POST", items, "--body", r#"{"name": "x"}"#]).await;
    assert!(!out.contains("refused"), "{out}");
}

#[tokio::test]
async fn explain_finds_faults_inside_the_members_of_definitions() {
    let properties = "/api/v2/workspaces/acme/work-item-properties/";
    let with = |member: &str| format!(r#"{{"display_name": "x", "property_type": "OPTION", {member}}}"#);
    for (member, fault) in [
        (r#""settings": true"#, "settings: must be an object"),
        (r#""validation_rules": 1"#, "validation_rules: must be an object"),
        (r#""options": [{"a": 1}]"#, "options.0.name: is required"),
    ] {
        let (code, out, _) = run(&["explain", "POST", properties, "--body", &with(member)]).await;
        assert!(code == 0 && out.contains(fault), "{out}");
    }
    let options = with(r#""options": [{"name": "a", "colour": "red"}]"#);
    let (_, out, _) = run(&["explain", "POST", properties, "--body", &options, "--json"]).await;
    let told = json(&out);
    assert_eq!(
        (&told["refused"], &told["ignored"]),
        (&serde_json::json!([]), &serde_json::json!(["options.0.colour"]))
    );
}

#[test]
fn output_that_nobody_reads_to_its_end_is_no_fault() {
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_causeway"))
        .arg("openapi")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the program");
    // Longer than the buffer of a pipe.
    let mut beginning = [0; 100];
    let mut out = child.stdout.take().expect("its output");
    std::io::Read::read_exact(&mut out, &mut beginning).expect("the beginning");
    drop(out);
    let ended = child.wait_with_output().expect("its end");
    assert_eq!((ended.status.code(), String::from_utf8_lossy(&ended.stderr).as_ref()), (Some(1), ""));
}

#[tokio::test]
async fn restore_makes_no_store_for_a_file_that_is_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let (junk, store) = (folder.path().join("junk"), folder.path().join("store.db"));
    std::fs::write(&junk, "no dump").expect("a file");
    let url = format!("sqlite:{}", store.display());
    let (code, _, err) = run(&["store", "restore", "--from", &junk.display().to_string(), "--store", &url]).await;
    assert!(code == 1 && err.contains("neither a backup of a SQLite store nor an export"), "{err}");
    assert!(!store.exists());
}

/// The reason is neither the backup nor the log of the new store.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restore_into_a_full_disk_says_that_the_disk_is_full() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (from, dump, small, url) =
        (at("from.db"), at("dump"), at("small"), format!("sqlite:{}", at("small/store.db")));
    std::fs::create_dir(&small).expect("a folder");
    let store = Store::open(&format!("sqlite:{from}"), "https://v1.example").await.expect("a store");
    for record in 1..=6 {
        let long = OverlayValue::new("x", "d".repeat(1_000_000).into(), Value::Null);
        store.put_overlay(Uuid::nil(), "cycle", Uuid::from_u128(record), &[long]).await.expect("a row");
    }
    store.close().await;
    let source = format!("sqlite:{from}");
    let (code, _, err) = run(&["store", "export", "--store", &source, "--to", &dump]).await;
    assert_eq!(code, 0, "{err}");
    // There is no room for the rows, or for the rows both in the log and in the file.
    for size in ["3m", "9m"] {
        let Some(_mounted) = Mounted::at(Path::new(&small), size) else { return };
        let (code, _, err) = run(&["store", "restore", "--from", &dump, "--store", &url]).await;
        assert!(code == 1 && err.contains("disk is full"), "{size}: {err}");
        assert!(!err.contains("line ") && !err.contains("its log"), "{size}: {err}");
        assert!(!Path::new(&at("small/store.db")).exists());
    }
    // Rows of a copy first go to the folder for temporary files.
    let Some(_mounted) = Mounted::at(Path::new(&small), "1m") else { return };
    let mut command = Command::new(env!("CARGO_BIN_EXE_causeway"));
    command.args(["store", "restore", "--from", &from, "--store", &format!("sqlite:{}", at("other.db"))]);
    let ended = command.env("TMPDIR", &small).output().expect("the program runs");
    let told = String::from_utf8_lossy(&ended.stderr);
    assert!(told.contains(&small) && told.contains("TMPDIR") && !told.contains("dump"), "{told}");
}

#[tokio::test]
async fn check_opens_the_store_and_makes_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = format!("sqlite:{}", folder.path().join("store.db").display());
    let (code, out, _) = run(&["check", "--store", &url]).await;
    assert!(code == 0 && out.contains("is not there yet; the first start makes it"), "{out}");
    assert!(!folder.path().join("store.db").exists());
    let (code, _, err) = run(&["check", "--store", "sqlite:/nonexistent/store.db"]).await;
    assert!(code == 1 && err.contains("there is no folder /nonexistent"), "{err}");
    for (setting, words) in [
        ("hints.secrets_file=/nonexistent", "hints.secrets_file"),
        ("admin.token_file=/nonexistent", "admin.token_file"),
    ] {
        let (code, _, err) = run(&["check", "--store", &url, "--set", setting]).await;
        assert!(code == 1 && err.contains(words), "{setting}: {err}");
    }
    let (code, out, _) = run(&["check", "--store", &url, "--set", "index.directory=/dev/null/index"]).await;
    assert!(code == 0 && out.contains("\nwarning   indices cannot be kept"), "{out}");
}

/// A check without a result does not prove that v1 answers correctly.
#[tokio::test]
async fn check_fails_while_v1_refuses_to_answer() {
    let v1 = ScriptedV1::start().await;
    let refused = value!({"error_code": 5900, "error_message": "RATE_LIMIT_EXCEEDED"});
    v1.expect(Exchange::get("/api/v1/users/me/").reply(429, refused).repeated());
    let (code, _, err) = run(&["check", "--store", "sqlite::memory:", "--upstream", v1.base_url()]).await;
    assert!(code == 1 && err.contains("refuses to answer now (429); ask again in a minute"), "{err}");
}

#[tokio::test]
async fn the_program_tells_its_version_and_teaches_shells_and_man() {
    let (code, out, _) = run(&["--version"]).await;
    let version = env!("CARGO_PKG_VERSION");
    assert!(code == 0 && out.starts_with(&format!("causeway {version} (commit ")), "{out}");
    assert!(out.contains(&format!("store schema {}", causeway::store::last_step(causeway::store::Kind::Sqlite))));
    for (shell, word) in [("bash", "complete -F"), ("zsh", "#compdef causeway"), ("fish", "complete -c causeway")] {
        let (code, out, _) = run(&["completions", shell]).await;
        assert!(code == 0 && out.contains(word) && out.contains("doctor"), "{shell}");
    }
    let (code, out, _) = run(&["man"]).await;
    assert!(code == 0 && out.contains(".TH causeway 1"), "{out}");
    let folder = tempfile::tempdir().expect("a folder");
    let (code, _, _) = run(&["man", "--to", folder.path().to_str().expect("UTF-8")]).await;
    let page = std::fs::read_to_string(folder.path().join("causeway-store-rebase.1")).expect("a page");
    assert!(code == 0 && page.contains("rebase"), "{page}");
}

#[tokio::test]
async fn invalid_command_line_values_are_explained() {
    for (arguments, words) in [
        (vec!["key", "revoke", "report"], "it is no id; ids look like"),
        (
            vec!["verify", "--against", "http://h", "--key", "k", "--workspace", "w", "--project", "WEB"],
            "it is no id",
        ),
        (vec!["store", "settle", "--write", "00000000-0000-4000-8000-000000000000"], "<--item <ID>|--drop>"),
    ] {
        let (code, _, err) = run(&arguments).await;
        assert!(code == 2 && err.contains(words), "{err}");
    }
    let (code, _, err) = run(&["migration", "--operation", "v1_state_list"]).await;
    assert!(code == 1 && err.contains("did you mean v1_states_list?"), "{err}");
    assert!(err.contains("mappings/v1/operations.toml"), "{err}");
    let create = ["oauth", "client", "create", "--upstream", "http://127.0.0.1:9", "--name", "x"];
    let scoped =
        [&create[..], &["--redirect-uri", "https://a.example/cb", "--scopes", "projects.state:read"]].concat();
    let (code, _, err) = run(&scoped).await;
    assert!(code == 1 && err.contains("Did you mean projects.states:read?"), "{err}");
    assert!(err.contains("`causeway oauth scopes` lists them"), "{err}");
    let (code, out, _) = run(&["oauth", "scopes"]).await;
    assert!(code == 0 && out.contains("projects.states:read") && !out.contains("stickies:read"), "{out}");
    let (_, all, _) = run(&["oauth", "scopes", "--all"]).await;
    assert!(all.lines().count() > out.lines().count() && all.contains("stickies:read"), "{all}");
}
