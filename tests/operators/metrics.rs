//! The metrics: their counts, the rules for their names and labels, and that the document lists all.

use crate::support::furnished::Furnished;
use crate::support::gateway::{Answer, Gateway, WEB, serve_sandbox};
use crate::support::losing::Losing;
use crate::support::pg_wire::PgWire;
use crate::support::postgres::Database;
use crate::support::switch::until;
use bytes::Bytes;
use causeway::sandbox::{Config, Sandbox, Seed};
use http::Request;
use http_body_util::Full;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

const LISTEN: (&str, &str) = ("admin.listen", "127.0.0.1:0");

async fn scrape(gateway: &Gateway, accept: &str) -> Answer {
    let request = Request::get(format!("{}/metrics", gateway.operators())).header("accept", accept);
    gateway.request(request.body(Full::new(Bytes::new())).expect("a request")).await.expect(200)
}

async fn text(gateway: &Gateway) -> String {
    String::from_utf8(scrape(gateway, "text/plain").await.bytes.to_vec()).expect("UTF-8")
}

/// Returns the samples by name with labels.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.map(|line| line.rsplit_once(' ').expect("a name and a value"));
    pairs.map(|(name, value)| (name.to_owned(), value.parse().expect("a number"))).collect()
}

/// Returns the kinds of the families by name, and their help.
fn families(text: &str) -> BTreeMap<String, (String, String)> {
    let said = |word: &str| -> BTreeMap<String, String> {
        let lines = text.lines().filter_map(|line| line.strip_prefix(word)?.split_once(' '));
        lines.map(|(name, rest)| (name.to_owned(), rest.to_owned())).collect()
    };
    let help = said("# HELP ");
    said("# TYPE ").into_iter().map(|(name, kind)| (name.clone(), (kind, help[&name].clone()))).collect()
}

/// A call that v1 carries out counts against the quota of its key, so it has to be counted.
#[tokio::test]
async fn a_passed_call_counts_also_when_its_client_leaves() {
    let sandbox = Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() });
    let wire = Losing::before(&serve_sandbox(&sandbox).await).await;
    wire.fall_silent_for("ada");
    let gateway = Gateway::with(wire.base_url(), &[LISTEN]).await;
    let asked = tokio::time::timeout(Duration::from_millis(300), gateway.get("ada", "/api/v1/users/me/")).await;
    assert!(asked.is_err(), "it was answered");
    let counted = async {
        let left = "causeway_v1_calls_total{operation=\"pass_through\",result=\"left\"}";
        while samples(&text(&gateway).await).get(left) != Some(&1.0) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), counted).await.expect("it was never counted");
}

#[tokio::test]
async fn requests_are_counted_by_operation_status_and_source() {
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &[LISTEN]).await;
    let states = format!("{WEB}/states/");
    gateway.get("ada", &states).await.expect(200);
    gateway.get("ada", &states).await.expect(200);
    gateway.get("ada", &format!("{WEB}/work-items/?priority=urgent")).await.expect(200);
    gateway.get("ada", &format!("{WEB}/work-items/?priority=urgent")).await.expect(200);
    gateway.get("ada", &format!("{WEB}/states/?gruop=x")).await.expect(400);
    gateway.get("ada", "/api/v1/users/me/").await.expect(200);
    gateway.get("ada", "/api/v1/users%2Fme/").await.expect(400);
    gateway.send(None, "GET", "/api/v2/nothing/", None).await.expect(401);
    gateway.get("ada", "/healthz").await.expect(200);
    let text = text(&gateway).await;
    let samples = samples(&text);
    let count = |operation: &str, status: &str, source: &str| {
        let name =
            format!("causeway_requests_total{{operation=\"{operation}\",status=\"{status}\",source=\"{source}\"}}");
        samples.get(&name).copied().unwrap_or_default()
    };
    assert_eq!(count("states_list", "2xx", "v1"), 1.0, "{text}");
    assert_eq!(count("states_list", "2xx", "cache"), 1.0);
    assert_eq!(count("states_list", "4xx", "none"), 1.0);
    assert!(count("work_items_list", "2xx", "index") >= 1.0, "{text}");
    assert_eq!(count("pass_through", "2xx", "v1"), 1.0);
    assert_eq!((count("pass_through", "4xx", "none"), count("pass_through", "4xx", "v1")), (1.0, 0.0), "{text}");
    assert_eq!(count("unknown", "4xx", "none"), 1.0);
    assert_eq!(count("health", "2xx", "none"), 1.0);
    assert_eq!(samples["causeway_request_duration_seconds_count{operation=\"states_list\"}"], 3.0);
    assert_eq!(samples["causeway_v1_calls_total{operation=\"pass_through\",result=\"ok\"}"], 1.0);
    assert!(samples["causeway_v1_calls_total{operation=\"states_list\",result=\"ok\"}"] >= 1.0);
    assert!(samples["causeway_v1_call_duration_seconds_count{kind=\"read\"}"] >= 3.0);
    assert_eq!(samples["causeway_v1_usable"], 1.0);
    assert!(samples["causeway_cache_hits_total{cache=\"collections\"}"] >= 1.0);
    assert!(samples["causeway_connections_open"] >= 1.0);
    assert!(samples["causeway_store_uses_total{kind=\"statement\"}"] >= 1.0);
    assert!(samples["process_resident_memory_bytes"] > 1e6);
}

