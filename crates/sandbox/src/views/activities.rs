//! The history of a work item. The sandbox records the events that the recordings show: creation, links and relations.
//! May use: `door`, `forms`, `lists`, `records`.

use std::cmp::Reverse;

use serde_json::{Value, json};
use uuid::Uuid;

use crate::door::call::Call;
use crate::door::http::{Answer, Reply};
use crate::forms::fields::Row;
use crate::lists::paging::paginate;
use crate::records::kinds::Activity;
use crate::records::store::World;
use crate::records::table::Id;

fn render(row: &mut Row<'_>, _: &World, activity: &Activity) {
    row.id(activity.id)
        .instant("created_at", Some(activity.at))
        .instant("updated_at", Some(activity.at))
        .set("deleted_at", Value::Null)
        .set("verb", activity.verb)
        .set("field", activity.field.clone())
        .set("old_value", activity.old_value.clone())
        .set("new_value", activity.new_value.clone())
        .set("comment", activity.comment.as_str())
        .with("attachments", || json!([]))
        .with("old_identifier", || json!(activity.old_identifier))
        .with("new_identifier", || json!(activity.new_identifier))
        .with("epoch", || {
            #[expect(clippy::cast_precision_loss, reason = "seconds fit a float")]
            let epoch = activity.at.as_second() as f64;
            json!(epoch)
        })
        .project(Some(activity.project))
        .workspace(activity.workspace)
        .reference("issue", Some(activity.item))
        .reference("issue_comment", None)
        .person("actor", Some(activity.actor));
}

/// An event, for [`note`].
#[derive(Default)]
pub(crate) struct Note<'n> {
    pub(crate) verb: &'static str,
    pub(crate) field: Option<&'n str>,
    pub(crate) old: Option<&'n str>,
    pub(crate) new: Option<&'n str>,
    pub(crate) comment: &'n str,
    pub(crate) old_identifier: Option<Id>,
    pub(crate) new_identifier: Option<Id>,
}

/// Adds an entry to a work item's history and moves its `updated_at`.
pub(crate) fn note(call: &Call<'_>, world: &mut World, item: Id, note: &Note<'_>) {
    let Some(record) = world.items.any(item) else {
        return;
    };
    let now = call.now();
    let activity = Activity {
        id: Uuid::new_v4(),
        item,
        project: record.project,
        workspace: record.workspace,
        at: now,
        actor: call.user,
        verb: note.verb,
        field: note.field.map(str::to_owned),
        old_value: note.old.map(str::to_owned),
        new_value: note.new.map(str::to_owned),
        comment: note.comment.to_owned(),
        old_identifier: note.old_identifier,
        new_identifier: note.new_identifier,
    };
    world.activities.add(activity);
    world.touch(item, now);
}

/// Adds the first entry of a work item: its creation.
pub(crate) fn note_created(call: &Call<'_>, world: &mut World, item: Id) {
    let created = Note { verb: "created", comment: "created the issue", ..Note::default() };
    note(call, world, item, &created);
}

/// The history of the work item in the path, oldest first.
fn history<'w>(call: &Call<'_>, world: &'w World) -> Vec<&'w Activity> {
    let project = call.place.project;
    if !world.readable(project) {
        return Vec::new();
    }
    let all = world.activities.of(call.place.parent);
    all.filter(|activity| activity.project == project).collect()
}

/// `GET activities/`: an empty page for an unknown item (`activities_list_random_item`); an unknown
/// order is a 500 (`activities_list_order_unknown`).
pub(crate) fn list(call: &Call<'_>, world: &World) -> Answer {
    let mut rows = history(call, world);
    match call.query.get("order_by") {
        None | Some("created_at" | "updated_at" | "epoch") => {}
        Some("-created_at" | "-updated_at" | "-epoch") => rows.sort_by_key(|row| Reverse(row.at)),
        Some("id") => rows.sort_by_key(|row| row.id),
        Some("-id") => rows.sort_by_key(|row| Reverse(row.id)),
        Some("verb") => rows.sort_by_key(|row| row.verb),
        Some("-verb") => rows.sort_by_key(|row| Reverse(row.verb)),
        Some("field") => rows.sort_by_key(|row| (row.field.is_none(), row.field.clone())),
        Some("-field") => rows.sort_by_key(|row| Reverse((row.field.is_none(), row.field.clone()))),
        Some(_) => return Err(Reply::crash()),
    }
    let shape = call.shape();
    paginate(&call.query, &rows, |row| call.write(&shape, world, *row, render))
}

/// `GET activities/{id}/`, with a 404 of its own shape (`activities_get_random`).
pub(crate) fn read(call: &Call<'_>, world: &World) -> Answer {
    let rows = history(call, world);
    let row = rows.iter().find(|row| row.id == call.place.id).ok_or_else(|| {
        let body = json!({ "message": "Activity not found.", "code": "NOT_FOUND" });
        Reply::json(404, body)
    })?;
    Ok(Reply::ok(call.write(&call.shape(), world, *row, render)))
}
