//! States that a workspace reaches over time: retired types, options of one name, work items that are not the same on
//! both sides.

use super::filled::fill;
use super::two::{ACME, HERE, KEY, Side, THERE, Two, id};
use causeway::leave::{Kind, Outcome, Report, RunMode, text};
use serde_json::{Value, json};

fn expect(report: &Report, outcome: Outcome) {
    assert_eq!(report.workspaces[0].outcome, outcome, "{}", text(report));
}

async fn carried_whole(two: &Two) {
    let planned = two.run(RunMode::DryRun).await.unwrap();
    expect(&planned, Outcome::Planned);
    assert!(planned.is_clean(), "{}", text(&planned));
    expect(&two.run(RunMode::Carry).await.unwrap(), Outcome::Alike);
    let again = two.run(RunMode::Carry).await.unwrap();
    expect(&again, Outcome::Alike);
    assert_eq!(again.workspaces[0].carried, None, "{}", text(&again));
}

/// Returns the names of a work item's values at the target; the item is found by its name.
async fn values_there(two: &Two, name: &str) -> Value {
    let there = Side::there(two);
    let rows = there.read(&there.web("work-items/")).await;
    let row = rows.data().iter().find(|row| row["name"] == name).expect("the work item");
    let record = there.read(&there.web(&format!("work-items/{}/", id(row)))).await;
    let fields = record.json["custom_fields"].as_object().expect("an object").iter();
    fields.map(|(name, field)| (name.clone(), field["value"].clone())).collect::<serde_json::Map<_, _>>().into()
}

/// Creates a project `OLD` with a type, and a work item of this type. Returns the ids of the project and the item.
async fn old_project(here: Side<'_>) -> [String; 2] {
    let project = json!({"name": "Old", "identifier": "OLD"});
    let project = id(&here.made("/api/v1/workspaces/acme/projects/", project).await);
    here.mode(false).await;
    let base = format!("{ACME}/projects/{project}");
    let kind = id(&here.made(&format!("{base}/work-item-types/"), json!({"name": "Past"})).await);
    let item = here.made(&format!("{base}/work-items/"), json!({"name": "Done long ago", "type_id": kind})).await;
    [project, id(&item)]
}

async fn both(two: &Two, name: &str) -> String {
    Side::there(two).item(0, name).await;
    Side::here(two).item(0, name).await
}

#[tokio::test]
async fn a_retired_type_keeps_its_work_items() {
    let two = Two::new().await;
    let here = Side::here(&two);
    let item = here.item(0, "Old chore").await;
    here.mode(false).await;
    let types = here.web("work-item-types/");
    let chore = id(&here.made(&types, json!({"name": "Chore"})).await);
    let note = json!({"display_name": "Note", "property_type": "TEXT"});
    let note = id(&here.made(&here.web("work-item-properties/"), note).await);
    here.made(&format!("{types}{chore}/properties/"), json!({"properties": [note]})).await;
    let body = json!({"type_id": chore, "custom_fields": {"note": "kept"}});
    here.changed(&here.web(&format!("work-items/{item}/")), body).await;
    here.changed(&format!("{types}{chore}/"), json!({"is_active": false})).await;
    here.mode(true).await;
    // As long as the work item is missing at the target, it cannot get its type.
    expect(&two.run(RunMode::Carry).await.unwrap(), Outcome::Unlike);
    let there = Side::there(&two);
    there.item(0, "Old chore").await;
    carried_whole(&two).await;
    assert_eq!(values_there(&two, "Old chore").await, json!({"note": "kept"}));
    let features = there.read(&format!("{ACME}/features/")).await;
    assert_eq!(features.json["is_work_item_types_enabled"], true);
    there.mode(false).await;
    let rows = there.read(&there.web("work-item-types/")).await;
    let chore = rows.data().iter().find(|row| row["name"] == "Chore").expect("the type");
    assert_eq!(chore["is_active"], false);
}

