//! The settings as a whole: precedence, the documentation compared with the structs, and the texts of the faults. May
//! use: this folder.

use super::*;
use std::collections::BTreeSet;
use std::io::Write;
use std::time::Duration;

fn load(file: &str, env: &[(&str, &str)], flags: &[(&str, &str)]) -> Result<Settings, SettingsError> {
    let mut named = tempfile::NamedTempFile::new().unwrap();
    named.write_all(file.as_bytes()).unwrap();
    let owned = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect()
    };
    Settings::load(LoadArgs { file: Some(named.path().into()), env: owned(env), overrides: owned(flags) })
}

fn faults(file: &str, env: &[(&str, &str)], flags: &[(&str, &str)]) -> Vec<String> {
    load(file, env, flags).unwrap_err().faults.iter().map(ToString::to_string).collect()
}

/// Returns the names in the documented defaults, including those that are commented out.
fn documented() -> BTreeSet<String> {
    let mut section = String::new();
    let mut names = BTreeSet::new();
    for line in DEFAULTS.lines() {
        if let Some(name) = line.strip_prefix('[') {
            section = format!("{}.", name.trim_end_matches(']'));
        } else if let Some((name, _)) = line.trim_start_matches("# ").split_once(" = ") {
            names.insert(format!("{section}{name}"));
        }
    }
    names
}

#[test]
fn the_default_file_documents_exactly_what_is_read() {
    let mut reader = Reader::new([]);
    Settings::read(&mut reader, "");
    assert_eq!(documented(), *reader.asked());
}

#[test]
fn each_documented_setting_has_a_sentence() {
    let lines: Vec<&str> = DEFAULTS.lines().collect();
    for pair in lines.windows(2).filter(|pair| pair[1].contains(" = ") && !pair[1].ends_with('.')) {
        assert!(pair[0].starts_with("# ") && pair[0].ends_with('.'), "no sentence before {}", pair[1]);
    }
}

#[test]
fn the_default_file_given_as_a_file_changes_nothing() {
    assert_eq!(load(DEFAULTS, &[], &[]).unwrap(), Settings::default());
}

#[test]
fn the_defaults_are_the_documented_ones() {
    let settings = Settings::default();
    assert_eq!(settings.listen.address.to_string(), "127.0.0.1:8080");
    assert_eq!(settings.limits.deadline, Duration::from_secs(30));
    assert_eq!(settings.limits.body, 1024 * 1024);
    assert_eq!(settings.upstream.max_response_size, 64 * 1024 * 1024);
    assert!(settings.strict_query && settings.upstream.base_url.is_none());
}

#[test]
fn a_listener_for_others_without_a_public_address_is_warned_of() {
    let warnings = |file: &str| load(file, &[], &[]).unwrap().warnings();
    for address in ["127.0.0.1:8080", "127.0.0.2:1", "[::1]:8080", "[::ffff:127.0.0.1]:8080"] {
        assert!(warnings(&format!("[listen]\naddress = \"{address}\"")).is_empty(), "{address}");
    }
    for address in ["0.0.0.0:8080", "[::]:8080", "192.0.2.1:80"] {
        let found = warnings(&format!("[listen]\naddress = \"{address}\""));
        assert!(found.len() == 1 && found[0].contains("public_url") && found[0].contains(address), "{found:?}");
        let set = format!("public_url = \"https://v2.example.com\"\n[listen]\naddress = \"{address}\"");
        assert!(warnings(&set).is_empty(), "{address}");
    }
}

#[test]
fn a_secret_on_the_command_line_is_warned_of() {
    for (name, variable) in
        [("secrets.key", "CAUSEWAY_SECRETS__KEY"), ("upstream.service_key", "CAUSEWAY_UPSTREAM__SERVICE_KEY")]
    {
        let found = load("", &[], &[(name, "hunter2")]).unwrap().warnings();
        assert!(found.len() == 1 && found[0].starts_with(name) && found[0].contains(variable), "{found:?}");
        assert!(!found[0].contains("hunter2"), "{found:?}");
        let elsewhere = load("", &[(variable, "hunter2")], &[]).unwrap().warnings();
        assert!(
            elsewhere.is_empty() && load("", &[], &[(name, "")]).unwrap().warnings().is_empty(),
            "{elsewhere:?}"
        );
    }
}

#[test]
fn flags_win_over_environment_over_file() {
    let file = "[limits]\nconcurrency = 1\nbody = 1\ndeadline = \"1s\"\n";
    let env = [("CAUSEWAY_LIMITS__CONCURRENCY", "2"), ("CAUSEWAY_LIMITS__BODY", "2KiB")];
    let limits = load(file, &env, &[("limits.concurrency", "3")]).unwrap().limits;
    assert_eq!((limits.concurrency, limits.body, limits.deadline), (3, 2048, Duration::from_secs(1)));
}

