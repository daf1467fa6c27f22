//! Properties that hold for all requests and all answers of v1: generated cases against brute force.
//!
//! May use: the public interface of the crate.

use causeway::app::compile_plan;
use causeway::plan::{BodyRule, Kind, Plan, Rows, ValueType};
use causeway::translate::{ReadShape, incoming, outgoing};
use causeway::v2::cursor::{Cursor, MAX_TOKEN};
use causeway::v2::query::{Condition, ListCall, OrderBy, PageCall, Search, Test, read_list, read_single};
use causeway::v2::{Cell, Parameters, Record, body, page, time};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};
use uuid::Uuid;

static PLAN: LazyLock<Arc<Plan>> = LazyLock::new(|| compile_plan(None).expect("the embedded mappings compile"));

/// Resources whose v1 records go through the general translation.
const TRANSLATED: [&str; 4] = ["states", "labels", "cycles", "modules"];

/// Number of cases of a property: few for daily runs, as many as the environment says for long tests.
fn cases() -> ProptestConfig {
    let long = std::env::var_os("LONG_TESTS").is_some_and(|value| value == "1");
    let few = ProptestConfig::with_cases(250);
    ProptestConfig { failure_persistence: None, ..if long { ProptestConfig::default() } else { few } }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        any::<u128>().prop_map(|n| Uuid::from_u128(n).to_string().into()),
        Just(json!("2026-02-30")),
        Just(json!("2026-02-03T04:05:06+14:00")),
    ];
    leaf.prop_recursive(2, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map("[a-z_]{1,8}", inner, 0..4).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

// Cursors.

fn key_cell() -> impl Strategy<Value = Cell> {
    let whole = -9_007_199_254_740_992_i64..9_007_199_254_740_992;
    prop_oneof![any::<i64>().prop_map(Cell::Instant), whole.prop_map(|n| Cell::Number(n as f64)), Just(Cell::Null)]
}

fn cursor() -> impl Strategy<Value = Cursor> {
    (any::<u128>(), vec(("[a-z_]{1,12}", key_cell()), 0..4))
        .prop_map(|(id, keys)| Cursor { id: Uuid::from_u128(id), keys })
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn a_token_comes_back_as_it_was_and_a_part_of_it_does_not(cursor in cursor(), cut in 1_usize..40) {
        let token = cursor.encode();
        prop_assert!(token.len() <= MAX_TOKEN);
        prop_assert!(token.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'));
        prop_assert_eq!(Cursor::decode(&token[..token.len() - cut]), None);
        prop_assert_eq!(Cursor::decode(&token[cut..]), None);
        prop_assert_eq!(Cursor::decode(&token), Some(cursor));
    }

    #[test]
    fn an_invalid_cursor_token_is_refused(text in "\\PC{0,80}", bytes in vec(any::<u8>(), 0..120)) {
        use base64::Engine;
        prop_assert_eq!(Cursor::decode(&text), None);
        let packed = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes);
        prop_assert_eq!(Cursor::decode(&packed), None);
    }

    #[test]
    fn json_that_is_no_position_is_refused(value in any_json(), version in 0_u8..5) {
        use base64::Engine;
        let pack = |value: &Value| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(value.to_string());
        prop_assert_eq!(Cursor::decode(&pack(&value)), None);
        let position = json!({"v": version, "id": Uuid::nil(), "k": []});
        prop_assert_eq!(Cursor::decode(&pack(&position)).is_some(), version == 1);
        prop_assert_eq!(Cursor::decode(&pack(&json!({"v": 1, "id": Uuid::nil(), "k": [], "more": value}))), None);
    }
}

// Pages.

/// Cells of a row: id, instant, number, word, flag, reference.
type Row = (u8, i64, i8, String, bool, Option<u8>);

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let row = (any::<u8>(), 0_i64..6, -2_i8..3, "[abAB]{0,3}", any::<bool>(), proptest::option::of(0_u8..3));
    vec(row, 0..40).prop_map(|rows| {
        let mut seen = BTreeSet::new();
        rows.into_iter().filter(|row| seen.insert(row.0)).collect()
    })
}