/// The target sanitises what it gets, so it could never hold the raw text.
#[tokio::test]
async fn a_text_that_became_rich_text_is_carried_as_it_shows() {
    let two = Two::new().await;
    let here = Side::here(&two);
    let item = both(&two, "Noted").await;
    here.mode(false).await;
    let types = here.web("work-item-types/");
    let kind = id(&here.made(&types, json!({"name": "Kind"})).await);
    let several = json!({"display_name": "Note", "property_type": "TEXT", "is_multi": true});
    let note = id(&here.made(&here.web("work-item-properties/"), several).await);
    here.made(&format!("{types}{kind}/properties/"), json!({"properties": [note]})).await;
    let fields = json!({"note": ["<img src=x onerror=alert(1)>", "<script>x</script>"]});
    let body = json!({"type_id": kind, "custom_fields": fields});
    here.changed(&here.web(&format!("work-items/{item}/")), body).await;
    let rich = json!({"property_type": "RELATION", "relation_type": "RICH_TEXT"});
    here.changed(&here.web(&format!("work-item-properties/{note}/")), rich).await;
    expect(&two.run(RunMode::Carry).await.unwrap(), Outcome::Alike);
    let there = Side::there(&two);
    there.mode(false).await;
    assert_eq!(values_there(&two, "Noted").await, json!({"note": ["<img src=\"x\">"]}));
}

#[tokio::test]
async fn options_of_one_name_are_carried_each_by_itself() {
    let two = Two::new().await;
    let here = Side::here(&two);
    let items = [both(&two, "Of a project").await, both(&two, "Of a context").await];
    here.mode(false).await;
    let types = here.web("work-item-types/");
    let kind = id(&here.made(&types, json!({"name": "Kind"})).await);
    let double = json!({"display_name": "Double", "property_type": "OPTION",
        "options": [{"name": "x"}, {"name": "y"}]});
    let double = id(&here.made(&here.web("work-item-properties/"), double).await);
    let options = here.web(&format!("work-item-properties/{double}/options/"));
    let second = id(&here.made(&options, json!({"name": "X", "description": "the second"})).await);
    here.made(&options, json!({"name": "z", "is_default": true})).await;
    here.made(&format!("{types}{kind}/properties/"), json!({"properties": [double]})).await;
    let body = json!({"type_id": kind, "custom_fields": {"double": second}});
    here.changed(&here.web(&format!("work-items/{}/", items[0])), body).await;
    here.changed(&format!("{ACME}/features/"), json!({"work_item_type_default_level": 2})).await;
    here.mode(true).await;
    let types = format!("{ACME}/work-item-types/");
    let feature = id(&here.made(&types, json!({"name": "Feature"})).await);
    here.made(&here.web("work-item-types/import/"), json!({"work_item_types": [feature]})).await;
    let properties = format!("{ACME}/work-item-properties/");
    let stage = json!({"display_name": "Stage", "property_type": "OPTION",
        "options": [{"name": "low"}, {"name": "high"}]});
    let stage = id(&here.made(&properties, stage).await);
    here.made(&format!("{types}{feature}/properties/"), json!({"properties": [stage]})).await;
    let mut contexts = Vec::new();
    for (name, project) in [("Of WEB", HERE[0]), ("Of TYP", HERE[1])] {
        let body = json!({"name": name, "project_ids": [project], "applies_to_all_work_item_types": true,
            "options": [{"name": "low"}, {"name": "high"}, {"name": name}]});
        contexts.push(here.made(&format!("{properties}{stage}/contexts/"), body).await);
    }
    let high = &contexts[0]["options"][1]["id"];
    let body = json!({"type_id": feature, "custom_fields": {"stage": high}});
    here.changed(&here.web(&format!("work-items/{}/", items[1])), body).await;
    carried_whole(&two).await;
    assert_eq!(values_there(&two, "Of a context").await, json!({"stage": "high"}));
    let there = Side::there(&two);
    let rows = there.read(&format!("{ACME}/work-item-types/?order_by=created_at")).await;
    assert_eq!(rows.column("name"), ["Task", "Feature"]);
    assert_eq!(rows.column("level"), [2, 2], "the type that the service made by itself among them");
    there.mode(false).await;
    assert_eq!(values_there(&two, "Of a project").await, json!({"double": "X"}));
    let rows = there.read(&there.web("work-item-properties/")).await;
    let names: Vec<&Value> =
        rows.data()[0]["options"].as_array().unwrap().iter().map(|option| &option["name"]).collect();
    assert_eq!(names, ["x", "y", "X", "z"]);
}