#[test]
fn all_faults_are_reported_at_once_with_their_origin() {
    let found =
        faults("[listen]\naddress = 8080\n", &[("CAUSEWAY_LIMITS__DEADLINE", "soon")], &[("cache.card", "5m")]);
    assert_eq!(found.len(), 3);
    assert!(found[0].contains("line 2") && found[0].contains("127.0.0.1:8080"), "{}", found[0]);
    let environment = "limits.deadline (environment variable CAUSEWAY_LIMITS__DEADLINE): \"soon\" cannot be used";
    assert!(found[1].starts_with(environment), "{}", found[1]);
    assert!(found[2].starts_with("cache.card (command line): \"5m\"") && found[2].contains("30s"), "{}", found[2]);
}

#[test]
fn settings_that_silence_the_log_show_a_password_or_contradict_are_refused() {
    for misspelt in ["inof", "info,loud", "causeway=loud"] {
        assert!(faults("", &[], &[("log.filter", misspelt)])[0].contains(misspelt), "{misspelt}");
    }
    assert!(load("", &[], &[("log.filter", "off,causeway=debug,hyper=WARN")]).is_ok());
    let found = faults("", &[], &[("upstream.base_url", "https://me:hidden@v1.example.com")]);
    assert!(found[0].contains("not shown") && !found[0].contains("hidden"), "{found:?}");
    let found = faults("", &[], &[("upstream.concurrency_min", "300")]);
    assert!(found[0].contains("from 1 to 256"), "{found:?}");
    let one = "127.0.0.1:8080";
    let found = faults("", &[], &[("listen.address", one), ("admin.listen", one)]);
    assert!(found[0].starts_with("admin.listen") && found[0].contains("listen.address"), "{found:?}");
    for unusable in ["http://x", "x:8081", "x/y"] {
        let found = faults("", &[], &[("admin.hosts", unusable)]);
        assert!(found[0].starts_with("admin.hosts") && found[0].contains("without scheme"), "{found:?}");
    }
    let few = load("", &[], &[("upstream.concurrency_max", "2")]).unwrap().upstream;
    assert_eq!((few.concurrency_min, few.concurrency_max), (2, 2));
}

#[test]
fn unknown_names_are_refused_with_the_nearest_known_one() {
    let found = faults("base_url = \"x\"\n[listen]\nadress = 1\n", &[("CAUSEWAY_STORE__URI", "x")], &[]);
    assert!(found[0].contains("did you mean `upstream.base_url`?"), "{}", found[0]);
    assert!(found[1].contains("line 3") && found[1].contains("did you mean `listen.address`?"), "{}", found[1]);
    assert!(found[2].contains("did you mean CAUSEWAY_STORE__URL?"), "{}", found[2]);
    assert!(faults("zebra = 1\n", &[], &[])[0].contains("lists all settings"));
}

#[test]
fn a_named_file_must_exist() {
    let args = LoadArgs { file: Some("/nowhere/causeway.toml".into()), env: Vec::new(), overrides: Vec::new() };
    let error = Settings::load(args).unwrap_err().to_string();
    assert!(error.contains("/nowhere/causeway.toml: the settings file cannot be read"), "{error}");
}

#[test]
fn a_base_address_is_needed_to_serve_and_stops_before_the_interface() {
    let error = Settings::default().upstream.needed_base_url().unwrap_err().to_string();
    assert!(error.contains("CAUSEWAY_UPSTREAM__BASE_URL"), "{error}");
    let with_interface = faults("[upstream]\nbase_url = \"https://h.example/api/v1/\"\n", &[], &[]);
    assert!(with_interface[0].contains("without /api/v1"), "{}", with_interface[0]);
    let settings = load("[upstream]\nbase_url = \"https://h.example/prefix/\"\n", &[], &[]).unwrap();
    assert_eq!(settings.upstream.needed_base_url().unwrap().as_str(), "https://h.example/prefix");
}

#[test]
fn a_size_of_unknown_unit_is_refused_with_those_there_are() {
    for setting in ["limits.memory", "upstream.max_response_size", "idempotency.per_person_size"] {
        let found = faults("", &[], &[(setting, "1TB")]);
        assert!(["KiB", "MiB", "GiB"].iter().all(|unit| found[0].contains(unit)), "{found:?}");
    }
}

