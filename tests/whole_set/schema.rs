//! A small JSON Schema validator: the keywords `fixtures/contract/resources.json` uses and no others.
//!
//! An unknown keyword or format is a failure of the test, so that nothing passes because it was not looked at.

use serde_json::{Map, Value};
use uuid::Uuid;

/// The contract's read shapes.
pub struct Shapes {
    root: Value,
}

/// Keywords without a say in what is valid.
const SILENT: &[&str] =
    &["description", "readOnly", "writeOnly", "examples", "default", "x-source", "x-write-only"];

impl Shapes {
    /// From `fixtures/contract/resources.json`; codes the rulings add to `Problem` are let in.
    pub fn of_the_contract() -> Self {
        let mut root = super::catalogue::fixture("resources.json");
        let codes = root["$defs"]["Problem"]["properties"]["code"]["enum"].as_array_mut().expect("codes");
        codes.extend(super::catalogue::ADDED_CODES.iter().map(|&code| Value::from(code)));
        Self { root }
    }

    /// From the schemas of an OpenAPI document.
    pub fn of_a_document(document: &Value) -> Self {
        let text = document["components"]["schemas"].to_string().replace("#/components/schemas/", "#/$defs/");
        let schemas: Value = serde_json::from_str(&text).expect("JSON");
        Self { root: serde_json::json!({ "$defs": schemas }) }
    }

    /// Faults of `value` as what `schema` says, which may refer to the shapes.
    pub fn faults_as(&self, schema: &Value, value: &Value) -> Vec<String> {
        let text = schema.to_string().replace("#/components/schemas/", "#/$defs/");
        let mut faults = Vec::new();
        self.check(&serde_json::from_str(&text).expect("JSON"), value, "value", &mut faults);
        faults
    }

    /// Faults of `value` as a `name`; empty when it is one.
    pub fn faults(&self, name: &str, value: &Value) -> Vec<String> {
        let mut faults = Vec::new();
        let schema = self.root["$defs"].get(name).unwrap_or_else(|| panic!("no shape {name}"));
        self.check(schema, value, name, &mut faults);
        faults
    }

    /// Fails unless `value` is a `name`.
    #[track_caller]
    pub fn assert(&self, name: &str, value: &Value) {
        let faults = self.faults(name, value);
        assert!(faults.is_empty(), "{faults:#?}\nin {value:#}");
    }

    fn check(&self, schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
        let rules = match schema {
            Value::Bool(true) => return,
            Value::Bool(false) => return faults.push(format!("{at} must not be there")),
            Value::Object(rules) => rules,
            other => panic!("not a schema: {other}"),
        };
        for (keyword, rule) in rules {
            self.keyword(keyword, rule, rules, value, at, faults);
        }
    }

    fn keyword(
        &self,
        keyword: &str,
        rule: &Value,
        rules: &Map<String, Value>,
        value: &Value,
        at: &str,
        faults: &mut Vec<String>,
    ) {
        let mut expect = |holds: bool| {
            if !holds {
                faults.push(format!("{at}: {keyword} {rule} does not hold for {value}"));
            }
        };
        let length = |text: &str| text.chars().count() as u64;
        let elements = || value.as_array().into_iter().flatten();
        match keyword {
            "type" => expect(types(rule).any(|name| is_of_type(name, value))),
            "const" => expect(rule == value),
            "enum" => expect(rule.as_array().is_some_and(|allowed| allowed.contains(value))),
            "format" => expect(value.as_str().is_none_or(|text| has_format(rule, text))),
            "pattern" => expect(value.as_str().is_none_or(|text| has_pattern(rule, text))),
            "maxLength" => {
                expect(value.as_str().is_none_or(|text| length(text) <= rule.as_u64().expect("a number")))
            }
            "minLength" => {
                expect(value.as_str().is_none_or(|text| length(text) >= rule.as_u64().expect("a number")))
            }
            "minimum" => expect(value.as_f64().is_none_or(|number| number >= rule.as_f64().expect("a number"))),
            "maximum" => expect(value.as_f64().is_none_or(|number| number <= rule.as_f64().expect("a number"))),
            "minItems" => expect(value.is_null() || elements().count() as u64 >= rule.as_u64().expect("a number")),
            "maxItems" => expect(elements().count() as u64 <= rule.as_u64().expect("a number")),
            "uniqueItems" => {
                let all: Vec<_> = elements().collect();
                expect(all.iter().enumerate().all(|(index, element)| !all[..index].contains(element)));
            }
            "required" => {
                for name in rule.as_array().into_iter().flatten().filter_map(Value::as_str) {
                    if value.as_object().is_some_and(|members| !members.contains_key(name)) {
                        faults.push(format!("{at} lacks {name}"));
                    }
                }
            }
            "properties" => {
                for (name, member) in value.as_object().into_iter().flatten() {
                    if let Some(schema) = rule.get(name) {
                        self.check(schema, member, &format!("{at}.{name}"), faults);
                    }
                }
            }
            "additionalProperties" => {
                let known = |name: &String| rules.get("properties").is_some_and(|known| known.get(name).is_some());
                for (name, member) in value.as_object().into_iter().flatten().filter(|(name, _)| !known(name)) {
                    self.check(rule, member, &format!("{at}.{name}"), faults);
                }
            }
            "items" => {
                for (index, element) in elements().enumerate() {
                    self.check(rule, element, &format!("{at}.{index}"), faults);
                }
            }
            "$ref" => {
                let name = rule.as_str().and_then(|path| path.strip_prefix("#/$defs/")).expect("a local reference");
                self.check(&self.root["$defs"][name], value, at, faults);
            }
            "not" => expect(!self.fits(rule, value)),
            "allOf" => rule.as_array().into_iter().flatten().for_each(|part| self.check(part, value, at, faults)),
            "anyOf" => expect(self.fitting(rule, value) >= 1),
            "oneOf" => expect(self.fitting(rule, value) == 1),
            "if" => {
                let branch = if self.fits(rule, value) { "then" } else { "else" };
                self.check(rules.get(branch).unwrap_or(&Value::Bool(true)), value, at, faults);
            }
            "then" | "else" => {}
            silent if SILENT.contains(&silent) => {}
            unknown => panic!("the validator does not know the keyword {unknown}"),
        }
    }

