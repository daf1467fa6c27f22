//! Custom values: forms per type, required and default, contexts, and the changes that hide or remove them.

use super::{Place, members, web};
use crate::support::gateway::{Answer, WEB};
use crate::support::past_gateway::in_web;
use crate::work_items::world::{ITEMS, id, one};
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};

fn property(name: &str, kind: &str) -> Value {
    json!({"display_name": name, "property_type": kind})
}

fn relation(name: &str, kind: &str) -> Value {
    json!({"display_name": name, "property_type": "RELATION", "relation_type": kind})
}

/// The version of an item does not change with the name of an option, so its values are sent again.
#[tokio::test]
async fn a_read_with_values_is_never_answered_as_known() {
    let place = Place::new().await;
    let gateway = &place.gateway;
    let task = place.enabled().await;
    let mut severity = property("severity", "OPTION");
    severity["options"] = json!([{"name": "Low"}]);
    place.new_property(task, severity).await;
    let option = place.option("Low").await;
    let made = gateway.post("ada", ITEMS, json!({"name": "n"})).await.expect(201);
    let item = one(&made.text("id"));
    let read_unless =
        async |path: &str, tag: &str| gateway.send_with("ada", "GET", path, None, &[("if-none-match", tag)]).await;
    let tag_of = |answer: &Answer| answer.headers["etag"].clone();
    let without = tag_of(&gateway.get("ada", &item).await.expect(200));
    read_unless(&item, &without).await.expect(304);
    let expanded = format!("{item}?expand=state");
    assert!(read_unless(&expanded, &without).await.expect(200).json["state"].is_object());
    gateway.patch("ada", &item, json!({"custom_fields": {"severity": "Low"}})).await.expect(200);
    let with = tag_of(&gateway.get("ada", &item).await.expect(200));
    assert_ne!(with, without);
    let renamed = members(json!({"name": "Minor"}));
    place.edit(|edit| edit.update_option(option, &renamed)).await.expect("renamed");
    let read = read_unless(&item, &with).await.expect(200);
    assert_eq!(read.json["custom_fields"]["severity"]["value"], "Minor");
    assert_eq!(tag_of(&read), with);
    gateway.send_with("ada", "PATCH", &item, Some(&json!({"name": "m"})), &[("if-match", &with)]).await.expect(200);
}

