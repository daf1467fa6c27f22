//! `projects/{project_id}/work-item-types/`, with enable, import and schema.

use crate::operations::scene::{ACME, ADA, BOB, ONE, P, Scene, THEN, TWO, WEB, list};
use crate::support::gateway::Gateway;
use crate::support::scripted::Exchange;
use causeway::sandbox::Seed;
use serde_json::{Value, json};

const STATE_FIELDS: &str =
    "id,name,description,color,group,sequence,default,is_triage,external_id,external_source,created_at,created_by";

#[tokio::test]
async fn enable_provides_the_default_once_and_asks_v1_nothing_of_its_own() {
    let mut scene = Scene::in_project().await;
    let path = format!("{WEB}/work-item-types/");
    let empty = scene.ask("GET", &path, None).await.expect(200);
    assert_eq!((empty.calls(), empty.data().len()), (2, 0));
    let first = scene.ask("POST", &format!("{path}enable/"), Some(json!("ignored"))).await.expect(200);
    assert_eq!((first.calls(), first.text("name"), &first.json["is_default"]), (0, "Task".into(), &json!(true)));
    let icon = json!({"in_use": "icon", "icon": {"name": "Check", "background_color": "#119988"}});
    assert_eq!(first.json["logo_props"], icon);
    let again = scene.ask("POST", &format!("{path}enable/"), None).await.expect(200);
    assert_eq!((again.calls(), again.json), (0, first.json));
    scene.end();
}

#[tokio::test]
async fn types_of_a_project_have_unique_pairs_and_one_default() {
    let mut scene = Scene::in_project().await;
    let path = format!("{WEB}/work-item-types/");
    let pair = json!({"name": "Bug", "external_id": "1", "external_source": "jira"});
    let bug = scene.made(&path, pair).await;
    let other = json!({"name": "Other", "external_id": "1", "external_source": "jira"});
    scene.ask("POST", &path, Some(other)).await.expect_problem(409, "conflict");
    let half = json!({"name": "Half", "external_id": "1"});
    let half = scene.made(&path, half).await;
    let one = format!("{path}{bug}/");
    let shown = scene.ask("GET", &one, None).await.expect(200);
    assert!(shown.json.get("external_id").is_none() && shown.json["is_default"] == false);
    scene.ask("PATCH", &format!("{path}{half}/"), Some(json!({"is_active": false}))).await.expect(200);
    let inactive = scene.ask("POST", &format!("{path}{half}/mark-default/"), None).await;
    inactive.expect_problem(400, "validation_error");
    scene.ask("POST", &format!("{one}mark-default/"), None).await.expect(200);
    scene.ask("DELETE", &one, None).await.expect_problem(409, "conflict");
    scene.ask("DELETE", &format!("{path}{half}/"), None).await.expect(204);
    scene.ask("DELETE", &format!("{path}{half}/"), None).await.expect_problem(404, "resource_not_found");
    let named = scene.ask("GET", &format!("{path}?name=%20Bug%20"), None).await.expect(200);
    assert_eq!(named.column("id"), [json!(bug)]);
    scene.end();
}

#[tokio::test]
async fn imported_types_are_listed_and_change_on_the_workspace_only() {
    let mut scene = Scene::in_workspace_mode().await;
    scene.expect(crate::operations::scene::card());
    let bug = scene.made(&format!("{ACME}/work-item-types/"), json!({"name": "Bug"})).await;
    let path = format!("{WEB}/work-item-types/");
    for _ in 0..2 {
        let body = json!({"work_item_types": [bug, bug]});
        let answer = scene.ask("POST", &format!("{path}import/"), Some(body)).await.expect(200);
        assert!(answer.bytes.is_empty());
    }
    for bad in [json!([]), json!([bug, ONE])] {
        let answer = scene.ask("POST", &format!("{path}import/"), Some(json!({"work_item_types": bad}))).await;
        assert_eq!(answer.expect_problem(400, "validation_error").error_fields(), ["work_item_types"]);
    }
    let listed = scene.ask("GET", &path, None).await.expect(200);
    assert_eq!((listed.column("id"), listed.column("is_default")), (vec![json!(bug)], vec![json!(true)]));
    let one = format!("{path}{bug}/");
    scene.ask("GET", &one, None).await.expect(200);
    scene.ask("PATCH", &one, Some(json!({}))).await.expect_problem(409, "work_item_types_managed_at_workspace");
    // Both stay after a switch (O32), and the imported one still belongs to the workspace.
    let off = json!({"is_work_item_types_enabled": false});
    scene.ask("PATCH", &format!("{ACME}/features/"), Some(off)).await.expect(200);
    scene.made(&path, json!({"name": "Own"})).await;
    assert_eq!(scene.ask("GET", &path, None).await.expect(200).column("name"), [json!("Bug"), json!("Own")]);
    let refused = scene.ask("DELETE", &one, None).await;
    let refused = refused.expect_problem(409, "work_item_types_managed_at_workspace");
    let told = "This belongs to the workspace and is changed there, while `is_work_item_types_enabled` is on.";
    assert_eq!(refused.text("detail"), told);
    scene.end();
}

