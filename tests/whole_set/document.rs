//! The OpenAPI document against the contract: every shape, every operation, every example. Run with
//! `BLESS=1` to rewrite `fixtures/openapi.json` after an intended change.

use super::operations::{Contract, OPERATIONS, PLAN, fixture};
use crate::support::schema::Shapes;
use causeway::describe::openapi::{Document, Format};
use causeway::plan::{codes, scopes};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, LazyLock};

/// The document of a gateway at the contract's placeholder address.
pub static DOCUMENT: LazyLock<Value> = LazyLock::new(|| serde_json::from_str(&text()).expect("JSON"));

fn text() -> String {
    Document::new(Arc::clone(&PLAN)).text(Format::Json, "https://v2.example.com")
}

/// Returns the document's description of an operation.
pub fn described(operation: &Contract) -> &'static Value {
    &DOCUMENT["paths"][operation.text("path")][operation.method().to_ascii_lowercase()]
}

/// A part of the document, references followed.
pub fn resolved(part: &'static Value) -> &'static Value {
    match part["$ref"].as_str() {
        Some(target) => DOCUMENT.pointer(target.trim_start_matches('#')).unwrap_or_else(|| panic!("no {target}")),
        None => part,
    }
}

/// Returns a schema without its descriptions.
fn bare(schema: &Value) -> Value {
    match schema {
        Value::Object(members) => members
            .iter()
            .filter(|(key, _)| !["examples", "x-source", "x-write-only"].contains(&key.as_str()))
            .map(|(key, value)| (key.clone(), bare(value)))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(elements) => elements.iter().map(bare).collect(),
        Value::String(text) => text.replace("#/$defs/", "#/components/schemas/").into(),
        other => other.clone(),
    }
}

#[test]
fn every_shape_is_the_contracts() {
    let contract = fixture("resources.json");
    let ours = &DOCUMENT["components"]["schemas"];
    for (name, theirs) in contract["$defs"].as_object().expect("shapes") {
        let mut theirs = bare(theirs);
        match name.as_str() {
            // Defined once for each kind of row; see the next test.
            "OffsetEnvelope" | "CursorEnvelope" => continue,
            // The gateway has additional codes, and tools cannot read the contract's way of saying "only on
            // validation_error".
            "Problem" => {
                let codes: Vec<&str> = codes::TABLE.iter().map(|(_, code)| *code).collect();
                theirs["properties"]["code"]["enum"] = json!(codes);
                theirs.as_object_mut().expect("a schema").shift_remove("then");
                theirs["else"] = json!({ "not": { "required": ["errors"] } });
            }
            _ => {}
        }
        assert_eq!(bare(&ours[name]), theirs, "{name}");
    }
}

#[test]
fn pages_are_the_contracts_envelopes_around_their_rows() {
    let contract = fixture("resources.json");
    let mut seen = BTreeSet::new();
    for list in OPERATIONS.iter().filter(|operation| operation.0["envelope"] == true) {
        let row = list.text("response");
        seen.insert(row);
        for (envelope, suffix) in [("OffsetEnvelope", "OffsetPage"), ("CursorEnvelope", "CursorPage")] {
            let mut expected = bare(&contract["$defs"][envelope]);
            expected["properties"]["data"]["items"] = json!({ "$ref": format!("#/components/schemas/{row}") });
            assert_eq!(bare(&DOCUMENT["components"]["schemas"][format!("{row}{suffix}")]), expected, "{row}");
        }
    }
    assert_eq!(seen.len(), 12);
}

#[test]
fn every_operation_is_described_as_the_contract_has_it() {
    let described_ids: BTreeSet<&str> = DOCUMENT["paths"]
        .as_object()
        .expect("paths")
        .values()
        .flat_map(|methods| methods.as_object().expect("methods").values())
        .map(|operation| operation["operationId"].as_str().expect("an id"))
        .collect();
    assert_eq!(described_ids, OPERATIONS.iter().map(Contract::id).collect());
    for operation in OPERATIONS.iter() {
        let ours = described(operation);
        let id = operation.id();
        assert_eq!((&ours["operationId"], &ours["summary"]), (&operation.0["id"], &operation.0["summary"]));
        let requirements = std::iter::once(json!({ "apiKey": [] }));
        let tokens = operation.all("scopes_any").map(|scope| json!({ "oauth2": [scope] }));
        assert_eq!(ours["security"], Value::Array(requirements.chain(tokens).collect()), "{id}");
        assert_eq!(ours["x-causeway-support"] == "works", operation.works(), "{id}");
        assert_eq!(ours.get("x-causeway-v1-calls").is_some(), operation.works(), "{id}");
        parameters_agree(operation, ours);
        body_agrees(operation, ours);
        responses_agree(operation, ours);
    }
}

/// Returns the headers that the gateway adds to the contract's description of an operation.
fn added_headers(operation: &Contract) -> impl Iterator<Item = &'static str> {
    let conditional = PLAN.showing(operation.planned()).map(|_| "If-Match");
    let repeatable = (operation.method() == "POST").then_some("Idempotency-Key");
    let revalidated = described(operation)["responses"].get("304").map(|_| "If-None-Match");
    conditional.into_iter().chain(repeatable).chain(revalidated)
}

