//! An obstacle stops a run before anything is written, and the report says what to do.

use super::filled::fill;
use super::two::{ACME, Side, Two, id};
use crate::support::scripted::nobody;
use crate::support::switch::{Line, Switch};
use causeway::leave::{Class, Outcome, RunMode, text};
use serde_json::json;

#[tokio::test]
async fn a_different_record_of_the_same_name_stops_a_run_without_update() {
    let two = Two::new().await;
    fill(&two).await;
    let there = Side::there(&two);
    let types = there.web("work-item-types/");
    there.made(&types, json!({"name": "Bug", "description": "theirs"})).await;
    there.made(&types, json!({"name": "Theirs"})).await;
    there.made(&there.web("work-item-properties/"), json!({"display_name": "Tags", "property_type": "TEXT"})).await;
    there.changed(&format!("{ACME}/features/"), json!({"is_teams_enabled": true})).await;
    for run_mode in [RunMode::DryRun, RunMode::Carry] {
        let report = two.run(run_mode).await.unwrap();
        let one = &report.workspaces[0];
        assert!(one.outcome == Outcome::Stopped && !report.is_clean(), "{}", text(&report));
        let of = |class: Class| -> Vec<&str> {
            one.findings.told.iter().filter(|(told, _)| *told == class).map(|(_, words)| words.as_str()).collect()
        };
        assert_eq!(
            of(Class::Conflict),
            [
                "type `Bug` of project WEB: description is \"What is broken\" here and \"theirs\" there; level is 2 \
                 here and 0 there",
                "property `Tags` of project WEB: is_multi is true here and false there; external_id is \"t\" here and \
                 null there; external_source is \"x\" here and null there",
                "features of acme: is_work_item_types_enabled is true here and false there; is_teams_enabled is false \
                 here and true there; is_wiki_enabled is true here and false there",
            ]
        );
        assert_eq!(of(Class::Extra), ["type `Theirs` of project WEB"]);
        let rows = there.read(&types).await.data().len();
        assert_eq!(rows, 2, "nothing was written");
    }
    let done = two.run_with(RunMode::Carry, |wanted| wanted.update = true).await;
    assert_eq!(done.workspaces[0].outcome, Outcome::Unlike, "{}", text(&done));
    let told = text(&done);
    assert!(told.contains("level is 2 here and 0 there, and no operation writes that"), "{told}");
    assert!(told.contains("Only there:\n  - type `Theirs` of project WEB"), "{told}");
}

#[tokio::test]
async fn records_only_at_the_target_count_as_unlike_unless_kept() {
    let two = Two::new().await;
    fill(&two).await;
    let there = Side::there(&two);
    there
        .made(&there.web("work-item-properties/"), json!({"display_name": "Theirs", "property_type": "TEXT"}))
        .await;
    let done = two.run(RunMode::Carry).await.unwrap();
    assert!(done.workspaces[0].outcome == Outcome::Unlike && !done.is_clean(), "{}", text(&done));
    assert_eq!(two.store.left("acme").await.unwrap(), None);
    let kept = two.run_with(RunMode::Check, |wanted| wanted.keep_extra = true).await;
    assert!(kept.is_clean(), "{}", text(&kept));
    assert!(two.store.left("acme").await.unwrap().is_some());
}

#[tokio::test]
async fn a_work_item_of_another_name_is_not_taken_for_ours() {
    let two = Two::new().await;
    let filled = fill(&two).await;
    let here = Side::here(&two);
    here.changed(&here.web(&format!("work-items/{}/", filled.items[1])), json!({"name": "Renamed here"})).await;
    let report = two.run(RunMode::DryRun).await.unwrap();
    assert_eq!(report.workspaces[0].outcome, Outcome::Stopped);
    assert!(text(&report).contains("WEB-3 is another work item there"), "{}", text(&report));
}

#[tokio::test]
async fn a_carried_record_deleted_at_the_target_is_a_conflict() {
    let two = Two::new().await;
    fill(&two).await;
    two.run(RunMode::Carry).await.unwrap();
    let there = Side::there(&two);
    there.mode(false).await;
    let types = there.web("work-item-types/");
    let rows = there.read(&types).await.data().clone();
    let retired = id(rows.iter().find(|row| row["name"] == "Retired").unwrap());
    there.gateway.delete("ada", &format!("{types}{retired}/")).await.expect(204);
    there.mode(true).await;
    let report = two.run(RunMode::Carry).await.unwrap();
    assert_eq!(report.workspaces[0].outcome, Outcome::Stopped);
    let words = "type `Retired` of project WEB was carried and is there no more";
    assert!(text(&report).contains(words), "{}", text(&report));
    let done = two.run_with(RunMode::Carry, |wanted| wanted.update = true).await;
    assert_eq!(done.workspaces[0].outcome, Outcome::Alike, "{}", text(&done));
}