#[tokio::test]
async fn enable_returns_an_imported_default() {
    let mut scene = Scene::in_workspace_mode().await;
    scene.expect(crate::operations::scene::card());
    let task = scene.ask("GET", &format!("{ACME}/work-item-types/"), None).await.expect(200);
    let task = task.data()[0]["id"].clone();
    let path = format!("{WEB}/work-item-types/");
    let body = json!({"work_item_types": [task]});
    scene.ask("POST", &format!("{path}import/"), Some(body)).await.expect(200);
    let off = json!({"is_work_item_types_enabled": false});
    scene.ask("PATCH", &format!("{ACME}/features/"), Some(off)).await.expect(200);
    let enabled = scene.ask("POST", &format!("{path}enable/"), None).await.expect(200);
    assert_eq!((&enabled.json["id"], &enabled.json["is_default"]), (&task, &json!(true)));
    let listed = scene.ask("GET", &path, None).await.expect(200);
    assert_eq!((listed.column("id"), listed.column("is_default")), (vec![task], vec![json!(true)]));
    scene.end();
}

fn state() -> Value {
    json!({"id": ONE, "name": "Todo", "description": "", "color": "#112233", "sequence": 15000.0,
        "group": "unstarted", "default": true, "is_triage": false, "external_id": null, "external_source": null,
        "created_at": THEN, "created_by": ADA})
}

#[tokio::test]
async fn the_schema_reads_states_always_and_more_when_asked() {
    let label = json!({"id": TWO, "name": "bug", "description": "", "color": "#e5484d", "sort_order": 1.0,
        "parent": null, "external_id": null, "external_source": null, "created_at": THEN, "created_by": ADA});
    let label_fields =
        "id,name,description,color,sort_order,parent,external_id,external_source,created_at,created_by";
    let bob = json!({"id": BOB, "first_name": "Bob", "last_name": "X", "email": "bob@acme.test", "avatar": "",
        "avatar_url": "", "display_name": "bob"});
    let mut scene = Scene::in_any_order()
        .await
        .then(list("states", STATE_FIELDS, &[&state()]))
        .then(list("labels", label_fields, &[&label]))
        .then(Exchange::get(&format!("{P}/members/")).reply(200, json!([bob])));
    let types = format!("{WEB}/work-item-types/");
    let kind = scene.made(&types, json!({"name": "Bug", "description": "broken"})).await;
    let schema = format!("{types}{kind}/schema/");
    let plain = scene.ask("GET", &schema, None).await.expect(200);
    assert_eq!(
        (plain.calls(), plain.text("type_name"), plain.text("type_description")),
        (1, "Bug".into(), "broken".into())
    );
    let fields = &plain.json["fields"];
    assert_eq!(
        fields["state_id"]["options"],
        json!([{"id": ONE, "name": "Todo", "color": "#112233", "group": "unstarted"}])
    );
    assert!(fields["assignee_ids"].get("options").is_none() && fields.get("estimate_point_id").is_none());
    let full = scene.ask("GET", &format!("{schema}?include=labels,members,,labels"), None).await.expect(200);
    assert_eq!(full.calls(), 2);
    let fields = &full.json["fields"];
    assert_eq!(fields["label_ids"]["options"], json!([{"id": TWO, "name": "bug", "color": "#e5484d"}]));
    let person = json!({"id": BOB, "display_name": "bob", "email": "bob@acme.test"});
    assert_eq!(fields["assignee_ids"]["options"], json!([person]));
    assert_eq!(scene.ask("GET", &format!("{schema}?include=members"), None).await.expect(200).calls(), 0);
    let unknown = scene.ask("GET", &format!("{schema}?include=members,states,states"), None).await;
    assert_eq!(unknown.expect_problem(400, "validation_error").error_fields(), ["include"]);
    scene.end();
}

