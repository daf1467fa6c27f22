//! Relations between work items. Uses the store, the forms and the history.

use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::door::call::Call;
use crate::door::http::{Answer, Reply};
use crate::forms::validate::{Form, Sent};
use crate::records::kinds::Relation;
use crate::records::store::World;
use crate::records::table::Id;
use crate::views::activities::{Note, note};
use crate::views::cycle_items::sent_items;

/// Each kind, the kind it is stored as, and whether it is stored from the other item.
const KINDS: [(&str, &str, bool); 8] = [
    ("blocking", "blocked_by", true),
    ("blocked_by", "blocked_by", false),
    ("duplicate", "duplicate", false),
    ("relates_to", "relates_to", false),
    ("start_after", "start_before", true),
    ("start_before", "start_before", false),
    ("finish_after", "finish_before", true),
    ("finish_before", "finish_before", false),
];

/// `GET relations/`: grouped by kind, each seen from the work item in the path
/// (`relations_list_other_side`).
pub(crate) fn list(call: &Call<'_>, world: &World) -> Answer {
    let item = call.place.parent;
    let mut grouped = Map::new();
    for (kind, stored, reversed) in KINDS {
        let symmetric = matches!(stored, "duplicate" | "relates_to");
        let others = world.relations.iter().filter(|r| r.kind == stored);
        let others = others.filter_map(|r| {
            let (from, to) = if reversed { (r.related, r.item) } else { (r.item, r.related) };
            if from == item {
                Some(to)
            } else if symmetric && to == item {
                Some(from)
            } else {
                None
            }
        });
        let rows: Vec<Value> = others
            .filter_map(|other| world.items.get(other))
            .filter(|other| world.shown(other))
            .map(|other| json!({ "project_id": other.project, "issue_id": other.id }))
            .collect();
        grouped.insert(kind.to_owned(), Value::Array(rows));
    }
    Ok(Reply::ok(Value::Object(grouped)))
}

/// `POST relations/`: answers the other work items, under the stored kind (`relations_create`).
pub(crate) fn create(call: &Call<'_>, world: &mut World) -> Answer {
    let body = call.body()?;
    let mut form = Form::create(&body)?;
    let kind = form.choice("relation_type", &KINDS.map(|(kind, _, _)| kind));
    if body.get("relation_type").is_none() {
        form.refuse("relation_type", "This field is required.");
    }
    if body.get("issues").is_none() {
        form.refuse("issues", "This field is required.");
    }
    form.finish()?;
    let Sent::Is(kind) = kind else {
        return Err(Reply::crash());
    };
    let others = sent_items(&body)?.unwrap_or_default();
    let item = call.place.parent;
    let known = |id: Id| world.items.any(id).is_some();
    if !known(item) || !others.iter().all(|&other| known(other)) {
        return Err(Reply::bad_payload());
    }
    let Some((_, stored, reversed)) = KINDS.into_iter().find(|(name, _, _)| *name == kind) else {
        return Err(Reply::crash());
    };
    let mut rows = Vec::new();
    for other in others {
        let (from, to) = if reversed { (other, item) } else { (item, other) };
        let same = |r: &Relation| r.kind == stored && r.item == from && r.related == to;
        let present = world.relations.iter().any(same);
        if !present {
            world.relations.add(Relation {
                id: Uuid::new_v4(),
                project: call.place.project,
                item: from,
                related: to,
                kind: stored,
            });
        }
        let now = call.now();
        let view = call.view();
        let Some(record) = world.items.any(other) else {
            continue;
        };
        let identifier = world.projects.any(record.project).map_or("", |project| project.identifier.as_str());
        let key = format!("{identifier}-{}", record.sequence_id);
        let comment = format!("added {kind} relation");
        rows.push(json!({
            "id": other,
            "project_id": record.project,
            "sequence_id": record.sequence_id,
            "relation_type": stored,
            "name": record.name,
            "state_id": record.state,
            "priority": record.priority,
            "created_by": call.user,
            "created_at": view.instant(now),
            "updated_by": call.user,
            "updated_at": view.instant(now),
        }));
        let entry = Note {
            verb: "updated",
            field: Some(kind),
            old: Some(""),
            new: Some(&key),
            comment: &comment,
            old_identifier: Some(other),
            new_identifier: None,
        };
        note(call, world, item, &entry);
        world.touch(other, call.now());
    }
    Ok(Reply::created(Value::Array(rows)))
}
