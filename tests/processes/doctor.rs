//! `causeway doctor` on set-ups with one fault each: it names the fault and the remedy.

use super::child::Child;
use super::commands::run;
use super::support::gateway::{Gateway, serve_sandbox};
use super::support::planting::Planting;
use super::support::redis::Redis;
use super::tls::behind_tls;
use causeway::sandbox::{Config, Sandbox, Seed};
use causeway::store::Store;
use causeway::task::spawn;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const KEY: &str = "demo-admin-key";
/// An address where nothing listens.
const NOTHING: &str = "http://127.0.0.1:9";

/// Seconds of a day.
const DAY: u64 = 86_400;

/// A set-up that works: a v1, a folder for the store, a free port.
struct SetUp {
    v1: String,
    folder: TempDir,
}

impl SetUp {
    async fn new() -> Self {
        let sandbox = Sandbox::new(Config { seed: Seed::Demo, ..Config::default() });
        Self { v1: serve_sandbox(&sandbox).await, folder: tempfile::tempdir().expect("a folder") }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn store(&self) -> String {
        format!("sqlite:{}", self.path("store.db"))
    }

    async fn made_store(&self, v1: &str) -> String {
        Store::open(&self.store(), v1).await.expect("a store").close().await;
        self.store()
    }

    /// Returns the findings of the doctor with the settings of this set-up, unless `changed` names them too.
    async fn examined(&self, changed: &[(&str, &str)], more: &[&str]) -> (i32, Value) {
        let (v1, store) = (self.v1.clone(), self.store());
        let usual = [("upstream.base_url", v1.as_str()), ("store.url", &store), ("listen.address", "127.0.0.1:0")];
        let usual = usual.into_iter().filter(|(name, _)| changed.iter().all(|(known, _)| known != name));
        let settings: Vec<String> =
            usual.chain(changed.iter().copied()).map(|(name, value)| format!("{name}={value}")).collect();
        let mut arguments = vec!["doctor", "--json"];
        arguments.extend(settings.iter().flat_map(|setting| ["--set", setting.as_str()]));
        arguments.extend(more);
        let (code, out, err) = run(&arguments).await;
        (code, serde_json::from_str(&out).unwrap_or_else(|fault| panic!("{fault}: {out}{err}")))
    }

    /// Asserts that the doctor reports this finding with this state and this remedy.
    async fn finds(&self, changed: &[(&str, &str)], more: &[&str], [state, found, remedy]: [&str; 3]) {
        let (code, report) = self.examined(changed, more).await;
        let checks = report["checks"].as_array().expect("checks");
        let text = |check: &Value, member: &str| check[member].as_str().unwrap_or_default().to_owned();
        let named = checks.iter().any(|check| {
            check["state"] == state
                && text(check, "found").contains(found)
                && text(check, "remedy").contains(remedy)
        });
        assert!(named, "not found: {state} {found} -> {remedy} in {report:#}");
        assert_eq!(code == 1, state == "fault", "{report:#}");
    }
}

/// Writes a certificate that ends in `days` days, and its key.
fn certificate(chain: &str, private: &str, days: i64) {
    let key = rcgen::KeyPair::generate().expect("a key");
    let mut params = rcgen::CertificateParams::new(["localhost".to_owned()]).expect("a name");
    params.not_after = (SystemTime::now() + Duration::from_secs(400 * DAY)).into();
    params.not_after -= Duration::from_secs(DAY * u64::try_from(400 - days).expect("a time before"));
    std::fs::write(chain, params.self_signed(&key).expect("a certificate").pem()).expect("a file");
    std::fs::write(private, key.serialize_pem()).expect("a file");
    std::fs::set_permissions(private, std::fs::Permissions::from_mode(0o600)).expect("a mode");
}

/// Asserts that `causeway check` reports the same, and fails when it is a fault.
async fn check_says(changed: &[(&str, &str)], [state, found, remedy]: [&str; 3]) {
    let settings: Vec<String> = changed.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let mut arguments = vec!["check", "--set", "store.url=sqlite::memory:"];
    arguments.extend(settings.iter().flat_map(|setting| ["--set", setting.as_str()]));
    let (code, out, err) = run(&arguments).await;
    let told = if state == "fault" { &err } else { &out };
    assert!(told.contains(found) && told.contains(remedy), "{out}{err}");
    assert_eq!(code != 0, state == "fault", "{out}{err}");
}

/// Starts a server that answers every request with these bytes.
async fn says(answer: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let base = format!("http://{}", listener.local_addr().expect("an address"));
    let answer = answer.replace('\n', "\r\n").into_bytes();
    spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let answer = answer.clone();
            spawn(async move {
                let _ = stream.read(&mut [0; 4096]).await;
                let _ = stream.write_all(&answer).await;
            });
        }
    });
    base
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\n{headers}Content-Length: {length}\nConnection: close\n\n{body}")
}

