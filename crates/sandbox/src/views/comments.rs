//! Comments of a work item. The sandbox does not check whether the work item is visible or belongs to this project.
//! May use: `door`, `forms`, `lists`, `records`.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::door::body::Body;
use crate::door::call::{Call, SentExternal, pair_holder, pair_taken, sent_created_at};
use crate::door::http::{Answer, Reply};
use crate::forms::fields::{FULL, Row};
use crate::forms::item_shape::full;
use crate::forms::validate::{Form, SentValue, Text};
use crate::forms::values;
use crate::lists::paging::paginate;
use crate::records::kinds::{Comment, External, Stamp};
use crate::records::store::World;
use crate::records::table::Id;

/// v1's name for a comment in messages.
const KIND: &str = "Work item comment";

/// Writes a comment as reads show it, with `is_member`.
fn render(row: &mut Row<'_>, world: &World, comment: &Comment) {
    row.id(comment.id).set("is_member", true);
    tail(row, world, comment);
}

/// Writes a comment as the answers to writes show it.
fn render_written(row: &mut Row<'_>, world: &World, comment: &Comment) {
    row.id(comment.id);
    tail(row, world, comment);
}

fn tail(row: &mut Row<'_>, world: &World, comment: &Comment) {
    let view = row.view();
    row.stamps(&comment.stamp, comment.deleted_at)
        .set("comment_html", comment.html.as_str())
        .with("attachments", || json!([]))
        .set("access", comment.access.as_str())
        .external(&comment.external)
        // v1 never sets it, whatever is edited (`comments_patch_html`).
        .set("edited_at", Value::Null)
        .origin(&comment.stamp, comment.project, comment.workspace)
        .reference("description", Some(comment.description))
        .related("issue", Some(comment.item), |id| full(view, world, id))
        .person("actor", Some(comment.actor))
        .reference("parent", None);
}

/// The comments of the work item in the path that were created through this project, newest first
/// (`comments_list_crossed`, `comments_list_crossed_home`).
fn visible<'w>(call: &Call<'_>, world: &'w World) -> Vec<&'w Comment> {
    let project = call.place.project;
    if !world.readable(project) {
        return Vec::new();
    }
    let comments = world.comments.of(call.place.parent);
    let mut comments: Vec<&Comment> = comments.filter(|c| c.project == project).collect();
    comments.sort_by_key(|comment| std::cmp::Reverse(comment.stamp.created_at));
    comments
}

/// `GET comments/`.
pub(crate) fn list(call: &Call<'_>, world: &World) -> Answer {
    let shape = call.shape();
    let comments = visible(call, world);
    paginate(&call.query, &comments, |comment| call.write(&shape, world, *comment, render))
}

fn found<'w>(call: &Call<'_>, world: &'w World) -> Result<&'w Comment, Reply> {
    let project = call.place.project;
    world
        .comments
        .get(call.place.id)
        .filter(|c| c.item == call.place.parent && c.project == project)
        .ok_or_else(Reply::not_found)
}

/// `GET comments/{id}/`: not found through another work item
/// (`comments_get_through_other_item`).
pub(crate) fn read(call: &Call<'_>, world: &World) -> Answer {
    let comment = found(call, world)?;
    Ok(Reply::ok(call.write(&call.shape(), world, comment, render)))
}

struct Fields {
    html: SentValue<String>,
    access: SentValue<&'static str>,
    external: SentExternal,
}

/// Reads the fields. The HTML is stored as sent, trimmed (`comments_create_script_kept`,
/// `comments_create_blank_html`).
fn fields(mut form: Form<'_>) -> Result<Fields, Reply> {
    let fields = Fields {
        html: form.text("comment_html", Text::BLANK.long()),
        access: form.choice("access", &["INTERNAL", "EXTERNAL"]),
        external: SentExternal::read(&mut form),
    };
    form.finish()?;
    Ok(fields)
}

fn apply(fields: Fields, comment: &mut Comment) {
    fields.html.store(&mut comment.html);
    fields.external.store(&mut comment.external);
    if let SentValue::Is(access) = fields.access {
        access.clone_into(&mut comment.access);
    }
}

