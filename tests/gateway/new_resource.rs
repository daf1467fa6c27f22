//! A new plain resource from a mapping file alone: on two surfaces, with a unique name, a default of which only one
//! exists, a feature of the project that must be switched on, and a rule about who may change a record.

use super::more::MoreV1;
use crate::support::gateway::{Gateway, WEB};
use serde_json::{Value, json};

/// The path of its records in the first recorded project, and in its workspace.
const IN_PROJECT: &str = "workspaces/acme/projects/00000000-0000-4000-c000-000000000001/shelves/";
const IN_WORKSPACE: &str = "workspaces/acme/shelves/";

const MAPPING: &str = r#"
resource = "{surface}_shelves"
about = "Shelves of a {surface}."
source = "v1"
surfaces = ["project", "workspace"]
shape = "Shelf"
unique = { field = "name", detail = "Another shelf of the {surface} has this name." }
exclusive = { field = "is_default", detail = "there is always a default; make another shelf the default" }

[v1]
collection = "{surface}/shelves/"
record = "{surface}/shelves/{pk}/"

[fields]
id = { v1 = "id", type = "uuid", read_only = true }
name = { v1 = "name", type = "string", trim = true }
is_default = { v1 = "default", type = "boolean" }
created_at = { v1 = "created_at", type = "date-time", read_only = true }
created_by_id = { v1 = "created_by", type = "uuid", nullable = true, read_only = true }

[inputs]
name = { type = "string", max_length = 255 }
is_default = { type = "boolean" }

[[operations]]
id = "{surface}_shelves_list"
method = "GET"
path = "/api/v2/{surface}/shelves/"
summary = "page through shelves"
scopes = ["{surface}s.work_item_types:read", "read"]
status = 200
response = "Shelf"
answer = "page"
order = { allowed = ["name", "created_at"], default = "name", cursor = ["created_at"] }
paging = true
step = "read_collection"

[[operations]]
id = "{surface}_shelves_create"
method = "POST"
path = "/api/v2/{surface}/shelves/"
summary = "put up a shelf"
scopes = ["{surface}s.work_item_types:write", "write"]
status = 201
response = "Shelf"
answer = "record"
needs_feature.project = "modules"
step = "create"
why = "a fresh list guards the name, the create is read back"
errors = [[409, "conflict", { project = "name taken, or modules are switched off", workspace = "name taken" }]]
[operations.body]
name = { required = true }
is_default = { default = false }

[[operations]]
id = "{surface}_shelves_retrieve"
method = "GET"
path = "/api/v2/{surface}/shelves/{pk}/"
summary = "fetch a shelf"
scopes = ["{surface}s.work_item_types:read", "read"]
status = 200
response = "Shelf"
answer = "record"
step = "read_one"

[[operations]]
id = "{surface}_shelves_update"
method = "PATCH"
path = "/api/v2/{surface}/shelves/{pk}/"
summary = "change a shelf"
scopes = ["{surface}s.work_item_types:write", "write"]
status = 200
response = "Shelf"
answer = "record"
step = "update"
may.project = { who = "author_or_admin", author = "created_by_id", detail = "The shelf is another's." }
[operations.body]
name = {}
is_default = {}

[[operations]]
id = "{surface}_shelves_delete"
method = "DELETE"
path = "/api/v2/{surface}/shelves/{pk}/"
summary = "take a shelf down"
scopes = ["{surface}s.work_item_types:write", "write"]
status = 204
answer = "empty"
step = "delete"
"#;

/// A gateway with this mapping added to its own, before a v1 with such records.
async fn place(settings: &[(&str, &str)]) -> (Gateway, MoreV1) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("shelves.toml"), MAPPING).expect("written");
    let v1 = MoreV1::with("shelves").await;
    let mut all = vec![("mappings", folder.path().to_str().expect("a path"))];
    all.extend_from_slice(settings);
    (Gateway::with(v1.base_url(), &all).await, v1)
}