#[tokio::test]
async fn every_kind_of_value_is_written_and_read_in_its_form() {
    let place = Place::new().await;
    let gateway = &place.gateway;
    let task = place.enabled().await;
    for (name, kind) in [
        ("text", "TEXT"),
        ("url", "URL"),
        ("email", "EMAIL"),
        ("file", "FILE"),
        ("decimal", "DECIMAL"),
        ("boolean", "BOOLEAN"),
        ("datetime", "DATETIME"),
        ("formula", "FORMULA"),
    ] {
        place.new_property(task, property(name, kind)).await;
    }
    for kind in ["ISSUE", "USER", "RELEASE", "RICH_TEXT"] {
        place.new_property(task, relation(&kind.to_lowercase(), kind)).await;
    }
    let mut severity = property("severity", "OPTION");
    severity["options"] = json!([{"name": "Low"}, {"name": "High"}]);
    place.new_property(task, severity).await;
    let high = place.option("High").await;
    let item = one(&gateway.post("ada", ITEMS, json!({"name": "n"})).await.expect(201).text("id"));
    let first = id('e', 1);
    let person = json!({"id": id('a', 2), "name": "bob", "logo_props": {}});
    let issue = json!({"id": first, "name": "First", "logo_props": {}});
    let option = json!({"id": high, "name": "High", "logo_props": {}});
    for (name, written, value, detail) in [
        ("text", json!("free"), json!("free"), Value::Null),
        ("url", json!("https://x.test/a"), json!("https://x.test/a"), Value::Null),
        ("email", json!("a@x.test"), json!("a@x.test"), Value::Null),
        ("file", json!("files/1"), json!("files/1"), Value::Null),
        ("release", json!(id('f', 9)), json!(id('f', 9)), Value::Null),
        ("decimal", json!("12.5"), json!(12.5), Value::Null),
        ("decimal", json!(3), json!(3), Value::Null),
        ("boolean", json!("true"), json!(true), Value::Null),
        ("boolean", json!(false), json!(false), Value::Null),
        ("datetime", json!("2026-03-01"), json!("2026-03-01T00:00:00.000000Z"), Value::Null),
        ("datetime", json!("2026-03-01T02:00:00+02:00"), json!("2026-03-01T00:00:00.000000Z"), Value::Null),
        ("rich_text", json!("<p>a<script>x</script></p>"), json!("<p>a</p>"), Value::Null),
        ("severity", json!(high), json!("High"), option.clone()),
        ("severity", json!("hIGH"), json!("High"), option.clone()),
        ("severity", json!("\u{1c} hIGH\u{1f}"), json!("High"), option),
        ("user", json!(id('a', 2)), json!("bob"), person.clone()),
        ("user", json!("bob@acme.test"), json!("bob"), person.clone()),
        ("user", json!("\u{1d}bob@acme.test"), json!("bob"), person),
        ("issue", json!(first), json!("WEB-1"), issue.clone()),
        ("issue", json!("web-1"), json!("WEB-1"), issue.clone()),
        ("issue", json!("web-1\u{1e}"), json!("WEB-1"), issue),
    ] {
        let body = json!({"custom_fields": {name: written}});
        let changed = gateway.patch("ada", &item, body).await.expect(200);
        let entry = &changed.json["custom_fields"][name];
        assert_eq!((&entry["value"], &entry["value_detail"]), (&value, &detail), "{name} {written}");
        let read = gateway.get("ada", &item).await.expect(200);
        assert_eq!(read.json["custom_fields"], changed.json["custom_fields"], "{name}");
    }
    for (name, written) in [
        ("text", json!(1)),
        ("text", json!(["a"])),
        ("url", json!("ftp://x")),
        ("email", json!("nobody")),
        ("release", json!("r-1")),
        ("decimal", json!("many")),
        ("boolean", json!(1)),
        ("datetime", json!("soon")),
        ("datetime", json!(" 2026-03-01")),
        ("datetime", json!("2026-03-01T00:00:00Z ")),
        ("severity", json!(id('f', 9))),
        ("severity", json!("Middling")),
        ("user", json!("eve@other.test")),
        ("issue", json!(id('e', 99))),
        ("issue", json!("OTHER-1")),
        ("formula", json!("1")),
        ("rich_text", json!("<script>x</script>")),
        ("unknown", json!("x")),
    ] {
        let refused = gateway.patch("ada", &item, json!({"custom_fields": {name: written}})).await.expect(400);
        assert_eq!(refused.error_fields(), [format!("custom_fields.{name}")], "{name} {written}");
    }
    let listed = gateway.get("ada", &format!("{ITEMS}?per_page=1")).await.expect(200);
    assert_eq!(listed.data()[0]["custom_fields"], Value::Null);
}

