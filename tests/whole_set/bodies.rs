//! Bodies of the working writes: every declared member, right and wrong, and malformed bodies.

use super::document::described;
use super::operations::{Contract, NOWHERE, PLAN, writes_with_body};
use super::own::is_own;
use super::world::{SEC, WEB, World, with};
use crate::support::furnished::TYPED;
use crate::support::gateway::Answer;
use crate::support::schema::SENT;
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};
use std::collections::BTreeSet;

impl World {
    async fn write(&self, operation: &Contract, body: &Value) -> Answer {
        self.enter(operation).await;
        self.gateway.send(Some("ada"), operation.method(), &self.path(operation), Some(body)).await
    }

    async fn raw(&self, key: &str, operation: &Contract, path: &str, media: Option<&str>, body: &[u8]) -> Answer {
        self.enter(operation).await;
        let mut request = Request::builder().method(operation.method()).header("X-Api-Key", key);
        request = request.uri(format!("{}{path}", self.gateway.base()));
        if let Some(media) = media {
            request = request.header("Content-Type", media);
        }
        let body = Full::new(Bytes::copy_from_slice(body));
        self.gateway.request(request.body(body).expect("a request")).await
    }
}

/// Returns values of the wrong kind for a member.
fn wrong(input: &Value) -> Vec<Value> {
    match (input["type"].as_str().expect("a type"), input["format"].as_str()) {
        ("any", _) => Vec::new(),
        ("string", Some("uuid")) => vec![json!(5), json!("nope"), json!("0000"), json!([])],
        ("string", Some("date")) => {
            vec![json!(5), json!("2026-13-01"), json!("1.2.2026"), json!("2026-01-05T08:00:00Z")]
        }
        ("string", Some("date-time")) => vec![json!(5), json!("soon"), json!("2026-01-05T25:00:00Z"), json!({})],
        ("string", None) => vec![json!(5), json!(true), json!(["x"]), json!({}), json!("nul \u{0} inside")],
        ("boolean", _) => vec![json!("true"), json!(1), json!([])],
        ("number", _) => vec![json!("1"), json!(true), json!({})],
        ("integer", _) => vec![json!("1"), json!(true), json!(1.5)],
        ("array", _) => vec![json!(5), json!("x"), json!({"0": "x"})],
        ("object", _) => vec![json!([]), json!("x"), json!(1)],
        other => panic!("no working write has {other:?} yet"),
    }
}

/// Returns elements of the wrong kind for an array.
fn wrong_elements(input: &Value) -> Vec<Value> {
    match (input["type"].as_str(), input["format"].as_str()) {
        (Some("array"), Some("uuid")) => vec![json!("x"), json!(5), Value::Null, json!({"id": NOWHERE})],
        (Some("array"), Some("email")) => vec![json!(5), json!("no address"), Value::Null],
        (Some("array"), None) => vec![json!(5), Value::Null, json!([])],
        _ => Vec::new(),
    }
}

/// Checks for members that a project without types, custom properties and estimates never accepts.
fn switched_off(operation: &Contract, input: &Value) -> bool {
    let name = name_of(input);
    operation.resource() == "work_items" && ["type", "estimate", "estimate_point_id"].contains(&name)
}

/// Returns a valid value for a work item of the project `WEB`, when the member is one of its own.
fn right_of_an_item(world: &World, input: &Value) -> Option<Value> {
    Some(match name_of(input) {
        "state_id" => json!("00000000-0000-4000-d000-000000000102"),
        "state" => json!("in PROGRESS"),
        "parent_id" => json!("00000000-0000-4000-e000-000000000001"),
        "parent" => json!("web-1"),
        "assignee_ids" => json!(["00000000-0000-4000-a000-000000000002"]),
        "assignees" => json!(["Bob@acme.test"]),
        "label_ids" => json!([world.record("labels")]),
        "labels" => json!(["ONE"]),
        "custom_fields" => json!({}),
        "description_html" => json!("<p>text</p>"),
        _ => return None,
    })
}