/// Returns the paths of both surfaces, at the gateway and at v1.
fn surfaces() -> [(String, &'static str); 2] {
    [(format!("{WEB}/shelves/"), IN_PROJECT), ("/api/v2/workspaces/acme/shelves/".to_owned(), IN_WORKSPACE)]
}

#[tokio::test]
async fn its_records_are_made_read_changed_and_deleted_on_both_surfaces() {
    let (gateway, _) = place(&[]).await;
    for (shelves, _) in surfaces() {
        let shelf = gateway.post("ada", &shelves, json!({"name": " low "})).await.expect(201);
        // The only record is the default, as in the list.
        assert_eq!((shelf.text("name"), &shelf.json["is_default"]), ("low".to_owned(), &json!(true)));
        let one = format!("{shelves}{}/", shelf.text("id"));
        assert_eq!(gateway.get("ada", &one).await.expect(200).text("name"), "low");
        gateway.patch("ada", &one, json!({"name": "high"})).await.expect(200);
        // Records of one surface do not show on the other.
        assert_eq!(gateway.get("ada", &shelves).await.expect(200).column("name"), [json!("high")]);
        gateway.delete("ada", &one).await.expect_problem(409, "conflict");
        gateway.post("ada", &shelves, json!({"name": "next", "is_default": true})).await.expect(201);
        gateway.delete("ada", &one).await.expect(204);
        gateway.get("ada", &one).await.expect_problem(404, "resource_not_found");
        // A caller who does not see the project or workspace does not see its records.
        gateway.get("eve", &shelves).await.expect_problem(404, "resource_not_found");
    }
}

#[tokio::test]
async fn a_name_occurs_once() {
    let (gateway, v1) = place(&[]).await;
    for ((shelves, at), surface) in surfaces().into_iter().zip(["project", "workspace"]) {
        let first = gateway.post("ada", &shelves, json!({"name": "low"})).await.expect(201);
        let second = gateway.post("ada", &shelves, json!({"name": "high"})).await.expect(201);
        // Created past the gateway, a moment ago.
        v1.make(at, json!({"name": " wide "}));
        for taken in ["low", "wide"] {
            let answer =
                gateway.post("ada", &shelves, json!({"name": taken})).await.expect_problem(409, "conflict");
            assert_eq!(answer.text("detail"), format!("Another shelf of the {surface} has this name."));
            let one = format!("{shelves}{}/", second.text("id"));
            gateway.patch("ada", &one, json!({"name": taken})).await.expect_problem(409, "conflict");
        }
        // A record may keep its own name.
        let one = format!("{shelves}{}/", first.text("id"));
        gateway.patch("ada", &one, json!({"name": "low"})).await.expect(200);
    }
    let names: Vec<String> = v1.held("name").into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, [" wide ", " wide ", "high", "high", "low", "low"], "the same on the other surface");
}

#[tokio::test]
async fn one_is_the_default() {
    let (gateway, v1) = place(&[]).await;
    let (shelves, _) = &surfaces()[0];
    for name in ["a", "b"] {
        gateway.post("ada", shelves, json!({"name": name, "is_default": true})).await.expect(201);
    }
    let defaults = |gateway: Gateway| async move {
        let listed = gateway.get("ada", &surfaces()[0].0).await.expect(200);
        (listed.column("is_default"), gateway)
    };
    let (shown, gateway) = defaults(gateway).await;
    assert_eq!(shown, [json!(false), json!(true)], "the second took it from the first");
    let listed = gateway.get("ada", shelves).await.expect(200);
    let one = |at: usize| format!("{shelves}{}/", listed.data()[at]["id"].as_str().expect("an id"));
    gateway.patch("ada", &one(0), json!({"is_default": true, "name": "c"})).await.expect(200);
    let held = |name: &str, value: bool| (name.to_owned(), Value::Bool(value));
    assert_eq!(v1.held("default"), [held("b", false), held("c", true)]);
    let refused = gateway.patch("ada", &one(0), json!({"is_default": false})).await;
    let refused = refused.expect_problem(400, "validation_error");
    assert_eq!(refused.error_fields(), ["is_default"]);
    assert!(refused.json.to_string().contains("make another shelf the default"), "{}", refused.json);
    // The other surface has a default of its own.
    let (workspace, _) = &surfaces()[1];
    gateway.post("ada", workspace, json!({"name": "d", "is_default": true})).await.expect(201);
    assert_eq!(v1.held("default"), [held("b", false), held("c", true), held("d", true)]);
}

#[tokio::test]
async fn none_is_made_while_the_feature_is_switched_off() {
    let (gateway, v1) = place(&[("cache.card", "0s")]).await;
    let [(project, _), (workspace, _)] = &surfaces();
    gateway.post("ada", project, json!({"name": "before"})).await.expect(201);
    v1.switch_modules_off();
    let answer = gateway.post("ada", project, json!({"name": "after"})).await.expect_problem(409, "conflict");
    assert_eq!(answer.text("detail"), "Modules are switched off in this project.");
    gateway.get("ada", project).await.expect(200);
    gateway.post("ada", workspace, json!({"name": "after"})).await.expect(201);
    let names: Vec<String> = v1.held("name").into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["after", "before"], "needed in projects only");
}

#[tokio::test]
async fn only_its_author_and_admins_change_a_record() {
    let (gateway, v1) = place(&[]).await;
    let [(project, _), (workspace, _)] = &surfaces();
    v1.make(IN_PROJECT, json!({"name": "adas", "created_by": "00000000-0000-4000-a000-000000000001"}));
    v1.make(IN_PROJECT, json!({"name": "bobs", "created_by": "00000000-0000-4000-a000-000000000002"}));
    let listed = gateway.get("bob", project).await.expect(200);
    let one = |at: usize| format!("{project}{}/", listed.data()[at]["id"].as_str().expect("an id"));
    let refused = gateway.patch("bob", &one(0), json!({"name": "taken"})).await.expect_problem(403, "forbidden");
    assert_eq!(refused.text("detail"), "The shelf is another's.");
    gateway.patch("bob", &one(1), json!({"name": "bob's"})).await.expect(200);
    gateway.patch("ada", &one(1), json!({"name": "anybody's"})).await.expect(200);
    v1.make(IN_WORKSPACE, json!({"name": "adas", "created_by": "00000000-0000-4000-a000-000000000001"}));
    let listed = gateway.get("bob", workspace).await.expect(200);
    let free = format!("{workspace}{}/", listed.data()[0]["id"].as_str().expect("an id"));
    gateway.patch("bob", &free, json!({"name": "free"})).await.expect(200);
}
