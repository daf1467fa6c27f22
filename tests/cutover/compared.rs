//! When two answers are the same, and how they differ; reports never contain text that a person has written.

use crate::support::furnished::PLAN;
use bytes::Bytes;
use causeway::shadow::{Difference, MemberNames, Outcome, Rules, Side, compare};
use serde_json::{Value, json};

type Compared = (Outcome, Vec<Difference>);

fn equal() -> Compared {
    (Outcome::Equal, Vec::new())
}

fn side(status: u16, body: &Value) -> Side {
    Side { status, media: "application/json; charset=utf-8".into(), body: Bytes::from(body.to_string()) }
}

fn found(order: Option<&str>, ours: &Value, theirs: &Value) -> Compared {
    let words = MemberNames::of(&PLAN);
    compare(Rules { words: &words, order, values: false }, &side(200, ours), &side(200, theirs))
}

fn differences((outcome, differences): Compared) -> Vec<(String, String, String)> {
    assert_eq!(outcome, Outcome::Different);
    differences.into_iter().map(|Difference { place, ours, theirs }| (place, ours, theirs)).collect()
}

fn told(order: Option<&str>, ours: &Value, theirs: &Value) -> Vec<(String, String, String)> {
    differences(found(order, ours, theirs))
}

fn page(rows: &[Value], next: Value) -> Value {
    json!({"data": rows, "next": next, "previous": null, "total_count": 9, "pagination": {"style": "offset"}})
}

fn owned(place: &str, ours: &str, theirs: &str) -> (String, String, String) {
    (place.into(), ours.into(), theirs.into())
}

#[test]
fn differences_that_the_contract_allows_are_ignored() {
    let ours = json!({"id": "1", "name": "x", "created_at": "2026-11-22T10:00:00.123456Z", "label_ids": ["a", "b"],
        "assignees": [{"id": "1", "email": "x"}, {"id": "2", "email": "y"}], "sort_order": 1});
    let theirs = json!({"sort_order": 1.0, "name": "x", "created_at": "2026-11-22T10:00:00.123Z", "id": "1",
        "label_ids": ["b", "a"], "assignees": [{"email": "y", "id": "2"}, {"id": "1", "email": "x"}]});
    assert_eq!(found(None, &ours, &theirs), equal());
    // Rows without an order, rows with the same value of it, and cursors.
    let row = |id: &str, name: &str| json!({"id": id, "name": name});
    let (one, other) = ([row("1", "x"), row("2", "x")], [row("2", "x"), row("1", "x")]);
    assert_eq!(found(None, &page(&one, json!(null)), &page(&other, json!(null))), equal());
    let by_cursor = |rows: &[Value], cursor: Value| json!({"data": rows, "next_cursor": cursor, "has_more": true});
    assert_eq!(found(Some("name"), &by_cursor(&one, json!("c1")), &by_cursor(&other, json!("c2"))), equal());
    let expected = [owned("/next_cursor", "a string of 2", "null")];
    assert_eq!(told(None, &by_cursor(&one, json!("c1")), &by_cursor(&one, json!(null))), expected);
    // At the end of a page, another row with the same value.
    let other = [row("1", "x"), row("3", "x")];
    assert_eq!(found(Some("name"), &page(&one, json!(2)), &page(&other, json!(2))), equal());
    // Prose of errors.
    let words = MemberNames::of(&PLAN);
    let problem = |detail: &str| side(404, &json!({"code": "resource_not_found", "detail": detail}));
    let rules = Rules { words: &words, order: None, values: false };
    assert_eq!(compare(rules, &problem("no"), &problem("not here")), equal());
}