/// Returns a valid body with a member of a definition, when the plain bodies are not enough.
fn right_of_a_definition(world: &World, operation: &Contract, input: &Value) -> Option<Value> {
    let plain = world.body_for(operation);
    let id = uuid::Uuid::new_v4().to_string();
    let with_pair = || with(&with(&plain, "external_id", id.clone()), "external_source", "y");
    Some(match (operation.resource(), name_of(input)) {
        ("work_item_property_contexts", "external_id" | "external_source") => with_pair(),
        ("work_item_property_contexts", "applies_to_all_projects") => {
            with(&plain, "applies_to_all_projects", false)
        }
        ("work_item_property_contexts", "project_ids") if operation.method() == "PATCH" => {
            with(&plain, "project_ids", json!([TYPED]))
        }
        ("work_item_property_contexts", "project_ids") => with(&plain, "project_ids", json!([WEB])),
        ("work_item_property_contexts", "applies_to_all_work_item_types") => {
            with(&plain, "applies_to_all_work_item_types", true)
        }
        ("work_item_property_contexts", "issue_type_ids") => {
            let typed = with(&plain, "applies_to_all_work_item_types", false);
            with(&typed, "issue_type_ids", json!([world.record("workspace_work_item_types")]))
        }
        ("work_item_property_contexts", "options") => with(&plain, "options", json!([{"name": "three"}])),
        (_, "default_value") => with(&plain, "default_value", json!([])),
        (_, "property_type") if operation.method() == "PATCH" => with(&plain, "property_type", "OPTION"),
        (_, "relation_type") if operation.method() == "PATCH" => with(&plain, "relation_type", Value::Null),
        (_, "relation_type") => with(&with(&plain, "property_type", "RELATION"), "relation_type", "USER"),
        (_, "options") if operation.method() == "PATCH" => {
            with(&plain, "options", json!([{"name": "one"}, {"name": "two"}]))
        }
        (_, "options") => with(&with(&plain, "property_type", "OPTION"), "options", json!([{"name": "three"}])),
        (_, "properties" | "work_item_types") => plain,
        _ => return None,
    })
}

/// Returns a valid value, a different one each time where it must be unique.
fn right(world: &World, operation: &Contract, input: &Value) -> Value {
    if operation.resource() == "work_items"
        && let Some(value) = right_of_an_item(world, input)
    {
        return value;
    }
    let length = if input["name"] == "name" && operation.resource() == "states" { 90 } else { 255 };
    let unique = uuid::Uuid::new_v4().simple().to_string();
    match (input["type"].as_str(), input["format"].as_str(), input["enum"].as_array()) {
        (_, _, Some(allowed)) => allowed[1].clone(),
        (Some("string"), Some("uuid"), _) if input["name"] == "lead_id" => {
            json!("00000000-0000-4000-a000-000000000002")
        }
        (Some("string"), Some("uuid"), _) => Value::Null,
        (Some("string"), Some("date"), _) => json!("2026-02-03"),
        (Some("string"), Some("date-time"), _) => json!("2026-02-03T04:05:06.000007Z"),
        (Some("string"), ..) if input["name"] == "timezone" => json!("Asia/Kolkata"),
        (Some("string"), ..) => json!(format!("{unique}{}", "ü".repeat(length - unique.len()))),
        (Some("boolean"), ..) => json!(false),
        (Some("number"), ..) => json!(12.5),
        (Some("integer"), ..) => json!(7),
        (Some("any"), ..) => json!({"in_use": "icon"}),
        other => panic!("no working write has {other:?} yet"),
    }
}

fn name_of(input: &Value) -> &str {
    input["name"].as_str().expect("a name")
}

/// Inputs of work items that no answer shows under their own name.
const PLAN_WRITE_ONLY: &[&str] = &["description_html", "state", "parent", "external_id", "external_source"];

#[tokio::test]
async fn every_member_takes_what_it_should_and_shows_it() {
    let world = World::new().await;
    for operation in writes_with_body() {
        for input in operation.all("body").filter(|input| !switched_off(operation, input)) {
            let body = match is_own(operation).then(|| right_of_a_definition(&world, operation, input)).flatten() {
                Some(body) => body,
                None => with(&world.body_for(operation), name_of(input), right(&world, operation, input)),
            };
            let value = body[name_of(input)].clone();
            let answer = world.write(operation, &body).await.expect(operation.status());
            if operation.0["empty_body"] == true {
                assert!(answer.bytes.is_empty());
                continue;
            }
            let first = operation.method() == "POST" && operation.resource() == "modules";
            // A new module goes to the front, whatever was sent (O59); a write-only member is not shown.
            let resource = PLAN.resource(operation.resource()).expect("a resource");
            let field = resource.fields.iter().find(|field| field.name == name_of(input));
            let shown = field.is_none_or(|field| !field.spec.hidden) && answer.json.get(name_of(input)).is_some();
            let names = operation.resource() == "work_items" && input["type"] == "array";
            assert!(shown || names || PLAN_WRITE_ONLY.contains(&name_of(input)), "{} is not shown", name_of(input));
            if is_own(operation) && name_of(input) == "options" {
                let names = |options: &Value| -> Vec<Value> {
                    options.as_array().into_iter().flatten().map(|option| option["name"].clone()).collect()
                };
                assert_eq!(names(&answer.json["options"]), names(&value));
            } else if shown && !(first && name_of(input) == "sort_order") {
                assert_eq!(answer.json[name_of(input)], value, "{} {}", operation.id(), name_of(input));
            }
            let shape = operation.text("response");
            SENT.assert(shape, &answer.json);
        }
    }
}

