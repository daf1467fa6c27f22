//! Commands as an operator uses them: their refusals, their output, and the data that they leave unchanged.

use crate::support::gateway::{Gateway, serve_sandbox};
use causeway::app::compile_plan;
use causeway::oauth::Minting;
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::verify::{Line, Report, Verdict};
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Whether the command succeeded, its standard output, and its standard error.
type Ended = (bool, String, String);

fn run(arguments: &[&str]) -> Ended {
    run_with(&[], arguments)
}

/// Runs the command with these environment variables.
fn run_with(variables: &[(&str, &str)], arguments: &[&str]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_causeway"));
    let output = command
        .envs(variables.iter().copied())
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("the program runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.success(), text(output.stdout), text(output.stderr))
}

fn written(file: &Path, text: &str, mode: u32) -> String {
    std::fs::write(file, text).expect("written");
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(mode)).expect("its mode");
    file.display().to_string()
}

#[test]
fn check_looks_at_the_secrets_and_tells_all_faults() {
    let folder = tempfile::tempdir().expect("a folder");
    let secret = run(&["secrets", "new"]).1;
    let (good, open) = (folder.path().join("good"), folder.path().join("open"));
    let (good, open) = (written(&good, &secret, 0o600), written(&open, &secret, 0o644));
    let store = format!("sqlite:{}", folder.path().join("store.db").display());
    let check = |file: &str, more: &[&str]| {
        let setting = format!("secrets.key_file={file}");
        run(&[&["check", "--store", &store, "--set", &setting], more].concat())
    };
    let (done, out, err) = check(&good, &[]);
    assert!(done && out.contains("\nsecrets   fine: can be read"), "{out}{err}");
    for (file, words) in [
        ("/nonexistent/secrets", ["/nonexistent/secrets cannot be read", "causeway secrets new"]),
        ("README.md", ["32 bytes", "causeway secrets new"]),
        (&open, ["can be read or changed by other users", "chmod 600"]),
    ] {
        let (done, out, err) = check(file, &["--set", "admin.token_file=/nonexistent/token"]);
        assert!(!done && words.iter().all(|word| err.contains(word)), "{file}: {err}");
        assert!(
            err.contains("/nonexistent/token") && out.contains("\nbackend   not checked"),
            "{file}: {out}{err}"
        );
    }
}

#[test]
fn a_new_secret_goes_into_no_other_file() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, content) in [("causeway.toml", &b"strict_query = true\n"[..]), ("picture", &[0xff, 0xd8])] {
        let file = folder.path().join(name);
        std::fs::write(&file, content).expect("written");
        let (done, _, err) = run(&["secrets", "new", "--file", &file.display().to_string()]);
        assert!(!done && err.contains("something other than secrets"), "{err}");
        assert_eq!(std::fs::read(&file).expect("the file"), content);
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 2, "nothing is beside them");
}

#[test]
fn commands_of_oauth_that_only_look_make_no_store() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("store.db");
    let store = format!("sqlite:{}", file.display());
    let place = ["--upstream", "http://127.0.0.1:9", "--store", &store];
    for command in [&["oauth", "client", "list"][..], &["key", "list"], &["secrets", "rotate"]] {
        let (done, _, err) = run(&[command, &place].concat());
        assert!(!done && err.contains("there is no store at") && err.contains("see --store"), "{command:?}: {err}");
        assert!(!file.exists());
    }
    let create = ["oauth", "client", "create", "--name", "x", "--redirect-uri", "https://a.example/cb"];
    let (done, out, err) = run(&[&create[..], &place].concat());
    assert!(done && out.contains("client id") && err.contains("OAuth is off until there is a secret"), "{err}");
    assert!(err.contains("there was no store at") && err.contains("it is made now"), "{err}");
    let (done, _, err) = run(&[&create[..], &place].concat());
    assert!(done && !err.contains("there was no store"), "{err}");
    let (done, out, err) = run(&[&["oauth", "client", "list"][..], &place].concat());
    assert!(done && out.contains("  x  (") && err.is_empty(), "{out}{err}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_title_of_a_key_does_nothing_to_the_terminal() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = format!("sqlite:{}", folder.path().join("store.db").display());
    let v1 = serve_sandbox(&Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() })).await;
    let secret = run(&["secrets", "new"]).1;
    let secret = secret.lines().last().expect("a secret").to_owned();
    let gateway = Gateway::with(&v1, &[("secrets.key", &secret), ("store.url", &store)]).await;
    let title = "report\u{1b}[2J\nno key at all\u{202e}".to_owned();
    let wanted = Minting { title, scopes: "read".into(), ..Minting::default() };
    gateway.mint("ada", wanted).await.expect("a key");
    gateway.stop().await;
    let (done, out, err) =
        run(&["key", "list", "--upstream", &v1, "--store", &store, "--set", &format!("secrets.key={secret}")]);
    assert!(done && out.lines().count() == 1 && out.contains("  report\u{fffd}[2J\u{fffd}no key"), "{out}{err}");
    assert!(!out.contains('\u{1b}') && !out.contains('\u{202e}'), "{out}");
}

