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
    let expected = [owned("/data", "2 rows", "1 rows")];
    assert_eq!(told(Some("name"), &page(&tied, json!(3)), &page(&[row("3", "a")], json!(3))), expected);
    // A difference of all rows does not hide others.
    let many: Vec<_> = (0..30).map(|id| json!({"id": id.to_string(), "name": "a", "is_draft": id == 29})).collect();
    let others: Vec<_> = (0..30).map(|id| json!({"id": id.to_string(), "name": "b", "is_draft": false})).collect();
    let expected =
        [owned("/data/*/is_draft", "true", "false"), owned("/data/*/name", "a string of 1", "another string of 1")];
    assert_eq!(told(None, &page(&many, json!(null)), &page(&others, json!(null))), expected);
    // Without its order, the rows in a part of a list cannot be determined.
    assert_eq!(found(Some("updated_at"), &rows(one), &rows(other)), (Outcome::NotComparable, Vec::new()));
}

/// A part of a list that is ordered by `name`; each row has an id of one letter and a name of one letter. It has rows
/// before it and after it as `before` and `after` say.
fn part(rows: &str, before: bool, after: bool) -> Value {
    let rows = rows.split_whitespace().map(|row| json!({"id": &row[..1], "name": &row[1..]}));
    let (previous, next) = (before.then_some(0), after.then_some(9));
    json!({"data": rows.collect::<Vec<_>>(), "next": next, "previous": previous, "pagination": {"style": "offset"}})
}

fn a_row_and_nothing() -> (String, String, String) {
    owned("/data/*", "a row", "nothing")
}

fn nothing_and_a_row() -> (String, String, String) {
    owned("/data/*", "nothing", "a row")
}

fn both_lone() -> [(String, String, String); 2] {
    [a_row_and_nothing(), nothing_and_a_row()]
}

#[test]
fn a_row_that_the_other_side_lacks_is_told_at_the_ends_of_a_page_too() {
    for (ours, theirs) in [
        // The other side has lost the newest record.
        ("1a", "2b"),
        ("1a 2b", "2b 3c"),
        ("1a 2b 3c", "2b 3c 4d"),
        // It has lost one in the middle: its page is as long.
        ("1a 2b 3c 4d", "1a 3c 4d 5e"),
        // In descending order.
        ("9z 8y", "8y 7x"),
        // Other records.
        ("1a 2b", "8c 9d"),
        ("1a 2b", "8a 9c"),
        // The row in the middle has the value of no end.
        ("1a 2b 3c", "1a 4b 3c"),
        // The last value of one side only.
        ("1a 2b 3b", "1a 2b 4c"),
    ] {
        for (before, after) in [(false, true), (true, true), (true, false)] {
            let told = told(Some("name"), &part(ours, before, after), &part(theirs, before, after));
            assert_eq!(told, both_lone(), "{ours} | {theirs} {before} {after}");
        }
    }
    // A walk by cursor begins with the first row.
    let walk = |id: &str| json!({"data": [{"id": id, "name": id}], "next_cursor": "c", "has_more": true});
    assert_eq!(told(Some("name"), &walk("1"), &walk("2")), both_lone());
}

#[test]
fn only_where_both_lists_go_on_may_tied_rows_be_others() {
    // The same two rows have the first value, and the same two the last one.
    let (ours, theirs) = ("1a 2b 3c", "4a 2b 5c");
    assert_eq!(found(Some("name"), &part(ours, true, true), &part(theirs, true, true)), equal());
    // One end is the end of the list.
    for (before, after) in [(false, true), (true, false), (false, false)] {
        let told = told(Some("name"), &part(ours, before, after), &part(theirs, before, after));
        assert_eq!(told, both_lone(), "{before} {after}");
    }
    for (ours, theirs, before, after) in [
        ("1a 2b", "1a 3b", false, true),
        ("1a 2b", "3a 2b", true, false),
        ("1b 2a", "1b 3a", false, true),
        ("1a", "2a", false, true),
        ("1a 2a", "4a 3a", true, false),
        ("1a 2b 3b", "1a 4b 2b", false, true),
    ] {
        let (ours, theirs) = (part(ours, before, after), part(theirs, before, after));
        assert_eq!(found(Some("name"), &ours, &theirs), equal(), "{ours} {theirs}");
    }
    // One side only says that its list goes on.
    let told = told(Some("name"), &part("1a", false, true), &part("2a", false, false));
    assert_eq!(told, [a_row_and_nothing(), nothing_and_a_row(), owned("/next", "a number", "null")]);
}