fn id(n: u8) -> Uuid {
    Uuid::from_u128(u128::from(n))
}

fn record(row: &Row) -> Record {
    let reference = row.5.map_or(Cell::Null, |n| Cell::Id(id(n)));
    let cells = [
        Cell::Id(id(row.0)),
        Cell::Instant(row.1),
        Cell::Number(f64::from(row.2)),
        Cell::Text(row.3.as_str().into()),
        Cell::Bool(row.4),
        reference,
    ];
    let json = json!({"id": id(row.0)}).to_string();
    Record { id: id(row.0), json: json.into(), cells: cells.into(), expansions: Box::default() }
}

/// One condition; it can also be evaluated as a predicate.
#[derive(Debug, Clone)]
enum Want {
    Word(Vec<String>),
    Flag(bool),
    Reference(u8),
    Unset(bool),
    From(i64),
    Until(i64),
}

impl Want {
    fn condition(&self) -> Condition {
        let text = |word: &String| Cell::Text(word.as_str().into());
        let (cell, test) = match self {
            Self::Word(words) => (3, Test::AnyOf(words.iter().map(text).collect())),
            Self::Flag(flag) => (4, Test::AnyOf(vec![Cell::Bool(*flag)])),
            Self::Reference(n) => (5, Test::AnyOf(vec![Cell::Id(id(*n))])),
            Self::Unset(unset) => (5, Test::Unset(*unset)),
            Self::From(at) => (1, Test::AtLeast(Cell::Instant(*at))),
            Self::Until(at) => (1, Test::AtMost(Cell::Instant(*at))),
        };
        Condition { cell, test }
    }

    fn holds(&self, row: &Row) -> bool {
        match self {
            Self::Word(words) => words.contains(&row.3),
            Self::Flag(flag) => row.4 == *flag,
            Self::Reference(n) => row.5 == Some(*n),
            Self::Unset(unset) => row.5.is_none() == *unset,
            Self::From(at) => row.1 >= *at,
            Self::Until(at) => row.1 <= *at,
        }
    }
}

fn want() -> impl Strategy<Value = Want> {
    prop_oneof![
        vec("[abAB]{0,3}", 1..4).prop_map(Want::Word),
        any::<bool>().prop_map(Want::Flag),
        (0_u8..3).prop_map(Want::Reference),
        any::<bool>().prop_map(Want::Unset),
        (0_i64..6).prop_map(Want::From),
        (0_i64..6).prop_map(Want::Until),
    ]
}

fn order_by(cell: usize, descending: bool) -> OrderBy {
    let field = ["id", "created_at", "sort_order", "name", "flag", "parent_id"][cell];
    OrderBy { field: field.into(), cell, descending }
}

/// Sorts rows independently of the code under test.
fn sorted(mut rows: Vec<Row>, cell: usize, descending: bool) -> Vec<Row> {
    rows.sort_by(|a, b| {
        let key = match cell {
            0 => a.0.cmp(&b.0),
            1 => a.1.cmp(&b.1),
            2 => a.2.cmp(&b.2),
            3 => a.3.as_bytes().cmp(b.3.as_bytes()),
            4 => a.4.cmp(&b.4),
            _ => a.5.map_or(255, |n| n).cmp(&b.5.map_or(255, |n| n)),
        };
        key.then(a.0.cmp(&b.0))
    });
    if descending {
        rows.reverse();
    }
    rows
}

fn answer(rows: &[Row], call: &ListCall) -> Value {
    let records: Vec<Record> = rows.iter().map(record).collect();
    serde_json::from_slice(&page::answer(records.iter(), call)).expect("a page is JSON")
}