#[test]
fn a_workspace_that_is_no_slug_is_refused_once() {
    for wrong in ["a/b", "", "..", "a b", "a%2Fb"] {
        let (done, out, err) =
            run(&["verify", "--against", "http://127.0.0.1:9", "--key", "k", "--workspace", wrong]);
        assert!(!done && out.is_empty() && err.contains("it is no slug"), "{wrong}: {out}{err}");
    }
}

#[test]
fn an_address_with_an_interface_is_refused_with_what_to_write() {
    let verify = ["verify", "--key", "k", "--against"];
    for interface in ["/api/v2", "/api/v2/", "/api"] {
        let address = format!("http://127.0.0.1:9{interface}");
        let (done, _, err) = run(&[&verify[..], &[&address]].concat());
        assert!(!done && err.contains(&format!("write it without {}", interface.trim_end_matches('/'))), "{err}");
    }
}

/// The paths are those of different parts of the gateway.
#[test]
fn explain_knows_the_pages_of_the_gateway() {
    for path in [
        "/healthz",
        "/readyz",
        "/",
        "/errors/gone",
        "/api/v2/schema/",
        "/api/v2/docs",
        "/api/v2/docs/?x=1",
        "/.well-known/oauth-authorization-server",
        "/auth/o/token/",
        "/hints/v1/acme/",
    ] {
        let (done, _, err) = run(&["explain", "GET", path]);
        assert!(!done && err.contains("is a page of the gateway and no operation"), "{path}: {err}");
    }
    for path in ["/errors/nothing", "/healthz/", "/api/v2/", "/api/v2/nothing/"] {
        let (done, _, err) = run(&["explain", "GET", path]);
        assert!(!done && err.contains("404 resource_not_found"), "{path}: {err}");
    }
}

/// All of them describe the gateway that these settings make.
#[test]
fn commands_that_describe_the_operations_read_the_mappings_of_the_settings() {
    let folder = tempfile::tempdir().expect("a folder");
    let states = std::fs::read_to_string("mappings/states.toml").expect("a mapping");
    let summary = "page through the workflow states of a project";
    assert!(states.contains(summary));
    let other = states.replace(summary, "page through our states");
    std::fs::write(folder.path().join("states.toml"), other).expect("written");
    let mappings = folder.path().to_str().expect("UTF-8");
    // Every TOML file in the folder of the mappings is one.
    let beside = tempfile::tempdir().expect("a folder");
    let settings = written(&beside.path().join("causeway.toml"), &format!("mappings = {mappings:?}\n"), 0o600);
    let (done, out, err) = run_with(&[("CAUSEWAY_MAPPINGS", mappings)], &["openapi"]);
    assert!(done && out.contains("page through our states"), "{err}");
    let (done, out, err) = run(&["openapi", "--config", &settings]);
    assert!(done && out.contains("page through our states"), "{err}");
    let none = [("CAUSEWAY_MAPPINGS", "/nonexistent/mappings")];
    for command in [&["operations"][..], &["verify", "--against", "http://127.0.0.1:9", "--key", "k"]] {
        let (done, _, err) = run_with(&none, command);
        assert!(!done && err.contains("/nonexistent/mappings"), "{command:?}: {err}");
    }
}

