//! `verify` proves a sound gateway, leaves nothing behind, and notices a wrong answer.

use super::operations::PLAN;
use super::world::{SLUG, WEB, World};
use causeway::oauth::Minting;
use causeway::task::spawn;
use causeway::verify::{Gateway, Report, Verdict, VerificationParameters, verify};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Settings without limits: `verify` sends many requests in little time.
const UNLIMITED: [(&str, &str); 2] =
    [("limits.rate.unauthenticated", "1000000"), ("limits.rate.api_key", "1000000")];

fn of(report: &Report, verdict: &Verdict) -> String {
    let lines = report.lines.iter().filter(|line| line.verdict == *verdict);
    lines.map(|line| format!("{}: {}\n", line.operation, line.told)).collect()
}

async fn verified(base: &str, wanted: VerificationParameters) -> Report {
    let gateway = Gateway::new(base, Some("ada".to_owned())).expect("a client");
    verify(&PLAN, &gateway, &wanted).await.expect("a report")
}

#[tokio::test]
async fn a_sound_gateway_passes_without_a_write() {
    let world = World::with(&UNLIMITED).await;
    world.gateway.sandbox().clear_journal();
    let wanted = VerificationParameters {
        workspace: Some(SLUG.to_owned()),
        project: Some(WEB.to_owned()),
        write: false,
        ..VerificationParameters::default()
    };
    let report = verified(world.gateway.base(), wanted).await;
    assert_eq!(report.lines.len(), 88);
    assert!(report.is_good(), "{}", of(&report, &Verdict::Fail));
    // The first type of this world has no property; another type has one.
    let skipped = report.lines.iter().filter(|line| line.verdict == Verdict::Skipped);
    assert_eq!(skipped.map(|line| line.operation.as_str()).collect::<Vec<_>>(), Vec::<&str>::new());
    // v1 itself must refuse a delete of a missing id; it refused each.
    let journal = world.gateway.sandbox().journal();
    let written = journal.iter().filter(|entry| entry.method != "GET" && entry.status < 400).count();
    assert_eq!(written, 0, "nothing was written");
    let nothing_named = verified(world.gateway.base(), VerificationParameters::default()).await;
    assert_eq!(nothing_named.count(&Verdict::Pass), 1, "who one is needs no workspace");
    assert_eq!(nothing_named.count(&Verdict::Skipped), 87);
}

#[tokio::test]
async fn a_sound_gateway_passes_with_every_operation_carried_out() {
    let world = World::with(&UNLIMITED).await;
    let projects = "/api/v1/workspaces/acme/projects/";
    let before = world.gateway.get("ada", projects).await.expect(200);
    let features = world.gateway.get("ada", "/api/v2/workspaces/acme/features/").await.expect(200);
    let wanted = VerificationParameters {
        workspace: Some(SLUG.to_owned()),
        project: None,
        write: true,
        ..VerificationParameters::default()
    };
    let report = verified(world.gateway.base(), wanted).await;
    assert!(report.is_good(), "{}", of(&report, &Verdict::Fail));
    assert_eq!(of(&report, &Verdict::Skipped), "");
    assert_eq!(report.lines.len(), 90, "the operations, the project, the mode");
    let after = world.gateway.get("ada", projects).await.expect(200);
    assert_eq!(after.json["total_count"], before.json["total_count"], "no project is left");
    let again = world.gateway.get("ada", "/api/v2/workspaces/acme/features/").await.expect(200);
    assert_eq!(again.json, features.json, "the mode is as it was");
    // A run that is stopped half-way restores what it changed.
    let stop = Arc::new(AtomicBool::new(false));
    let wanted = writing_until(&stop);
    let sandbox = world.gateway.sandbox();
    sandbox.clear_journal();
    let ending = async {
        // Work items are created while the workspace is in the other mode.
        while !sandbox.journal().iter().any(|entry| entry.method == "POST" && entry.path.contains("/work-items/")) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        stop.store(true, Ordering::Relaxed);
    };
    let (report, ()) = tokio::join!(verified(world.gateway.base(), wanted), ending);
    assert!(report.is_good() && (3..90).contains(&report.lines.len()), "{report}");
    let after = world.gateway.get("ada", projects).await.expect(200);
    assert_eq!(after.json["total_count"], before.json["total_count"], "no project is left");
    let again = world.gateway.get("ada", "/api/v2/workspaces/acme/features/").await.expect(200);
    assert_eq!(again.json, features.json, "the mode is as it was");
}

/// Returns the parameters of a run that writes to the whole workspace and can be stopped.
fn writing_until(stop: &Arc<AtomicBool>) -> VerificationParameters {
    VerificationParameters {
        workspace: Some(SLUG.to_owned()),
        write: true,
        stop: Arc::clone(stop),
        ..VerificationParameters::default()
    }
}

