//! `explain` and `verify` as an operator or a script meets them: what is printed where, and the exit code.

use super::child::Child;
use super::support::gateway::serve_sandbox;
use causeway::sandbox::{Config, Sandbox, Seed};
use serde_json::Value;
use std::process::{Command, Stdio};

const KEY: &str = "demo-admin-key";

/// How a command ended: exit code, standard output, standard error.
type Ended = (i32, String, String);

async fn run(arguments: &[&str]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_causeway"));
    command.args(arguments).env_remove("CAUSEWAY_KEY").stdin(Stdio::null());
    // The gateway it may ask runs on this thread's runtime.
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
    // A store that cannot be opened ends the start behind the warning.
    let serve = ["serve", "--upstream", "http://127.0.0.1:1", "--set", "listen.address=0.0.0.0:0", "--set"];
    let (code, _, err) = run(&[&serve[..], &["store.url=sqlite:/nonexistent/folder/x.db"]].concat()).await;
    assert!(code != 0 && err.contains("WARN") && err.contains("public_url is not set"), "{err}");
}

#[tokio::test]
async fn explain_says_on_standard_error_what_it_cannot_explain() {
    for (arguments, code, sentence) in [
        (vec!["explain", "GET", "/api/v2/nothing/"], 1, "no operation has this path"),
        (vec!["explain", "PUT", "/api/v2/users/me/"], 1, "405 method_not_allowed"),
        (vec!["explain", "GET", "/api/v1/users/me/"], 1, "belongs to v1"),
        (vec!["explain", "GET", "/api/v2/users/me/", "--run"], 2, "--against"),
        (vec!["explain", "GET"], 2, "PATH"),
    ] {
        let (ended, out, err) = run(&arguments).await;
        assert_eq!((ended, out.as_str()), (code, ""), "{arguments:?}: {err}");
        assert!(err.contains(sentence), "{arguments:?}: {err}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn verify_tells_by_its_exit_code_whether_all_is_well() {
    let child = gateway().await;
    let acme = ["verify", "--against", child.base(), "--key", KEY, "--workspace", "acme"];
    let (code, out, err) = run(&acme).await;
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let told = json(&run(&[&acme[..], &["--json"]].concat()).await.1);
    let lines = told["lines"].as_array().expect("lines");
    let listed = out.lines().filter(|line| ["pass", "skipped"].iter().any(|word| line.starts_with(word))).count();
    assert_eq!((lines.len(), listed, &told["failed"]), (88, 88, &0.into()));
    let (code, out, err) = run(&["verify", "--against", child.base(), "--key", "nobody"]).await;
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains("does not accept the key"), "{err}");
    // Whatever stands at this address, it is not a gateway.
    let nobody = "http://127.0.0.1:9";
    let (code, _, err) = run(&["verify", "--against", nobody, "--key", KEY]).await;
    assert!(code == 1 && err.contains(nobody), "{err}");
    // v1 itself is no gateway: it does not know v2.
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
    let v1 = serve_sandbox(&sandbox).await;
    let (code, _, err) = run(&["verify", "--against", &v1, "--key", KEY, "--workspace", "acme"]).await;
    assert!(code == 1 && !err.is_empty(), "{err}");
}