/// A read returns the written digits.
#[tokio::test]
async fn a_number_is_kept_with_all_its_digits_or_refused() {
    let place = Place::new().await;
    let gateway = &place.gateway;
    let task = place.enabled().await;
    place.new_property(task, property("decimal", "DECIMAL")).await;
    let mut several = property("several", "DECIMAL");
    several["is_multi"] = json!(true);
    place.new_property(task, several).await;
    let item = one(&gateway.post("ada", ITEMS, json!({"name": "n"})).await.expect(201).text("id"));
    let patch = async |name: &str, written: &str| {
        let body = format!(r#"{{"custom_fields": {{"{name}": {written}}}}}"#);
        let request = Request::patch(format!("{}{item}", gateway.base())).header("x-api-key", "ada");
        let request = request.header("content-type", "application/json");
        gateway.request(request.body(Full::new(Bytes::from(body))).expect("a request")).await
    };
    for (written, value) in [
        ("0.1", "0.1"),
        ("1.10", "1.1"),
        ("12345678901234567890", "12345678901234567890"),
        ("0.30000000000000004", "0.30000000000000004"),
        (r#""1234567890.123456""#, "1234567890.123456"),
        (r#""1.10""#, "1.1"),
    ] {
        let changed = patch("decimal", written).await.expect(200);
        assert_eq!(changed.json["custom_fields"]["decimal"]["value"].to_string(), value, "{written}");
    }
    for long in ["12345678901234567890.12", "0.1234567890123456789", "123456789012345678901", "9007199254740993.0"]
    {
        for written in [long.to_owned(), format!("{long:?}")] {
            let refused = patch("decimal", &written).await.expect_problem(400, "validation_error");
            assert_eq!(refused.error_fields(), ["custom_fields.decimal"], "{written}");
            let refused =
                patch("several", &format!("[0.5, {written}]")).await.expect_problem(400, "validation_error");
            assert_eq!(refused.error_fields(), ["custom_fields.several.1"], "{written}");
        }
        let mut default = property("more", "DECIMAL");
        default["default_value"] = json!([long]);
        let properties = format!("{WEB}/work-item-properties/");
        let refused = gateway.post("ada", &properties, default).await.expect_problem(400, "validation_error");
        assert_eq!(refused.error_fields(), ["default_value.0"], "{long}");
    }
    let kept = gateway.get("ada", &item).await.expect(200);
    assert_eq!(kept.json["custom_fields"]["decimal"]["value"], json!(1.1));
}

/// No sent value is lost silently; a text of blanks is no value where one is required.
#[tokio::test]
async fn empty_values_are_refused_or_clear_the_field() {
    let place = Place::new().await;
    let gateway = &place.gateway;
    let task = place.enabled().await;
    let mut notes = relation("notes", "RICH_TEXT");
    notes["is_multi"] = json!(true);
    place.new_property(task, notes).await;
    place.new_property(task, relation("body", "RICH_TEXT")).await;
    let mut needed = property("needed", "TEXT");
    needed["is_required"] = json!(true);
    place.new_property(task, needed).await;
    for blank in [json!(""), json!("  "), json!("\u{1f}"), Value::Null] {
        let body = json!({"name": "n", "custom_fields": {"needed": blank}});
        let refused = gateway.post("ada", ITEMS, body).await.expect(400);
        assert_eq!(refused.error_fields(), ["custom_fields.needed"], "{blank}");
    }
    let body = json!({"name": "n", "custom_fields": {"needed": "x", "body": "<p>a</p>", "notes": ["<p>a</p>"]}});
    let item = one(&gateway.post("ada", ITEMS, body).await.expect(201).text("id"));
    let several = json!({"custom_fields": {"notes": ["<p>b</p>", "<style>x</style>", ""]}});
    let refused = gateway.patch("ada", &item, several).await.expect(400);
    assert_eq!(refused.error_fields(), ["custom_fields.notes.1", "custom_fields.notes.2"]);
    let read = gateway.get("ada", &item).await.expect(200);
    assert_eq!(read.json["custom_fields"]["notes"]["value"], json!(["<p>a</p>"]));
    let cleared = gateway.patch("ada", &item, json!({"custom_fields": {"body": ""}})).await.expect(200);
    assert_eq!(cleared.json["custom_fields"].get("body"), None);
}

#[tokio::test]
async fn several_values_come_and_go_as_a_set() {
    let place = Place::new().await;
    let task = place.enabled().await;
    let mut tags = property("tags", "OPTION");
    (tags["is_multi"], tags["options"]) = (json!(true), json!([{"name": "a"}, {"name": "b"}, {"name": "c"}]));
    place.new_property(task, tags).await;
    let mut notes = property("notes", "TEXT");
    notes["is_multi"] = json!(true);
    place.new_property(task, notes).await;
    let (a, b) = (place.option("a").await, place.option("b").await);
    let body = json!({"name": "n", "custom_fields": {"tags": [b, "a", a], "notes": ["x", "x"]}});
    let made = place.gateway.post("ada", ITEMS, body).await.expect(201);
    let fields = &made.json["custom_fields"];
    assert_eq!(fields["tags"]["value"], json!(["b", "a"]));
    assert_eq!(fields["tags"]["value_detail"][1], json!({"id": a, "name": "a", "logo_props": {}}));
    assert_eq!(fields["notes"], json!({"id": fields["notes"]["id"], "value": ["x", "x"], "value_detail": null}));
    let item = one(&made.text("id"));
    let refused = place.gateway.patch("ada", &item, json!({"custom_fields": {"tags": "a"}})).await.expect(400);
    assert_eq!(refused.error_fields(), ["custom_fields.tags"]);
    let refused =
        place.gateway.patch("ada", &item, json!({"custom_fields": {"tags": ["a", "z"]}})).await.expect(400);
    assert_eq!(refused.error_fields(), ["custom_fields.tags.1"]);
    // An error counts the elements as they were sent, with those that name a record again.
    let refused =
        place.gateway.patch("ada", &item, json!({"custom_fields": {"tags": ["a", a, "a", "z"]}})).await.expect(400);
    assert_eq!(refused.error_fields(), ["custom_fields.tags.3"]);
    // A deleted option takes its values with it.
    place.edit(|edit| edit.delete_option(b)).await.unwrap();
    let read = place.gateway.get("ada", &item).await.expect(200);
    assert_eq!(read.json["custom_fields"]["tags"]["value"], json!(["a"]));
    let cleared = json!({"custom_fields": {"tags": [], "notes": null}});
    let cleared = place.gateway.patch("ada", &item, cleared).await.expect(200);
    assert_eq!(cleared.json["custom_fields"], json!({}));
}

#[tokio::test]
async fn required_values_and_defaults_are_for_creates_alone() {
    let place = Place::new().await;
    let gateway = &place.gateway;
    let task = place.enabled().await;
    let bug = place.new_type("Bug").await;
    let mut points = property("points", "DECIMAL");
    (points["is_required"], points["default_value"]) = (json!(true), json!(["3"]));
    place.new_property(task, points).await;
    let mut reason = property("reason", "TEXT");
    reason["is_required"] = json!(true);
    place.new_property(task, reason).await;
    // No client can set the value of a formula, so it is never required.
    let mut total = property("total", "FORMULA");
    total["is_required"] = json!(true);
    place.new_property(task, total).await;
    let refused = gateway.post("ada", ITEMS, json!({"name": "n", "state_id": id('d', 999)})).await.expect(400);
    assert_eq!(refused.error_fields(), ["custom_fields.reason", "state_id"], "all faults at once");
    let refused =
        gateway.post("ada", ITEMS, json!({"name": "n", "custom_fields": {"points": null, "reason": "r"}}));
    assert_eq!(refused.await.expect(400).error_fields(), ["custom_fields.points"]);
    let made = gateway.post("ada", ITEMS, json!({"name": "n", "custom_fields": {"reason": "r"}})).await.expect(201);
    assert_eq!(made.json["custom_fields"]["points"]["value"], json!(3));
    gateway.post("ada", ITEMS, json!({"name": "n", "type_id": bug})).await.expect(201);
    gateway.post("ada", ITEMS, json!({"name": "n", "type_id": null})).await.expect(201);
    let item = one(&made.text("id"));
    let changed = gateway.patch("ada", &item, json!({"custom_fields": {"reason": null}})).await.expect(200);
    assert_eq!(changed.json["custom_fields"].as_object().unwrap().len(), 1);
    // Another type hides the values, and the old type brings them back.
    let hidden = gateway.patch("ada", &item, json!({"type_id": bug})).await.expect(200);
    assert_eq!(hidden.json["custom_fields"], json!({}));
    let refused = gateway.patch("ada", &item, json!({"custom_fields": {"points": 1}})).await.expect(400);
    assert_eq!(refused.error_fields(), ["custom_fields.points"]);
    let back = gateway.patch("ada", &item, json!({"type_id": task})).await.expect(200);
    assert_eq!(back.json["custom_fields"]["points"]["value"], json!(3));
}

#[tokio::test]
async fn a_default_may_name_a_person_by_address_and_an_item_by_key() {
    let place = Place::new().await;
    let task = place.enabled().await;
    for (name, kind, default) in [("user", "USER", "bob@acme.test"), ("issue", "ISSUE", "web-1")] {
        let mut given = relation(name, kind);
        (given["is_required"], given["default_value"]) = (json!(true), json!([default]));
        place.new_property(task, given).await;
    }
    let made = place.gateway.post("ada", ITEMS, json!({"name": "n"})).await.expect(201);
    let fields = &made.json["custom_fields"];
    assert_eq!((&fields["user"]["value"], &fields["issue"]["value"]), (&json!("bob"), &json!("WEB-1")));
}

#[tokio::test]
async fn in_workspace_mode_the_context_says_what_holds() {
    let place = Place::new().await;
    let features = members(json!({"is_work_item_types_enabled": true}));
    let severity = members(json!({"display_name": "Severity", "property_type": "TEXT"}));
    let (kind, property) = place
        .edit(|edit| {
            edit.update_features(&features)?;
            let kind = edit.after.types_of(None)[0].id;
            edit.import(web(), &[kind])?;
            let property = edit.create_property(None, &severity)?;
            edit.attach(kind, &[property])?;
            Ok((kind, property))
        })
        .await
        .unwrap();
    let here = members(json!({"name": "Here", "project_ids": [web()], "applies_to_all_work_item_types": true,
        "is_required": true, "default_value": ["here"]}));
    let projects = std::collections::HashSet::from([web()]);
    let context = place.edit(|edit| edit.create_context(property, &here, &projects)).await.unwrap();
    let made = place.gateway.post("ada", ITEMS, json!({"name": "n"})).await.expect(201);
    assert_eq!(made.json["type_id"], json!(kind));
    assert_eq!(made.json["custom_fields"]["severity"]["value"], "here");
    // Without its own context the project uses the one for all; without that one the values are deleted.
    place.edit(|edit| edit.delete_context(context)).await.unwrap();
    let item = one(&made.text("id"));
    let read = place.gateway.get("ada", &item).await.expect(200);
    assert_eq!(read.json["custom_fields"]["severity"]["value"], "here");
    let all = place.store.catalogue(super::workspace()).await.unwrap().contexts.values().next().unwrap().id;
    place.edit(|edit| edit.delete_context(all)).await.unwrap();
    assert_eq!(place.gateway.get("ada", &item).await.expect(200).json["custom_fields"], json!({}));
    let stored = place.store.values_of(made.text("id").parse().unwrap()).await.unwrap();
    assert!(stored.is_empty());
}

/// The specification takes such a property out of circulation.
#[tokio::test]
async fn the_values_of_a_property_that_is_switched_off_are_hidden_until_it_is_on_again() {
    let place = Place::new().await;
    let task = place.enabled().await;
    let text = place.new_property(task, property("text", "TEXT")).await;
    let body = json!({"name": "n", "custom_fields": {"text": "a"}});
    let item = one(&place.gateway.post("ada", ITEMS, body).await.expect(201).text("id"));
    for is_active in [false, true] {
        let change = members(json!({"is_active": is_active}));
        place.edit(|edit| edit.update_property(text, &change)).await.expect("a change");
        let read = place.gateway.get("ada", &item).await.expect(200);
        assert_eq!(read.json["custom_fields"].get("text").is_some(), is_active, "{}", read.json);
        if is_active {
            assert_eq!(read.json["custom_fields"]["text"]["value"], "a");
            continue;
        }
        for value in [json!("b"), Value::Null] {
            let body = json!({"custom_fields": {"other": "b", "text": value}});
            let refused = place.gateway.patch("ada", &item, body).await.expect_problem(400, "validation_error");
            assert_eq!(refused.error_fields(), ["custom_fields.other", "custom_fields.text"]);
            let message = |index: usize| refused.json["errors"][index]["message"].as_str().unwrap_or_default();
            assert_eq!(message(0), "is no custom property of the work item's type");
            assert_eq!(message(1), "is switched off (`is_active` is false)");
        }
    }
}

#[tokio::test]
async fn values_without_records_behind_them_cost_nothing() {
    let place = Place::new().await;
    let task = place.enabled().await;
    place.new_property(task, property("text", "TEXT")).await;
    let body = json!({"name": "n", "custom_fields": {"text": "a"}});
    let made = place.gateway.post("ada", ITEMS, body).await.expect(201);
    let item = one(&made.text("id"));
    place.gateway.get("ada", &item).await.expect(200);
    assert_eq!(place.gateway.get("ada", &item).await.expect(200).calls(), 1);
    let body = json!({"custom_fields": {"text": "b"}});
    assert_eq!(place.gateway.patch("ada", &item, body).await.expect(200).calls(), 1, "the item must be live");
}

#[tokio::test]
async fn many_work_items_are_looked_up_together() {
    let place = Place::new().await;
    let gateway = &place.gateway;
    let task = place.enabled().await;
    let mut blocks = relation("blocks", "ISSUE");
    blocks["is_multi"] = json!(true);
    place.new_property(task, blocks).await;
    let (mut named, mut keys) = (Vec::new(), Vec::new());
    for number in 0..24 {
        let made = gateway.post("ada", ITEMS, json!({"name": "n"})).await.expect(201);
        let key = format!("WEB-{}", made.json["sequence_id"]);
        named.push(if number % 2 == 0 { made.text("id") } else { key.to_lowercase() });
        keys.push(key);
    }
    let item = one(&gateway.post("ada", ITEMS, json!({"name": "n"})).await.expect(201).text("id"));
    let body = |named: &[String]| json!({"custom_fields": {"blocks": named}});
    let changed = gateway.patch("ada", &item, body(&named)).await.expect(200);
    assert_eq!(changed.json["custom_fields"]["blocks"]["value"], json!(keys));
    assert!(changed.calls() <= 6, "{} calls for {} items", changed.calls(), named.len());

    named[3] = "WEB-999999".into();
    named[8] = id('e', 99);
    let refused = gateway.patch("ada", &item, body(&named)).await.expect(400);
    let fields = ["3", "8"].map(|index| format!("custom_fields.blocks.{index}"));
    assert_eq!(refused.error_fields(), fields);

    // An error counts the elements as they were sent, with those that name an item again.
    let repeated = [&named[0], &named[0], &named[0], &id('e', 99)].map(String::clone);
    let refused = gateway.patch("ada", &item, body(&repeated)).await.expect(400);
    assert_eq!(refused.error_fields(), ["custom_fields.blocks.3"]);

    // Created past this gateway a moment ago: its index does not have it yet.
    let other = crate::support::gateway::Gateway::before(place.wire.base_url()).await;
    let own = other.post("ada", ITEMS, json!({"name": "n"})).await.expect(201);
    let late = [own.text("id"), format!("WEB-{}", own.json["sequence_id"])];
    let mut all: Vec<String> = late.to_vec();
    all.extend_from_slice(&named[10..14]);
    let changed = gateway.patch("ada", &item, body(&all)).await.expect(200);
    let value = changed.json["custom_fields"]["blocks"]["value"].as_array().expect("values").len();
    assert_eq!(value, 5, "the same item by id and by key is one");
    assert!(changed.calls() <= 4, "{} calls", changed.calls());
}

/// v1 allows slashes in identifiers, and has no path for such a key.
#[tokio::test]
async fn a_key_with_a_slash_names_its_item_in_a_body() {
    let place = Place::new().await;
    let gateway = &place.gateway;
    let task = place.enabled().await;
    place.new_property(task, relation("blocks", "ISSUE")).await;
    in_web(&place.sandbox, "PATCH", "", &json!({"identifier": "X/Y"}));
    let made = gateway.post("ada", ITEMS, json!({"name": "n"})).await.expect(201);
    let key = format!("x/y-{}", made.json["sequence_id"]);
    let child = gateway.post("ada", ITEMS, json!({"name": "c", "parent": key})).await.expect(201);
    assert_eq!(child.text("parent_id"), made.text("id"));
    let body = json!({"custom_fields": {"blocks": key}});
    let changed = gateway.patch("ada", &one(&child.text("id")), body).await.expect(200);
    assert_eq!(changed.json["custom_fields"]["blocks"]["value_detail"]["id"], made.json["id"]);
    let refused = gateway.post("ada", ITEMS, json!({"name": "c", "parent": "X/Y-999"})).await.expect(400);
    assert_eq!(refused.error_fields(), ["parent"]);
}

/// The card that is kept is from before; v1 would have to be asked key by key who has the identifier now.
#[tokio::test]
async fn many_keys_name_nothing_once_their_identifier_went_to_another_project() {
    let place = Place::new().await;
    let gateway = &place.gateway;
    let task = place.enabled().await;
    let mut blocks = relation("blocks", "ISSUE");
    blocks["is_multi"] = json!(true);
    place.new_property(task, blocks).await;
    let (mut keys, mut item) = (Vec::new(), String::new());
    for _ in 0..25 {
        let made = gateway.post("ada", ITEMS, json!({"name": "n"})).await.expect(201);
        keys.push(format!("WEB-{}", made.json["sequence_id"]));
        item = made.text("id");
    }
    in_web(&place.sandbox, "PATCH", "", &json!({"identifier": "OLD"}));
    let fields = json!({"custom_fields": {"blocks": keys}});
    let refused = gateway.patch("ada", &one(&item), fields).await.expect_problem(400, "validation_error");
    assert_eq!(refused.error_fields().len(), keys.len());
}