/// Scripts run them where settings of something else may lie.
#[test]
fn commands_that_get_a_folder_of_mappings_read_no_settings() {
    let folder = tempfile::tempdir().expect("a folder");
    let states = std::fs::read_to_string("mappings/states.toml").expect("a mapping");
    std::fs::write(folder.path().join("states.toml"), states).expect("written");
    let mappings = folder.path().to_str().expect("UTF-8");
    for other in [("CAUSEWAY_URL", "https://tracker.example"), ("CAUSEWAY_CONFIG", "/nonexistent/causeway.toml")] {
        for command in ["openapi", "operations"] {
            let (done, _, err) = run_with(&[other], &[command, "--mappings", mappings]);
            assert!(done, "{command}: {err}");
            let (done, _, err) = run_with(&[other], &[command]);
            assert!(!done, "{command} takes the mappings of the settings: {err}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_variable_that_is_set_to_nothing_counts_as_not_set() {
    let (done, out, err) = run_with(&[("CAUSEWAY_CONFIG", "")], &["explain", "GET", "/api/v2/users/me/"]);
    assert!(done && out.contains("users_me_retrieve"), "{err}");
    let (done, _, err) = run_with(&[("CAUSEWAY_KEY", "")], &["verify", "--against", "http://127.0.0.1:9"]);
    assert!(!done && err.contains("a value is required for '--key <KEY>'"), "{err}");
    let (done, _, err) = run(&["explain", "GET", "/api/v2/users/me/", "--config", ""]);
    assert!(!done, "a flag without a value is a mistake: {err}");
    let v1 = serve_sandbox(&Sandbox::new(Config { seed: Seed::Demo, ..Config::default() })).await;
    let check = ["check", "--store", "sqlite::memory:", "--upstream", &v1];
    let (done, out, err) = run_with(&[("CAUSEWAY_CHECK_KEY", "")], &check);
    assert!(done && out.contains("give --key to ask further"), "{out}{err}");
    let with_key = [&check[..], &["--set", "upstream.service_key=demo-admin-key"]].concat();
    let (done, out, err) = run_with(&[("CAUSEWAY_CHECK_KEY", "")], &with_key);
    assert!(done && out.contains("the key is that of"), "{out}{err}");
}

#[test]
fn an_address_of_a_store_that_the_start_refuses_is_refused_by_check() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = format!("sqlite:{}?cash=shared", folder.path().join("store.db").display());
    for command in ["check", "serve"] {
        let (done, _, err) = run(&[command, "--upstream", "http://127.0.0.1:9", "--store", &store]);
        let words = "unknown query parameter `cash`";
        assert!(!done && err.contains(words) && err.contains("correct the setting store.url"), "{command}: {err}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 0, "no file is made");
}

#[test]
fn certificates_that_cannot_be_read_are_told_by_check_and_at_the_start() {
    for (file, cause) in
        [("/nonexistent.pem", "No such file"), ("README.md", "it holds none"), ("", "No such file")]
    {
        let variables = [("SSL_CERT_FILE", file), ("SSL_CERT_DIR", "")];
        let told = format!("no certificates are read from {file:?} (SSL_CERT_FILE), so none is trusted: {cause}");
        let (done, out, _) = run_with(&variables, &["check", "--store", "sqlite::memory:"]);
        assert!(done && out.contains(&told) && out.contains("or unset the variable"), "{out}");
        // A store that cannot be opened ends the start after the warning.
        let serve = ["serve", "--upstream", "http://127.0.0.1:9", "--store", "sqlite:/nonexistent/folder/x.db"];
        let (done, out, err) = run_with(&variables, &serve);
        assert!(!done && [out, err].concat().contains("so none is trusted"), "{file}");
    }
}

/// Scripts let the system choose a port, and read it.
#[test]
fn the_sandbox_tells_the_port_on_which_it_listens() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_causeway"))
        .args(["sandbox", "--listen", "127.0.0.1:0"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut said = String::new();
    let read = BufReader::new(child.stdout.take().expect("its output")).read_line(&mut said);
    let address = said.trim().strip_prefix("v1 sandbox on http://").and_then(|said| said.strip_suffix("/api/v1/"));
    let connected = address.map(TcpStream::connect);
    child.kill().and_then(|()| child.wait()).expect("its end");
    assert!(read.is_ok() && connected.is_some_and(|connected| connected.is_ok()), "{said}");
}

#[test]
fn a_skipped_verification_names_the_missing_argument() {
    let plan = compile_plan(None).expect("a plan");
    let told = "there is nothing for pk".to_owned();
    let line = Line { operation: "workspace_members_retrieve".into(), verdict: Verdict::Skipped, told };
    let report = Report { lines: vec![line] };
    let [reads, writes] = [false, true].map(|write| report.proof(&plan, write).to_string());
    assert!(reads.contains("there is nothing for pk; give --project ID of a project that has one"), "{reads}");
    assert!(writes.contains("admin of the workspace") && !writes.contains("--write"), "{writes}");
}
