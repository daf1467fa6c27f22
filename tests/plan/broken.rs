//! Every mistake in `tests/broken_mappings/` gets exactly the report that lies beside it.

use crate::plan::support::blessing;
use causeway::mapping::{Files, Texts};
use causeway::plan::{Special, compile};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// Functions that the sound set names.
const NAMED: [Special; 1] = [Special::CycleCreate];

/// `change.toml` of a case.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    about: String,
    specials: Option<Vec<String>>,
    #[serde(default)]
    remove: Vec<String>,
    #[serde(default)]
    replace: Vec<Replace>,
    #[serde(default)]
    add: Vec<Add>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Replace {
    file: String,
    old: String,
    new: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Add {
    file: String,
    text: String,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broken_mappings")
}

fn sound() -> Texts {
    Texts::default().overlay(&folder().join("sound")).expect("the sound set is readable")
}

fn cases() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder()).expect("readable").map(|entry| entry.expect("readable").path());
    let mut cases: Vec<PathBuf> = entries.filter(|path| path.is_dir() && !path.ends_with("sound")).collect();
    cases.sort();
    cases
}

/// Returns the sound set with the mistake of a case in it.
fn changed(change: &Change, case: &Path) -> Texts {
    let mut texts = Texts::default();
    for (name, text) in sound().sorted().into_iter().filter(|(name, _)| !change.remove.iter().any(|r| r == name)) {
        texts.insert(name, text);
    }
    for Replace { file, old, new } in &change.replace {
        let text = texts.get(file).unwrap_or_else(|| panic!("{}: no file {file}", case.display()));
        assert_eq!(text.matches(old.as_str()).count(), 1, "{}: must occur once: {old}", case.display());
        let text = text.replacen(old.as_str(), new, 1);
        texts.insert(file, text);
    }
    for Add { file, text } in &change.add {
        texts.insert(file, text.as_str());
    }
    texts
}

fn report(case: &Path) -> String {
    let text = std::fs::read_to_string(case.join("change.toml")).expect("change.toml");
    let change: Change = toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", case.display()));
    assert!(!change.about.is_empty(), "{} says what it is about", case.display());
    let named = match &change.specials {
        Some(names) => names.iter().map(|name| name.parse().expect("a special step")).collect(),
        None => NAMED.to_vec(),
    };
    match compile(&Files::read(&changed(&change, case)), named) {
        Ok(_) => "no fault\n".into(),
        Err(faults) => format!("{faults}\n"),
    }
}

#[test]
fn the_sound_set_is_sound() {
    if let Err(faults) = compile(&Files::read(&sound()), NAMED) {
        panic!("\n{faults}\n");
    }
}

/// Run with `BLESS=1` to rewrite the expectations.
#[test]
fn every_mistake_gets_its_exact_report() {
    let mut differences = Vec::new();
    let cases = cases();
    for case in &cases {
        let (report, path) = (report(case), case.join("expected.txt"));
        if blessing() {
            std::fs::write(&path, &report).expect("expectations can be written");
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        assert_ne!(report, "no fault\n", "{} is no mistake", case.display());
        if report != expected {
            differences.push(format!("{}\nexpected:\n{expected}found:\n{report}", case.display()));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(cases.len() >= 30, "a rule without a case is a rule nobody has seen working");
}

#[test]
fn one_run_reports_the_faults_of_every_file() {
    let report = report(&folder().join("many_faults"));
    for file in ["boards.toml", "common.toml", "flags.toml", "worse.toml", "(program)"] {
        assert!(report.lines().any(|line| line.starts_with(file)), "nothing about {file}:\n{report}");
    }
}