fn parameters_agree(operation: &Contract, ours: &'static Value) {
    let id = operation.id();
    let ours: BTreeMap<(&str, &str), &Value> = ours["parameters"]
        .as_array()
        .expect("parameters")
        .iter()
        .map(resolved)
        .map(|p| ((p["in"].as_str().expect("in"), p["name"].as_str().expect("name")), p))
        .collect();
    let variables = operation.variables();
    let mut expected: BTreeSet<(&str, &str)> = variables.iter().map(|name| ("path", name.as_str())).collect();
    expected.extend(added_headers(operation).map(|name| ("header", name)));
    for parameter in operation.all("query").filter(|parameter| parameter["name"] != "expand") {
        let name = parameter["name"].as_str().expect("a name");
        expected.insert(("query", name));
        let Some(described) = ours.get(&("query", name)) else { panic!("{id} lacks {name}") };
        let schema = &described["schema"];
        let csv = parameter["type"] == "csv";
        let kind = match name {
            _ if csv => json!("string"),
            // Any value is accepted; every value that does not mean false counts as true.
            "count" => json!(["boolean", "string"]),
            _ => parameter["type"].clone(),
        };
        assert_eq!(schema["type"], kind, "{id} {name}");
        let (values, format) = match csv {
            true => (&described["x-causeway-elements"]["enum"], &described["x-causeway-elements"]["format"]),
            false => (&schema["enum"], &schema["format"]),
        };
        assert_eq!(format, &parameter["format"], "{id} {name}");
        // An unknown value of these parameters is no error, so no value may be excluded.
        let tolerant = ["order_by", "paginate"].contains(&name);
        let expected = if tolerant { &Value::Null } else { &parameter["enum"] };
        assert_eq!(values, expected, "{id} {name}");
        assert_eq!(schema["default"], parameter["default"], "{id} {name}");
        let text = described["description"].as_str().expect("a description");
        assert!(text.contains(parameter["notes"].as_str().unwrap_or_default()), "{id} {name}: {text}");
    }
    assert_eq!(ours.keys().copied().collect::<BTreeSet<_>>(), expected, "{id}");
    if let Some(order) = ours.get(&("query", "order_by")) {
        let text = order["description"].as_str().expect("a description");
        for value in operation.0["order_by"]["allowed"].as_array().expect("orders") {
            let field = value.as_str().expect("a field").trim_start_matches('-');
            assert!(text.contains(&format!("`{field}`")), "{id}: {text}");
        }
    }
}

fn body_agrees(operation: &Contract, ours: &'static Value) {
    let id = operation.id();
    let Some(inputs) = operation.0["body"].as_array() else {
        assert!(ours.get("requestBody").is_none(), "{id}");
        return;
    };
    let needed = inputs.iter().any(|input| input["required"] == true);
    assert_eq!(ours["requestBody"]["required"], needed, "{id}");
    let schema = resolved(&ours["requestBody"]["content"]["application/json"]["schema"]);
    let members = schema["properties"].as_object().expect("members");
    let mut names = BTreeSet::new();
    for input in inputs.iter().filter(|input| input["name"] != "custom_fields") {
        let name = input["name"].as_str().expect("a name");
        names.insert(name);
        let Some(member) = members.get(name) else { panic!("{id} lacks {name}") };
        let nullable = input["nullable"] == true;
        if input["type"] != "any" {
            let kind = input["type"].clone();
            assert_eq!(member["type"], if nullable { json!([kind, "null"]) } else { kind }, "{id} {name}");
        }
        let format = if input["type"] == "array" { &member["items"]["format"] } else { &member["format"] };
        assert_eq!(format, &input["format"], "{id} {name}");
        let mut values = input["enum"].clone();
        if let Some(values) = values.as_array_mut().filter(|_| nullable) {
            values.push(Value::Null);
        }
        assert_eq!(member["enum"], values, "{id} {name}");
        assert_eq!(member["maxLength"], input["max_length"], "{id} {name}");
        assert_eq!(member["default"], input["default"], "{id} {name}");
        let required = schema["required"].as_array().is_some_and(|all| all.contains(&input["name"]));
        assert_eq!(json!(required), input["required"], "{id} {name}");
    }
    assert_eq!(members.keys().map(String::as_str).collect::<BTreeSet<_>>(), names, "{id}");
}

