//! Names and external pairs: five ways to clash, and names v1 cannot take.

use crate::support::gateway::Gateway;
use crate::support::scripted::Exchange;
use crate::traps::scene::{NOWHERE, Scene, THROUGH, V1, id, list, record, stored, web};
use causeway::sandbox::Seed;
use serde_json::json;

#[tokio::test]
async fn trap_05_clashes_of_names_on_create_are_409() {
    for (resource, exchange, body) in [
        ("states", "states_create_duplicate_name", json!({"name": "Review", "color": "#000000"})),
        ("labels", "labels_create_duplicate_name", json!({"name": "bug"})),
        ("modules", "modules_create_duplicate_name", json!({"name": "M1"})),
    ] {
        let scene = Scene::new().await;
        scene.expect(Exchange::post(&format!("{V1}{resource}/")).recorded(resource, exchange));
        let answer = scene.post(&format!("{resource}/"), body).await.expect_problem(409, "conflict");
        assert!(answer.json.get("errors").is_none());
        scene.v1.finish();
    }
}

/// v1 keeps a hidden state `Triage` in every project. Its database counts that name, but v1 does not find the state.
#[tokio::test]
async fn trap_05_the_name_of_the_hidden_state_is_409() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let body = |name: &str| json!({"name": name, "color": "#000"});
    let answer = gateway.post("ada", &web("states/"), body(" Triage ")).await.expect_problem(409, "conflict");
    assert!(answer.text("detail").contains("hidden state"), "{}", answer.json);
    gateway.post("ada", &web("states/"), body("triage")).await.expect(201);

    let refused = |exchange: Exchange| exchange.recorded("states", "states_create_duplicate_name_padded");
    let in_html = |exchange: Exchange| exchange.html(500, "<h1>Server Error</h1>");
    let other = record("states", "states_create_minimal", json!({}));
    let changes = json!({"name": "Triage", "created_at": "2020-01-01T00:00:00Z"});
    let shown = record("states", "states_create_minimal", changes);
    for (name, exchange, row, status, code) in [
        ("Triage", refused(post_state()), &other, 409, "conflict"),
        ("Bug", refused(post_state()), &other, 502, "upstream_error"),
        ("Triage", refused(post_state()), &shown, 502, "upstream_error"),
        ("Triage", in_html(post_state()), &other, 502, "upstream_error"),
    ] {
        let scene = Scene::new().await;
        scene.expect(exchange);
        scene.expect(list("states", std::slice::from_ref(row)));
        scene.post("states/", body(name)).await.expect_problem(status, code);
        scene.v1.finish();
    }
}

fn post_state() -> Exchange {
    Exchange::post(&format!("{V1}states/"))
}

#[tokio::test]
async fn trap_05_clashes_of_names_on_update_are_409() {
    for (resource, row, exchange) in [
        ("states", "states_create_minimal", "states_patch_duplicate_name"),
        ("labels", "labels_create_minimal", "labels_patch_duplicate_name"),
        ("modules", "modules_create_minimal", "modules_patch_duplicate_name"),
    ] {
        let scene = Scene::new().await;
        let row = record(resource, row, json!({}));
        let one = format!("{resource}/{}/", id(&row));
        scene.expect(list(resource, std::slice::from_ref(&row)));
        let patch = Exchange::patch(&format!("{V1}{one}")).body(json!({"name": "QA"}));
        scene.expect(patch.recorded(resource, exchange));
        scene.patch(&one, json!({"name": "QA"})).await.expect_problem(409, "conflict");
        // Nothing was stored, so the cached record stays, without another call.
        assert_eq!(scene.get(&one).await.expect(200).json["name"], row["name"]);
        scene.v1.finish();
    }
}

/// v1 looked for the name, then another request took it before the module was stored: the database refuses.
#[tokio::test]
async fn trap_05_a_name_of_a_module_that_is_taken_meanwhile_is_409() {
    let scene = Scene::new().await;
    let row = record("modules", "modules_create_minimal", json!({}));
    let one = format!("modules/{}/", id(&row));
    let refused = json!({"error": "The payload is not valid"});
    scene.expect(Exchange::post(&format!("{V1}modules/")).reply(400, refused.clone()));
    scene.post("modules/", json!({"name": "QA"})).await.expect_problem(409, "conflict");
    scene.expect(list("modules", std::slice::from_ref(&row)));
    scene.expect(Exchange::patch(&format!("{V1}{one}")).body(json!({"name": "QA"})).reply(400, refused));
    scene.patch(&one, json!({"name": "QA"})).await.expect_problem(409, "conflict");
    scene.v1.finish();
}