fn ids(page: &Value) -> Vec<Uuid> {
    let rows = page["data"].as_array().expect("rows");
    rows.iter().map(|row| row["id"].as_str().and_then(|id| Uuid::try_parse(id).ok()).expect("an id")).collect()
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn offset_pages_are_what_brute_force_says(
        rows in rows(),
        wants in vec(want(), 0..3),
        needle in proptest::option::of("[ab]{1,2}"),
        (cell, descending) in (0_usize..6, any::<bool>()),
        (offset, per_page, count) in (0_usize..30, 1_usize..10, any::<bool>()),
    ) {
        let call = ListCall {
            conditions: wants.iter().map(Want::condition).collect(),
            search: needle.clone().map(|needle| Search { cells: vec![3], needle }),
            order: order_by(cell, descending),
            page: PageCall::Offset { offset, per_page, count },
            expand: Vec::new(),
        };
        let found = |row: &Row| needle.as_ref().is_none_or(|needle| row.3.to_lowercase().contains(needle));
        let kept = rows.iter().filter(|row| found(row) && wants.iter().all(|want| want.holds(row))).cloned();
        let kept = sorted(kept.collect(), cell, descending);
        let page = answer(&rows, &call);
        let expected: Vec<Uuid> = kept.iter().skip(offset).take(per_page).map(|row| id(row.0)).collect();
        prop_assert_eq!(ids(&page), expected);
        let next = (offset + per_page < kept.len()).then_some(offset + per_page);
        prop_assert_eq!(&page["next"], &json!(next));
        let previous = (offset > 0).then(|| offset.saturating_sub(per_page));
        prop_assert_eq!(&page["previous"], &json!(previous));
        prop_assert_eq!(page.get("total_count").cloned(), count.then(|| json!(kept.len())));
    }

    /// For keys that never change: a row that exists during the whole walk comes exactly once and in order, even when
    /// other rows come and go; no row comes twice.
    #[test]
    fn a_walk_sees_what_stays_exactly_once(
        mut rows in rows(),
        (cell, descending) in (0_usize..2, any::<bool>()),
        per_page in 1_usize..5,
        changes in vec((any::<prop::sample::Index>(), any::<bool>(), any::<u8>(), 0_i64..6), 0..30),
    ) {
        let throughout = rows.clone();
        let mut gone = BTreeSet::new();
        let mut changes = changes.into_iter();
        let (mut after, mut walked) = (None, Vec::new());
        loop {
            let call = ListCall {
                conditions: Vec::new(),
                search: None,
                order: order_by(cell, descending),
                page: PageCall::Cursor { after, per_page, keys: vec![("created_at".into(), 1)] },
                expand: Vec::new(),
            };
            let page = answer(&rows, &call);
            walked.extend(ids(&page));
            let Some(token) = page["next_cursor"].as_str() else {
                prop_assert_eq!(&page["has_more"], &json!(false));
                break;
            };
            prop_assert_eq!(&page["has_more"], &json!(true));
            after = Some(Cursor::decode(token).expect("a token"));
            for (which, delete, new, at) in changes.by_ref().take(2) {
                let known = throughout.iter().chain(&rows).any(|row| row.0 == new) || walked.contains(&id(new));
                if delete && !rows.is_empty() {
                    gone.insert(rows.remove(which.index(rows.len())).0);
                } else if !delete && !known {
                    rows.push((new, at, 0, String::new(), false, None));
                    gone.insert(new);
                }
            }
        }
        let mut once = walked.clone();
        once.sort();
        once.dedup();
        prop_assert_eq!(once.len(), walked.len(), "a row came twice");
        let stayed = sorted(throughout.into_iter().filter(|row| !gone.contains(&row.0)).collect(), cell, descending);
        let expected: Vec<Uuid> = stayed.iter().map(|row| id(row.0)).collect();
        let seen: Vec<Uuid> = walked.into_iter().filter(|id| expected.contains(id)).collect();
        prop_assert_eq!(seen, expected);
    }

    #[test]
    fn query_strings_never_panic(query in "([a-z_]{1,16}|per_page|offset|cursor|order_by|expand|search|group__in|count)(=|%|&|\\PC){0,6}(&(per_page|offset|cursor|is_default|parent_id|member_id__in)=\\PC{0,12}){0,4}") {
        let parameters = Parameters::parse(&query);
        for operation in PLAN.operations.iter().filter(|operation| operation.works()) {
            let resource = PLAN.resource_of(operation);
            if operation.is_list() {
                for strict in [true, false] {
                    if let Err(refusal) = read_list(operation, resource, &parameters, strict) {
                        prop_assert_eq!(refusal.status(), 400);
                    }
                }
            } else if let Err(refusal) = read_single(operation, &parameters) {
                prop_assert_eq!(refusal.status(), 400);
            }
        }
    }

    #[test]
    fn bodies_never_panic_and_only_what_is_declared_gets_through(
        value in any_json(),
        bytes in vec(any::<u8>(), 0..60),
        values in vec(any_json(), 16),
    ) {
        for bytes in [value.to_string().as_bytes(), &bytes[..]] {
            if let Err(refusal) = body::parse(Some("application/json"), bytes) {
                prop_assert_eq!(refusal.status(), 400);
            }
        }
        for operation in PLAN.operations.iter() {
            let BodyRule::Members(inputs) = &operation.body else { continue };
            let names = inputs.iter().map(|input| input.name.clone()).chain(["surplus".to_owned()]);
            let members: Map<String, Value> = names.zip(values.iter().cycle().cloned()).collect();
            match body::check(operation, &members) {
                Ok(given) => prop_assert!(given.keys().all(|name| inputs.iter().any(|input| &input.name == name))),
                Err(refusal) => prop_assert_eq!(refusal.status(), 400),
            }
        }
    }
}

