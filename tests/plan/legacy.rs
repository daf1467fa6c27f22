//! The operations of v1: every call is known by name, and leads to its replacement.

use super::support::plan;
use causeway::mapping::{Files, Texts};
use causeway::plan::{Extent, Field, Plan, Source, Special, V1Operation, V1RouteMatch, compile};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Returns a path of a template with each variable filled.
fn filled(template: &str) -> String {
    let part = |part: &str| match part {
        "{slug}" => "acme".to_owned(),
        "{identifier}" => "WEB-1".into(),
        part if part.starts_with('{') => "00000000-0000-4000-c000-000000000001".into(),
        part => part.into(),
    };
    format!("/api/v1/{}", template.split('/').map(part).collect::<Vec<_>>().join("/"))
}

fn named<'p>(plan: &'p Plan, method: &str, path: &str) -> &'p V1Operation {
    match plan.v1.find(method, path) {
        V1RouteMatch::Operation { operation, .. } => &plan.v1.all()[operation],
        other => panic!("{method} {path}: {other:?}"),
    }
}

/// Returns all recorded exchanges: file, name, method, path.
fn recorded() -> Vec<(String, String, String, String)> {
    let mut all = Vec::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/v1");
    for file in std::fs::read_dir(folder).expect("fixtures") {
        let file = file.expect("a file").path();
        let document: Value = serde_json::from_slice(&std::fs::read(&file).expect("readable")).expect("JSON");
        let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
        for exchange in document["exchanges"].as_array().into_iter().flatten() {
            let text = |value: &Value| value.as_str().expect("text").to_owned();
            let request = &exchange["request"];
            all.push((name.clone(), text(&exchange["name"]), text(&request["method"]), text(&request["path"])));
        }
    }
    all
}

#[test]
fn each_call_of_v1_that_an_operation_makes_leads_back_to_it() {
    let plan = plan();
    let mut calls = 0;
    for (index, operation) in plan.operations.iter().enumerate() {
        for call in &operation.v1 {
            let found = named(&plan, call.method.as_str(), &filled(call.path.as_str()));
            assert!(found.made_by.contains(&index), "{}: {} {}", operation.id, call.method, call.path);
            calls += 1;
        }
    }
    assert!(calls > 80, "{calls} calls");
}

#[test]
fn each_operation_behind_v1_is_the_successor_of_one_of_v1() {
    let plan = plan();
    for (index, operation) in plan.operations.iter().enumerate() {
        let of: Vec<&V1Operation> = plan.v1.all().iter().filter(|row| row.successors.contains(&index)).collect();
        if plan.resource_of(operation).source == Source::V1 {
            assert!(of.iter().any(|row| row.served), "{}", operation.id);
            let same = |row: &&V1Operation| row.method.writes() == operation.method.writes();
            assert!(of.iter().all(same), "{}", operation.id);
        }
    }
}

#[test]
fn successors_are_the_usual_ones_and_both_spellings_are_one_operation() {
    let plan = plan();
    let project = "/api/v1/workspaces/acme/projects/00000000-0000-4000-c000-000000000001/";
    let item = "00000000-0000-4000-e000-000000000001";
    let successors = |method: &str, path: &str| -> Vec<&str> {
        named(&plan, method, path).successors.iter().map(|&index| plan.operations[index].id.as_str()).collect()
    };
    assert_eq!(successors("GET", &format!("{project}states/")), ["states_list"]);
    assert_eq!(successors("GET", &format!("{project}states/{item}/")), ["states_retrieve"]);
    assert_eq!(successors("POST", &format!("{project}labels/")), ["labels_create"]);
    let changes = ["work_items_update", "work_items_archive", "work_items_unarchive"];
    assert_eq!(successors("PATCH", &format!("{project}work-items/{item}/")), changes);
    assert_eq!(successors("GET", &format!("{project}cycles/{item}/cycle-issues/")), ["work_items_list"]);
    assert_eq!(successors("GET", "/api/v1/users/me/"), ["users_me_retrieve"]);
    for (one, other) in [
        (format!("{project}work-items/"), format!("{project}issues/")),
        (format!("{project}work-items/{item}/comments/"), format!("{project}issues/{item}/comments/")),
        (format!("{project}work-items/{item}/attachments/"), format!("{project}issues/{item}/issue-attachments/")),
        (format!("{project}members/"), format!("{project}project-members/")),
        ("/api/v1/workspaces/acme/work-items/WEB-1/".into(), "/api/v1/workspaces/acme/issues/WEB-1/".into()),
        ("/api/v1/workspaces/acme/work-items/WEB-1/".into(), "/api/v1/workspaces/acme/work%2Ditems/WEB-1/".into()),
        ("/api/v1/workspaces/acme/work-items/search/".into(), "/api/v1/workspaces/acme/issues/search/".into()),
    ] {
        assert_eq!(named(&plan, "GET", &one).id, named(&plan, "GET", &other).id, "{one} {other}");
    }
}