#[tokio::test]
async fn records_of_the_own_store_are_told_apart_and_limits_are_counted() {
    let furnished = Furnished::with(&[LISTEN]).await;
    let limit = ("limits.rate.api_key", "2");
    furnished.gateway.reload(&[limit]).await.expect("a reload");
    let path = format!("{WEB}/work-item-types/");
    for expected in [200, 200, 429] {
        furnished.gateway.get("ada", &path).await.expect(expected);
    }
    let samples = samples(&text(&furnished.gateway).await);
    let own =
        samples.iter().filter(|(name, _)| name.starts_with("causeway_requests_total") && name.contains("\"own\""));
    assert!(own.map(|(_, count)| count).sum::<f64>() >= 2.0, "{samples:?}");
    assert_eq!(samples["causeway_limited_requests_total{limit=\"api_key\",outcome=\"refused\"}"], 1.0);
}

/// Keys are minted by a command, which runs in another process: the gateway showed 0 for ever.
#[tokio::test]
async fn events_that_a_gateway_cannot_count_have_no_figure() {
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &[LISTEN]).await;
    let samples = samples(&text(&gateway).await);
    let of = |event: &str| samples.get(&format!("causeway_oauth_events_total{{event=\"{event}\"}}"));
    assert_eq!((of("key_minted"), of("key_revoked")), (None, Some(&0.0)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_cannot_be_used_is_told() {
    let v1 = serve_sandbox(&Sandbox::new(Config { seed: Seed::Recorded, ..Config::default() })).await;
    let writable = async |gateway: &Gateway| samples(&text(gateway).await)["causeway_store_writable"];
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("store.db");
    let url = format!("sqlite:{}", file.display());
    let gateway = Gateway::with(&v1, &[LISTEN, ("store.url", url.as_str())]).await;
    assert_eq!(writable(&gateway).await, 1.0);
    std::fs::rename(&file, folder.path().join("elsewhere.db")).expect("another name");
    assert_eq!(writable(&gateway).await, 0.0);

    let database = Database::create().await;
    let wire = PgWire::before(&database.url()).await;
    let gateway = Gateway::with(&v1, &[LISTEN, ("store.url", wire.url())]).await;
    until("it can be written", async || writable(&gateway).await == 1.0).await;
    wire.refuse_logins(Some("28000"));
    wire.cut(false);
    until("it cannot be used", async || writable(&gateway).await == 0.0).await;
    wire.refuse_logins(None);
    until("it can be written again", async || writable(&gateway).await == 1.0).await;
}

#[tokio::test]
async fn a_scraper_gets_the_form_it_asks_for() {
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &[LISTEN]).await;
    let open = scrape(&gateway, "application/openmetrics-text;version=1.0.0,text/plain;q=0.5").await;
    assert!(open.headers["content-type"].starts_with("application/openmetrics-text; version=1.0.0"));
    assert!(open.bytes.ends_with(b"# EOF\n"));
    let plain = scrape(&gateway, "*/*").await;
    assert_eq!(plain.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    assert!(!plain.bytes.ends_with(b"# EOF\n"));
}

/// The rules of `promtool check metrics`, and Prometheus' conventions for names.
#[tokio::test]
async fn names_keep_to_the_conventions() {
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &[LISTEN]).await;
    gateway.get("ada", &format!("{WEB}/states/")).await.expect(200);
    let text = text(&gateway).await;
    let units = ["seconds", "bytes", "total", "info"];
    for (name, (kind, help)) in families(&text) {
        assert!(name.starts_with("causeway_") || name.starts_with("process_"), "{name}");
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'), "{name}");
        assert!(help.len() > 3 && help.ends_with('.'), "{name}: {help}");
        assert_eq!(kind == "counter", name.ends_with("_total"), "{name} is a {kind}");
        for part in ["milliseconds", "minutes", "kilobytes", "ms", "mb", "count", "sum", "bucket", "gauge"] {
            assert!(!name.split('_').any(|word| word == part), "{name}: {part}");
        }
        let base = name.trim_end_matches("_total");
        let unit = units.iter().find(|unit| base.split('_').any(|word| word == **unit));
        assert!(unit.is_none_or(|unit| base.ends_with(unit)), "{name}: the unit stands last");
    }
    let mut seen = BTreeSet::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, _) = line.rsplit_once(' ').expect("a value");
        assert!(seen.insert(name), "{name} stands there twice");
    }
}