// Translation.

/// A value of a field in one of the forms that v1 may write.
fn v1_value(kind: ValueType, seed: u128) -> Value {
    match kind {
        ValueType::One(Kind::Uuid) => Uuid::from_u128(seed).to_string().into(),
        ValueType::One(Kind::DateTime) => {
            at_offset((seed % 4_000_000_000_000_000) as i64, (seed % 1681) as i32 - 840).into()
        }
        ValueType::One(Kind::Date) => {
            format!("20{:02}-{:02}-{:02}", seed % 100, seed % 12 + 1, seed % 28 + 1).into()
        }
        ValueType::One(Kind::Boolean) => seed.is_multiple_of(2).into(),
        ValueType::One(Kind::Number | Kind::Integer) => ((seed % 2_000_000) as f64 / 8.0 - 100.0).into(),
        ValueType::One(Kind::Any) => json!({"n": [seed as u32, null, {"\"": "\\ü"}]}),
        ValueType::One(_) => format!("t {} \"\\\u{7}é", seed % 97).into(),
        ValueType::Array(_) | ValueType::Csv(_) => json!([Uuid::from_u128(seed), Uuid::from_u128(seed >> 7)]),
    }
}

/// Writes the instant with an offset of that many minutes east of UTC.
fn at_offset(micros: i64, minutes: i32) -> String {
    let local = time::write(micros + i64::from(minutes) * 60_000_000);
    let sign = if minutes < 0 { '-' } else { '+' };
    let (hours, rest) = (minutes.abs() / 60, minutes.abs() % 60);
    format!("{}{sign}{hours:02}:{rest:02}", local.trim_end_matches('Z'))
}