#[tokio::test]
async fn a_run_that_is_stopped_removes_its_definitions_of_the_workspace() {
    let world = World::with(&UNLIMITED).await;
    let definitions = async || {
        let mut ids = Vec::new();
        for path in ["work-item-properties/", "work-item-types/"] {
            let list = world.gateway.get("ada", &format!("/api/v2/workspaces/acme/{path}?per_page=200")).await;
            ids.push(list.expect(200).column("id"));
        }
        ids
    };
    // The mode of the workspace creates a type when it is first chosen.
    let mode = json!({"is_work_item_types_enabled": true});
    world.gateway.patch("ada", "/api/v2/workspaces/acme/features/", mode).await.expect(200);
    let before = definitions().await;
    let stop = Arc::new(AtomicBool::new(false));
    let wanted = writing_until(&stop);
    let ending = async {
        for _ in 0..10_000 {
            if definitions().await[0].len() > before[0].len() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        stop.store(true, Ordering::Relaxed);
    };
    let (report, ()) = tokio::join!(verified(world.gateway.base(), wanted), ending);
    assert!(report.is_good() && report.lines.len() < 90, "{report}");
    assert_eq!(definitions().await, before);
}

#[tokio::test]
async fn a_place_that_is_not_there_is_told_once() {
    let world = World::with(&UNLIMITED).await;
    let gateway = Gateway::new(world.gateway.base(), Some("ada".to_owned())).expect("a client");
    let nowhere = Some("deadbeef-0000-4000-8000-00000000dead".to_owned());
    for (workspace, project, write, name) in [
        ("nope", None, false, "--workspace"),
        ("nope", None, true, "--workspace"),
        (SLUG, nowhere, false, "--project"),
    ] {
        let wanted = VerificationParameters {
            workspace: Some(workspace.to_owned()),
            project: project.clone(),
            write,
            ..VerificationParameters::default()
        };
        let fault = verify(&PLAN, &gateway, &wanted).await.expect_err("it is not there");
        let named = project.as_deref().unwrap_or(workspace);
        assert!(fault.contains(named) && fault.contains(name) && fault.lines().count() == 1, "{fault}");
    }
}

#[tokio::test]
async fn a_key_of_the_gateway_is_told_to_name_a_project() {
    const SETTINGS: [(&str, &str); 2] =
        [("secrets.key", "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="), ("limits.rate.external", "1000000")];
    let world = World::with(&[&UNLIMITED[..], &SETTINGS].concat()).await;
    let minting = Minting { scopes: "read".into(), ..Minting::default() };
    let (_, key) = world.gateway.mint("ada", minting).await.expect("a key");
    let gateway = Gateway::new(world.gateway.base(), Some(key)).expect("a client");
    let mut wanted =
        VerificationParameters { workspace: Some(SLUG.to_owned()), ..VerificationParameters::default() };
    let report = verify(&PLAN, &gateway, &wanted).await.expect("a report");
    let line = report.lines.iter().find(|line| line.operation == "labels_list").expect("a line");
    assert_eq!(line.verdict, Verdict::Skipped);
    assert!(line.told.contains("not for keys of the gateway") && !line.told.contains("belongs"), "{}", line.told);
    wanted.write = true;
    let fault = verify(&PLAN, &gateway, &wanted).await.expect_err("v1 makes no project for this key");
    assert!(fault.contains("--write needs a v1 key, not a key of the gateway"), "{fault}");
}

#[tokio::test]
async fn wrong_answers_are_told() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let base = format!("http://{}", listener.local_addr().expect("an address"));
    spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            spawn(async move {
                let mut buffer = vec![0; 65536];
                let _ = stream.read(&mut buffer).await;
                let answer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nCauseway-V1-Calls: 0\r\nContent-Length: 2\r\n\
                              Connection: close\r\n\r\n{}";
                let _ = stream.write_all(answer.as_bytes()).await;
            });
        }
    });
    let wanted = VerificationParameters {
        workspace: Some(SLUG.to_owned()),
        project: Some(WEB.to_owned()),
        write: false,
        ..VerificationParameters::default()
    };
    let report = verified(&base, wanted).await;
    assert_eq!(report.count(&Verdict::Fail), 88, "{report}");
    assert!(report.to_string().contains("FAIL    labels_list"), "{report}");
    let nobody = Gateway::new("http://127.0.0.1:9", None).expect("a client");
    let fault = verify(&PLAN, &nobody, &VerificationParameters::default()).await.expect_err("nobody listens");
    assert!(fault.contains("--against"), "{fault}");
}