fn responses_agree(operation: &Contract, ours: &'static Value) {
    let id = operation.id();
    let responses = ours["responses"].as_object().expect("responses");
    let success = &responses[&operation.status().to_string()];
    let schema = &success["content"]["application/json"]["schema"];
    match (operation.0["empty_body"] == true, operation.0["envelope"] == true) {
        (true, _) => assert!(success.get("content").is_none(), "{id}"),
        (false, false) => {
            assert_eq!(schema["$ref"], format!("#/components/schemas/{}", operation.text("response")), "{id}")
        }
        (false, true) => assert_eq!(schema["oneOf"].as_array().map(Vec::len), Some(2), "{id}"),
    }
    for error in operation.all("errors") {
        let response = resolved(&responses[&error["status"].to_string()]);
        assert!(response["content"].get("application/problem+json").is_some(), "{id}");
        let codes = response["x-causeway-codes"].as_array().expect("codes");
        assert!(codes.contains(&error["code"]), "{id}: {error}");
        let (text, when) = (response["description"].as_str().expect("text"), error["when"].as_str().expect("text"));
        assert!(text.contains(when), "{id}: {text}");
    }
    // The added headers bring their refusals, and no others.
    let by_header = |status: &str| match status {
        "412" => added_headers(operation).any(|name| name == "If-Match"),
        _ => added_headers(operation).any(|name| name == "Idempotency-Key"),
    };
    for (status, code) in
        [("412", "precondition_failed"), ("409", "idempotency_in_progress"), ("422", "idempotency_key_reused")]
    {
        let codes = responses.get(status).map(|response| &resolved(response)["x-causeway-codes"]);
        let told = codes.and_then(Value::as_array).is_some_and(|codes| codes.contains(&json!(code)));
        assert_eq!(told, by_header(status), "{id} {code}");
    }
    for (status, response) in responses {
        for name in ["Causeway-V1-Calls", "Server-Timing", "X-Request-Id"] {
            assert!(resolved(response)["headers"].get(name).is_some(), "{id} {status} {name}");
        }
    }
    for status in ["500", "502", "503", "504"] {
        assert!(responses.contains_key(status), "{id}");
    }
    assert_eq!(responses.contains_key("501"), !operation.works(), "{id}");
}

#[test]
fn expand_is_nowhere_and_the_scopes_are_all_there() {
    assert!(!text().contains("\"name\": \"expand\""));
    let schemes = &DOCUMENT["components"]["securitySchemes"];
    let flow = &schemes["oauth2"]["flows"]["authorizationCode"];
    let listed: BTreeSet<&str> = flow["scopes"].as_object().expect("scopes").keys().map(String::as_str).collect();
    assert_eq!(listed, scopes::all().collect());
    assert_eq!(flow["authorizationUrl"], "https://v2.example.com/auth/o/authorize/");
    assert_eq!((&schemes["apiKey"]["in"], &schemes["apiKey"]["name"]), (&json!("header"), &json!("X-Api-Key")));
    assert_eq!(DOCUMENT["servers"].as_array().map(Vec::len), Some(1));
    assert_eq!(DOCUMENT["servers"][0]["url"], "https://v2.example.com");
    assert!(!text().contains(".invalid"), "the stand-in of the address is replaced everywhere");
}

#[test]
fn every_example_is_what_its_schema_says() {
    let shapes = Shapes::of_a_document(&DOCUMENT);
    let mut checked = 0;
    let mut check = |at: &str, schema: &Value, example: &Value| {
        let faults = shapes.faults_as(schema, example);
        assert!(faults.is_empty(), "{at}: {faults:#?}\nin {example:#}");
        checked += 1;
    };
    for operation in OPERATIONS.iter() {
        let ours = described(operation);
        if let Some(media) = ours["requestBody"]["content"].get("application/json") {
            let example = media.get("example").unwrap_or_else(|| panic!("{}: no example", operation.id()));
            check(operation.id(), &media["schema"], example);
        }
        for (status, response) in ours["responses"].as_object().expect("responses") {
            for media in resolved(response)["content"].as_object().into_iter().flat_map(Map::values) {
                let examples = media["examples"].as_object();
                let examples = examples.unwrap_or_else(|| panic!("{} {status}: no example", operation.id()));
                assert!(!examples.is_empty());
                for example in examples.values().map(resolved) {
                    check(&format!("{} {status}", operation.id()), &media["schema"], &example["value"]);
                    let told = &example["value"]["status"];
                    assert!(!told.is_u64() || *told == json!(status.parse::<u16>().expect("a status")));
                }
            }
        }
    }
    assert!(checked > 1000, "{checked}");
}

#[test]
fn the_committed_document_is_that_of_the_mappings() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/openapi.json");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, text()).expect("fixtures/ can be written");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = committed.lines().zip(text().lines()).position(|(ours, theirs)| ours != theirs);
    assert!(
        committed == text(),
        "the contract has changed (first at line {:?} of fixtures/openapi.json); if it is meant, run with BLESS=1",
        differs.map(|line| line + 1)
    );
}

#[test]
fn answers_for_one_address_share_their_bytes() {
    let document = Document::new(Arc::clone(&PLAN));
    let [one, other] = ["https://one.example", "https://other.example"];
    let sent = document.bytes(Format::Json, one);
    assert_eq!(sent.as_ptr(), document.bytes(Format::Json, one).as_ptr());
    for (format, base) in [(Format::Json, other), (Format::Yaml, other), (Format::Yaml, one), (Format::Json, one)] {
        assert_eq!(document.bytes(format, base), document.text(format, base));
    }
}