/// The external pairs of all comments of a project: they are unique in the project, not per work item
/// (`comments_create_duplicate_external_on_other_item`).
fn pairs(world: &World, project: Id) -> impl Iterator<Item = (Id, &External)> {
    let comments = world.comments.iter();
    comments.filter(move |c| c.project == project).map(|c| (c.id, &c.external))
}

/// `POST comments/`: on any work item that ever existed, also a deleted one or one of another workspace
/// (`comments_create_on_deleted_item`,
/// `comments_create_on_foreign_workspace_item_accepted`). Author and time of the body are applied
/// after the comment was stored, so an invalid value leaves the comment behind
/// (`comments_create_bad_created_at_leaves_a_ghost`).
pub(crate) fn create(call: &Call<'_>, world: &mut World) -> Answer {
    let body = call.body()?;
    // `comments_create_array_body`
    if body.is_array() {
        return Err(Reply::crash());
    }
    let project = call.place.project;
    if let Some(holder) = pair_holder(&body, pairs(world, project)) {
        return Err(Reply::external_taken(KIND, holder));
    }
    let fields = fields(Form::create(&body)?)?;
    let item = call.place.parent;
    if world.items.any(item).is_none() {
        return Err(Reply::bad_payload());
    }
    let mut comment = blank(call, world)?;
    apply(fields, &mut comment);
    // `created_at` is stored later than `updated_at` (`comments_get`).
    comment.stamp.created_at = call.now();
    let id = comment.id;
    world.comments.add(comment);
    world.touch(item, call.now());
    let created_at = sent_created_at(&body)?;
    let author = sent_author(&body, call, world)?;
    let comment = world.comments.get_mut(id).ok_or_else(Reply::crash)?;
    comment.stamp.created_at = created_at.unwrap_or(comment.stamp.created_at);
    comment.stamp.created_by = Some(author);
    // The answer shows an updater, and the sent author as actor; neither of them is stored
    // (`comments_get`, `comments_get_as_someone_else`).
    let mut answered = comment.clone();
    answered.actor = author;
    answered.stamp.updated_by = Some(call.user);
    let answer = call.write(&FULL, world, &answered, render_written);
    Ok(Reply::created(answer))
}

/// Creates a comment of the caller on the work item in the path.
fn blank(call: &Call<'_>, world: &World) -> Result<Comment, Reply> {
    let project = world.projects.get(call.place.project).ok_or_else(Reply::not_found)?;
    Ok(Comment {
        id: Uuid::new_v4(),
        item: call.place.parent,
        project: project.id,
        workspace: project.workspace,
        stamp: Stamp::new(call.user, call.now()),
        deleted_at: None,
        html: "<p></p>".to_owned(),
        access: "INTERNAL".to_owned(),
        actor: call.user,
        description: Uuid::new_v4(),
        external: External::default(),
    })
}

/// The author that a body names, or the caller.
fn sent_author(body: &Body, call: &Call<'_>, world: &World) -> Result<Id, Reply> {
    let Some(text) = body.truthy("created_by") else {
        return Ok(call.user);
    };
    let author = values::id(&text).ok_or_else(Reply::bad_detail)?;
    world.users.get(author).map(|user| user.id).ok_or_else(Reply::bad_payload)
}

/// `PATCH comments/{id}/`: allowed for anyone in the project
/// (`comments_patch_of_others_by_guest_accepted`).
pub(crate) fn update(call: &Call<'_>, world: &mut World) -> Answer {
    let mut comment = found(call, world)?.clone();
    let body = call.body()?;
    let id = comment.id;
    let others = pairs(world, comment.project).filter(|(other, _)| *other != id);
    if pair_taken(&body, &comment.external, others) {
        return Err(Reply::external_taken(KIND, id));
    }
    let fields = fields(Form::update(&body)?)?;
    apply(fields, &mut comment);
    comment.stamp.change(call.user, call.now());
    let answer = call.write(&FULL, world, &comment, render_written);
    let item = comment.item;
    world.comments.put(comment);
    world.touch(item, call.now());
    Ok(Reply::ok(answer))
}

/// `DELETE comments/{id}/`: allowed for anyone in the project.
pub(crate) fn delete(call: &Call<'_>, world: &mut World) -> Answer {
    let id = found(call, world)?.id;
    let now = call.now();
    world.comments.change(id, |comment| comment.deleted_at = Some(now));
    world.touch(call.place.parent, now);
    Ok(Reply::no_content())
}
