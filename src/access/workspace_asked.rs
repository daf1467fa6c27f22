//! What a caller is in a workspace, asked of v1: the own row of `GET …/members/`, or the guest's way round.
//!
//! May use: `context`, `refusal`, `v1`, this folder.

use super::caller::Role;
use super::paths;
use super::projects_page::ProjectsPage;
use super::remembered::Verdict;
use super::workspace_card::{Seen, WorkspaceRole};
use crate::context::Context;
use crate::refusal::Refusal;
use crate::v1::{Client, Object, V1Key, V1Request};
use bytes::Bytes;
use serde::Deserialize;
use uuid::Uuid;

pub(super) fn guest(page: ProjectsPage) -> Seen {
    Seen { role: WorkspaceRole::Guest, roster: None, projects: Some(page) }
}

/// Asks v1. "Not visible" is a verdict.
pub(super) async fn ask(
    client: Client,
    key: V1Key,
    user: Uuid,
    slug: String,
    ctx: Context,
) -> Result<Verdict<Seen>, Refusal> {
    let path = paths::workspace(&slug, paths::ROSTER)?;
    let answer = client.ask(&key, V1Request::get(path, ""), &ctx).await?;
    match answer.status {
        200 => own_row(answer.body, user),
        // The same 403 for guests, outsiders, removed people and unknown workspaces
        // (`members_workspace_guest`, `_outsider`, `_inactive_member`, `_unknown`). Only guests may list
        // projects (`projects_list_guest` against `projects_list_outsider`).
        403 | 404 => Ok(ProjectsPage::ask(client, key, slug, ctx).await?.map(guest)),
        status => Err(no_card(format!("v1 answered {status}"))),
    }
}

/// The role in the caller's own row. A person who is not on the roster is not a member, hence sees nothing.
pub(super) fn own_row(roster: Bytes, user: Uuid) -> Result<Verdict<Seen>, Refusal> {
    #[derive(Deserialize)]
    struct Row {
        id: Uuid,
        role: i64,
    }
    let rows: Vec<Object<Row>> = serde_json::from_slice(&roster).map_err(no_card)?;
    if rows.is_empty() {
        // v1 shows a roster only to those who are on one.
        return Err(no_card("an empty roster"));
    }
    let own = rows.iter().map(|Object(row)| row).find(|row| row.id == user);
    Ok(own.map_or_else(
        || Err(Refusal::not_found()),
        |row| {
            let role = WorkspaceRole::of(Role(row.role));
            // A copy: v1's answer is a piece of a larger buffer, and counts as memory of this request.
            Ok(Seen { role, roster: Some(Bytes::copy_from_slice(&roster)), projects: None })
        },
    ))
}

fn no_card(cause: impl std::fmt::Display) -> Refusal {
    Refusal::upstream("Access to the workspace could not be checked.", format!("workspace card: {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_own_row_is_the_role() {
        let roster = Bytes::from(
            json!([{"id": Uuid::from_u128(1), "role": 20}, {"id": Uuid::from_u128(2), "role": 15, "email": "x"}])
                .to_string(),
        );
        let seen = own_row(roster.clone(), Uuid::from_u128(2)).unwrap().unwrap();
        assert_eq!((seen.role, seen.roster), (WorkspaceRole::Member, Some(roster.clone())));
        assert_eq!(own_row(roster, Uuid::from_u128(3)).unwrap().unwrap_err().code(), "resource_not_found");
        assert_eq!(own_row(Bytes::from_static(b"{}"), Uuid::nil()).unwrap_err().code(), "upstream_error");
    }
}
