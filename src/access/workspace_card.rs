//! What a caller is in a workspace: the own row of `GET …/members/`, or the guest's way round; and the id behind its slug,
//! which v1 shows only on projects.
//!
//! May use: `context`, `refusal`, `v1`, this folder.

use super::caller::Role;
use super::paths;
use super::remembered::Verdict;
use crate::context::Context;
use crate::refusal::Refusal;
use crate::v1::{BaseUrl, Client, Object, V1Key, V1Request};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::time::Instant;
use uuid::Uuid;

/// Role of the caller in a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WorkspaceRole {
    /// May administer the workspace.
    Admin,
    /// May read the roster.
    Member,
    /// Sees only the projects joined and the public ones.
    Guest,
}

impl WorkspaceRole {
    /// From v1's number. One that v1 is not known to use grants no more than the known one below it.
    pub fn of(role: Role) -> Self {
        match role {
            role if role >= Role::ADMIN => Self::Admin,
            role if role.is_above_guest() => Self::Member,
            _ => Self::Guest,
        }
    }
}

/// A workspace as one caller sees it.
#[derive(Debug, Clone)]
pub struct WorkspaceCard {
    /// The caller's role.
    pub role: WorkspaceRole,
    /// The roster as v1 gave it to this caller: an array of persons with `role`, inactive ones included
    /// (trap 52). `None` for guests, who may not read it (`members_workspace_guest`).
    pub roster: Option<Bytes>,
    /// When the roster was asked for.
    pub read_at: Instant,
}

/// What an answer tells: the card's contents, and for guests the workspace's id by the way.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) role: WorkspaceRole,
    pub(super) roster: Option<Bytes>,
    pub(super) projects: Option<ProjectsPage>,
}

/// Largest roster in bytes that is shared with other processes; each asks for a larger one itself.
const LARGEST_SHARED: usize = 64 * 1024;

/// What v1 has told, for other processes.
#[derive(Serialize, Deserialize)]
enum Told {
    /// The roster, in which the own row is the role.
    Roster(String),
    /// None; the caller may list the projects, and the first of them is of this workspace.
    Projects(Option<Uuid>),
}

/// What another process needs to know the same; none when it is too large.
pub(super) fn told(seen: &Seen) -> Option<String> {
    let told = match (&seen.roster, &seen.projects) {
        (Some(roster), _) if roster.len() <= LARGEST_SHARED => {
            Told::Roster(std::str::from_utf8(roster).ok()?.to_owned())
        }
        (None, Some(page)) => Told::Projects(page.workspace),
        _ => return None,
    };
    serde_json::to_string(&told).ok()
}

/// What another process was told with the same key, whose owner is `user`.
pub(super) fn heard(told: &str, user: Uuid) -> Option<Seen> {
    match serde_json::from_str(told).ok()? {
        Told::Roster(roster) => own_row(roster.into(), user).ok()?.ok(),
        Told::Projects(workspace) => Some(guest(ProjectsPage { workspace })),
    }
}

fn guest(page: ProjectsPage) -> Seen {
    Seen { role: WorkspaceRole::Guest, roster: None, projects: Some(page) }
}