#[test]
fn pages_of_different_length_are_different() {
    let told = |ours: &str, theirs: &str| told(Some("name"), &part(ours, true, true), &part(theirs, true, true));
    assert_eq!(told("1a 2b 3c", "1a 3c"), [a_row_and_nothing()]);
    assert_eq!(told("1a 3c", "1a 2b 3c"), [nothing_and_a_row()]);
    assert_eq!(told("1a 2b 3c", "2b 3c"), [a_row_and_nothing()]);
    assert_eq!(told("1a 2b 3c", "1a 2b"), [a_row_and_nothing()]);
    // An empty page has no value at its ends.
    assert_eq!(told("1a 2a", ""), [a_row_and_nothing()]);
    assert_eq!(told("", "1a"), [nothing_and_a_row()]);
    // The rows are tied, but one is missing.
    assert_eq!(told("1a 2b 3b", "1a 4b"), [owned("/data", "3 rows", "2 rows")]);
}

#[test]
fn the_order_of_a_part_of_a_list_counts_with_tied_rows_too() {
    let told = |ours: &str, theirs: &str| told(Some("name"), &part(ours, true, true), &part(theirs, true, true));
    let expected = [owned("/data", "in the order of name", "in another order")];
    assert_eq!(told("1a 2b 3c", "2b 1a 3c"), expected);
    assert_eq!(told("1a 2b 3c 4d", "1a 3c 2b 5d"), expected);
    // One side has one row more with the first value.
    assert_eq!(told("1a 2a 3b", "4a 5b 3b"), expected);
}

#[test]
fn without_the_value_of_the_order_a_lone_row_is_never_equal() {
    let unknown = (Outcome::NotComparable, Vec::new());
    for (ours, theirs) in [("1a", "2a"), ("1a 2b", "2b 3c"), ("1a 2b", "3a 4b")] {
        let (ours, theirs) = (part(ours, false, true), part(theirs, false, true));
        assert_eq!(found(Some("updated_at"), &ours, &theirs), unknown);
        assert_eq!(found(None, &ours, &theirs), unknown);
    }
    // One row of one side does not show it.
    let mut hidden = part("1a 3b", false, true);
    hidden["data"][1].as_object_mut().expect("a row").remove("name");
    assert_eq!(found(Some("name"), &part("1a 2b", false, true), &hidden), unknown);
    // The rows of a whole list need no order.
    let whole = |rows: &str| part(rows, false, false);
    assert_eq!(told(Some("updated_at"), &whole("1a"), &whole("2b")), both_lone());
    // A difference that is certain is told all the same.
    let expected = [owned("/data", "2 rows", "0 rows")];
    assert_eq!(told(None, &part("1a 2b", false, true), &part("", false, true)), expected);
    let (mut ours, mut theirs) = (part("1a", false, true), part("2a", false, true));
    (ours["total_count"], theirs["total_count"]) = (json!(9), json!(8));
    let expected = [owned("/total_count", "a number", "another number")];
    assert_eq!(told(None, &ours, &theirs), expected);
    // Rows that both sides have are equal without it.
    let (ours, theirs) = (part("1a 2b", false, true), part("2b 1a", false, true));
    assert_eq!(found(Some("updated_at"), &ours, &theirs), equal());
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
