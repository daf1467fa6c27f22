//! A walk over all reads of v2 on both sides, with the ids of one side replaced by those of the other.

use super::two::{HERE, KEY, Side, Two};
use crate::support::furnished::PLAN;
use crate::support::gateway::Answer;
use causeway::plan::{Method, Operation};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use uuid::Uuid;

/// Members that each side sets itself.
const OWN: [&str; 8] = [
    "created_at",
    "created_by_id",
    "avatar_url",
    // Only the order of options matters; these numbers express it.
    "sort_order",
    "archived_at",
    "owned_by_id",
    "previous",
    "next_cursor",
];
/// The members of the two deployments differ in this test, and no operation writes the audit log.
const ELSEWHERE: [&str; 3] = ["workspace_members", "project_members", "audit_logs"];
/// Number of read operations in a walk over records of all kinds: all but those of `ELSEWHERE`.
pub const READS: usize = 34;

/// Values for the variables of a path.
type Place = Vec<(String, String)>;
/// Ids of this side's records with the variables of their list, by resource.
type Rows = BTreeMap<String, Vec<(Place, String)>>;

/// Reads of both sides that were compared, and their differences.
#[derive(Default)]
pub struct Walked {
    /// Operations that were called at least once.
    pub operations: BTreeSet<String>,
    /// Reads on each side.
    pub reads: usize,
    /// Differences in words.
    pub unlike: Vec<String>,
}

/// Returns the target's id for each id of this side.
async fn ids(two: &Two, target: &str) -> HashMap<String, String> {
    let workspace = Uuid::parse_str("00000000-0000-4000-b000-000000000001").expect("an id");
    let records = two.store.leave_records(target, workspace).await.expect("what was carried");
    let mut ids: HashMap<String, String> =
        records.into_iter().filter_map(|record| Some((record.own.to_string(), record.theirs?))).collect();
    if two.is_upgraded() {
        return ids;
    }
    ids.extend(HERE.iter().zip(two.projects).map(|(here, there)| ((*here).to_owned(), there.to_owned())));
    for (here, there) in [(1, 51), (2, 52), (5, 55), (8, 58)] {
        let person = |number: u32| format!("00000000-0000-4000-a000-{number:012}");
        ids.insert(person(here), person(there));
    }
    for project in [0, 1] {
        for path in ["work-items", "cycles", "modules", "labels", "states"] {
            pair(two, project, path, &mut ids).await;
        }
    }
    pair_comments(two, &mut ids).await;
    ids
}

/// Pairs records that v1 holds, by number or name.
async fn pair(two: &Two, project: usize, path: &str, ids: &mut HashMap<String, String>) {
    let [here, there] = [Side::here(two), Side::there(two)].map(|side| async move {
        let list = format!("/api/v2/workspaces/acme/projects/{}/{path}/", side.projects[project]);
        all(side, &list).await
    });
    let (here, there) = (here.await, there.await);
    let key =
        |row: &Value| if row["sequence_id"].is_null() { row["name"].clone() } else { row["sequence_id"].clone() };
    let there: HashMap<String, &Value> = there.iter().map(|row| (key(row).to_string(), &row["id"])).collect();
    for row in &here {
        if let (Some(own), Some(theirs)) = (row["id"].as_str(), there.get(&key(row).to_string())) {
            ids.insert(own.to_owned(), theirs.as_str().expect("an id").to_owned());
        }
    }
}

/// Pairs the one comment of the work item that has one, where there is such an item.
async fn pair_comments(two: &Two, ids: &mut HashMap<String, String>) {
    let mut found = Vec::new();
    for side in [Side::here(two), Side::there(two)] {
        let rows = side.read(&side.web("work-items/?search=Plain")).await;
        let Some(item) = rows.data().first().and_then(|row| row["id"].as_str()) else { return };
        let comments = side.read(&side.web(&format!("work-items/{item}/comments/"))).await;
        found.extend(comments.data()[0]["id"].as_str().map(str::to_owned));
    }
    if let [own, theirs] = &found[..] {
        ids.insert(own.clone(), theirs.clone());
    }
}

async fn all(side: Side<'_>, list: &str) -> Vec<Value> {
    let (mut rows, mut offset) = (Vec::new(), Some(0));
    while let Some(at) = offset {
        let page = side.read(&format!("{list}?per_page=200&offset={at}")).await;
        rows.extend(page.data().iter().cloned());
        offset = page.json["next"].as_u64();
    }
    rows
}

/// Compares all reads of both sides.
pub async fn walk(two: &Two) -> Walked {
    walk_to(two, two.there.base()).await
}