    fn fits(&self, schema: &Value, value: &Value) -> bool {
        let mut faults = Vec::new();
        self.check(schema, value, "", &mut faults);
        faults.is_empty()
    }

    fn fitting(&self, schemas: &Value, value: &Value) -> usize {
        schemas.as_array().into_iter().flatten().filter(|schema| self.fits(schema, value)).count()
    }
}

fn types(rule: &Value) -> impl Iterator<Item = &str> {
    let one = rule.as_str().into_iter();
    one.chain(rule.as_array().into_iter().flatten().filter_map(Value::as_str))
}

fn is_of_type(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("no type {other}"),
    }
}

fn has_format(rule: &Value, text: &str) -> bool {
    match rule.as_str().expect("a format") {
        "uuid" => text.len() == 36 && Uuid::try_parse(text).is_ok_and(|id| id.to_string() == text),
        "date-time" => is_instant(text),
        "date" => text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok(),
        "email" => text.split_once('@').is_some_and(|(who, host)| !who.is_empty() && !host.is_empty()),
        "uri" => text.starts_with("http://") || text.starts_with("https://"),
        other => panic!("no format {other}"),
    }
}

/// UTC with `Z`, with six fraction digits or none, as the contract's examples are.
fn is_instant(text: &str) -> bool {
    let form = text.ends_with('Z') && (text.len() == 20 || text.len() == 27 && text.as_bytes()[19] == b'.');
    form && text.parse::<jiff::Timestamp>().is_ok()
}

fn has_pattern(rule: &Value, text: &str) -> bool {
    match rule.as_str().expect("a pattern") {
        "^[A-Z][A-Z0-9]*-[0-9]+$" => is_human_key(text),
        r"[^\s\u0085\u001c-\u001f]" => {
            text.chars().any(|c| !c.is_whitespace() && !('\u{1c}'..='\u{1f}').contains(&c))
        }
        other => panic!("no pattern {other}"),
    }
}

fn is_human_key(text: &str) -> bool {
    let Some((project, number)) = text.split_once('-') else { return false };
    let upper = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit();
    project.starts_with(|c: char| c.is_ascii_uppercase())
        && project.bytes().all(upper)
        && !number.is_empty()
        && number.bytes().all(|b| b.is_ascii_digit())
}

#[test]
fn the_examples_of_the_contract_are_valid_and_what_is_wrong_with_them_is_seen() {
    let shapes = Shapes::of_the_contract();
    let mut seen = 0;
    for (name, schema) in shapes.root["$defs"].as_object().expect("shapes") {
        for example in schema["examples"].as_array().into_iter().flatten() {
            assert_eq!(shapes.faults(name, example), Vec::<String>::new(), "{name}");
            let closed = schema["additionalProperties"] == false;
            let mut with_more = example.clone();
            if let (true, Some(members)) = (closed, with_more.as_object_mut()) {
                members.insert("surplus".into(), 1.into());
                assert!(!shapes.faults(name, &with_more).is_empty(), "{name} takes a surplus member");
            }
            for required in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                let mut with_less = example.clone();
                with_less.as_object_mut().expect("an object").remove(required);
                assert!(!shapes.faults(name, &with_less).is_empty(), "{name} does not need {required}");
            }
            seen += 1;
        }
    }
    assert!(seen > 20, "only {seen} examples");
}
