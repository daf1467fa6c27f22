//! The examples in `deploy/`: every variable they set is a setting, a gateway gets the time to end its requests, and
//! the proxy writes the headers that gateways believe.
//!
//! May use: the public interface of the crate.

use causeway::settings::{LoadArgs, Settings};
use std::collections::BTreeMap;
use std::path::Path;

/// Variables whose values the examples leave to the operator or to a secret.
const LEFT_OPEN: [(&str, &str); 3] = [
    ("CAUSEWAY_STORE__URL", "postgres://causeway@postgres/causeway"),
    ("CAUSEWAY_SHARED__URL", "redis://redis:6379"),
    ("CAUSEWAY_UPSTREAM__BASE_URL", "https://v1.example.com"),
];

/// Returns the variables of a file, with their values where the file gives them.
fn variables(text: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        let line = line.trim_start_matches("- name: ").trim_start_matches("ENV ");
        if !line.starts_with("CAUSEWAY_") {
            continue;
        }
        let (name, value) = line.split_once([':', '=']).unwrap_or((line, ""));
        let open = LEFT_OPEN.iter().find(|(open, _)| *open == name).map(|(_, value)| *value);
        found.insert(name.to_owned(), open.unwrap_or(value.trim()).to_owned());
    }
    found
}

#[test]
fn every_variable_of_the_examples_is_a_setting() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy");
    for (file, least) in [("compose.yaml", 5), ("kubernetes/gateway.yaml", 6), ("Dockerfile", 1)] {
        let text = std::fs::read_to_string(folder.join(file)).expect(file);
        let mut env = variables(&text);
        assert!(env.len() >= least, "{file}: {env:?}");
        if let Some(secret) = env.get_mut("CAUSEWAY_SECRETS__KEY") {
            *secret = causeway::oauth::Keyring::new_secret();
        }
        let loaded = Settings::load(LoadArgs { file: None, env, overrides: Vec::new() });
        assert!(loaded.is_ok(), "{file}: {}", loaded.expect_err("a fault"));
    }
    let nonsense = variables("CAUSEWAY_STORE__ULR: x");
    assert!(Settings::load(LoadArgs { file: None, env: nonsense, overrides: Vec::new() }).is_err());
}

/// Returns the number behind `key` in the line that begins with it.
fn number(text: &str, key: &str) -> u64 {
    let line = text.lines().find_map(|line| line.trim().strip_prefix(key)).unwrap_or_else(|| panic!("no {key}"));
    line.trim().trim_end_matches('s').parse().unwrap_or_else(|fault| panic!("{key} {line}: {fault}"))
}

/// The grace period of each example covers the pause before the shutdown and the end of the running requests.
#[test]
fn a_gateway_is_not_killed_while_its_requests_finish() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy");
    let text = |file: &str| std::fs::read_to_string(folder.join(file)).expect(file);
    let (pods, containers) = (text("kubernetes/gateway.yaml"), text("compose.yaml"));
    let env = BTreeMap::<String, String>::new();
    let settings = Settings::load(LoadArgs { file: None, env, overrides: Vec::new() }).expect("the defaults");
    let drain = settings.listen.drain_time.as_secs();
    let (pause, allowed) = (number(&pods, "seconds:"), number(&pods, "terminationGracePeriodSeconds:"));
    assert!(
        pods.contains("preStop:") && pause >= 5 && allowed > pause + drain,
        "{allowed} s for {pause} s and {drain} s"
    );
    assert!(number(&containers, "stop_grace_period:") > drain);
}

/// The gateways believe the proxy, so a header that it does not write would come from a client.
#[test]
fn the_proxy_writes_every_header_that_the_gateway_believes() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/compose.nginx.conf");
    let text = std::fs::read_to_string(file).expect("the configuration of nginx");
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("proxy_set_header")).collect();
    for header in ["X-Forwarded-For $remote_addr", "X-Forwarded-Host $http_host", "X-Forwarded-Proto $scheme"] {
        let line = format!("    proxy_set_header {header};");
        assert!(lines.contains(&line.as_str()), "{header}: {lines:#?}");
    }
    // One inside of a location would replace all of these there.
    assert!(lines.iter().all(|line| line.starts_with("    proxy_set_header")), "{lines:#?}");
}

/// nginx answers 502 when the head of an answer does not fit into its first buffer, which has 4 KiB by default.
#[test]
fn the_proxy_takes_long_heads() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/compose.nginx.conf");
    let text = std::fs::read_to_string(file).expect("the configuration of nginx");
    assert!(text.contains("    proxy_buffer_size 32k;\n    proxy_buffers 8 32k;\n"), "{text}");
}

/// Probes are asked for much more often than clients ask, so among them every failure would be rare.
#[test]
fn alerts_see_failures_among_probes_and_gateways_that_are_away() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = |file: &str| std::fs::read_to_string(root.join(file)).expect(file);
    let (alerts, metrics) = (text("deploy/alerts.yaml"), text("docs/metrics.md"));
    let expressions: Vec<&str> = alerts.lines().filter_map(|line| line.trim().strip_prefix("expr: ")).collect();
    let failing = expressions.iter().find(|line| line.contains("status=\"5xx\"")).expect("a rule");
    assert_eq!(failing.matches("operation!=\"health\"").count(), 2, "{failing}");
    assert!(expressions.contains(&"up{job=\"causeway\"} == 0 or absent(causeway_build_info)"), "{expressions:#?}");
    assert!(metrics.contains("  - job_name: causeway\n"), "the rule needs the name of the job");
}
