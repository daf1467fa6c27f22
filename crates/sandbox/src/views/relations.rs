//! Relations between work items. May use: `door`, `forms`, `records`, this folder.

use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::door::body::Body;
use crate::door::call::Call;
use crate::door::http::{Answer, Reply};
use crate::forms::validate::Form;
use crate::records::kinds::{Item, Relation};
use crate::records::store::World;
use crate::records::table::Id;
use crate::views::activities::{Note, note};
use crate::views::cycle_items::sent_items;

/// A kind of relation.
struct Kind {
    name: &'static str,
    /// The kind as which it is stored.
    stored: &'static str,
    /// Whether it is stored from the other work item.
    reversed: bool,
    /// Whether it has the same meaning from both sides.
    symmetric: bool,
}

const fn kind(name: &'static str, stored: &'static str, reversed: bool, symmetric: bool) -> Kind {
    Kind { name, stored, reversed, symmetric }
}

const KINDS: [Kind; 8] = [
    kind("blocking", "blocked_by", true, false),
    kind("blocked_by", "blocked_by", false, false),
    kind("duplicate", "duplicate", false, true),
    kind("relates_to", "relates_to", false, true),
    kind("start_after", "start_before", true, false),
    kind("start_before", "start_before", false, false),
    kind("finish_after", "finish_before", true, false),
    kind("finish_before", "finish_before", false, false),
];

impl Kind {
    /// Returns the other work item of a stored relation, if the relation is of this kind as seen from `item`.
    fn other(&self, relation: &Relation, item: Id) -> Option<Id> {
        let (from, to) =
            if self.reversed { (relation.related, relation.item) } else { (relation.item, relation.related) };
        if relation.kind != self.stored {
            None
        } else if from == item {
            Some(to)
        } else {
            (self.symmetric && to == item).then_some(from)
        }
    }

    /// Stores a relation, unless it exists.
    fn relate(&self, world: &mut World, project: Id, item: Id, other: Id) {
        let (from, to) = if self.reversed { (other, item) } else { (item, other) };
        if !world.relations.iter().any(|r| r.kind == self.stored && r.item == from && r.related == to) {
            let id = Uuid::new_v4();
            world.relations.add(Relation { id, project, item: from, related: to, kind: self.stored });
        }
    }
}

/// `GET relations/`: grouped by kind, as seen from the work item in the path
/// (`relations_list_other_side`).
pub(crate) fn list(call: &Call<'_>, world: &World) -> Answer {
    let mut grouped = Map::new();
    for kind in &KINDS {
        let others = world.relations.iter().filter_map(|relation| kind.other(relation, call.place.parent));
        let rows = others
            .filter_map(|other| world.items.get(other))
            .filter(|other| world.shown(other))
            .map(|other| json!({ "project_id": other.project, "issue_id": other.id }));
        grouped.insert(kind.name.to_owned(), rows.collect());
    }
    Ok(Reply::ok(Value::Object(grouped)))
}

/// Reads the kind and the other work items from a body.
fn sent(body: &Body) -> Result<(&'static Kind, Vec<Id>), Reply> {
    let mut form = Form::create(body)?;
    let name = form.choice("relation_type", &KINDS.map(|kind| kind.name));
    for name in ["relation_type", "issues"] {
        if body.get(name).is_none() {
            form.refuse(name, "This field is required.");
        }
    }
    form.finish()?;
    let kind =
        name.value().and_then(|name| KINDS.iter().find(|kind| kind.name == name)).ok_or_else(Reply::crash)?;
    Ok((kind, sent_items(body)?.unwrap_or_default()))
}

/// `POST relations/`: returns the other work items, with the stored kind (`relations_create`).
pub(crate) fn create(call: &Call<'_>, world: &mut World) -> Answer {
    let body = call.body()?;
    let (kind, others) = sent(&body)?;
    let item = call.place.parent;
    let known = |id: Id| world.items.any(id).is_some();
    if !known(item) || !others.iter().all(|&other| known(other)) {
        return Err(Reply::bad_payload());
    }
    let mut rows = Vec::new();
    for other in others {
        kind.relate(world, call.place.project, item, other);
        if let Some(record) = world.items.any(other) {
            rows.push(row(call, kind, record));
            let key = key(world, record);
            note_related(call, world, kind, item, other, &key);
        }
    }
    Ok(Reply::created(Value::Array(rows)))
}

/// Writes one of the other work items for the answer to a create.
fn row(call: &Call<'_>, kind: &Kind, other: &Item) -> Value {
    let now = call.view().instant(call.now());
    json!({
        "id": other.id,
        "project_id": other.project,
        "sequence_id": other.sequence_id,
        "relation_type": kind.stored,
        "name": other.name,
        "state_id": other.state,
        "priority": other.priority,
        "created_by": call.user,
        "created_at": now,
        "updated_by": call.user,
        "updated_at": now,
    })
}

/// The key that people use for a work item.
fn key(world: &World, item: &Item) -> String {
    let identifier = world.projects.any(item.project).map_or("", |project| project.identifier.as_str());
    format!("{identifier}-{}", item.sequence_id)
}

/// Adds the relation to the history of the work item in the path.
fn note_related(call: &Call<'_>, world: &mut World, kind: &Kind, item: Id, other: Id, key: &str) {
    let entry = Note {
        verb: "updated",
        field: Some(kind.name),
        old: Some(""),
        new: Some(key),
        comment: &format!("added {} relation", kind.name),
        old_identifier: Some(other),
        ..Note::default()
    };
    note(call, world, item, &entry);
    world.touch(other, call.now());
}
