//! The v2 request with the meaning of a recorded v1 request, and the v2 form of v1's record. Written from the
//! contract, not from the mappings, so that the two can disagree.
//!
//! May use: nothing but JSON and the clock's types.

use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// A resource that both interfaces have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    State,
    Label,
    Cycle,
    Module,
    ProjectMember,
    WorkspaceMember,
    User,
}

/// The form of a v1 value in v2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum As {
    Same,
    Instant,
    Creator,
    Set,
    /// v1 cannot store it; the last value sent to v2 counts.
    Kept,
}

type Field = (&'static str, &'static str, As);

const STATE: &[Field] = &[
    ("id", "id", As::Same),
    ("name", "name", As::Same),
    ("description", "description", As::Same),
    ("color", "color", As::Same),
    ("group", "group", As::Same),
    ("sequence", "sequence", As::Same),
    ("is_default", "default", As::Same),
    ("is_triage", "is_triage", As::Same),
    ("external_id", "external_id", As::Same),
    ("external_source", "external_source", As::Same),
    ("created_at", "created_at", As::Instant),
    ("created_by_id", "created_by", As::Creator),
];
const LABEL: &[Field] = &[
    ("id", "id", As::Same),
    ("name", "name", As::Same),
    ("description", "description", As::Same),
    ("color", "color", As::Same),
    ("sort_order", "sort_order", As::Same),
    ("parent_id", "parent", As::Same),
    ("external_id", "external_id", As::Same),
    ("external_source", "external_source", As::Same),
    ("created_at", "created_at", As::Instant),
    ("created_by_id", "created_by", As::Creator),
];
const CYCLE: &[Field] = &[
    ("id", "id", As::Same),
    ("name", "name", As::Same),
    ("description", "description", As::Same),
    ("start_date", "start_date", As::Instant),
    ("end_date", "end_date", As::Instant),
    ("timezone", "timezone", As::Kept),
    ("owned_by_id", "owned_by", As::Same),
    ("sort_order", "sort_order", As::Kept),
    ("logo_props", "logo_props", As::Kept),
    ("external_id", "external_id", As::Same),
    ("external_source", "external_source", As::Same),
    ("created_at", "created_at", As::Instant),
    ("created_by_id", "created_by", As::Creator),
];
const MODULE: &[Field] = &[
    ("id", "id", As::Same),
    ("name", "name", As::Same),
    ("description", "description", As::Same),
    ("status", "status", As::Same),
    ("start_date", "start_date", As::Same),
    ("target_date", "target_date", As::Same),
    ("lead_id", "lead", As::Same),
    ("member_ids", "members", As::Set),
    ("sort_order", "sort_order", As::Kept),
    ("logo_props", "logo_props", As::Kept),
    ("external_id", "external_id", As::Same),
    ("external_source", "external_source", As::Same),
    ("archived_at", "archived_at", As::Instant),
    ("created_at", "created_at", As::Instant),
    ("created_by_id", "created_by", As::Creator),
];
const USER: &[Field] =
    &[("id", "id", As::Same), ("email", "email", As::Same), ("display_name", "display_name", As::Same)];

/// The v2 names of members of v1 bodies and queries that have another name in v2.
const RENAMED: [(&str, &str); 7] = [
    ("default", "is_default"),
    ("parent", "parent_id"),
    ("lead", "lead_id"),
    ("members", "member_ids"),
    ("owned_by", "owned_by_id"),
    ("created_by", "created_by_id"),
    ("state", "state_id"),
];
/// Members that v2 only shows: they have no effect in a request.
const SHOWN_ONLY: [&str; 7] =
    ["id", "is_triage", "owned_by_id", "member_ids", "archived_at", "created_at", "created_by_id"];

impl Kind {
    /// Name of its read shape in the contract.
    pub fn shape(self) -> &'static str {
        match self {
            Self::State => "State",
            Self::Label => "Label",
            Self::Cycle => "Cycle",
            Self::Module => "Module",
            Self::ProjectMember | Self::WorkspaceMember => "Member",
            Self::User => "CurrentUser",
        }
    }

    pub fn is_roster(self) -> bool {
        matches!(self, Self::ProjectMember | Self::WorkspaceMember)
    }

    fn fields(self) -> &'static [Field] {
        match self {
            Self::State => STATE,
            Self::Label => LABEL,
            Self::Cycle => CYCLE,
            Self::Module => MODULE,
            Self::User => USER,
            Self::ProjectMember | Self::WorkspaceMember => &[],
        }
    }

    /// Checks whether v1 cannot store the field, so that the last value sent to v2 counts.
    pub fn keeps(self, field: &str) -> bool {
        self.fields().iter().any(|(name, _, kept)| *name == field && *kept == As::Kept)
    }
}

/// A v1 path that has a counterpart in v2.
#[derive(Debug, Clone)]
pub struct Route {
    pub kind: Kind,
    pub workspace: Option<String>,
    pub project: Option<String>,
    pub record: Option<String>,
}