#[tokio::test]
async fn the_schema_tells_the_choices_of_each_custom_property() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let types = format!("{WEB}/work-item-types/");
    let kind = gateway.post("ada", &types, json!({"name": "Bug"})).await.expect(201).text("id");
    for body in [
        json!({"display_name": "Note", "property_type": "TEXT"}),
        json!({"display_name": "Risk", "property_type": "OPTION", "options": [{"name": "High"}]}),
        json!({"display_name": "Owner", "property_type": "RELATION", "relation_type": "USER"}),
    ] {
        let made = gateway.post("ada", &format!("{WEB}/work-item-properties/"), body).await.expect(201).text("id");
        let attached = json!({"properties": [made]});
        gateway.post("ada", &format!("{types}{kind}/properties/"), attached).await.expect(201);
    }
    let schema = format!("{types}{kind}/schema/");
    let plain = gateway.get("ada", &schema).await.expect(200).json["custom_fields"].take();
    assert_eq!((&plain["note"]["options"], &plain["risk"]["options"][0]["name"]), (&json!([]), &json!("High")));
    assert_eq!((&plain["owner"]["relation_type"], plain["owner"].get("options")), (&json!("USER"), None));
    let full = gateway.get("ada", &format!("{schema}?include=members")).await.expect(200);
    assert!(full.json["custom_fields"]["owner"]["options"].as_array().is_some_and(|people| people.len() > 1));
}

#[tokio::test]
async fn a_type_in_use_stays() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let types = format!("{WEB}/work-item-types/");
    let kind = gateway.post("ada", &types, json!({"name": "Bug"})).await.expect(201).text("id");
    let body = json!({"name": "one", "type_id": kind});
    let item = gateway.post("ada", &format!("{WEB}/work-items/"), body).await.expect(201).text("id");
    let refused = gateway.delete("ada", &format!("{types}{kind}/")).await.expect_problem(409, "conflict");
    assert!(refused.text("detail").contains("1 work item has this type"), "{}", refused.text("detail"));
    gateway.patch("ada", &format!("{WEB}/work-items/{item}/"), json!({"type_id": null})).await.expect(200);
    gateway.delete("ada", &format!("{types}{kind}/")).await.expect(204);
}

#[tokio::test]
async fn the_default_type_is_refused_as_the_default_also_when_items_have_it() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let types = format!("{WEB}/work-item-types/");
    let kind = gateway.post("ada", &types, json!({"name": "Bug"})).await.expect(201).text("id");
    gateway.post("ada", &format!("{types}{kind}/mark-default/"), json!({})).await.expect(200);
    let body = json!({"name": "one", "type_id": kind});
    gateway.post("ada", &format!("{WEB}/work-items/"), body).await.expect(201);
    let refused = gateway.delete("ada", &format!("{types}{kind}/")).await.expect_problem(409, "conflict");
    assert_eq!(refused.text("detail"), "The default type cannot be deleted; mark another type as default first.");
}

#[tokio::test]
async fn only_admins_of_a_project_may_change_its_types() {
    let gateway = Gateway::sandboxed(Seed::Recorded).await;
    let types = format!("{WEB}/work-item-types/");
    for key in ["bob", "kim", "gil", "mel"] {
        gateway.post(key, &types, json!({"name": "Bug"})).await.expect_problem(403, "forbidden");
    }
    for (key, status) in [("bob", 200), ("gil", 200), ("mel", 403)] {
        gateway.get(key, &types).await.expect(status);
    }
}