#[test]
fn every_recorded_call_of_v1_is_named_with_its_successor_or_a_reason() {
    let plan = plan();
    let all = recorded();
    assert_eq!(all.len(), 1632);
    let mut others: BTreeMap<String, usize> = BTreeMap::new();
    for (file, name, method, path) in all {
        match plan.v1.find(&method, &path) {
            V1RouteMatch::Operation { operation, .. } => {
                let row = &plan.v1.all()[operation];
                match &row.extent {
                    Extent::All => assert!(!row.successors.is_empty(), "{file} {name}"),
                    Extent::Part(what) => {
                        assert!(!row.successors.is_empty() && what.ends_with('.'), "{file} {name}")
                    }
                    Extent::None(why) => assert!(row.successors.is_empty() && why.ends_with('.'), "{file} {name}"),
                }
            }
            V1RouteMatch::NoMethod => assert!(!plan.v1.methods(&path).contains(&method.as_str()), "{file} {name}"),
            V1RouteMatch::Unknown => *others.entry(plan.v1.guess(&method, &path)).or_default() += 1,
        }
    }
    // The rest has no path at v1: the reason is that it is none.
    let expected = BTreeMap::from([
        ("GET {name}/".to_owned(), 4),
        ("POST {name}/".to_owned(), 1),
        ("GET workspaces/{name}/projects/{id}/{name}/states/".to_owned(), 1),
    ]);
    assert_eq!(others, expected);
}

#[test]
fn a_path_that_is_not_known_is_named_without_what_it_holds() {
    let plan = plan();
    for (method, path, name) in [
        ("GET", "/api/v1/workspaces/acme/pages/7b0e/", "GET workspaces/{name}/pages/{id}/"),
        ("POST", "/api/v1/secret-of-ada/x%2Fy/?q", "POST {name}/{name}/{name}/"),
        ("FROB", "/api/v1/workspaces/a/projects/cafe/epics", "OTHER workspaces/{id}/projects/{id}/epics/"),
        ("GET", "/api/v1/<script>/\u{202e}/", "GET {name}/{name}/"),
    ] {
        assert_eq!(plan.v1.guess(method, path), name);
    }
    let long = format!("/api/v1/{}", "states/".repeat(100));
    assert_eq!(plan.v1.guess("GET", &long), format!("GET {}…/", "states/".repeat(12)));
    // A path that v1 redirects is the same operation; a path with two slashes is none.
    let found = plan.v1.find("GET", "/api/v1/users/me");
    assert!(matches!(found, V1RouteMatch::Operation { missing_slash: true, .. }), "{found:?}");
    assert_eq!(plan.v1.find("PUT", "/api/v1/users/me/"), V1RouteMatch::NoMethod);
    assert_eq!(plan.v1.find("GET", "/api/v1//users/me/"), V1RouteMatch::Unknown);
}

