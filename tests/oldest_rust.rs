//! The oldest Rust that the project names is new enough for every package it is built with.
//!
//! Cargo refuses to build otherwise, but only on a machine with that Rust: not on the authors' machines.
//!
//! May use: nothing of the crate.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The first three numbers of a version, zero where one is left out.
fn numbers(version: &str) -> [u32; 3] {
    let mut numbers = version.split('.').map(|number| number.parse().expect("a number"));
    [(); 3].map(|()| numbers.next().unwrap_or(0))
}

/// The packages that the project is built with on this machine.
fn packages() -> Vec<Value> {
    let rustc = Command::new("rustc").arg("-vV").output().expect("rustc runs");
    let rustc = String::from_utf8(rustc.stdout).expect("text");
    let host = rustc.lines().find_map(|line| line.strip_prefix("host: ")).expect("the host");
    let told = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--format-version", "1", "--filter-platform", host])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    let told: Value = serde_json::from_slice(&told.stdout).expect("JSON");
    told["packages"].as_array().expect("packages").clone()
}

#[test]
fn the_oldest_rust_is_new_enough_for_every_package() {
    let oldest = env!("CARGO_PKG_RUST_VERSION");
    let packages = packages();
    assert!(packages.len() > 100, "{}", packages.len());
    let newer: Vec<String> = packages
        .iter()
        .filter_map(|package| Some((&package["name"], package["rust_version"].as_str()?)))
        .filter(|(_, needed)| numbers(needed) > numbers(oldest))
        .map(|(name, needed)| format!("{name} needs Rust {needed}"))
        .collect();
    assert_eq!(newer, Vec::<String>::new(), "Cargo.toml names {oldest}");
    for package in packages.iter().filter(|package| package["source"].is_null()) {
        assert_eq!(package["rust_version"], oldest, "{}", package["name"]);
    }
}

#[test]
fn the_documents_name_the_same_rust() {
    let named = format!("Rust {} or later", env!("CARGO_PKG_RUST_VERSION"));
    for document in ["README.md", "CONTRIBUTING.md"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(document);
        let text = std::fs::read_to_string(path).expect(document);
        assert!(text.contains(&named), "{document} does not say {named:?}");
    }
}