#[tokio::test]
async fn an_archive_mark_is_for_no_work_item_of_another_name() {
    let two = Two::new().await;
    let (here, there) = (Side::here(&two), Side::there(&two));
    let (theirs, ours) = (there.item(0, "Done").await, here.item(0, "Done").await);
    here.mode(false).await;
    let kind = id(&here.made(&here.web("work-item-types/"), json!({"name": "Kind"})).await);
    here.changed(&here.web(&format!("work-items/{ours}/")), json!({"type_id": kind})).await;
    here.made(&here.web(&format!("work-items/{ours}/archive/")), json!({})).await;
    let path = there.web(&format!("work-items/{theirs}/"));
    there.changed(&path, json!({"name": "Another one"})).await;
    for (run_mode, outcome) in [(RunMode::DryRun, Outcome::Planned), (RunMode::Carry, Outcome::Alike)] {
        let report = two.run(run_mode).await.unwrap();
        expect(&report, outcome);
        let told = text(&report);
        assert!(told.contains("Impossible") && told.contains("there it is a work item of another name"), "{told}");
    }
    there.read(&path).await;
    there.changed(&path, json!({"name": "Done"})).await;
    carried_whole(&two).await;
    there.gateway.get("ada", &path).await.expect(404);
    // When it is unarchived here, it is unarchived at the target.
    here.made(&here.web(&format!("work-items/{ours}/unarchive/")), json!({})).await;
    expect(&two.run(RunMode::Check).await.unwrap(), Outcome::Unlike);
    carried_whole(&two).await;
    assert!(there.read(&path).await.json["type_id"].is_string());
    // Later changes at the target do not concern this command.
    there.made(&format!("{path}archive/"), json!({})).await;
    expect(&two.run(RunMode::Carry).await.unwrap(), Outcome::Unlike);
    there.gateway.get("ada", &path).await.expect(404);
}

#[tokio::test]
async fn a_work_item_that_a_copy_of_the_deployment_has_not_got_is_not_taken_for_deleted() {
    let two = Two::copied().await;
    let here = Side::here(&two);
    let item = here.item(0, "Made since").await;
    here.mode(false).await;
    let kind = id(&here.made(&here.web("work-item-types/"), json!({"name": "Kind"})).await);
    here.changed(&here.web(&format!("work-items/{item}/")), json!({"type_id": kind})).await;
    let report = two.run(RunMode::Carry).await.unwrap();
    expect(&report, Outcome::Unlike);
    let told = text(&report);
    assert!(told.contains("work items of project WEB that are not there"), "{told}");
    assert_eq!(two.store.left("acme").await.unwrap(), None);
}

