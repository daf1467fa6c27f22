//! Reads the caller's role in a workspace from v1: the caller's row of `GET …/members/`, or another way for guests.
//!
//! May use: `context`, `refusal`, `v1`, this folder.

use super::caller::Role;
use super::paths;
use super::projects_page::ProjectsPage;
use super::remembered::Verdict;
use super::rosters::Rosters;
use super::workspace_card::{CardAnswer, WorkspaceRole};
use crate::context::Context;
use crate::refusal::Refusal;
use crate::v1::{Client, Object, V1Key, V1Request};
use serde::Deserialize;
use uuid::Uuid;

pub(super) fn guest(page: ProjectsPage) -> CardAnswer {
    CardAnswer { role: WorkspaceRole::Guest, roster: None, projects: Some(page) }
}

/// Asks v1. "Not visible" is a verdict.
pub(super) async fn ask(
    client: Client,
    key: V1Key,
    user: Uuid,
    slug: String,
    rosters: &Rosters,
    ctx: Context,
) -> Result<Verdict<CardAnswer>, Refusal> {
    let path = paths::workspace(&slug, paths::ROSTER)?;
    let answer = client.ask(&key, V1Request::get(path, ""), &ctx).await?;
    match answer.status {
        200 => own_row(&answer.body, user, rosters),
        // v1 answers the same 403 to guests, outsiders, removed people and unknown workspaces
        // (`members_workspace_guest`, `_outsider`, `_inactive_member`, `_unknown`). Only guests may list
        // projects (`projects_list_guest` against `projects_list_outsider`).
        403 | 404 => Ok(ProjectsPage::ask(client, key, slug, ctx).await?.map(guest)),
        status => Err(no_card(format!("v1 answered {status}"))),
    }
}

/// Reads the role in the caller's own row. A person who is not on the roster is not a member, so sees nothing.
pub(super) fn own_row(roster: &[u8], user: Uuid, rosters: &Rosters) -> Result<Verdict<CardAnswer>, Refusal> {
    #[derive(Deserialize)]
    struct Row {
        id: Uuid,
        role: i64,
    }
    let rows: Vec<Object<Row>> = serde_json::from_slice(roster).map_err(no_card)?;
    if rows.is_empty() {
        // v1 shows a roster only to people who are on it.
        return Err(no_card("an empty roster"));
    }
    let own = rows.iter().map(|Object(row)| row).find(|row| row.id == user);
    Ok(own.map_or_else(
        || Err(Refusal::not_found()),
        |row| {
            let role = WorkspaceRole::of(Role(row.role));
            Ok(CardAnswer { role, roster: Some(rosters.keep(roster)), projects: None })
        },
    ))
}

fn no_card(cause: impl std::fmt::Display) -> Refusal {
    Refusal::upstream("Access to the workspace could not be checked.", format!("workspace card: {cause}"))
}

#[cfg(test)]
mod tests {
    use super::super::rosters::MOST;
    use super::*;
    use serde_json::json;

    #[test]
    fn the_own_row_is_the_role() {
        let roster =
            json!([{"id": Uuid::from_u128(1), "role": 20}, {"id": Uuid::from_u128(2), "role": 15, "email": "x"}])
                .to_string();
        let rosters = Rosters::new(MOST);
        let row = |roster: &str, number| own_row(roster.as_bytes(), Uuid::from_u128(number), &rosters);
        let seen = row(&roster, 2).unwrap().unwrap();
        let kept = seen.roster.and_then(|roster| roster.bytes());
        assert_eq!((seen.role, kept.as_deref()), (WorkspaceRole::Member, Some(roster.as_bytes())));
        assert_eq!(row(&roster, 3).unwrap().unwrap_err().code(), "resource_not_found");
        assert_eq!(row("{}", 0).unwrap_err().code(), "upstream_error");
    }
}