fn v1_row(resource: &causeway::plan::Resource, seed: u128) -> Map<String, Value> {
    let fields = resource.fields.iter().enumerate();
    let with_v1 = fields.filter_map(|(index, field)| Some((index, field, field.spec.v1.clone()?)));
    with_v1
        .map(|(index, field, key)| {
            let seed = seed.rotate_left(index as u32 * 7);
            let null = field.spec.nullable && seed.is_multiple_of(5);
            (key, if null { Value::Null } else { v1_value(field.value, seed) })
        })
        .chain([("unknown_to_us".to_owned(), json!([1, {"id": "x"}]))])
        .collect()
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn instants_come_out_in_utc_whatever_the_offset(micros in 0_i64..4_000_000_000_000_000, minutes in -840_i32..841) {
        let text = at_offset(micros, minutes);
        prop_assert_eq!(time::read_instant(&text), Some(micros), "{}", text);
        let written = time::write(micros);
        prop_assert_eq!(time::read_instant(&written), Some(micros));
        prop_assert!(written.ends_with('Z') && written.len() == 27);
    }

    /// A record of v1, translated to v2 and written back under v1's names, is shown the same again.
    #[test]
    fn a_record_goes_there_and_back(seed in any::<u128>(), other in any::<u128>(), which in 0_usize..4) {
        let resource = PLAN.resource(TRANSLATED[which]).expect("a resource");
        let shape = ReadShape::of(resource);
        let held = shape.read_members(&v1_row(resource, seed), &[]).expect("readable");
        let shown = held.v2_members();
        prop_assert_eq!(shown.len(), resource.fields.iter().filter(|f| f.spec.v1.is_some() && !f.spec.hidden).count());
        let sent = outgoing::update(resource, &shown);
        let mut stored = v1_row(resource, other);
        let read_only = |name: &str| resource.fields.iter().any(|f| f.spec.v1.as_deref() == Some(name) && f.spec.read_only);
        prop_assert!(sent.body.keys().all(|key| stored.contains_key(key) && !read_only(key)));
        stored.extend(sent.body);
        let again = shape.read_members(&stored, &[]).expect("readable").v2_members();
        let base = shape.read_members(&v1_row(resource, other), &[]).expect("readable").v2_members();
        for field in &resource.fields {
            let kept_apart = sent.overlay.contains_key(&field.name);
            let expected = if field.spec.read_only || kept_apart { &base } else { &shown };
            prop_assert_eq!(&again[&field.name], &expected[&field.name], "{}", field.name);
        }
    }

    #[test]
    fn bytes_that_are_no_page_never_panic_and_never_succeed(bytes in vec(any::<u8>(), 0..80), value in any_json()) {
        for form in [Rows::Paged, Rows::Array] {
            prop_assert!(incoming::rows(form, &bytes).is_err() || bytes.starts_with(b"["));
        }
        for name in TRANSLATED {
            let shape = ReadShape::of(PLAN.resource(name).expect("a resource"));
            prop_assert!(shape.read(&String::from_utf8_lossy(&bytes), &[]).is_err());
            prop_assert!(shape.read(&value.to_string(), &[]).is_err());
        }
    }

    /// A member of another JSON kind is reported as a fault of v1, never shown as a v2 record of a wrong shape.
    #[test]
    fn a_member_of_another_kind_is_a_fault(seed in any::<u128>(), which in 0_usize..4, at in any::<prop::sample::Index>(), value in any_json()) {
        let resource = PLAN.resource(TRANSLATED[which]).expect("a resource");
        let shape = ReadShape::of(resource);
        let fields: Vec<_> = resource.fields.iter().filter(|field| field.spec.v1.is_some()).collect();
        let field = fields[at.index(fields.len())];
        let mut row = v1_row(resource, seed);
        row.insert(field.spec.v1.clone().expect("a name"), value.clone());
        match shape.read_members(&row, &[]) {
            Ok(held) => prop_assert!(fits(field, &held.v2_members()[&field.name]), "{} = {value}", field.name),
            Err(_) => prop_assert!(value.is_null() || !fits(field, &value), "{} = {value} is refused", field.name),
        }
        row.shift_remove(field.spec.v1.as_deref().expect("a name"));
        prop_assert!(shape.read_members(&row, &[]).is_err(), "without {}", field.name);
    }
}

/// Checks whether a value has the kind that the contract gives the field.
fn fits(field: &causeway::plan::Field, value: &Value) -> bool {
    if value.is_null() {
        return field.spec.nullable || field.value == ValueType::One(Kind::Any);
    }
    let uuid = |value: &Value| value.as_str().is_some_and(|text| text.len() == 36 && Uuid::try_parse(text).is_ok());
    match field.value {
        ValueType::One(Kind::Uuid) => uuid(value),
        ValueType::One(Kind::DateTime) => value.as_str().is_some_and(|text| time::read_instant(text).is_some()),
        ValueType::One(Kind::Date) => value.as_str().is_some_and(|text| time::read_date(text).is_some()),
        ValueType::One(Kind::Boolean) => value.is_boolean(),
        ValueType::One(Kind::Integer | Kind::Number) => value.is_number(),
        ValueType::One(Kind::Any) => true,
        ValueType::One(Kind::Object) => value.is_object(),
        ValueType::One(_) => value.is_string(),
        ValueType::Array(_) | ValueType::Csv(_) => value.as_array().is_some_and(|all| all.iter().all(uuid)),
    }
}