/// v1's list of projects has archived ones (trap 58), and no route of a project finds them.
#[tokio::test]
async fn an_archived_project_does_not_stop_a_run() {
    let two = Two::upgraded().await;
    let here = Side::here(&two);
    let unused = json!({"name": "Unused", "identifier": "UNUSED"});
    let unused = id(&here.made("/api/v1/workspaces/acme/projects/", unused).await);
    let archive = |project: &str| format!("/api/v1/workspaces/acme/projects/{project}/archive/");
    here.gateway.post(KEY, &archive(&unused), json!({})).await.expect(204);
    carried_whole(&two).await;
    let [old, item] = old_project(here).await;
    let mark = format!("{ACME}/projects/{old}/work-items/{item}/archive/");
    here.made(&mark, json!({})).await;
    here.gateway.post(KEY, &archive(&old), json!({})).await.expect(204);
    let report = two.run(RunMode::Carry).await.unwrap();
    expect(&report, Outcome::Unlike);
    let told = text(&report);
    assert!(told.contains("type `Past` of project OLD: the project is archived: bring it back first"), "{told}");
    let line = |kind: Kind| report.workspaces[0].findings.lines[&kind];
    let lines = [line(Kind::Item), line(Kind::Archive)].map(|line| (line.left, line.impossible));
    assert_eq!(lines, [(0, 1), (0, 1)], "{told}");
    // When it is back, everything is carried.
    here.gateway.delete(KEY, &archive(&old)).await.expect(204);
    expect(&two.run(RunMode::Carry).await.unwrap(), Outcome::Alike);
}

/// As far as its other projects go, such a context is carried, and the project is named.
#[tokio::test]
async fn a_context_that_lists_an_archived_project_is_carried_whole_when_the_project_is_back() {
    let two = Two::upgraded().await;
    let here = Side::here(&two);
    let project = json!({"name": "Old", "identifier": "OLD"});
    let old = id(&here.made("/api/v1/workspaces/acme/projects/", project).await);
    here.mode(true).await;
    let properties = format!("{ACME}/work-item-properties/");
    let note = id(&here.made(&properties, json!({"display_name": "Note", "property_type": "TEXT"})).await);
    let both = json!({"name": "Both", "project_ids": [HERE[0], old], "applies_to_all_work_item_types": true});
    here.made(&format!("{properties}{note}/contexts/"), both).await;
    let archive = format!("/api/v1/workspaces/acme/projects/{old}/archive/");
    // Before it was carried, and after it was carried whole.
    for _ in 0..2 {
        here.gateway.post(KEY, &archive, json!({})).await.expect(204);
        for (run_mode, outcome) in [(RunMode::DryRun, Outcome::Planned), (RunMode::Carry, Outcome::Unlike)] {
            let report = two.run(run_mode).await.unwrap();
            expect(&report, outcome);
            let told = text(&report);
            let reason = "context `Both` of property `Note` of the workspace: it lists project OLD: the project is \
                          archived: bring it back first";
            assert!(!report.is_clean() && told.contains(reason), "{told}");
        }
        here.gateway.delete(KEY, &archive).await.expect(204);
        expect(&two.run(RunMode::Carry).await.unwrap(), Outcome::Alike);
    }
}

