//! Every declared filter and search of the working lists against brute force over the full list.

use super::operations::{Contract, lists};
use super::world::World;
use causeway::plan::{FilterTest, ParamRole};
use serde_json::Value;
use std::collections::BTreeSet;

/// Parameters that do not select rows.
const PAGING: &[&str] = &["order_by", "per_page", "offset", "count", "paginate", "cursor", "expand"];

fn encoded(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

async fn ids(world: &World, path: &str, query: &str) -> Vec<Value> {
    let page = world.gateway.get("ada", &format!("{path}?per_page=200&{query}")).await.expect(200);
    assert_eq!(page.json["total_count"], page.data().len(), "{query}");
    page.column("id")
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns the values of a field: all values of a set, none for null.
fn each(value: &Value) -> &[Value] {
    match value {
        Value::Null => &[],
        Value::Array(all) => all,
        one => std::slice::from_ref(one),
    }
}

/// Returns the values of a field that occur.
fn values_of(rows: &[Value], field: &str) -> Vec<String> {
    let set: BTreeSet<String> = rows.iter().flat_map(|row| each(&row[field])).map(text_of).collect();
    set.into_iter().take(4).collect()
}

fn filter_of(operation: &Contract, name: &str) -> (String, FilterTest) {
    let param = operation.planned().params.iter().find(|param| param.name == name).expect("a planned parameter");
    match &param.role {
        ParamRole::Filter(filter) => (filter.field.clone(), filter.test),
        role => panic!("{name} is {role:?}"),
    }
}

#[tokio::test]
async fn every_filter_narrows_as_brute_force_says() {
    let world = World::new().await;
    world.crowd(12).await;
    let mut checked = 0;
    for operation in lists() {
        let path = world.path(operation);
        let rows = world.rows(&path, None).await;
        let rows = world.widened(operation, &rows);
        assert!(rows.len() > 4);
        for param in operation.all("query") {
            let name = param["name"].as_str().expect("a name");
            if PAGING.contains(&name) || name == "search" {
                continue;
            }
            let (field, test) = filter_of(operation, name);
            let mut values: Vec<String> = match param["enum"].as_array() {
                Some(allowed) => allowed.iter().map(text_of).collect(),
                None => values_of(&rows, &field),
            };
            if field == "type_id" {
                values = vec![super::operations::NOWHERE.into()];
            }
            if field == "is_draft" {
                values.push("true".into());
            }
            assert!(!values.is_empty(), "{} has no {field}", operation.id());
            match test {
                FilterTest::In => values = vec![values.join(","), values[0].clone(), format!(" {} ,", values[0])],
                FilterTest::Equal if param["type"] == "string" && param["enum"].is_null() => {
                    values.push(if param["format"] == "uuid" {
                        super::operations::NOWHERE.into()
                    } else {
                        "zz".into()
                    });
                }
                FilterTest::Equal => {}
                FilterTest::IsNull => values = ["true", "1", "FALSE", "0"].map(str::to_owned).into(),
                FilterTest::AtLeast | FilterTest::AtMost => {}
            }
            for value in values {
                let wanted: Vec<&str> = value.split(',').map(str::trim).filter(|v| !v.is_empty()).collect();
                let unset = ["true", "1"].contains(&value.as_str());
                let holds = |row: &&Value| match test {
                    FilterTest::IsNull => each(&row[&field]).is_empty() == unset,
                    // Dates and instants of one form can be compared as texts.
                    FilterTest::AtLeast => each(&row[&field]).iter().any(|at| text_of(at) >= value),
                    FilterTest::AtMost => each(&row[&field]).iter().any(|at| text_of(at) <= value),
                    _ => each(&row[&field]).iter().any(|one| wanted.contains(&text_of(one).as_str())),
                };
                let expected: Vec<Value> = rows.iter().filter(holds).map(|row| row["id"].clone()).collect();
                assert_eq!(
                    ids(&world, &path, &format!("{name}={}", encoded(&value))).await,
                    expected,
                    "{name}={value}"
                );
                checked += 1;
            }
            let all: Vec<Value> = rows.iter().map(|row| row["id"].clone()).collect();
            assert_eq!(ids(&world, &path, &format!("{name}=")).await, all, "an empty {name} is absent");
        }
    }
    assert!(checked > 50, "{checked}");
}

#[tokio::test]
async fn malformed_values_are_refused_by_name_all_at_once() {
    let world = World::new().await;
    let mut checked = 0;
    for operation in lists() {
        let path = world.path(operation);
        let mut together = Vec::new();
        for param in operation.all("query") {
            let name = param["name"].as_str().expect("a name");
            let bad = match (param["type"].as_str(), param["format"].as_str(), param["enum"].is_array()) {
                (Some("string"), None, true) if !PAGING.contains(&name) => "nonsense",
                (Some("csv"), _, true) | (Some("csv"), Some("uuid"), _) => "nonsense,",
                (Some("boolean"), ..) if name != "count" => "maybe",
                (Some("integer"), ..) if !PAGING.contains(&name) => "1.5x",
                (_, Some("date" | "date-time"), _) => "2026-02-30",
                (_, Some("uuid"), _) => "WEB-1",
                _ => continue,
            };
            let answer = world.gateway.get("ada", &format!("{path}?{name}={bad}")).await;
            world.refused(answer, &[name]);
            // Empty elements of `expand` are skipped (O26).
            if param["type"] == "csv" && name != "expand" {
                for none in [",", "%20", "%20,%20"] {
                    world.refused(world.gateway.get("ada", &format!("{path}?{name}={none}")).await, &[name]);
                }
            }
            if let Some(allowed) = param["enum"].as_array().filter(|_| param["type"] == "csv") {
                let one_bad = format!("{path}?{name}={},nonsense", text_of(&allowed[0]));
                world.refused(world.gateway.get("ada", &one_bad).await, &[name]);
            }
            together.push((name, bad));
            checked += 1;
        }
        if together.is_empty() {
            continue;
        }
        together.push(("per_page", "many"));
        let query: Vec<String> = together.iter().map(|(name, bad)| format!("{name}={bad}")).collect();
        let answer = world.gateway.get("ada", &format!("{path}?{}", query.join("&"))).await;
        let answer = world.problem(answer, 400, "validation_error");
        let told: BTreeSet<&str> = answer.error_fields().into_iter().collect();
        assert_eq!(told, together.iter().map(|(name, _)| *name).collect());
    }
    assert!(checked >= 10, "{checked}");
}

#[tokio::test]
async fn filters_combine_with_and() {
    let world = World::new().await;
    world.crowd(12).await;
    let modules = lists().find(|operation| operation.id() == "modules_list").expect("modules");
    let path = world.path(modules);
    let rows = world.rows(&path, None).await;
    let bob = "00000000-0000-4000-a000-000000000002";
    let holds = |row: &&Value| row["lead_id"] == bob && (row["status"] == "backlog" || row["status"] == "paused");
    let expected: Vec<Value> = rows.iter().filter(holds).map(|row| row["id"].clone()).collect();
    assert!(!expected.is_empty() && expected.len() < rows.len());
    assert_eq!(ids(&world, &path, &format!("lead_id={bob}&status__in=backlog,paused")).await, expected);
    assert_eq!(ids(&world, &path, "name=%20Row%20001%20&status=backlog").await, Vec::<Value>::new());
    assert_eq!(ids(&world, &path, "name=%20Row%20001%20&status=planned").await.len(), 1);
    assert_eq!(ids(&world, &path, "status=backlog&status=paused").await.len(), 2, "the last one counts");
}

#[tokio::test]
async fn lists_of_values_without_any_are_refused_and_empty_ones_are_absent() {
    let world = World::new().await;
    let mut checked = 0;
    for operation in lists() {
        let path = world.path(operation);
        for param in operation.all("query").filter(|param| param["name"].as_str().unwrap().ends_with("__in")) {
            let name = param["name"].as_str().expect("a name");
            for none in [",", "%20,%20,"] {
                let refused = world.gateway.get("ada", &format!("{path}?{name}={none}")).await;
                assert_eq!(refused.expect_problem(400, "validation_error").error_fields(), [name], "{path}");
            }
            world.gateway.get("ada", &format!("{path}?{name}=")).await.expect(200);
            checked += 1;
        }
    }
    assert!(checked > 10, "{checked}");
}

#[tokio::test]
async fn search_finds_parts_whatever_the_case() {
    let world = World::new().await;
    world.crowd(12).await;
    let searched =
        |operation: &&Contract| operation.0["search_fields"].as_array().is_some_and(|all| !all.is_empty());
    assert_eq!(lists().filter(searched).count(), 9);
    for operation in lists().filter(searched) {
        let path = world.path(operation);
        let members = operation.text("response") == "Member";
        let expand = if members { "&expand=member" } else { "" };
        let listed = world.gateway.get("ada", &format!("{path}?per_page=200{expand}")).await.expect(200);
        let needles: &[&str] = if members {
            &["ADA", "b@acme", "  Kim ", "%", "nobody at all"]
        } else {
            &["ROW 00", "ow 0", " one ", "1", "%", "_", "Row.*", "nobody at all"]
        };
        let mut found = 0;
        for needle in needles {
            let low = needle.trim().to_lowercase();
            let seen = |row: &Value| {
                let texts = [
                    &row["event_name"],
                    &row["actor_display_name"],
                    &row["actor_email"],
                    &row["target_display_name"],
                    &row["name"],
                    &row["comment_stripped"],
                    &row["member"]["display_name"],
                    &row["member"]["email"],
                ];
                texts.iter().any(|text| text.as_str().is_some_and(|text| text.to_lowercase().contains(&low)))
            };
            let expected: Vec<Value> =
                listed.data().iter().filter(|row| seen(row)).map(|row| row["id"].clone()).collect();
            found += expected.len();
            assert_eq!(ids(&world, &path, &format!("search={}", encoded(needle))).await, expected, "{needle}");
        }
        assert!(found > 0);
        assert_eq!(ids(&world, &path, "search=%20%20").await.len(), listed.data().len(), "blank is absent");
    }
}

#[tokio::test]
async fn unknown_parameters_are_refused_with_the_nearest_name() {
    let world = World::new().await;
    for operation in lists() {
        let path = world.path(operation);
        let plain = world.gateway.get("ada", &path).await.expect(200).json;
        for (typed, meant) in
            [("serch", "search"), ("order", "order_by"), ("per_pag", "per_page"), ("ofset", "offset")]
        {
            if !operation.all("query").any(|param| param["name"] == meant) {
                continue;
            }
            let answer = world.refused(world.gateway.get("ada", &format!("{path}?{typed}=1")).await, &[typed]);
            let message = answer.json["errors"][0]["message"].as_str().expect("a message");
            assert!(message.contains(&format!("`{meant}`")), "{message}");
        }
        let answer = world
            .refused(world.gateway.get("ada", &format!("{path}?qqqq=1&qqqq=2&state=3")).await, &["qqqq", "state"]);
        assert!(!answer.json["errors"][0]["message"].as_str().expect("a message").contains("mean"));
        assert_eq!(world.gateway.get("ada", &format!("{path}?fields=id")).await.expect(200).json, plain);
    }
    for operation in super::operations::working().filter(|operation| operation.0["envelope"] != true) {
        if operation.method() == "GET" {
            world.gateway.get("ada", &format!("{}?serch=1", world.path(operation))).await.expect(200);
        }
    }
}

#[tokio::test]
async fn the_setting_turns_the_refusal_of_unknown_parameters_off() {
    let world = World::with(&[("strict_query", "false")]).await;
    for operation in lists() {
        let path = world.path(operation);
        let plain = world.gateway.get("ada", &path).await.expect(200).json;
        let lenient = world.gateway.get("ada", &format!("{path}?serch=1&state=3")).await.expect(200).json;
        assert_eq!(lenient, plain);
        world.refused(world.gateway.get("ada", &format!("{path}?per_page=x")).await, &["per_page"]);
    }
}