#[tokio::test]
async fn trap_05_names_of_cycles_are_guarded_here() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let cycles = web("cycles/");
    gateway.get("ada", &cycles).await.expect(200);
    // Created past the gateway, whose cached list does not count.
    let body = json!({"name": "C1", "project_id": crate::traps::scene::PROJECT});
    gateway.post("ada", &format!("{THROUGH}cycles/"), body).await.expect(201);
    gateway.post("ada", &cycles, json!({"name": " C1 "})).await.expect_problem(409, "conflict");
    let other = gateway.post("bob", &cycles, json!({"name": "c1"})).await.expect(201);
    let one = format!("{cycles}{}/", other.text("id"));
    gateway.patch("bob", &one, json!({"name": "C1"})).await.expect_problem(409, "conflict");
    gateway.patch("bob", &one, json!({"name": "c1"})).await.expect(200);
    assert_eq!(stored(&gateway, "ada", "cycles").await.len(), 2);
}

#[tokio::test]
async fn trap_05_a_cycle_that_shares_its_name_at_v1_may_be_sent_it_again() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let body = json!({"name": "Twin", "project_id": crate::traps::scene::PROJECT});
    let made =
        async || gateway.post("ada", &format!("{THROUGH}cycles/"), body.clone()).await.expect(201).text("id");
    made().await;
    let one = web(&format!("cycles/{}/", made().await));
    let change = json!({"name": " Twin ", "description": "the second"});
    let changed = gateway.patch("ada", &one, change).await.expect(200);
    assert_eq!((changed.text("name"), changed.text("description")), ("Twin".into(), "the second".into()));
    gateway.patch("ada", &one, json!({"name": "Other"})).await.expect(200);
    gateway.patch("ada", &one, json!({"name": "Twin"})).await.expect_problem(409, "conflict");
}

#[tokio::test]
async fn trap_05_of_two_cycles_created_at_once_with_one_name_one_is_refused() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let cycles = web("cycles/");
    let create = || gateway.post("ada", &cycles, json!({"name": "Sprint"}));
    let (a, b, c) = tokio::join!(create(), create(), create());
    let mut statuses = [a.status, b.status, c.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409, 409]);
    assert_eq!(stored(&gateway, "ada", "cycles").await.len(), 1);
}

#[tokio::test]
async fn trap_06_padded_names_are_trimmed_before_they_are_sent() {
    for (resource, exchange, sent) in [
        ("states", "states_create_duplicate_name", json!({"name": "bug", "color": "#000", "group": "backlog"})),
        ("labels", "labels_create_duplicate_name", json!({"name": "bug", "color": "#000"})),
    ] {
        let scene = Scene::new().await;
        scene.expect(Exchange::post(&format!("{V1}{resource}/")).body(sent).recorded(resource, exchange));
        let body = json!({"name": "  bug\t", "color": "#000"});
        scene.post(&format!("{resource}/"), body).await.expect_problem(409, "conflict");
        scene.v1.finish();
    }
    let scene = Scene::new().await;
    let answer = scene.post("labels/", json!({"name": " \t "})).await.expect_problem(400, "validation_error");
    assert_eq!(answer.error_fields(), ["name"]);
    scene.finish(&[]);
}

#[tokio::test]
async fn trap_07_a_state_name_whose_slug_is_too_long_is_400_before_anything_is_sent() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let states = web("states/");
    let body = |name: &str| json!({"name": name, "color": "#000"});
    for name in ["b".repeat(101), "n".repeat(255), format!("{} {}", "a".repeat(60), "b".repeat(40))] {
        let answer = gateway.post("ada", &states, body(&name)).await.expect_problem(400, "validation_error");
        assert_eq!(answer.error_fields(), ["name"]);
    }
    assert!(!crate::traps::scene::journal(&gateway).iter().any(|call| call.starts_with("POST")));
    // The part of a name that does not reach the slug does not count.
    let created = gateway.post("ada", &states, body(&"a".repeat(100))).await.expect(201);
    assert_eq!(created.text("name"), "a".repeat(100));
    let cyrillic = gateway.post("ada", &states, body(&"ж".repeat(255))).await.expect(201);
    assert_eq!(cyrillic.text("name"), "ж".repeat(255));
    let one = format!("{states}{}/", cyrillic.text("id"));
    let answer = gateway.patch("ada", &one, json!({"name": "c".repeat(101)})).await;
    assert_eq!(answer.expect_problem(400, "validation_error").error_fields(), ["name"]);
    assert!(!crate::traps::scene::journal(&gateway).iter().any(|call| call.starts_with("PATCH")));
    let answer = gateway.post("ada", &states, body(&"ж".repeat(256))).await;
    assert_eq!(answer.expect_problem(400, "validation_error").error_fields(), ["name"]);
}