/// The counterpart of a v1 path, if v2 has one.
pub fn route(path: &str) -> Option<Route> {
    let parts: Vec<&str> = path.strip_prefix("/api/v1/")?.split('/').collect();
    let (kind, rest) = match parts.as_slice() {
        ["users", "me", ""] => (Kind::User, [].as_slice()),
        ["workspaces", _, "members", ""] => (Kind::WorkspaceMember, [].as_slice()),
        ["workspaces", _, "projects", _, "members" | "project-members", ""] => (Kind::ProjectMember, [].as_slice()),
        ["workspaces", _, "projects", _, "states", rest @ ..] => (Kind::State, rest),
        ["workspaces", _, "projects", _, "labels", rest @ ..] => (Kind::Label, rest),
        ["workspaces", _, "projects", _, "cycles", rest @ ..] => (Kind::Cycle, rest),
        ["workspaces", _, "projects", _, "modules", rest @ ..] => (Kind::Module, rest),
        _ => return None,
    };
    let record = match rest {
        [] | [""] => None,
        [id, ""] => Some((*id).to_owned()),
        _ => return None,
    };
    let part = |index: usize| parts.get(index).map(|part| (*part).to_owned());
    let in_project = !matches!(kind, Kind::User | Kind::WorkspaceMember);
    Some(Route {
        kind,
        workspace: part(1).filter(|_| kind != Kind::User),
        project: part(3).filter(|_| in_project),
        record,
    })
}

/// The v2 path of a v1 path.
pub fn path(v1: &str) -> String {
    v1.replacen("/api/v1/", "/api/v2/", 1).replace("/project-members/", "/members/")
}

/// Returns the v2 query for a v1 query, without parameters that v2 lacks.
pub fn query(kind: Kind, v1: &str) -> String {
    let foreign = ["fields", "expand", "cycle_view"];
    let parts = v1.split('&').filter(|part| !part.is_empty());
    let parts = parts.filter(|part| match part.split_once('=') {
        // Cursors of v1 are not those of v2; a value that is a cursor in neither stays.
        Some(("cursor", token)) => token.split([':', '-']).any(|part| part.parse::<u32>().is_err()),
        Some((name, _)) => !foreign.contains(&name),
        None => true,
    });
    let renamed = parts.map(|part| match part.split_once('=') {
        Some((name, value)) => format!("{}={value}", renamed(name)),
        None => part.to_owned(),
    });
    // The current user takes no parameters at all.
    let renamed: Vec<String> = renamed.filter(|_| kind != Kind::User).collect();
    renamed.join("&")
}

fn renamed(name: &str) -> &str {
    RENAMED.iter().find(|(v1, _)| *v1 == name).map_or(name, |(_, v2)| v2)
}

/// Returns the v2 body for a v1 body. Members that v2 knows but v1 does not were noise in the recording, and are left
/// out; so are ids that v2 takes from the path.
pub fn body(v1: &Value) -> Value {
    let Value::Object(members) = v1 else { return v1.clone() };
    let in_the_path = ["project_id", "project", "workspace"];
    let is_noise = |name: &str| RENAMED.iter().any(|(_, v2)| *v2 == name) || in_the_path.contains(&name);
    let members = members.iter().filter(|(name, _)| !is_noise(name));
    Value::Object(members.map(|(name, value)| (renamed(name).to_owned(), value.clone())).collect())
}

/// Returns the v2 form of a v1 record; `kept` returns the last value sent to v2 for a field that v1 cannot store.
pub fn record(kind: Kind, v1: &Value, kept: impl Fn(&str, &str) -> Option<Value>) -> Map<String, Value> {
    let id = v1["id"].as_str().unwrap_or_default();
    let value = |(v2, v1_name, how): &Field| {
        let value = &v1[*v1_name];
        let value = match how {
            As::Same => value.clone(),
            As::Instant => instant(value),
            As::Creator if value.is_null() => json!("00000000-0000-0000-0000-000000000000"),
            As::Creator => value.clone(),
            As::Set => value.clone(),
            As::Kept => kept(id, v2).unwrap_or_else(|| value.clone()),
        };
        ((*v2).to_owned(), value)
    };
    kind.fields().iter().map(value).collect()
}

/// Returns an instant in the one form of v2.
pub fn instant(value: &Value) -> Value {
    match value.as_str().and_then(|text| text.parse::<jiff::Timestamp>().ok()) {
        Some(at) => json!(format!("{at:.6}")),
        None => value.clone(),
    }
}

/// Returns the differences between a v2 record and the expected one.
pub fn differences(expected: &Map<String, Value>, shown: &Value) -> Vec<String> {
    let differs = |(name, value): (&String, &Value)| {
        let found = &shown[name.as_str()];
        (!same(value, found)).then(|| format!("{name}: {found} instead of {value}"))
    };
    expected.iter().filter_map(differs).collect()
}

fn same(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            let set = |values: &[Value]| values.iter().map(Value::to_string).collect::<BTreeSet<_>>();
            set(a) == set(b) && b.len() == set(b).len()
        }
        (a, b) => a == b,
    }
}

/// Returns the members of a v2 body whose meaning the answer does not show.
pub fn unmet(kind: Kind, sent: &Value, shown: &Value) -> Vec<String> {
    let Some(sent) = sent.as_object() else { return Vec::new() };
    let writable = sent.iter().filter(|(name, _)| {
        !SHOWN_ONLY.contains(&name.as_str()) && kind.fields().iter().any(|(known, ..)| known == name)
    });
    let differs = |(name, value): (&String, &Value)| {
        let found = &shown[name.as_str()];
        let met = match value {
            Value::String(text) if text.parse::<jiff::Timestamp>().is_ok() => &instant(value) == found,
            // A bare date is midnight in the zone of the cycle; times without a zone are checked by tests of
            // their own.
            Value::String(_) if name.ends_with("_date") && kind == Kind::Cycle => found.is_string(),
            Value::String(text) => found.as_str() == Some(text.trim()),
            value => same(value, found),
        };
        (!met).then(|| format!("{name}: {found}, though {value} was sent"))
    };
    writable.filter_map(differs).collect()
}
