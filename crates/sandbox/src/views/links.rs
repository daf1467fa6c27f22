//! Links of a work item. May use: `door`, `forms`, `lists`, `records`, this folder.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::door::call::Call;
use crate::door::http::{Answer, Reply};
use crate::forms::fields::{FULL, Row};
use crate::forms::validate::{Form, SentValue, Text};
use crate::lists::paging::paginate;
use crate::records::kinds::{Link, Stamp};
use crate::records::store::World;
use crate::views::activities::{Note, note};

fn render(row: &mut Row<'_>, _: &World, link: &Link) {
    row.id(link.id)
        .stamps(&link.stamp, link.deleted_at)
        .set("title", link.title.clone())
        .set("url", link.url.as_str())
        .with("metadata", || link.metadata.clone())
        .origin(&link.stamp, link.project, link.workspace)
        .reference("issue", Some(link.item));
}

fn visible<'w>(call: &Call<'_>, world: &'w World) -> Vec<&'w Link> {
    let project = call.place.project;
    if !world.readable(project) {
        return Vec::new();
    }
    let links = world.links.of(call.place.parent);
    links.rev().filter(|link| link.project == project).collect()
}

/// `GET links/`: newest first.
pub(crate) fn list(call: &Call<'_>, world: &World) -> Answer {
    let shape = call.shape();
    let links = visible(call, world);
    paginate(&call.query, &links, |link| call.write(&shape, world, *link, render))
}

fn found<'w>(call: &Call<'_>, world: &'w World) -> Result<&'w Link, Reply> {
    let project = call.place.project;
    world
        .links
        .get(call.place.id)
        .filter(|link| link.item == call.place.parent && link.project == project)
        .ok_or_else(Reply::not_found)
}

/// `GET links/{id}/`.
pub(crate) fn read(call: &Call<'_>, world: &World) -> Answer {
    let link = found(call, world)?;
    Ok(Reply::ok(call.write(&call.shape(), world, link, render)))
}

/// Checks an address: first its form, then its scheme (`links_create_javascript`,
/// `links_create_bad_scheme`).
fn check_url(form: &mut Form<'_>, url: &SentValue<String>) {
    let SentValue::Is(url) = url else { return };
    let host = url.split_once("://").map(|(scheme, rest)| {
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        (scheme, host)
    });
    match host {
        Some((scheme, host)) if !host.is_empty() && !url.contains(char::is_whitespace) && !scheme.is_empty() => {
            if !matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https") {
                form.refuse("url", "Invalid URL scheme.");
            }
        }
        _ => form.refuse("url", "Invalid URL format."),
    }
}

fn duplicate() -> Reply {
    Reply::error(400, "URL already exists for this Issue")
}

/// `POST links/`.
pub(crate) fn create(call: &Call<'_>, world: &mut World) -> Answer {
    let body = call.body()?;
    let mut form = Form::create(&body)?;
    let title = form.text("title", Text::NULL);
    let url = form.text("url", Text::REQUIRED.long());
    check_url(&mut form, &url);
    form.finish()?;
    let url = url.value().unwrap_or_default();
    let item = call.place.parent;
    if world.links.of(item).any(|link| link.url == url) {
        return Err(duplicate());
    }
    if world.items.any(item).is_none() {
        return Err(Reply::bad_payload());
    }
    let project = call.place.project;
    let workspace = world.projects.get(project).ok_or_else(Reply::not_found)?.workspace;
    let mut stamp = Stamp::new(call.user, call.now());
    stamp.updated_by = Some(call.user);
    let mut link = Link {
        id: Uuid::new_v4(),
        item,
        project,
        workspace,
        stamp,
        deleted_at: None,
        title: title.value(),
        url,
        metadata: json!({}),
    };
    let answer = call.write(&FULL, world, &link, render);
    // v1 fetches title and icon in the background and then loses the author
    // (`links_patch`). The sandbox fetches nothing.
    link.stamp.created_by = None;
    link.metadata = json!({ "url": link.url, "title": null, "favicon": null, "favicon_url": null });
    let url = link.url.clone();
    world.links.add(link);
    let entry = Note {
        verb: "created",
        field: Some("link"),
        new: Some(&url),
        comment: "created a link",
        ..Note::default()
    };
    note(call, world, item, &entry);
    Ok(Reply::created(answer))
}

/// `PATCH links/{id}/`.
pub(crate) fn update(call: &Call<'_>, world: &mut World) -> Answer {
    let mut link = found(call, world)?.clone();
    let body = call.body()?;
    let mut form = Form::update(&body)?;
    let title = form.text("title", Text::NULL);
    let url = form.text("url", Text::REQUIRED.long());
    check_url(&mut form, &url);
    form.finish()?;
    let mut others = world.links.of(link.item).filter(|l| l.id != link.id);
    if let SentValue::Is(url) = &url
        && others.any(|other| other.url == *url)
    {
        return Err(duplicate());
    }
    drop(others);
    let old = link.url.clone();
    let new = body.truthy("url").unwrap_or_default();
    title.store_optional(&mut link.title);
    url.store(&mut link.url);
    link.stamp.change(call.user, call.now());
    let answer: Value = call.write(&FULL, world, &link, render);
    let (id, item) = (link.id, link.item);
    world.links.put(link);
    let entry = Note {
        verb: "updated",
        field: Some("link"),
        old: Some(&old),
        new: Some(&new),
        comment: "updated a link",
        old_identifier: Some(id),
        new_identifier: Some(id),
    };
    note(call, world, item, &entry);
    Ok(Reply::ok(answer))
}

/// `DELETE links/{id}/`.
pub(crate) fn delete(call: &Call<'_>, world: &mut World) -> Answer {
    let link = found(call, world)?;
    let (id, item, url) = (link.id, link.item, link.url.clone());
    let now = call.now();
    world.links.change(id, |link| link.deleted_at = Some(now));
    let entry = Note {
        verb: "deleted",
        field: Some("link"),
        old: Some(&url),
        new: Some(""),
        comment: "deleted the link",
        ..Note::default()
    };
    note(call, world, item, &entry);
    Ok(Reply::no_content())
}