/// A context there that lists the project no more would remove the values of the project's work items.
#[tokio::test]
async fn a_carried_context_keeps_a_project_that_was_archived_since() {
    let two = Two::new().await;
    let (here, there) = (Side::here(&two), Side::there(&two));
    let late = here.item(0, "Late").await;
    here.mode(true).await;
    let properties = format!("{ACME}/work-item-properties/");
    // The context of the first is carried whole and renamed then; the default of the other waits for a work item.
    let note = json!({"display_name": "Note", "property_type": "TEXT"});
    let depends = json!({"display_name": "Depends", "property_type": "RELATION", "relation_type": "ISSUE"});
    let mut contexts = Vec::new();
    for (property, default) in [(note, json!([])), (depends, json!([late]))] {
        let list = format!("{properties}{}/contexts/", id(&here.made(&properties, property).await));
        let both = json!({"name": "Both", "project_ids": HERE, "applies_to_all_work_item_types": true,
            "default_value": default});
        contexts.push(format!("{list}{}/", id(&here.made(&list, both).await)));
    }
    expect(&two.run(RunMode::Carry).await.unwrap(), Outcome::Unlike);
    here.changed(&contexts[0], json!({"name": "Renamed"})).await;
    let archive = format!("/api/v1/workspaces/acme/projects/{}/archive/", HERE[1]);
    here.gateway.post(KEY, &archive, json!({})).await.expect(204);
    let report = two.run(RunMode::Carry).await.unwrap();
    expect(&report, Outcome::Unlike);
    let told = text(&report);
    for name in ["context `Renamed` of property `Note`", "context `Both` of property `Depends`"] {
        let reason = format!("{name} of the workspace: it lists project TYP: the project is archived");
        assert!(told.contains(&reason), "{told}");
    }
    for property in there.read(&properties).await.data() {
        let contexts = there.read(&format!("{properties}{}/contexts/", id(property))).await;
        let both = contexts.data().iter().find(|context| context["name"] == "Both").expect("the context");
        let mut listed: Vec<&str> =
            both["project_ids"].as_array().expect("ids").iter().filter_map(Value::as_str).collect();
        listed.sort_unstable();
        assert_eq!(listed, THERE, "{both}");
    }
    // When it is back, the rest is carried.
    here.gateway.delete(KEY, &archive).await.expect(204);
    there.item(0, "Late").await;
    carried_whole(&two).await;
}

#[tokio::test]
async fn a_project_deleted_through_the_gateway_does_not_keep_a_workspace_from_being_left() {
    let two = Two::upgraded().await;
    let here = Side::here(&two);
    let [old, item] = old_project(here).await;
    here.made(&format!("{ACME}/projects/{old}/work-items/{item}/archive/"), json!({})).await;
    here.removed(&format!("/api/v1/workspaces/acme/projects/{old}/")).await;
    let report = two.run(RunMode::Carry).await.unwrap();
    expect(&report, Outcome::Alike);
    let line = |kind: Kind| report.workspaces[0].findings.lines[&kind];
    let lines = [line(Kind::Item), line(Kind::Archive)].map(|line| (line.here, line.left, line.impossible));
    assert_eq!(lines, [(1, 0, 1), (1, 0, 1)], "{}", text(&report));
}

#[tokio::test]
async fn nothing_is_left_with_the_key_of_somebody_who_is_no_administrator() {
    let two = Two::new().await;
    let fault = two.run_as("bob", RunMode::Carry, two.there.base(), |_| {}).await.unwrap_err();
    assert!(fault.contains("is not that of an administrator of the workspace acme"), "{fault}");
    // The report still has the results of the workspaces before the one that fails.
    let change =
        |wanted: &mut causeway::leave::RunParameters| wanted.workspaces = vec!["acme".into(), "elsewhere".into()];
    let report = two.run_with(RunMode::Carry, change).await;
    expect(&report, Outcome::Alike);
    assert!(report.fault.as_ref().is_some_and(|fault| fault.contains("answered GET")), "{:?}", report.fault);
    assert_eq!(report.json()["error"], json!(report.fault));
}

#[tokio::test]
async fn a_property_of_another_type_is_changed_before_it_gets_options() {
    let two = Two::new().await;
    fill(&two).await;
    let there = Side::there(&two);
    there.mode(false).await;
    let text_of = json!({"display_name": "Severity", "property_type": "TEXT", "default_value": ["low"]});
    there.made(&there.web("work-item-properties/"), text_of).await;
    expect(&two.run(RunMode::Carry).await.unwrap(), Outcome::Stopped);
    let done = two.run_with(RunMode::Carry, |wanted| wanted.update = true).await;
    expect(&done, Outcome::Alike);
}

