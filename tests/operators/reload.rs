//! Reloading: immediate changes, refused changes, and no effect on running requests.

use crate::support::gateway::{Gateway, WEB};
use causeway::app::ReloadError;
use causeway::oauth::Keyring;
use causeway::sandbox::Seed;
use causeway::settings::Settings;
use causeway::task::spawn;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

#[tokio::test]
async fn a_reload_applies_new_settings_and_keeps_the_caches() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let states = format!("{WEB}/states/");
    gateway.get("ada", &states).await.expect(200);
    let unknown = format!("{states}?nothing=1");
    gateway.get("ada", &unknown).await.expect_problem(400, "validation_error");
    let changed =
        gateway.reload(&[("strict_query", "false"), ("cors.allowed_origins", "https://app.example")]).await;
    assert_eq!(changed.expect("a reload"), ["cors.allowed_origins", "strict_query"]);
    let answer = gateway.get("ada", &unknown).await.expect(200);
    assert_eq!(answer.calls(), 0, "the proof of access and the list are still known");
    gateway.reload(&[("strict_query", "false"), ("types.workspace_level", "false")]).await.expect("a reload");
    assert_eq!(gateway.get("ada", &unknown).await.expect(200).calls(), 0, "it has nothing to do with types");
    gateway.reload(&[]).await.expect("a reload");
    gateway.get("ada", &unknown).await.expect_problem(400, "validation_error");
    gateway
        .reload(&[("strict_query", "false"), ("cors.allowed_origins", "https://app.example")])
        .await
        .expect("a reload");
    let answer = gateway.send_with("ada", "GET", &states, None, &[("origin", "https://app.example")]).await;
    assert_eq!(answer.headers["access-control-allow-origin"], "https://app.example");
}

#[tokio::test]
async fn limits_count_on_unless_they_change() {
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &[("limits.rate.api_key", "2")]).await;
    let ask = async || gateway.get("ada", "/api/v2/users/me/").await.status;
    assert_eq!((ask().await, ask().await, ask().await), (200, 200, 429));
    gateway.reload(&[("ready.needs_v1", "true")]).await.expect("a reload");
    assert_eq!(ask().await, 429);
    gateway.reload(&[("limits.rate.api_key", "1000")]).await.expect("a reload");
    assert_eq!(ask().await, 200);
}

#[tokio::test]
async fn settings_that_need_a_restart_are_named_and_nothing_changes() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let wanted = [("strict_query", "false"), ("store.late_write", "31s"), ("listen.max_headers", "50")];
    let refused = gateway.reload(&wanted).await.expect_err("a refusal");
    let ReloadError::NeedsRestart(names) = &refused else { panic!("{refused}") };
    assert_eq!(names, &["listen.max_headers", "store.late_write"]);
    gateway.get("ada", &format!("{WEB}/states/?nothing=1")).await.expect(400);
}

#[tokio::test]
async fn faulty_files_change_nothing_and_say_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mappings, secrets) = (folder.path().join("mappings"), folder.path().join("secrets"));
    std::fs::create_dir(&mappings).expect("a folder");
    std::fs::write(mappings.join("labels.toml"), "resource = 1").expect("written");
    std::fs::write(&secrets, "no secret").expect("written");
    let (mappings, secrets) = (mappings.display().to_string(), secrets.display().to_string());
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &[("admin.listen", "127.0.0.1:0")]).await;
    for (name, value, word) in [
        ("mappings", mappings.as_str(), "labels.toml"),
        ("mappings", "/nonexistent/folder", "/nonexistent/folder"),
        ("secrets.key_file", &secrets, "secrets.key_file"),
        ("secrets.key_file", "/nonexistent/secrets", "/nonexistent/secrets"),
        ("admin.token_file", &secrets, "admin.token_file"),
    ] {
        let refused =
            gateway.reload(&[("strict_query", "false"), (name, value)]).await.expect_err(name).to_string();
        assert!(refused.starts_with("nothing was changed") && refused.contains(word), "{name}: {refused}");
        assert!(!refused.contains("nothing is served"), "{refused}");
        gateway.get("ada", &format!("{WEB}/states/?nothing=1")).await.expect(400);
    }
    assert!(gateway.reload(&[("strict_query", "false")]).await.is_ok());
}

/// The read of a pipe without a writer never ends, like that of a file on a file system that hangs.
#[tokio::test]
async fn a_file_that_hangs_is_told_and_a_later_reload_works() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("labels.toml");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let path = folder.path().display().to_string();
    let refused = gateway.reload(&[("strict_query", "false"), ("mappings", &path)]).await.expect_err("a refusal");
    assert!(refused.to_string().contains("could not be read within"), "{refused}");
    gateway.get("ada", &format!("{WEB}/states/?nothing=1")).await.expect(400);
    gateway.reload(&[("strict_query", "false")]).await.expect("a reload");
    gateway.get("ada", &format!("{WEB}/states/?nothing=1")).await.expect(200);
}