#[tokio::test]
async fn a_target_that_is_none_is_refused_with_a_word_of_what_to_do() {
    let two = Two::new().await;
    let here = Side::here(&two);
    here.mode(true).await;
    let v1 = two.store.deployment().await.unwrap().unwrap();
    let alias = two.here.base().replace("127.0.0.1", "localhost");
    for (to, words) in [
        (two.here.base(), "is this gateway itself"),
        (alias.as_str(), "shows records under the ids of this store"),
        (v1.as_str(), "is no v2"),
        ("http://192.0.2.1", "the key would travel unprotected"),
        (nobody().await.as_str(), "gave no answer"),
    ] {
        let fault = two.run_to(RunMode::DryRun, to, |_| {}).await.unwrap_err();
        assert!(fault.contains(words), "{to}: {fault}");
    }
    for (slug, words) in [("elsewhere", "answered GET"), ("../x", "that is no slug")] {
        let change = |wanted: &mut causeway::leave::RunParameters| wanted.workspaces = vec![slug.into()];
        let fault = two.run_to(RunMode::DryRun, two.there.base(), change).await.unwrap_err();
        assert!(fault.contains(words), "{slug}: {fault}");
    }
}

#[tokio::test]
async fn a_target_that_fails_on_the_way_ends_the_run_and_the_next_one_finishes_it() {
    let two = Two::new().await;
    fill(&two).await;
    let wire = Switch::before(two.there.base()).await;
    let to = wire.base_url();
    for word in ["/import/", "/archive/", "/cycles/"] {
        wire.set(Line::Poisoned(word)).await;
        let fault = two.run_to(RunMode::Carry, &to, |_| {}).await.unwrap_err();
        assert!(fault.contains(word) && fault.contains("run the command again"), "{fault}");
        assert_eq!(two.store.left("acme").await.unwrap(), None);
    }
    wire.set(Line::Up).await;
    let done = two.run_to(RunMode::Carry, &to, |_| {}).await.unwrap();
    assert_eq!(done.workspaces[0].outcome, Outcome::Alike, "{}", text(&done));
}

#[tokio::test]
async fn a_write_that_is_not_settled_is_settled_first() {
    let two = Two::new().await;
    fill(&two).await;
    let statement = "INSERT INTO intent (id, workspace_id, project_id, kind, user_id, sent, own, state, began_at) \
                     VALUES ('00000000-0000-4000-8000-000000000001', '00000000-0000-4000-b000-000000000001', \
                     '00000000-0000-4000-c000-000000000001', 'create', '00000000-0000-4000-a000-000000000001', \
                     '{}', '{}', 'begun', 1)";
    sqlx::query(statement).execute(two.store.engine().pool()).await.unwrap();
    let fault = two.run(RunMode::DryRun).await.unwrap_err();
    assert!(fault.contains("1 writes of workspace acme are not settled"), "{fault}");
}

#[tokio::test]
async fn a_default_that_names_somebody_who_is_not_there_is_told_and_not_carried() {
    let two = Two::new().await;
    let here = Side::here(&two);
    let gil = "00000000-0000-4000-a000-000000000004";
    let owner = json!({"display_name": "Owner", "property_type": "RELATION", "relation_type": "USER",
        "default_value": [gil]});
    here.made(&here.web("work-item-properties/"), owner).await;
    // An id inside a text stays as it is.
    let ada = "00000000-0000-4000-a000-000000000001";
    let code = json!({"display_name": "Code", "property_type": "TEXT", "default_value": [ada]});
    here.made(&here.web("work-item-properties/"), code).await;
    let done = two.run(RunMode::Carry).await.unwrap();
    assert_eq!(done.workspaces[0].outcome, Outcome::Unlike);
    let words = "property `Owner` of project WEB: its default names people or work items that are not there";
    assert!(text(&done).contains(words), "{}", text(&done));
    let there = Side::there(&two);
    let rows = there.read(&there.web("work-item-properties/")).await;
    assert_eq!(rows.column("default_value"), [json!([]), json!([ada])]);
}
