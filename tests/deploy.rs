//! The examples in `deploy/`: every variable they set is a setting.
//!
//! May use: the public interface of the crate.

use causeway::settings::{LoadArgs, Settings};
use std::collections::BTreeMap;
use std::path::Path;

/// Values that the examples leave to their user or to a secret.
const LEFT_OPEN: [(&str, &str); 3] = [
    ("CAUSEWAY_STORE__URL", "postgres://causeway@postgres/causeway"),
    ("CAUSEWAY_SHARED__URL", "redis://redis:6379"),
    ("CAUSEWAY_UPSTREAM__BASE_URL", "https://v1.example.com"),
];

/// The variables of a file, with their values where it gives them.
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
