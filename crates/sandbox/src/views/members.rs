//! Rosters of workspaces and projects. They list inactive people, have no pages and no parameters. May use:
//! `door`, `forms`, `records`.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::door::auth::{ADMIN, GUEST};
use crate::door::call::Call;
use crate::door::http::{Answer, Reply};
use crate::forms::fields::person;
use crate::forms::validate::{Form, SentValue};
use crate::records::kinds::ProjectMember;
use crate::records::store::World;
use crate::records::table::Id;

/// `GET members/` of the workspace: includes inactive memberships and deactivated accounts,
/// newest first (`members_workspace_admin`).
pub(crate) fn workspace_roster(call: &Call<'_>, world: &World) -> Answer {
    let workspace = world.workspace(&call.place.slug).ok_or_else(Reply::not_found)?;
    let rows = world
        .workspace_members
        .of(workspace.id)
        .rev()
        .filter_map(|member| {
            let mut row = person(world.users.get(member.user)?);
            row["role"] = json!(member.role);
            Some(row)
        })
        .collect();
    Ok(Reply::ok(Value::Array(rows)))
}

/// `GET members/` of a project: includes people who left (`members_list_after_delete`), without
/// roles, the youngest account first. A project of another workspace has an empty roster
/// (`members_foreign_project_in_own_workspace`).
pub(crate) fn list(call: &Call<'_>, world: &World) -> Answer {
    let mut people: Vec<Id> = world
        .project_in(&call.place.slug, call.place.project)
        .map(|project| world.project_members.of(project.id).map(|m| m.user).collect())
        .unwrap_or_default();
    people.sort_by_key(|&user| std::cmp::Reverse(world.users.position(user)));
    let rows = people.into_iter().filter_map(|user| world.users.get(user).map(person)).collect();
    Ok(Reply::ok(Value::Array(rows)))
}

/// The membership in the path, by its own id, not the person's (`members_get_by_user_id`).
fn found<'w>(call: &Call<'_>, world: &'w World) -> Result<&'w ProjectMember, Reply> {
    world
        .project_in(&call.place.slug, call.place.project)
        .and_then(|_| world.project_members.get(call.place.id))
        .filter(|member| member.project == call.place.project)
        .ok_or_else(Reply::not_found)
}

/// `GET members/{id}/`: returns only the person.
pub(crate) fn read(call: &Call<'_>, world: &World) -> Answer {
    let member = found(call, world)?;
    let user = world.users.get(member.user).ok_or_else(Reply::not_found)?;
    Ok(Reply::ok(person(user)))
}

fn shown(member: &ProjectMember) -> Value {
    json!({ "id": member.id, "member": member.user, "role": member.role })
}

fn role(form: &mut Form<'_>) -> Option<u8> {
    form.choice("role", &["20", "15", "5"]).value().and_then(|role| role.parse().ok())
}

/// Adds a person to a project. A new membership sorts before the person's other projects.
pub(crate) fn join(world: &mut World, project: Id, user: Id, role: u8) -> Id {
    let least = world.project_members.iter().filter(|m| m.user == user).map(|m| m.sort_order).reduce(f64::min);
    let id = Uuid::new_v4();
    world.project_members.add(ProjectMember {
        id,
        project,
        user,
        role,
        active: true,
        sort_order: least.map_or(65_535.0, |least| least - 10_000.0),
        deleted_at: None,
    });
    id
}

/// `POST members/`: anyone with a workspace membership can be added, even with an inactive one
/// (`members_add_inactive_workspace_member`). A removed person cannot be added again
/// (`members_add_removed_again`).
pub(crate) fn create(call: &Call<'_>, world: &mut World) -> Answer {
    let body = call.body()?;
    let mut form = Form::create(&body)?;
    let member = form.relation("member", true, false, |id| world.users.get(id).is_some());
    let role = role(&mut form).unwrap_or(GUEST);
    let project = world.project_in(&call.place.slug, call.place.project).ok_or_else(Reply::not_found)?;
    let (project, workspace) = (project.id, project.workspace);
    if let SentValue::Is(user) = member
        && !world.workspace_members.of(workspace).any(|m| m.user == user)
    {
        form.refuse("member", "Member not found in workspace");
    }
    form.finish()?;
    let SentValue::Is(user) = member else {
        return Err(Reply::crash());
    };
    if world.project_members.of(project).any(|m| m.user == user) {
        return Err(Reply::bad_payload());
    }
    let id = join(world, project, user, role);
    let member = world.project_members.get(id).ok_or_else(Reply::crash)?;
    Ok(Reply::created(shown(member)))
}

/// `PATCH members/{id}/`: changes only the role (`members_patch_removed`).
pub(crate) fn update(call: &Call<'_>, world: &mut World) -> Answer {
    let id = found(call, world)?.id;
    let body = call.body()?;
    let mut form = Form::update(&body)?;
    let role = role(&mut form);
    form.finish()?;
    let member = world.project_members.get_mut(id).ok_or_else(Reply::not_found)?;
    if let Some(role) = role {
        member.role = role.min(ADMIN);
    }
    Ok(Reply::ok(shown(member)))
}

/// `DELETE members/{id}/`: deactivates the membership; a repeated delete succeeds
/// (`members_delete_again`).
pub(crate) fn delete(call: &Call<'_>, world: &mut World) -> Answer {
    let id = found(call, world)?.id;
    world.project_members.change(id, |member| member.active = false);
    Ok(Reply::no_content())
}
