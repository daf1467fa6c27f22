//! Records of the own store, on both surfaces, and the mode each operation needs.

use super::operations::Contract;
use super::world::{SLUG, WEB, World};
use crate::support::audit::ACME;
use crate::support::furnished::id;
use crate::support::gateway::Gateway;
use causeway::catalogue::Edit;
use causeway::refusal::Refusal;
use serde_json::{Value, json};
use std::collections::HashSet;
use uuid::Uuid;

/// The surface of the project `WEB` and that of the workspace.
fn surfaces() -> [String; 2] {
    let workspace = format!("/api/v2/workspaces/{SLUG}/");
    [format!("{workspace}projects/{WEB}/"), workspace]
}

async fn set_mode(gateway: &Gateway, workspace: bool) {
    let path = format!("/api/v2/workspaces/{SLUG}/features/");
    gateway.patch("ada", &path, json!({"is_work_item_types_enabled": workspace})).await.expect(200);
}

impl World {
    /// Switches the workspace to the mode the operation needs, and removes a record of which only one may exist.
    pub async fn enter(&self, operation: &Contract) {
        if let Some(mode) = operation.0["mode_gate"].as_str() {
            set_mode(&self.gateway, mode == "workspace").await;
        }
        match operation.id() {
            "work_item_property_contexts_create" => self.free_scope().await,
            "project_work_item_types_delete" | "workspace_work_item_types_delete" => {
                let collection = self.collection(operation);
                let rows = self.rows(&collection, None).await;
                let provisioned = rows.iter().find(|row| row["name"] == "Task").expect("the first default");
                let path = format!("{collection}{}/mark-default/", id(provisioned));
                self.gateway.post("ada", &path, json!({})).await.expect(200);
            }
            _ => {}
        }
    }

    /// Switches the workspace to the mode in which the operation is refused.
    pub async fn enter_other_mode(&self, operation: &Contract) {
        set_mode(&self.gateway, operation.0["mode_gate"] == "project").await;
    }

    /// Returns the path of the collection that contains the operation's record.
    pub fn collection(&self, operation: &Contract) -> String {
        let path = self.path(operation);
        let record = self.record(operation.resource());
        path.split(&format!("{record}/")).next().unwrap_or_default().to_owned()
    }

    /// Deletes the context that covers `WEB` for all types, so that another one may cover it.
    async fn free_scope(&self) {
        let property = self.record("workspace_work_item_properties");
        let path = format!("/api/v2/workspaces/{SLUG}/work-item-properties/{property}/contexts/");
        if self.gateway.get("ada", &path).await.status != 200 {
            // An earlier operation has deleted the property itself.
            return;
        }
        for context in self.rows(&path, None).await {
            let covers = context["project_ids"].as_array().is_some_and(|ids| ids.contains(&json!(WEB)));
            if covers && context["applies_to_all_work_item_types"] == true {
                self.gateway.delete("ada", &format!("{path}{}/", id(&context))).await.expect(204);
            }
        }
    }

    /// Creates many records of the own store on both surfaces, past the gateway, as another process would.
    pub async fn own_crowd(&self, how_many: usize) {
        for (surface, owner) in [("project", Some(WEB.parse().expect("an id"))), ("workspace", None)] {
            let record = |resource: &str| -> Uuid {
                self.record(&format!("{surface}_{resource}")).parse().expect("a record that is there")
            };
            let (kind, property) = (record("work_item_types"), record("work_item_properties"));
            let fill = |edit: &mut Edit| {
                let properties =
                    (0..how_many).map(|n| define(edit, n, owner, property)).collect::<Result<Vec<_>, _>>()?;
                edit.attach(kind, &properties.into_iter().rev().collect::<Vec<_>>())?;
                Ok(((), Vec::new()))
            };
            self.store.edit(ACME, fill).await.expect("definitions");
        }
    }
}

/// Creates a type, a property, a choice of `of`, and a context for one of the workspace; returns the property.
fn define(edit: &mut Edit, n: usize, owner: Option<Uuid>, of: Uuid) -> Result<Uuid, Refusal> {
    let given = |value: Value| value.as_object().expect("members").clone();
    let name = format!("Row {n:03}");
    let kind = edit.create_type(owner, &given(json!({"name": name})))?;
    let value = ["TEXT", "DECIMAL", "BOOLEAN", "DATETIME"][n % 4];
    let property = edit.create_property(owner, &given(json!({"display_name": name, "property_type": value})))?;
    edit.create_option(of, &given(json!({"name": name, "description": "d"})))?;
    if owner.is_none() {
        let scope = json!({"name": name, "project_ids": [WEB], "issue_type_ids": [kind]});
        edit.create_context(of, &given(scope), &HashSet::from([WEB.parse().expect("an id")]))?;
    }
    Ok(property)
}

/// Reads give the same answers in both modes, except for the mark of a project's default (O62).
#[tokio::test]
async fn reads_work_in_both_modes() {
    let world = World::new().await;
    let reads = || super::operations::working().filter(|operation| is_own(operation) && !operation.writes());
    for operation in reads() {
        let path = world.path(operation);
        let mut seen = Vec::new();
        for workspace in [false, true] {
            set_mode(&world.gateway, workspace).await;
            let mut answer = world.gateway.get("ada", &path).await.expect(200).json;
            answer.as_object_mut().expect("an object").remove("is_work_item_types_enabled");
            seen.push(answer);
        }
        assert_eq!(seen[0], seen[1], "{}", operation.id());
    }
    assert_eq!(reads().count(), 20);
}

/// The mode is checked before the record, and the record before the body (O2).
#[tokio::test]
async fn a_write_of_the_other_mode_is_refused_before_its_record_is_looked_for() {
    let world = World::new().await;
    let mut gated = 0;
    for operation in super::operations::working().filter(|operation| !operation.0["mode_gate"].is_null()) {
        gated += 1;
        world.enter_other_mode(operation).await;
        let code = operation.text("mode_gate_code");
        let nowhere = world.path_but(operation, "pk", super::operations::NOWHERE);
        for path in [world.path(operation), nowhere] {
            let bad = json!([]);
            let answer = world.gateway.send(Some("ada"), operation.method(), &path, Some(&bad)).await;
            world.problem(answer, 409, code);
            // The role is checked before the mode.
            let answer = world.gateway.send(Some("kim"), operation.method(), &path, Some(&bad)).await;
            world.problem(answer, 403, "forbidden");
        }
    }
    assert_eq!(gated, 29);
}

/// Without workspace types on the plan the flag is stored and shown, and changes nothing else (O31).
#[tokio::test]
async fn the_plan_decides_whether_the_flag_counts() {
    let gateway =
        Gateway::sandboxed_with(causeway::sandbox::Seed::Recorded, &[("types.workspace_level", "false")]).await;
    set_mode(&gateway, true).await;
    let [project, workspace] = surfaces();
    let features = gateway.get("ada", &format!("{workspace}features/")).await.expect(200);
    assert_eq!(features.json["is_work_item_types_enabled"], true);
    let body = json!({"name": "one"});
    gateway.post("ada", &format!("{project}work-item-types/"), body.clone()).await.expect(201);
    let refused = gateway.post("ada", &format!("{workspace}work-item-types/"), body).await;
    refused.expect_problem(409, "work_item_types_managed_at_project");
}

/// Checks whether records of the operation are in the own store, without the log.
pub fn is_own(operation: &Contract) -> bool {
    let resource = super::operations::PLAN.resource(operation.resource()).expect("a resource");
    resource.source == causeway::plan::Source::Own && resource.name != "audit_logs"
}