#[tokio::test]
async fn a_later_run_carries_what_could_not_be_carried_at_first() {
    let two = Two::new().await;
    let here = Side::here(&two);
    let item = both(&two, "Typed").await;
    let late = here.item(0, "Late").await;
    here.mode(false).await;
    let properties = here.web("work-item-properties/");
    let mut related = json!({"display_name": "Blocks", "property_type": "RELATION", "relation_type": "ISSUE"});
    let blocks = id(&here.made(&properties, related.clone()).await);
    related["display_name"] = json!("Depends");
    related["default_value"] = json!([late]);
    here.made(&properties, related).await;
    let note = id(&here.made(&properties, json!({"display_name": "Note", "property_type": "TEXT"})).await);
    let types = here.web("work-item-types/");
    let kind = id(&here.made(&types, json!({"name": "Kind"})).await);
    here.made(&format!("{types}{kind}/properties/"), json!({"properties": [blocks, note]})).await;
    let body = json!({"type_id": kind, "custom_fields": {"blocks": late, "note": "kept"}});
    here.changed(&here.web(&format!("work-items/{item}/")), body).await;
    let note = format!("{properties}{note}/");
    here.changed(&note, json!({"is_active": false})).await;

    let report = two.run(RunMode::Carry).await.unwrap();
    expect(&report, Outcome::Unlike);
    let told = text(&report);
    assert!(told.contains("property `Depends` of project WEB: its default names people or work items"), "{told}");

    let there = Side::there(&two);
    let late = there.item(0, "Late").await;
    here.changed(&note, json!({"is_active": true})).await;
    carried_whole(&two).await;
    let values = values_there(&two, "Typed").await;
    assert!(values["note"] == "kept" && !values["blocks"].is_null(), "{values}");
    let rows = there.read(&there.web("work-item-properties/")).await;
    let depends = rows.data().iter().find(|row| row["display_name"] == "Depends").expect("the property");
    assert_eq!(depends["default_value"], json!([late]));
}

#[tokio::test]
async fn a_later_run_carries_the_default_of_a_context() {
    let two = Two::new().await;
    let here = Side::here(&two);
    let late = here.item(0, "Late").await;
    here.mode(true).await;
    let across = json!({"display_name": "Across", "property_type": "RELATION", "relation_type": "ISSUE",
        "default_value": [late]});
    here.made(&format!("{ACME}/work-item-properties/"), across).await;
    let report = two.run(RunMode::Carry).await.unwrap();
    expect(&report, Outcome::Unlike);
    let there = Side::there(&two);
    let late = there.item(0, "Late").await;
    carried_whole(&two).await;
    let properties = format!("{ACME}/work-item-properties/");
    let across = id(&there.read(&properties).await.data()[0]);
    let contexts = there.read(&format!("{properties}{across}/contexts/")).await;
    assert_eq!(contexts.column("default_value"), [json!([late])]);
}

/// The rest of a record that was carried in part is carried later; what the target changes meanwhile is a conflict.
#[tokio::test]
async fn what_the_target_changes_after_a_carry_in_part_is_a_conflict() {
    let two = Two::new().await;
    let here = Side::here(&two);
    let late = here.item(0, "Late").await;
    here.mode(false).await;
    let related = json!({"display_name": "Depends", "property_type": "RELATION", "relation_type": "ISSUE",
        "default_value": [late]});
    here.made(&here.web("work-item-properties/"), related).await;
    expect(&two.run(RunMode::Carry).await.unwrap(), Outcome::Unlike);
    let again = two.run(RunMode::Carry).await.unwrap();
    expect(&again, Outcome::Unlike);
    assert_eq!(again.workspaces[0].carried, None, "{}", text(&again));

    let there = Side::there(&two);
    let other = there.item(0, "Other").await;
    let properties = there.web("work-item-properties/");
    let depends = format!("{properties}{}/", id(&there.read(&properties).await.data()[0]));
    there.changed(&depends, json!({"description": "theirs", "default_value": [other]})).await;
    expect(&two.run(RunMode::Carry).await.unwrap(), Outcome::Stopped);
    let kept = there.read(&depends).await.json;
    assert_eq!((&kept["description"], &kept["default_value"]), (&json!("theirs"), &json!([other])));
}