const JSON: &str = "Content-Type: application/json\n";
const REFUSED: &str = "{\"detail\":\"Given API token is not valid\"}";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sound_set_up_has_no_faults() {
    let set_up = SetUp::new().await;
    let (code, report) = set_up.examined(&[], &["--key", KEY]).await;
    assert_eq!(code, 0, "{report:#}");
    assert!(report["checks"].as_array().unwrap().iter().all(|check| check["state"] == "fine"), "{report:#}");
    assert!(!Path::new(&set_up.path("store.db")).exists(), "a look makes no store");
    set_up.made_store(&set_up.v1).await;
    set_up.finds(&[], &["--key", KEY], ["fine", "sound", ""]).await;
    set_up.finds(&[], &["--key", KEY], ["fine", "the key is that of ada@acme.test", ""]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn broken_settings_mappings_and_secrets_are_named() {
    let set_up = SetUp::new().await;
    let (letter, open, good) = (set_up.path("letter"), set_up.path("open"), set_up.path("good"));
    std::fs::write(&letter, "Dear reader").unwrap();
    let secret = run(&["secrets", "new"]).await.1;
    for (file, mode) in [(&open, 0o644), (&good, 0o600)] {
        std::fs::write(file, secret.lines().last().unwrap()).unwrap();
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let mappings = set_up.path("mappings");
    std::fs::create_dir(&mappings).unwrap();
    std::fs::write(format!("{mappings}/states.toml"), "this = is no mapping").unwrap();
    set_up.finds(&[("limits.dedline", "5s")], &[], ["fault", "limits.dedline", "each line above"]).await;
    set_up.finds(&[], &["--config", &letter], ["fault", "letter", "each line above"]).await;
    set_up.finds(&[("mappings", "/nonexistent")], &[], ["fault", "/nonexistent", "leave out the setting"]).await;
    set_up.finds(&[("mappings", &mappings)], &[], ["fault", "states.toml", "correct the files"]).await;
    set_up.finds(&[("secrets.key", "short")], &[], ["fault", "32 bytes", "causeway secrets new"]).await;
    set_up.finds(&[("secrets.key_file", "/nonexistent")], &[], ["fault", "cannot be read", "secrets new"]).await;
    set_up
        .finds(&[("secrets.key_file", &open)], &[], ["fault", "read or changed by other users", "chmod 600"])
        .await;
    set_up.finds(&[("secrets.key_file", &good)], &[], ["fine", "can be read", ""]).await;
    let no_certificate = [("listen.tls.certificate_file", "/nonexistent"), ("listen.tls.key_file", good.as_str())];
    set_up.finds(&no_certificate, &[], ["fault", "/nonexistent cannot be used", "listen.tls.key_file"]).await;
    let (chain, private) = (set_up.path("chain.pem"), set_up.path("private.pem"));
    let tls = [("listen.tls.certificate_file", chain.as_str()), ("listen.tls.key_file", private.as_str())];
    for (days, [state, found]) in
        [(-1, ["fault", "clients refuse it"]), (3, ["warning", "ends soon"]), (90, ["fine", "can be used, until"])]
    {
        certificate(&chain, &private, days);
        let remedy = if state == "fine" { "" } else { "renew it" };
        set_up.finds(&tls, &[], [state, found, remedy]).await;
        check_says(&tls, [state, found, remedy]).await;
    }
    let unknown = "[{ operation = \"v1_sattes_list\", from = \"2999-01-01\", until = \"2999-01-02\" }]";
    let expected = ["fault", "v1 has no operation v1_sattes_list", "docs/migration.md"];
    set_up.finds(&[("brownout", unknown)], &[], expected).await;
    let over = "[{ operation = \"all\", from = \"2020-01-01\", until = \"2020-01-02\" }]";
    set_up.finds(&[("brownout", over)], &[], ["warning", "has passed and is ignored", ""]).await;
    check_says(
        &[("brownout", unknown)],
        ["fault", "v1 has no operation v1_sattes_list", "did you mean v1_states_list"],
    )
    .await;
    check_says(&[("brownout", over)], ["warning", "has passed and is ignored", "take it out"]).await;
    let plain = [("secrets.key_file", good.as_str()), ("public_url", "http://gateway.invalid")];
    set_up.finds(&plain, &[], ["fault", "shows keys and tokens", "use https"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_and_folders_that_cannot_be_used_are_named() {
    let set_up = SetUp::new().await;
    let written = |name: &str, text: &str, mode: u32| {
        let file = set_up.path(name);
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        file
    };
    let token = "0123456789abcdef0123456789abcdef";
    let (good, open, short) = (written("t1", token, 0o600), written("t2", token, 0o644), written("t3", "x", 0o600));
    for (file, expected) in [
        (&good, ["fine", "the operators' token can be read", ""]),
        (&open, ["fault", "read or changed by other users", "chmod 600"]),
        (&short, ["fault", "holds no token", "admin.token_file"]),
        (&set_up.path("t4"), ["fault", "cannot be read", "admin.token_file"]),
    ] {
        set_up.finds(&[("admin.token_file", file)], &[], expected).await;
    }
    let (good, open) = (written("h1", "acme s3cret", 0o600), written("h2", "acme s3cret", 0o644));
    for (file, expected) in [
        (&good, ["fine", "the secrets of webhooks can be read", ""]),
        (&open, ["fault", "read or changed by other users", "chmod 600"]),
        (&written("h3", "acme", 0o600), ["fault", "line 1", "hints.secrets_file"]),
        (&set_up.path("h4"), ["fault", "cannot be read", "hints.secrets_file"]),
    ] {
        set_up.finds(&[("hints.secrets_file", file), ("upstream.service_key", KEY)], &[], expected).await;
    }
    let keyless = [("hints.secrets_file", good.as_str())];
    set_up.finds(&keyless, &[], ["warning", "nothing without upstream.service_key", "upstream.service_key"]).await;
    let (there, new) = (set_up.folder.path().display().to_string(), set_up.path("a/b"));
    set_up.finds(&[("index.directory", &there)], &[], ["fine", "indices can be kept in", ""]).await;
    set_up.finds(&[("index.directory", &new)], &[], ["fine", "is not there yet", ""]).await;
    assert!(!Path::new(&set_up.path("a")).exists(), "a look makes no folder");
    for file in [&good, &format!("{good}/below")] {
        set_up.finds(&[("index.directory", file)], &[], ["warning", "is no folder", "index.directory"]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shared_place_that_cannot_be_used_is_named() {
    let set_up = SetUp::new().await;
    let redis = Redis::start();
    let refused = redis.url().replace("redis://", "redis://nobody:s3cret@");
    let (no_database, a_database) = (format!("{}/99", redis.url()), format!("{}/3", redis.url()));
    for (url, expected) in [
        (redis.url().as_str(), ["fine", "can be used", ""]),
        (&a_database, ["fine", "can be used", ""]),
        (&refused, ["fault", "Redis refuses to be used", "shared.url"]),
        (&no_database, ["fault", "DB index is out of range", "number of the database"]),
        ("redis://:s3cret@127.0.0.1:9", ["warning", "does not answer", "too many connections"]),
    ] {
        set_up.finds(&[("shared.url", url)], &[], expected).await;
        let told = set_up.examined(&[("shared.url", url)], &[]).await.1.to_string();
        assert!(!told.contains("s3cret"), "{told}");
    }
    assert_eq!(redis.contents(), "", "a look leaves nothing there");
    let mut operator = redis.connection();
    redis::cmd("REPLICAOF").arg("127.0.0.1").arg(1).exec(&mut operator).expect("a replica");
    let replica = ["warning", "answers with an error", "see whether it is a replica"];
    set_up.finds(&[("shared.url", &redis.url())], &[], replica).await;
    redis::cmd("CONFIG").arg("SET").arg("requirepass").arg("s3cret").exec(&mut operator).expect("a password");
    for url in [&redis.url(), &a_database] {
        let expected = ["fault", "Authentication required", "shared.url"];
        set_up.finds(&[("shared.url", url)], &[], expected).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn broken_stores_are_named() {
    let set_up = SetUp::new().await;
    let missing = format!("sqlite:{}", set_up.path("no/store.db"));
    set_up.finds(&[("store.url", &missing)], &[], ["fault", "there is no folder", "make the folder"]).await;
    let letter = set_up.path("letter.db");
    std::fs::write(&letter, "this is a letter, not a database; it is long enough".repeat(50)).unwrap();
    std::fs::set_permissions(&letter, std::fs::Permissions::from_mode(0o600)).unwrap();
    let letter = format!("sqlite:{letter}");
    set_up.finds(&[("store.url", &letter)], &[], ["fault", "damaged", "causeway store restore"]).await;
    let postgres = "postgres://ada:secret@127.0.0.1:9/causeway";
    set_up.finds(&[("store.url", postgres)], &[], ["fault", "postgres://127.0.0.1:9/causeway", "store.url"]).await;
    let url = set_up.made_store("https://old.example").await;
    set_up
        .finds(&[], &[], ["fault", "belongs to the v1 deployment at https://old.example", "store rebase --to"])
        .await;
    let store = Store::open_for_upkeep(&url).await.unwrap();
    store.rebase(&set_up.v1).await.unwrap();
    let newer = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
                 VALUES (9999, 'newer', true, x'00', 1)";
    sqlx::query(newer).execute(store.engine().pool()).await.unwrap();
    sqlx::query("UPDATE service SET min_writer = 9999").execute(store.engine().pool()).await.unwrap();
    store.close().await;
    set_up.finds(&[], &[], ["fault", "has made step 9999 of its tables", "use the newer version"]).await;
    std::fs::remove_file(set_up.path("store.db")).unwrap();
    set_up.made_store(&set_up.v1).await;
    std::fs::set_permissions(set_up.path("store.db"), std::fs::Permissions::from_mode(0o644)).unwrap();
    set_up.finds(&[], &[], ["fault", "read or changed by other users", "chmod 600"]).await;
    let reading = format!("{}?mode=ro", set_up.store());
    set_up.finds(&[("store.url", &reading)], &[], ["fault", "can only be read", "leave mode=ro out"]).await;
}

/// A folder that is mounted read-only until this is dropped, on machines that allow mounting.
struct Mounted(PathBuf);

impl Mounted {
    fn over(folder: &Path) -> Option<Self> {
        let mount = |arguments: &[&str]| {
            let mounted = Command::new("mount").args(arguments).arg(folder).output();
            mounted.is_ok_and(|output| output.status.success())
        };
        let bound = Command::new("mount").arg("--bind").args([folder, folder]).output();
        let mounted = bound.is_ok_and(|output| output.status.success()).then(|| Self(folder.into()))?;
        mount(&["-o", "remount,ro,bind"]).then_some(mounted)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_system_that_takes_no_writes_is_told_from_a_folder_of_somebody_else() {
    let set_up = SetUp::new().await;
    let folder = set_up.path("disk");
    std::fs::create_dir(&folder).unwrap();
    let store = format!("sqlite:{folder}/store.db");
    Store::open(&store, &set_up.v1).await.unwrap().close().await;
    let Some(_mounted) = Mounted::over(Path::new(&folder)) else { return };
    let missing = format!("sqlite:{folder}/missing.db");
    let kept = format!("{folder}/indices");
    for (setting, value, found) in [
        ("store.url", &store, ["fault", "can only be read"]),
        ("store.url", &missing, ["fault", "cannot be written"]),
        ("index.directory", &kept, ["warning", "indices cannot be kept"]),
    ] {
        let [state, found] = found;
        set_up.finds(&[(setting, value)], &[], [state, found, "make the file system writable"]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_v1_that_cannot_be_used_is_named() {
    let set_up = SetUp::new().await;
    let issuer = set_up.path("issuer.pem");
    let tls = format!("https://localhost:{}", behind_tls(&set_up.v1, Path::new(&issuer)).await);
    let over_tls = set_up.v1.replace("http://", "https://");
    let redirects = says(&answer("301 Moved", "Location: https://v1.example/\n", "")).await;
    let a_page = says(&answer("200 OK", "Content-Type: text/html\n", "<h1>Welcome</h1>")).await;
    let failing = says(&answer("502 Bad Gateway", "Content-Type: text/html\n", "no")).await;
    let late = says(&answer("403 No", &format!("{JSON}Date: Sun, 06 Nov 1994 08:49:37 GMT\n"), REFUSED)).await;
    let full = says(&answer("429 Too Many", JSON, "{}")).await;
    let other_words = says(&answer("403 No", JSON, "{\"detail\":\"no\"}")).await;
    let other_gateway = Child::start(&set_up.v1, "sqlite::memory:").await;
    for (v1, expected) in [
        (NOTHING, ["fault", "the connection is refused", "see whether it runs"]),
        ("http://v1.invalid", ["fault", "cannot be resolved", "correct the name"]),
        (&tls, ["fault", "certificate is not accepted", "add its authority"]),
        (&over_tls, ["fault", "does not speak TLS", "write http://"]),
        (&redirects, ["fault", "redirects to https://v1.example/", "upstream.base_url"]),
        (&a_page, ["fault", "does not answer like v1: 200 text/html", "upstream.base_url"]),
        (&failing, ["fault", "fails with 502", "log of v1"]),
        (&late, ["fault", "clocks of v1 and of this machine differ", "NTP"]),
        (&full, ["warning", "refuses to answer now", "in a minute"]),
        (&other_words, ["warning", "other words than v1", "causeway verify"]),
        (other_gateway.base(), ["warning", "another causeway stands at", "unless two gateways are meant"]),
    ] {
        set_up.finds(&[("upstream.base_url", v1)], &[], expected).await;
    }
    set_up.finds(&[], &["--key", "nobody"], ["fault", "the key is refused with 403", "--key"]).await;
    let (code, report) = set_up.examined(&[("upstream.base_url", "not an address")], &[]).await;
    assert_eq!((code, report["checks"][0]["part"].as_str()), (1, Some("settings")), "{report:#}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_v1_that_allows_fewer_calls_than_the_gateway_expects_is_named() {
    let set_up = SetUp::new().await;
    let few = Sandbox::new(Config { seed: Seed::Demo, quota_per_minute: Some(5), ..Config::default() });
    let few = serve_sandbox(&few).await;
    let warning = ["warning", "the key has 4 calls left in this minute", "upstream.quota"];
    set_up.finds(&[("upstream.base_url", &few)], &["--key", KEY], warning).await;
    let set = [("upstream.base_url", few.as_str()), ("upstream.quota", "5")];
    let (_, report) = set_up.examined(&set, &["--key", KEY]).await;
    assert!(!report.to_string().contains("the key has"), "{report:#}");
    // Calls of the last minute, such as those of another examination, make no v1 that allows fewer.
    let usual = Sandbox::new(Config { seed: Seed::Demo, quota_per_minute: Some(60), ..Config::default() });
    let usual = serve_sandbox(&usual).await;
    for _ in 0..3 {
        let (_, report) = set_up.examined(&[("upstream.base_url", &usual)], &["--key", KEY]).await;
        assert!(!report.to_string().contains("the key has"), "{report:#}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_v1_that_lacks_calls_of_the_gateway_is_named_with_its_version() {
    let set_up = SetUp::new().await;
    let plane = |version: &'static str, lacks: &'static str| {
        Planting::before(&set_up.v1, move |asked, _, status, body| {
            if asked.path == "/api/instances/" {
                (*status, *body) = (200, json!({"config": {}, "instance": {"current_version": version}}));
            } else if asked.path.contains(lacks) {
                (*status, *body) = (404, json!({"error": "Page not found."}));
            }
        })
    };
    let (old, new) = (plane("v1.0.0", "/work-items/").await, plane("v1.3.1", "/issues/").await);
    for key in [&[][..], &["--key", KEY]] {
        let v1 = [("upstream.base_url", old.base_url())];
        let found = "lacks 5 calls that the gateway makes: workspaces/{slug}/projects/{project_id}/work-items/";
        set_up.finds(&v1, key, ["fault", found, "docs/getting-started.md"]).await;
        set_up.finds(&v1, key, ["fault", "workspaces/{slug}/work-items/{identifier}/", ""]).await;
        let told = set_up.examined(&v1, key).await.1.to_string();
        assert!(told.contains("Plane v1.0.0") && !told.contains("/states/"), "{told}");
        let v1 = [("upstream.base_url", new.base_url())];
        set_up.finds(&v1, key, ["fine", "calls itself Plane v1.3.1", ""]).await;
        set_up.finds(&v1, key, ["fine", "has each of the 22 calls that the gateway makes", ""]).await;
    }
    let full = Planting::before(&set_up.v1, |asked, _, status, _| {
        if asked.path.contains("/states/") {
            *status = 429;
        }
    });
    let (full, unsure) =
        (full.await, "could not be found out, at first of workspaces/{slug}/projects/{project_id}/states/");
    set_up.finds(&[("upstream.base_url", full.base_url())], &[], ["warning", unsure, "ask again"]).await;
    let odd = plane("<b>\n", "/issues/").await;
    let told = set_up.examined(&[("upstream.base_url", odd.base_url())], &[]).await.1.to_string();
    assert!(!told.contains("Plane"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doctor_names_what_stands_before_the_gateway() {
    let set_up = SetUp::new().await;
    let taken = says(&answer("200 OK", "", "hello")).await;
    let address = taken.trim_start_matches("http://").to_owned();
    set_up
        .finds(&[("listen.address", &address)], &[], ["fault", "taken by another program", "listen.address"])
        .await;
    let operators = ["fault", "cannot be listened on: Address already in use", "admin.listen"];
    set_up.finds(&[("admin.listen", &address)], &[], operators).await;
    set_up
        .finds(&[("listen.address", "192.0.2.1:80")], &[], ["fault", "cannot be listened on", "listen.address"])
        .await;
    set_up.finds(&[("public_url", NOTHING)], &[], ["fault", "the connection is refused", ""]).await;
    set_up
        .finds(&[("public_url", &taken)], &[], ["fault", "answered by something else (200)", "let the proxy"])
        .await;
    let gateway = Child::start(&set_up.v1, "sqlite::memory:").await;
    let listening = gateway.base().trim_start_matches("http://").to_owned();
    set_up.finds(&[("listen.address", &listening)], &[], ["fine", "a gateway runs at", ""]).await;
    set_up.finds(&[("public_url", gateway.base())], &[], ["fine", "a gateway that knows its address", ""]).await;
    // A proxy that does not forward the host, and one that collects bodies first.
    let listening: &'static str = listening.leak();
    let hiding = proxy(listening, Some(("localhost", "elsewhere"))).await.replace("127.0.0.1", "localhost");
    set_up
        .finds(&[], &["--through", &hiding], ["fault", "takes itself for http://elsewhere", "trusted_proxies"])
        .await;
    let collecting = proxy(listening, None).await;
    set_up
        .finds(&[], &["--through", &collecting], ["warning", "collects the bodies", "proxy_request_buffering"])
        .await;
    let own = set_up.examined(&[("upstream.base_url", gateway.base()), ("listen.address", listening)], &[]).await.1;
    assert!(own.to_string().contains("is this gateway itself"), "{own:#}");
}

/// With socket activation a gateway runs at the address of the socket unit, and the setting `listen.address` is free.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_operators_listener_of_a_gateway_that_runs_elsewhere_is_no_fault() {
    let set_up = SetUp::new().await;
    let file = set_up.path("token");
    std::fs::write(&file, "0123456789abcdef0123456789abcdef").unwrap();
    let listen = ("admin.listen", "127.0.0.1:0");
    for settings in [&[listen][..], &[listen, ("admin.token_file", file.as_str())]] {
        let gateway = Gateway::sandboxed_with(Seed::Recorded, settings).await;
        let address = gateway.operators().trim_start_matches("http://").to_owned();
        set_up
            .finds(
                &[("admin.listen", &address)],
                &[],
                ["warning", "the operators' listener of a gateway runs", "socket activation"],
            )
            .await;
        set_up.finds(&[("admin.listen", &address)], &[], ["fine", "the address of the socket unit", ""]).await;
    }
}

/// A proxy that changes words in a request's head, or waits for its whole body.
async fn proxy(to: &'static str, change: Option<(&'static str, &'static str)>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let base = format!("http://{}", listener.local_addr().expect("an address"));
    spawn(async move {
        while let Ok((mut outside, _)) = listener.accept().await {
            spawn(async move {
                let mut head = vec![0; 8192];
                let Ok(read) = outside.read(&mut head).await else { return };
                let head = String::from_utf8_lossy(&head[..read]).into_owned();
                if change.is_none() && head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
                    // The end of the body, which never comes.
                    let mut rest = Vec::new();
                    let _ = outside.read_to_end(&mut rest).await;
                    return;
                }
                let head = change.map_or(head.clone(), |(from, to)| head.replace(from, to));
                let Ok(mut inside) = tokio::net::TcpStream::connect(to).await else { return };
                let _ = inside.write_all(head.as_bytes()).await;
                let _ = tokio::io::copy_bidirectional(&mut outside, &mut inside).await;
            });
        }
    });
    base
}