/// Stand-in for the ids in the examples of bodies.
const STAND_IN: &str = "5d1f0c3a-9b27-4e66-8a41-c0d2e7f31b58";

#[tokio::test]
async fn every_example_of_a_body_is_accepted() {
    let world = World::new().await;
    for operation in writes_with_body() {
        let mut body = described(operation)["requestBody"]["content"]["application/json"]["example"].clone();
        let live = world.body_for(operation);
        for (name, value) in body.as_object_mut().expect("an example") {
            if value.to_string().contains(STAND_IN) {
                *value = live[name.as_str()].clone();
            }
        }
        let answer = world.write(operation, &body).await;
        assert_eq!(answer.status, operation.status(), "{} {body}: {}", operation.id(), answer.json);
    }
}

#[tokio::test]
async fn every_member_refuses_what_it_should_by_name() {
    let world = World::new().await;
    world.gateway.sandbox().clear_journal();
    let mut checked = 0;
    for operation in writes_with_body() {
        for input in operation.all("body") {
            let name = name_of(input);
            let mut bad = wrong(input);
            if let Some(max) = input["max_length"].as_u64() {
                bad.push(json!("x".repeat(max as usize + 1)));
            }
            if input["enum"].is_array() {
                bad.extend([json!("nonsense"), json!("")]);
            }
            if input["nullable"] != true {
                bad.push(Value::Null);
            }
            let planned = super::operations::PLAN.operation(operation.id()).expect("planned");
            let causeway::plan::BodyRule::Members(inputs) = &planned.body else { panic!("no members") };
            let planned = inputs.iter().find(|known| known.name == name).expect("a planned member");
            // A label may have no colour (O57), a state must have one.
            let must_trim = ["name", "display_name", "comment_html"].contains(&name)
                || name == "color" && operation.resource() == "states";
            assert_eq!(planned.trim, must_trim, "{} {name} (O9)", operation.id());
            if must_trim {
                bad.extend([json!(""), json!(" \t\n")]);
            }
            for value in bad {
                let answer = world.write(operation, &with(&world.body_for(operation), name, value.clone())).await;
                assert_eq!(answer.status, 400, "{} {name} = {value}: {}", operation.id(), answer.json);
                world.refused(answer, &[name]);
                checked += 1;
            }
            for element in wrong_elements(input) {
                let body = with(&world.body_for(operation), name, json!([element]));
                world.refused(world.write(operation, &body).await, &[&format!("{name}.0")]);
                checked += 1;
            }
        }
    }
    assert!(checked > 300, "{checked}");
    assert_eq!(world.v1_writes(), 0, "nothing was sent to v1");
}

#[tokio::test]
async fn nullable_members_are_cleared_by_null() {
    let world = World::new().await;
    for operation in writes_with_body() {
        for input in operation.all("body").filter(|input| input["nullable"] == true) {
            let mut body = with(&world.body_for(operation), name_of(input), Value::Null);
            // A pair is sent with both parts (15.8).
            if operation.resource() == "work_item_property_contexts" {
                body = with(&with(&body, "external_id", Value::Null), "external_source", Value::Null);
            }
            let answer = world.write(operation, &body).await.expect(operation.status());
            // A write-only member shows nothing, which is null here too.
            assert_eq!(answer.json[name_of(input)], Value::Null, "{} {}", operation.id(), name_of(input));
        }
    }
}

#[tokio::test]
async fn required_members_are_required_and_every_fault_is_told_at_once() {
    let world = World::new().await;
    for operation in writes_with_body() {
        let required: Vec<&str> =
            operation.all("body").filter(|input| input["required"] == true).map(name_of).collect();
        // A context needs a scope, for which a single member is not enough.
        let needs_none = operation.method() == "PATCH" || operation.id() == "work_item_property_contexts_create";
        assert_eq!(required.is_empty(), needs_none, "{}", operation.id());
        if !required.is_empty() {
            world.refused(world.write(operation, &json!({})).await, &required);
        }
        let faulty: Vec<(&str, Value)> = operation
            .all("body")
            .filter_map(|input| Some((name_of(input), wrong(input).first()?.clone())))
            .collect();
        let body = Value::Object(faulty.iter().map(|(name, bad)| ((*name).to_owned(), bad.clone())).collect());
        let answer = world.problem(world.write(operation, &body).await, 400, "validation_error");
        let told: BTreeSet<&str> = answer.error_fields().into_iter().collect();
        assert_eq!(told, faulty.iter().map(|(name, _)| *name).collect(), "{}", operation.id());
    }
}