#[tokio::test]
async fn trap_08_protected_states_are_409() {
    for exchange in ["states_delete_default", "states_delete_with_items", "states_delete_with_archived_items_only"]
    {
        let scene = Scene::new().await;
        let (path, of_default) = (format!("states/{NOWHERE}/"), exchange == "states_delete_default");
        scene.expect(Exchange::delete(&format!("{V1}{path}")).recorded("states", exchange));
        if of_default {
            // v1 can have the flag on a state that v2 does not show as default (trap 23); the list tells.
            let state = record("states", "states_create_minimal", json!({"id": NOWHERE, "default": true}));
            scene.expect(list("states", &[state]));
        }
        let answer = scene.delete(&path).await.expect_problem(409, "conflict");
        let about_the_default = answer.text("detail").contains("default state");
        assert_eq!(about_the_default, of_default, "{}", answer.json);
        scene.v1.finish();
    }
}

#[tokio::test]
async fn trap_09_the_name_of_a_workspace_label_is_400_on_name_in_words_that_say_why() {
    for verb in ["create", "update"] {
        let scene = Scene::new().await;
        let refused =
            |exchange: Exchange| exchange.recorded("labels", "labels_create_same_name_as_workspace_label");
        let answer = if verb == "create" {
            scene.expect(refused(Exchange::post(&format!("{V1}labels/"))));
            scene.post("labels/", json!({"name": "ws-wide"})).await
        } else {
            let label = record("labels", "labels_create_minimal", json!({}));
            let one = format!("labels/{}/", id(&label));
            scene.expect(list("labels", &[label]));
            scene.expect(refused(Exchange::patch(&format!("{V1}{one}"))));
            scene.patch(&one, json!({"name": "ws-wide"})).await
        };
        let answer = answer.expect_problem(400, "validation_error");
        assert_eq!(answer.error_fields(), ["name"]);
        assert!(answer.json["errors"][0]["message"].as_str().unwrap().contains("workspace-level"));
        scene.v1.finish();
    }
}

#[tokio::test]
async fn trap_38_a_clash_of_external_pairs_is_409_and_passes_no_id_on() {
    for (resource, row, created, updated) in [
        ("states", "states_create_minimal", "states_create_duplicate_external", "states_patch_external_duplicate"),
        ("labels", "labels_create_minimal", "labels_create_duplicate_external", "labels_patch_external_duplicate"),
        (
            "modules",
            "modules_create_minimal",
            "modules_create_duplicate_external",
            "modules_patch_external_duplicate",
        ),
    ] {
        let scene = Scene::new().await;
        let row = record(resource, row, json!({}));
        let one = format!("{resource}/{}/", id(&row));
        let pair = json!({"external_id": "l1", "external_source": "gh"});
        scene.expect(list(resource, std::slice::from_ref(&row)));
        scene.expect(Exchange::patch(&format!("{V1}{one}")).body(pair.clone()).recorded(resource, updated));
        let answer = scene.patch(&one, pair).await.expect_problem(409, "conflict");
        let told = crate::traps::scene::shown(resource, updated);
        assert!(!answer.json.to_string().contains(id(&told)), "{}", answer.json);
        scene.expect(Exchange::post(&format!("{V1}{resource}/")).recorded(resource, created));
        let body = json!({"name": "x", "color": "#000", "external_id": "l1", "external_source": "gh"});
        let answer = scene.post(&format!("{resource}/"), body).await.expect_problem(409, "conflict");
        assert!(!answer.json.to_string().contains(id(&crate::traps::scene::shown(resource, created))));
        scene.v1.finish();
    }
}

/// Without a source there is no pair (O41), but for v1 no source is the same as no source. For labels v1 checks only
/// whole pairs (`labels_patch_external_id_only_to_duplicate`).
#[tokio::test]
async fn trap_38_an_id_that_another_record_without_a_source_has_is_refused_with_the_reason() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    for (resource, is_refused) in [("states", true), ("cycles", true), ("modules", true), ("labels", false)] {
        let records = web(&format!("{resource}/"));
        gateway.post("ada", &records, json!({"name": "n", "color": "#000", "external_id": "e1"})).await.expect(201);
        let sourced = json!({"name": "s", "color": "#000", "external_id": "z", "external_source": "gh"});
        gateway.post("ada", &records, sourced).await.expect(201);
        let other = gateway.post("ada", &records, json!({"name": "m", "color": "#000"})).await.expect(201);
        let one = format!("{records}{}/", other.text("id"));
        for body in [json!({"external_id": "e1"}), json!({"external_id": "e1", "external_source": null})] {
            let answer = gateway.patch("ada", &one, body).await;
            if is_refused {
                let detail = answer.expect_problem(409, "conflict").text("detail");
                assert!(detail.contains("no external_source either"), "{resource}: {detail}");
            } else {
                answer.expect(200);
            }
        }
        gateway.patch("ada", &one, json!({"external_id": "e1", "external_source": "gh"})).await.expect(200);
        // One half that completes the pair of another record.
        let answer = gateway.patch("ada", &one, json!({"external_id": "z"})).await;
        assert_eq!(answer.status, if is_refused { 409 } else { 200 }, "{resource}: {}", answer.json);
    }
}