/// Returns the fields that v1 showed in recorded records of a resource, without those of expansions and selections.
fn shown(plan: &Plan) -> BTreeMap<String, BTreeSet<String>> {
    let mut shown: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/v1");
    for file in std::fs::read_dir(folder).expect("fixtures") {
        let text = std::fs::read(file.expect("a file").path()).expect("readable");
        let document: Value = serde_json::from_slice(&text).expect("JSON");
        for exchange in document["exchanges"].as_array().into_iter().flatten() {
            let (request, answer) = (&exchange["request"], &exchange["response"]);
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let selects = text(&request["query"]).contains("fields=");
            if request["method"] != "GET" || answer["status"] != 200 || selects {
                continue;
            }
            let V1RouteMatch::Operation { operation, .. } = plan.v1.find("GET", &text(&request["path"])) else {
                continue;
            };
            let row = &plan.v1.all()[operation];
            let Some(&successor) = row.successors.first().filter(|_| row.fills.is_empty() && row.served) else {
                continue;
            };
            let resource = plan.resource_of(&plan.operations[successor]);
            let rows = match &answer["body"] {
                Value::Array(rows) => rows.clone(),
                body => body["results"].as_array().cloned().unwrap_or_else(|| vec![body.clone()]),
            };
            let known = shown.entry(resource.name.clone()).or_default();
            known.extend(rows.iter().filter_map(Value::as_object).flat_map(|row| row.keys().cloned()));
        }
    }
    shown
}

/// Members of v1's rosters that v2 shows in `member`, with `expand=member`.
const IN_MEMBER: [&str; 3] = ["avatar_url", "display_name", "email"];

#[test]
fn members_of_v1_records_that_v2_hides_are_declared() {
    let plan = plan();
    for (name, fields) in shown(&plan).into_iter().filter(|(name, _)| name != "audit_logs") {
        let resource = plan.resource(&name).expect("a resource");
        let has = |field: &Field| !field.spec.hidden;
        let told: BTreeSet<&str> = resource
            .fields
            .iter()
            .filter(|field| has(field))
            .filter_map(|field| field.spec.v1.as_deref())
            .collect();
        let rest: Vec<&str> = fields
            .iter()
            .map(String::as_str)
            .filter(|field| !told.contains(field) && *field != "type_id")
            .filter(|field| !(name.ends_with("_members") && IN_MEMBER.contains(field)))
            .collect();
        let declared: Vec<&str> = plan.v1.hidden(&name).iter().map(String::as_str).collect();
        let missing: Vec<_> = rest.iter().filter(|field| !declared.contains(field)).collect();
        let idle: Vec<_> = declared.iter().filter(|field| told.contains(*field)).collect();
        assert!(missing.is_empty() && idle.is_empty(), "{name}: not declared {missing:?}, but shown {idle:?}");
    }
}

#[test]
fn faults_of_the_table_are_told() {
    let faults = |text: &str| {
        let mut texts = Texts::embedded();
        texts.insert("v1/operations.toml", text);
        compile(&Files::read(&texts), Special::all()).map(drop).expect_err("a fault").to_string()
    };
    for (text, told) in [
        ("x = 1", "v1/operations.toml: line 1: unknown field `x`"),
        ("[[operations]]\ncall = \"FROB x/\"\nnone = \"x\"", "FROB x/: `call` does not begin with a method"),
        ("[[operations]]\ncall = \"GET x\"\nnone = \"x\"", "GET x: the path must end with a slash"),
        ("[[operations]]\ncall = \"GET x/\"", "GET x/: has no successor; `none` says why"),
        ("[[operations]]\ncall = \"GET x/\"\nsuccessors = [\"nope\"]", "there is no operation nope"),
        ("[[operations]]\ncall = \"GET x/\"\nsuccessors = [\"states_list\"]", "nothing fills the variable {slug}"),
        (
            "[[operations]]\ncall = \"GET users/me/\"\nsuccessors = [\"users_me_retrieve\"]\nfills = { a = \"b\" }",
            "fills › a: write `{variable}` or `?parameter`",
        ),
        (
            "[[operations]]\ncall = \"GET users/me/\"\nsuccessors = [\"users_me_retrieve\"]\nfills = { a = \"?b\" }",
            "fills › a: users_me_retrieve has no such variable or parameter",
        ),
        (
            "[[operations]]\nid = \"v1_states_list\"\ncall = \"GET x/\"\nnone = \"x\"",
            "another operation of v1 is called v1_states_list too",
        ),
        ("[records]\nnope = []", "nope: is no resource"),
    ] {
        let found = faults(text);
        assert!(found.contains(told), "{text}\n{found}");
    }
}