#[tokio::test]
async fn input_of_clients_creates_no_new_metrics() {
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &[LISTEN]).await;
    let names = |text: &str| samples(text).len();
    let ask = async |round: usize| {
        for path in ["/api/v1/x{}/", "/api/v2/y{}/", "/z{}", "/api/v2/workspaces/w{}/members/"] {
            let path = path.replace("{}", &round.to_string());
            gateway
                .send_with(&format!("key{round}"), "GET", &path, None, &[("user-agent", &format!("agent{round}"))])
                .await;
        }
    };
    ask(0).await;
    ask(1).await;
    let before = names(&text(&gateway).await);
    for round in 2..30 {
        ask(round).await;
    }
    let text = text(&gateway).await;
    assert!(names(&text) <= before + 12, "{before} figures became {}:\n{text}", names(&text));
    // None of these words can be part of a commit's hash, which the metrics contain.
    for word in ["key7", "agent7", "y7", "w7"] {
        assert!(!text.contains(word), "{word} is a client's own");
    }
}

/// Names and kinds of the table in `docs/metrics.md`.
fn documented() -> BTreeMap<String, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/metrics.md");
    let text = std::fs::read_to_string(path).expect("docs/metrics.md");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `"));
    let row = |row: &str| {
        let mut cells = row.split('|').map(|cell| cell.trim().trim_matches('`').to_owned());
        (cells.next().expect("a name"), cells.next().expect("a kind"))
    };
    rows.map(row).collect()
}

#[tokio::test]
async fn the_document_lists_what_is_there() {
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &[LISTEN]).await;
    let exported: BTreeMap<String, String> =
        families(&text(&gateway).await).into_iter().map(|(name, (kind, _))| (name, kind)).collect();
    assert_eq!(documented(), exported);
}

#[test]
fn dashboard_and_alerts_ask_for_what_is_there() {
    let documented = documented();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy");
    let read =
        |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_else(|fault| panic!("{name}: {fault}"));
    let dashboard: serde_json::Value = serde_json::from_str(&read("grafana-dashboard.json")).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let mut queries: Vec<String> =
        targets.map(|target| target["expr"].as_str().expect("a query").to_owned()).collect();
    assert!(queries.len() >= 12, "{}", queries.len());
    let alerts = read("alerts.yaml");
    let alerting = alerts.lines().filter_map(|line| line.trim().strip_prefix("expr: ")).map(str::to_owned);
    queries.extend(alerting);
    assert!(queries.len() >= 18 && alerts.matches("- alert: ").count() >= 6, "{}", queries.len());
    for query in queries {
        let words = query.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let named: Vec<&str> =
            words.filter(|word| word.starts_with("causeway_") || word.starts_with("process_")).collect();
        assert!(!named.is_empty(), "{query}");
        for name in named {
            let family =
                ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
            assert!(documented.contains_key(family), "{name} in {query}");
        }
    }
}