pub(super) fn weight(seen: &Seen) -> u32 {
    let roster = seen.roster.as_ref().map_or(0, Bytes::len);
    u32::try_from(roster).unwrap_or(u32::MAX).saturating_add(200)
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
fn own_row(roster: Bytes, user: Uuid) -> Result<Verdict<Seen>, Refusal> {
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

/// What the shortest possible page of a workspace's projects tells.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProjectsPage {
    /// Id of the workspace; `None` when the caller sees no project in it.
    pub(super) workspace: Option<Uuid>,
}

impl ProjectsPage {
    /// Asks v1. 403 and 404 are the verdict "not visible" (`projects_list_outsider`,
    /// `auth_valid_key_unknown_workspace`).
    pub(super) async fn ask(
        client: Client,
        key: V1Key,
        slug: String,
        ctx: Context,
    ) -> Result<Verdict<Self>, Refusal> {
        let path = paths::workspace(&slug, paths::PROJECTS)?;
        let answer = client.ask(&key, V1Request::get(path, "per_page=1&fields=workspace"), &ctx).await?;
        match answer.status {
            200 => Ok(Ok(Self::read(&answer.body)?)),
            403 | 404 => Ok(Err(Refusal::not_found())),
            status => Err(no_page(format!("v1 answered {status}"))),
        }
    }

    fn read(body: &[u8]) -> Result<Self, Refusal> {
        #[derive(Deserialize)]
        struct Page {
            results: Vec<Object<Row>>,
        }
        #[derive(Deserialize)]
        struct Row {
            workspace: Uuid,
        }
        let Object(page): Object<Page> = serde_json::from_slice(body).map_err(no_page)?;
        Ok(Self { workspace: page.results.first().map(|row| row.0.workspace) })
    }
}

/// The id for a workspace in which the caller sees no project: v1 shows the real one nowhere else, and a
/// workspace-level record still needs an id that is the same every time. Two deployments behind two
/// gateways may have the same slug, hence the base URL. As soon as a project is visible, its real id
/// counts; until then nothing can have been stored under a project of it.
pub(super) fn derived_id(base: &BaseUrl, slug: &str) -> Uuid {
    Uuid::new_v5(&Uuid::NAMESPACE_URL, format!("{base}/workspaces/{slug}").as_bytes())
}

fn no_page(cause: impl std::fmt::Display) -> Refusal {
    Refusal::upstream("The workspace could not be looked up.", format!("projects page: {cause}"))
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

    #[test]
    fn another_process_knows_the_same_of_the_same_person() {
        let (ada, page) = (Uuid::from_u128(1), ProjectsPage { workspace: Some(Uuid::from_u128(7)) });
        let roster = Bytes::from(json!([{"id": ada, "role": 20, "email": "x"}]).to_string());
        let seen = own_row(roster.clone(), ada).unwrap().unwrap();
        let text = told(&seen).unwrap();
        let known = heard(&text, ada).unwrap();
        assert_eq!((known.role, known.roster), (WorkspaceRole::Admin, Some(roster)));
        assert!(heard(&text, Uuid::from_u128(2)).is_none(), "nobody else's");
        let known = heard(&told(&guest(page)).unwrap(), ada).unwrap();
        assert_eq!((known.role, known.roster), (WorkspaceRole::Guest, None));
        assert_eq!(known.projects.unwrap().workspace, page.workspace);
        assert!(heard("{}", ada).is_none());
        let large = Bytes::from(vec![b' '; LARGEST_SHARED + 1]);
        assert!(told(&Seen { role: WorkspaceRole::Admin, roster: Some(large), projects: None }).is_none());
    }

    #[test]
    fn unknown_numbers_grant_no_more_than_the_known_one_below() {
        for (number, role) in [
            (20, WorkspaceRole::Admin),
            (25, WorkspaceRole::Admin),
            (15, WorkspaceRole::Member),
            (19, WorkspaceRole::Member),
            (10, WorkspaceRole::Guest),
            (5, WorkspaceRole::Guest),
            (0, WorkspaceRole::Guest),
        ] {
            assert_eq!(WorkspaceRole::of(Role(number)), role, "{number}");
        }
    }

    #[test]
    fn derived_ids_are_stable_and_differ_by_place_and_slug() {
        let (one, two) = (BaseUrl::parse("http://one").unwrap(), BaseUrl::parse("http://two").unwrap());
        assert_eq!(derived_id(&one, "acme"), derived_id(&BaseUrl::parse("http://ONE:80/").unwrap(), "acme"));
        assert_ne!(derived_id(&one, "acme"), derived_id(&two, "acme"));
        assert_ne!(derived_id(&one, "acme"), derived_id(&one, "Acme"));
    }

    #[test]
    fn a_page_tells_the_workspace_when_it_has_a_row() {
        let id = Uuid::from_u128(7);
        let page = format!(r#"{{"results":[{{"workspace":"{id}"}}]}}"#);
        assert_eq!(ProjectsPage::read(page.as_bytes()).unwrap().workspace, Some(id));
        assert_eq!(ProjectsPage::read(br#"{"results":[]}"#).unwrap().workspace, None);
        assert_eq!(ProjectsPage::read(br#"{"results":[{}]}"#).unwrap_err().code(), "upstream_error");
    }
}