#[tokio::test]
async fn mappings_are_read_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("labels.toml");
    let labels =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/mappings/labels.toml")).expect("a file");
    std::fs::write(&file, &labels).expect("written");
    let path = folder.path().display().to_string();
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &[("mappings", &path)]).await;
    let made = gateway.post("ada", &format!("{WEB}/labels/"), json!({"name": "x"})).await.expect(201);
    let words = "Labels, as they are told of after a reload.";
    let told = async || {
        let document = gateway.send(None, "GET", "/api/v2/docs/openapi.json", None).await.expect(200);
        String::from_utf8_lossy(&document.bytes).contains(words)
    };
    let other =
        labels.replacen("about = \"Labels of a project, nested by parent_id.\"", &format!("about = {words:?}"), 1);
    std::fs::write(&file, other).expect("written");
    assert!(!told().await);
    gateway.reload(&[]).await.expect("a reload");
    assert!(told().await, "the document is that of the new mappings");
    std::fs::write(&file, "resource = 1").expect("written");
    assert!(gateway.reload(&[]).await.expect_err("a refusal").to_string().contains("labels.toml"));
    assert!(told().await, "nothing was changed");
    std::fs::write(&file, labels).expect("written");
    gateway.reload(&[]).await.expect("a reload");
    let listed = gateway.get("ada", &format!("{WEB}/labels/")).await.expect(200);
    assert!(listed.column("id").contains(&made.json["id"]), "{}", listed.json);
}

#[tokio::test]
async fn a_reload_reports_the_files_that_changed() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mappings, secrets) = (folder.path().join("mappings"), folder.path().join("secrets"));
    std::fs::create_dir(&mappings).expect("a folder");
    std::fs::write(&secrets, Keyring::new_secret()).expect("written");
    let (mappings_path, secrets_path) = (mappings.display().to_string(), secrets.display().to_string());
    let settings = [("mappings", mappings_path.as_str()), ("secrets.key_file", secrets_path.as_str())];
    let gateway = Gateway::sandboxed_with(Seed::Recorded, &settings).await;
    assert_eq!(gateway.reload(&[]).await.expect("a reload"), [""; 0]);
    std::fs::write(&secrets, Keyring::new_secret()).expect("written");
    assert_eq!(gateway.reload(&[]).await.expect("a reload"), ["the secrets of secrets.key_file"]);
    let labels = include_str!("../../mappings/labels.toml");
    std::fs::write(mappings.join("labels.toml"), format!("{labels}\n# Another.\n")).expect("written");
    assert_eq!(gateway.reload(&[]).await.expect("a reload"), ["the files of mappings"]);
}

/// Longest time for enough requests on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// At least 20 reloads here, more in a process of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reloads_under_load_fail_no_request_and_lose_no_write() {
    let gateway = Arc::new(Gateway::sandboxed(Seed::Recorded).await);
    let (done, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let clients = (0..4).map(|client| {
        let (gateway, done, asked) = (Arc::clone(&gateway), Arc::clone(&done), Arc::clone(&asked));
        spawn(async move {
            let mut round = 0;
            while !done.load(Ordering::Relaxed) {
                round += 1;
                let name = format!("label {client} {round}");
                let labels = format!("{WEB}/labels/");
                let made = gateway.post("ada", &labels, json!({"name": name})).await.expect(201);
                // A client whose write was confirmed sees it, no matter which service answers.
                let listed = gateway.get("ada", &format!("{labels}?per_page=1000")).await.expect(200);
                assert!(listed.column("id").contains(&made.json["id"]), "{name} is missing");
                gateway.delete("ada", &format!("{labels}{}/", made.text("id"))).await.expect(204);
                gateway.get("ada", &format!("{WEB}/states/")).await.expect(200);
                asked.fetch_add(4, Ordering::Relaxed);
            }
        })
    });
    let clients: Vec<_> = clients.collect();
    let begun = Instant::now();
    for round in 0.. {
        // On a busy machine it takes longer until there were requests in between.
        if round >= 20 && (asked.load(Ordering::Relaxed) > 50 || begun.elapsed() > PATIENCE) {
            break;
        }
        let (strict, collection) = (["true", "false"][round % 2], ["10s", "9s", "8s"][round % 3]);
        gateway.reload(&[("strict_query", strict), ("cache.collection", collection)]).await.expect("a reload");
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    done.store(true, Ordering::Relaxed);
    for client in clients {
        client.await.expect("no request failed");
    }
    assert!(asked.load(Ordering::Relaxed) > 50, "{asked:?}");
}

/// Every setting either is in the list of those that need a restart, or can change.
#[test]
fn the_document_lists_what_needs_a_restart() {
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/running.md")).expect("a document");
    let line = text.lines().find(|line| line.starts_with("Need a restart: ")).expect("a list");
    let listed: Vec<&str> = line.split('`').skip(1).step_by(2).collect();
    let mut section = String::new();
    let mut needed = Vec::new();
    for line in causeway::settings::DEFAULTS.lines() {
        if let Some(name) = line.strip_prefix('[') {
            section = format!("{}.", name.trim_end_matches(']'));
        } else if let Some((name, _)) = line.trim_start_matches("# ").split_once(" = ") {
            let name = format!("{section}{name}");
            if !Settings::reloads(&name) {
                needed.push(name);
            }
        }
    }
    let is_listed = |name: &String| {
        listed.iter().any(|known| {
            *known == name || known.strip_suffix(".*").is_some_and(|table| name.starts_with(&format!("{table}.")))
        })
    };
    let missing: Vec<&String> = needed.iter().filter(|name| !is_listed(name)).collect();
    assert!(missing.is_empty(), "docs/running.md does not say that these need a restart: {missing:?}");
    for known in listed {
        let found = needed.iter().any(|name| {
            name == known || known.strip_suffix(".*").is_some_and(|table| name.starts_with(&format!("{table}.")))
        });
        assert!(found, "{known} can change, or does not exist");
    }
}