#[test]
fn each_difference_is_told_by_place_and_kind() {
    let ours = json!({"id": "1", "name": "secret", "state_id": "00000000-0000-4000-c000-000000000001", "is_draft": false,
        "custom_fields": {"Salary": 3}, "label_ids": ["a"]});
    let theirs = json!({"id": "1", "name": "other!", "state_id": null, "is_draft": true, "label_ids": [],
        "custom_fields": {"Salary": 4, "Shoe": "42"}, "more": 1});
    let expected = [
        owned("/*", "nothing", "a number"),
        owned("/custom_fields/*", "a number", "another number"),
        owned("/custom_fields/*", "nothing", "a string of 2"),
        owned("/is_draft", "false", "true"),
        owned("/label_ids/*", "a string of 1", "nothing"),
        owned("/name", "a string of 6", "another string of 6"),
        owned("/state_id", "a uuid", "null"),
    ];
    assert_eq!(told(None, &ours, &theirs), expected);
    let row = |id: &str, name: &str| json!({"id": id, "name": name});
    let (one, other) = ([row("1", "a"), row("2", "b")], [row("2", "b"), row("1", "a")]);
    let (one, other) = (page(&one, json!(null)), page(&other, json!(null)));
    assert_eq!(told(Some("name"), &one, &other), [owned("/data", "in the order of name", "in another order")]);
    let fewer = page(&[row("1", "a")], json!(null));
    assert_eq!(told(Some("name"), &one, &fewer), [owned("/data/*", "a row", "nothing")]);
    assert_eq!(told(None, &fewer, &one), [owned("/data/*", "nothing", "a row")]);
    let mut counted = one.clone();
    counted["total_count"] = json!(8);
    counted["next"] = json!(3);
    let expected = [owned("/next", "null", "a number"), owned("/total_count", "a number", "another number")];
    assert_eq!(told(Some("name"), &one, &counted), expected);
    // A row in the middle of a page has nothing to do with its ends.
    let row = |id: &str, name: &str| json!({"id": id, "name": name});
    let (one, other) = (["a", "b", "c"], ["a", "x", "c"]);
    let rows = |names: [&str; 3]| page(&names.map(|name| row(name, name)), json!(3));
    let expected = [owned("/data/*", "a row", "nothing"), owned("/data/*", "nothing", "a row")];
    assert_eq!(told(Some("name"), &rows(one), &rows(other)), expected);
    // Rows that are tied with the end may be others, but not fewer.
    let tied = ["1", "2"].map(|id| row(id, "a"));
    let expected = [owned("/data", "2 rows", "0 rows")];
    assert_eq!(told(Some("name"), &page(&tied, json!(3)), &page(&[], json!(3))), expected);
    // A difference of all rows does not hide others.
    let many: Vec<_> = (0..30).map(|id| json!({"id": id.to_string(), "name": "a", "is_draft": id == 29})).collect();
    let others: Vec<_> = (0..30).map(|id| json!({"id": id.to_string(), "name": "b", "is_draft": false})).collect();
    let expected =
        [owned("/data/*/is_draft", "true", "false"), owned("/data/*/name", "a string of 1", "another string of 1")];
    assert_eq!(told(None, &page(&many, json!(null)), &page(&others, json!(null))), expected);
    // Without its order, the rows in a part of a list cannot be determined.
    assert_eq!(found(Some("updated_at"), &rows(one), &rows(other)), (Outcome::NotComparable, Vec::new()));
}

/// The gateway derives the ids of memberships, so a v2 of the deployment's own has others.
#[test]
fn memberships_are_matched_by_their_person() {
    let row = |id: &str, person: &str, role: &str| json!({"id": id, "member_id": person, "role": role});
    let ours = page(&[row("1", "p", "admin"), row("2", "q", "member")], json!(null));
    let same = page(&[row("8", "q", "member"), row("9", "p", "admin")], json!(null));
    assert_eq!(found(None, &ours, &same), equal());
    let other = page(&[row("8", "q", "member"), row("9", "p", "guest")], json!(null));
    assert_eq!(told(None, &ours, &other), [owned("/data/*/role", "a string of 5", "another string of 5")]);
    let others = page(&[row("1", "p", "admin"), row("2", "r", "member")], json!(null));
    let expected = [owned("/data/*", "a row", "nothing"), owned("/data/*", "nothing", "a row")];
    assert_eq!(told(None, &ours, &others), expected);
    // Their order by the id is another one on each side, and so is a part of the list in that order.
    assert_eq!(found(Some("id"), &ours, &same), equal());
    let part = |rows: &Value| page(rows["data"].as_array().unwrap(), json!(3));
    assert_eq!(found(Some("id"), &part(&ours), &part(&others)), (Outcome::NotComparable, Vec::new()));
    let expected = [owned("/data", "in the order of role", "in another order")];
    assert_eq!(told(Some("role"), &ours, &same), expected);
}

#[test]
fn status_media_type_and_code_count() {
    let words = MemberNames::of(&PLAN);
    let rules = Rules { words: &words, order: None, values: false };
    let both = |ours: Side, theirs: Side| differences(compare(rules, &ours, &theirs));
    let empty = json!({});
    assert_eq!(both(side(200, &empty), side(404, &empty)), [owned("status", "200", "404")]);
    let page = Side { media: "text/html<script>".into(), ..side(200, &empty) };
    let expected = [owned("header content-type", "application/json", "something else")];
    assert_eq!(both(side(200, &empty), page), expected);
    let problem = |code: &str| side(404, &json!({"code": code}));
    assert_eq!(both(problem("a"), problem("bb")), [owned("/code", "a string of 1", "a string of 2")]);
    let broken = Side { body: Bytes::from_static(b"{"), ..side(200, &empty) };
    assert_eq!(both(side(200, &empty), broken), [owned("body", "JSON", "something else")]);
}

#[test]
fn values_are_told_where_that_is_set() {
    let words = MemberNames::of(&PLAN);
    let rules = Rules { words: &words, order: None, values: true };
    let (ours, theirs) = (json!({"custom_fields": {"Shoe": "42"}}), json!({"custom_fields": {"Shoe": "43"}}));
    let found = differences(compare(rules, &side(200, &ours), &side(200, &theirs)));
    assert_eq!(found, [owned("/custom_fields/Shoe", "\"42\"", "\"43\"")]);
}