#[tokio::test]
async fn read_only_and_unknown_members_change_nothing() {
    let world = World::new().await;
    for operation in writes_with_body() {
        let inputs: Vec<&str> = operation.all("body").map(name_of).collect();
        let resource = super::operations::PLAN.resource(operation.resource()).expect("a resource");
        let mut body = world.body_for(operation);
        let mut sent = 0;
        for field in resource.fields.iter().filter(|field| !inputs.contains(&field.name.as_str())) {
            body[&field.name] = json!(NOWHERE);
            sent += 1;
        }
        let least = if operation.resource() == "workspace_features" { 2 } else { 3 };
        assert!(sent >= least, "id, created_at and one more at least");
        for unknown in ["project", "workspace", "state", "default", "parent", "lead", "members", "nonsense", "é"] {
            if !inputs.contains(&unknown) {
                body[unknown] = json!({"id": NOWHERE});
            }
        }
        let answer = world.write(operation, &body).await.expect(operation.status());
        for field in resource.fields.iter().filter(|field| !inputs.contains(&field.name.as_str())) {
            assert_ne!(answer.json[&field.name], json!(NOWHERE), "{} {}", operation.id(), field.name);
        }
    }
}

#[tokio::test]
async fn an_empty_patch_changes_nothing_and_sends_no_write() {
    let world = World::new().await;
    world.gateway.sandbox().clear_journal();
    let mut checked = 0;
    for operation in writes_with_body().filter(|operation| operation.method() == "PATCH") {
        let path = world.path(operation);
        world.enter(operation).await;
        let before = world.gateway.get("ada", &path).await.expect(200).json;
        for body in [json!({}), json!({"id": NOWHERE, "nonsense": 1})] {
            assert_eq!(world.gateway.patch("ada", &path, body).await.expect(200).json, before);
        }
        for media in [None, Some("application/json")] {
            assert_eq!(world.raw("ada", operation, &path, media, b"").await.expect(200).json, before);
        }
        checked += 1;
    }
    assert_eq!((checked, world.v1_writes()), (14, 0));
}

#[tokio::test]
async fn bodies_that_are_none_are_judged_after_everything_else() {
    let world = World::new().await;
    let json_media = Some("application/json");
    let huge = format!("{{\"description\": \"{}\"}}", "x".repeat(1024 * 1024)).into_bytes();
    let cases: [(Option<&str>, &[u8]); 10] = [
        (Some("text/plain"), b"{}"),
        (Some("application/x-www-form-urlencoded"), b"name=x"),
        (Some("application/merge-patch+json"), b"{}"),
        (json_media, b"{\"name\": "),
        (json_media, b" \n"),
        (json_media, b"[]"),
        (json_media, b"\"name\""),
        (json_media, b"\xff\xfe"),
        (json_media, br#"{"name": [{"$serde_json::private::RawValue": "{}"}]}"#),
        (json_media, &huge),
    ];
    for operation in writes_with_body() {
        for (media, body) in cases {
            let right = world.path(operation);
            let hidden = match operation.text("surface") {
                "project" => world.path_but(operation, "project_id", SEC),
                _ => world.path_but(operation, "slug", "other"),
            };
            let answer = world.raw("ada", operation, &right, media, body).await;
            world.refused(answer, &[]);
            world.problem(world.raw("nobody", operation, &right, media, body).await, 401, "unauthorized");
            world.problem(world.raw("ada", operation, &hidden, media, body).await, 404, "resource_not_found");
            let guest = world.raw("gil", operation, &right, media, body).await;
            match operation.id() {
                "work_item_comments_create" => drop(world.refused(guest, &[])),
                _ => drop(world.problem(guest, 403, "forbidden")),
            }
            let above = ["pk", "work_item_id", "type_id", "property_id"];
            for absent in above.map(|name| world.path_but(operation, name, NOWHERE)) {
                if absent == right {
                    continue;
                }
                world.problem(world.raw("ada", operation, &absent, media, body).await, 404, "resource_not_found");
            }
        }
        let charset = Some("Application/JSON; charset=utf-8");
        let body = world.body_for(operation).to_string();
        world
            .raw("ada", operation, &world.path(operation), charset, body.as_bytes())
            .await
            .expect(operation.status());
    }
}