/// The same for a target that had another address.
pub async fn walk_to(two: &Two, target: &str) -> Walked {
    let ids = ids(two, target).await;
    let mut walked = Walked::default();
    let mut rows = Rows::new();
    let mut reads: Vec<&Operation> =
        PLAN.operations.iter().filter(|operation| operation.method == Method::Get).collect();
    reads.sort_by_key(|operation| (!operation.is_list(), operation.path.variables().count()));
    for operation in reads {
        let resource = PLAN.resource_of(operation).name.clone();
        if ELSEWHERE.contains(&resource.as_str()) {
            continue;
        }
        for place in places(operation, &resource, &rows) {
            let path = |terms: &dyn Fn(&str) -> String| {
                let value =
                    |name: &str| place.iter().find(|(known, _)| known == name).map(|(_, value)| terms(value));
                let filled: Vec<(String, String)> = operation
                    .path
                    .variables()
                    .map(|name| (name.to_owned(), value(name).unwrap_or_default()))
                    .collect();
                let of =
                    |name: &str| filled.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
                format!("/{}", operation.path.fill(of).expect("a path").trim_start_matches('/'))
            };
            // Work items made in one moment are in the order of their ids, which differ.
            let order = if operation.id == "work_items_list" { "&order_by=sequence_id" } else { "" };
            let mut page = operation.is_list().then(|| format!("?per_page=200{order}"));
            loop {
                let query = page.take().unwrap_or_default();
                let here = format!("{}{query}", path(&str::to_owned));
                let there = format!("{}{query}", path(&|id| ids.get(id).cloned().unwrap_or_else(|| id.to_owned())));
                let answer = two.here.get(KEY, &here).await;
                let other = two.there.get(KEY, &there).await;
                walked.operations.insert(operation.id.clone());
                walked.reads += 1;
                if answer.status != other.status {
                    walked.unlike.push(format!("{here}: {} and {there}: {}", answer.status, other.status));
                    break;
                }
                let (ours, theirs) = (in_terms(&answer.json, &ids), in_terms(&other.json, &HashMap::new()));
                if ours != theirs {
                    walked.unlike.push(format!("{here}\n  {ours}\n  {theirs}"));
                }
                if !operation.is_list() {
                    break;
                }
                note_rows(&mut rows, &resource, &place, &answer);
                let Some(next) = answer.json["next"].as_u64() else { break };
                page = Some(format!("?per_page=200{order}&offset={next}"));
            }
        }
    }
    walked
}

/// Notes the records of a list, so that each can be read alone.
fn note_rows(rows: &mut Rows, resource: &str, place: &Place, answer: &Answer) {
    let found = answer.data().iter().filter_map(|row| Some((place.clone(), row["id"].as_str()?.to_owned())));
    rows.entry(resource.to_owned()).or_default().extend(found);
    if resource == "work_items" {
        let keys = answer.data().iter().filter_map(|row| row["identifier"].as_str().map(str::to_owned));
        rows.entry("identifier".into()).or_default().extend(keys.map(|key| (Vec::new(), key)));
    }
}

/// Returns the possible values of the variables in an operation's path.
fn places(operation: &Operation, resource: &str, rows: &Rows) -> Vec<Place> {
    let surface = if operation.path.as_str().contains("/projects/") { "project" } else { "workspace" };
    let mut places: Vec<Place> = vec![Vec::new()];
    for name in operation.path.variables() {
        let parent = match name {
            "property_id" => format!("{surface}_work_item_properties"),
            "type_id" => format!("{surface}_work_item_types"),
            "work_item_id" => "work_items".to_owned(),
            "pk" => resource.to_owned(),
            other => other.to_owned(),
        };
        let mut next = Vec::new();
        for place in places {
            let values: Vec<String> = match name {
                "slug" => vec!["acme".to_owned()],
                "project_id" => HERE.iter().map(|id| (*id).to_owned()).collect(),
                _ => {
                    let known = rows.get(&parent).map(Vec::as_slice).unwrap_or_default();
                    let of_place = known.iter().filter(|(found, _)| {
                        found
                            .iter()
                            .all(|(name, value)| place.iter().all(|(known, other)| known != name || other == value))
                    });
                    of_place.map(|(_, id)| id.clone()).collect()
                }
            };
            next.extend(values.into_iter().map(|value| {
                let mut place = place.clone();
                place.push((name.to_owned(), value));
                place
            }));
        }
        places = next;
    }
    places
}

/// Returns a record without the members that each side sets itself, with translated ids and sorted unordered lists.
fn in_terms(value: &Value, ids: &HashMap<String, String>) -> Value {
    match value {
        Value::String(text) => json!(ids.get(text).unwrap_or(text)),
        Value::Array(elements) => {
            let mut elements: Vec<Value> = elements.iter().map(|element| in_terms(element, ids)).collect();
            if elements.iter().all(Value::is_string) && elements.iter().all(is_id) {
                elements.sort_by_key(|element| element.to_string());
            }
            Value::Array(elements)
        }
        Value::Object(members) => {
            let kept = members.iter().filter(|(name, _)| !OWN.contains(&name.as_str()));
            let is_record_of_its_own = members.contains_key("is_wiki_enabled");
            let kept = kept.filter(|(name, _)| !(is_record_of_its_own && *name == "id"));
            Value::Object(kept.map(|(name, value)| (name.clone(), in_terms(value, ids))).collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

fn is_id(value: &Value) -> bool {
    value.as_str().is_some_and(|text| Uuid::try_parse(text).is_ok())
}