#[test]
fn a_duration_that_is_too_long_is_refused_with_the_bound() {
    for setting in ["cache.collection", "idempotency.keep", "index.sweep", "store.late_write"] {
        let found = faults("", &[], &[(setting, "8000000h")]);
        assert!(found[0].starts_with(setting) && found[0].contains("at most \"87600h\""), "{found:?}");
    }
}

#[test]
fn the_address_of_a_collector_is_asked_for_with_its_path() {
    let found = faults("", &[], &[("traces.endpoint", "collector:4318")]);
    assert!(found[0].starts_with("traces.endpoint") && found[0].contains(":4318/v1/traces\""), "{found:?}");
}

#[test]
fn a_body_has_to_fit_into_the_memory() {
    let found = faults("", &[], &[("limits.body", "2MiB"), ("limits.memory", "1MiB")]);
    assert!(found[0].starts_with("limits.body") && found[0].contains("limits.memory"), "{found:?}");
    // A body arrives piece by piece, and one client gets half of the memory.
    let found = faults("", &[], &[("limits.body", "1000000"), ("limits.memory", "1200000")]);
    assert!(found[0].contains("half of limits.memory") && found[0].contains("twice as large"), "{found:?}");
    assert!(load("", &[], &[("limits.body", "1MiB"), ("limits.memory", "2MiB")]).is_ok());
}

#[test]
fn the_gateway_itself_is_no_v1() {
    let judged = |listen: &str, address: &str| {
        // Commands that do not serve accept both.
        let settings = load("", &[], &[("listen.address", listen), ("upstream.base_url", address)]).unwrap();
        settings.upstream.expect_another(settings.listen.address).map_err(|fault| fault.to_string())
    };
    for (listen, address) in [
        ("127.0.0.1:8080", "http://localhost:8080"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080/"),
        ("192.0.2.1:80", "http://192.0.2.1"),
    ] {
        let found = judged(listen, address).unwrap_err();
        assert!(found.contains("is this gateway itself") && found.contains(listen), "{found}");
    }
    for address in ["http://localhost:8081", "http://192.0.2.1:8080"] {
        assert_eq!(judged("127.0.0.1:8080", address), Ok(()), "{address}");
    }
}

#[test]
fn the_address_of_the_store_is_never_shown() {
    let found = faults("", &[("CAUSEWAY_STORE__URL", "hunter2")], &[]);
    assert!(!found[0].contains("hunter2"), "{}", found[0]);
    let settings = load("[store]\nurl = \"postgres://u:hunter2@h/d\"\n", &[], &[]).unwrap();
    assert!(!format!("{settings:?}").contains("hunter2"));
}

#[test]
fn empty_environment_variables_count_as_not_set() {
    let env = [("CAUSEWAY_PUBLIC_URL", ""), ("CAUSEWAY_LIMITS__DEADLINE", "")];
    assert_eq!(load("", &env, &[]).unwrap(), Settings::default());
}

#[test]
fn forwarding_headers_are_believed_from_listed_networks() {
    let public = load("trusted_proxies = [\"10.0.0.0/8\", \"::1\"]\n", &[], &[]).unwrap().public;
    for (peer, trusted) in [("10.1.2.3", true), ("::ffff:10.1.2.3", true), ("::1", true), ("11.0.0.1", false)] {
        assert_eq!(public.trusts(peer.parse().unwrap()), trusted, "{peer}");
    }
}

#[test]
fn origins_are_held_to_the_form_browsers_send() {
    let cors = load("[cors]\nallowed_origins = [\"https://app.example.com\"]\n", &[], &[]).unwrap().cors;
    assert!(cors.allows("https://app.example.com") && !cors.allows("https://evil.example.com"));
    assert_eq!(faults("[cors]\nallowed_origins = [\"https://app.example.com/\"]\n", &[], &[]).len(), 1);
}

#[test]
fn a_pipe_is_not_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let again = |file: Option<&Path>, overrides: Vec<(String, String)>| {
        let args = LoadArgs { file: file.map(Path::to_owned), env: std::iter::empty(), overrides };
        Settings::load_again(args).map(|_| ()).map_err(|faults| faults.to_string())
    };
    let secrets = ("secrets.key_file".to_owned(), pipe.display().to_string());
    for refused in [again(Some(&pipe), Vec::new()), again(None, vec![secrets])] {
        let told = refused.unwrap_err();
        assert!(told.contains("is a pipe, which cannot be read again") && told.contains("restart"), "{told}");
    }
    std::fs::remove_file(&pipe).unwrap();
    std::fs::write(&pipe, "strict_query = false\n").unwrap();
    assert_eq!(again(Some(&pipe), Vec::new()), Ok(()));
}
