//! The caller's role in a project: `GET …/projects/{id}/` with the few fields that decide about access.
//!
//! The card is read for every project route. v1's own refusals do not distinguish "invisible" from "not allowed"
//! (trap 2), and its labels and rosters do not refuse at all (traps 3, 4). May use:
//! `context`, `refusal`, `v1`, this folder.

use super::caller::Role;
use super::remembered::Verdict;
use crate::context::Context;
use crate::refusal::Refusal;
use crate::v1::{Client, Object, V1Key, V1Request, present};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use uuid::Uuid;

const FIELDS: &str = "fields=id,is_member,member_role,identifier,workspace,timezone,archived_at,\
                      default_assignee,estimate,cycle_view,module_view";

/// A project as one caller sees it, at most `cache.card` old.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectCard {
    /// Id of the project.
    pub id: Uuid,
    /// Id of its workspace.
    pub workspace_id: Uuid,
    /// Whether the caller has joined; `false` for a public project of the caller's workspace.
    pub is_member: bool,
    /// The caller's role; `None` when not a member.
    pub role: Option<Role>,
    /// The letters before the number in a work item's key.
    pub identifier: String,
    /// IANA name of the time zone in which v1 interprets the project's days.
    pub timezone: String,
    /// Person that v1 assigns when a new work item names no assignee (trap 16).
    pub default_assignee: Option<Uuid>,
    /// The active estimate.
    pub estimate: Option<Uuid>,
    /// Whether cycles are enabled.
    pub cycle_view: bool,
    /// Whether modules are enabled.
    pub module_view: bool,
}

impl ProjectCard {
    /// Returns the caller's role, for every route of the project.
    ///
    /// # Errors
    /// [`Refusal::Forbidden`] when the project is visible but not joined (O88,
    /// `projects_get_public_by_non_member`).
    pub fn require_member(&self) -> Result<Role, Refusal> {
        let role = self.is_member.then_some(self.role).flatten();
        role.ok_or_else(|| Refusal::Forbidden { detail: "Only members of the project may do this.".into() })
    }

    /// Returns the caller's role for writes (comments excepted).
    pub fn require_writer(&self) -> Result<Role, Refusal> {
        let role = self.require_member()?;
        if role <= Role::GUEST {
            return Err(Refusal::Forbidden { detail: "Guests of the project may not change it.".into() });
        }
        Ok(role)
    }
}

/// v1's answer. Every key must be present, also a key that may be null. A missing key means that the deployment is not
/// the supported v1, and a guess would grant or deny access wrongly.
#[derive(Deserialize)]
struct Detail {
    id: Uuid,
    workspace: Uuid,
    is_member: bool,
    #[serde(deserialize_with = "present")]
    member_role: Option<i64>,
    identifier: String,
    timezone: String,
    #[serde(deserialize_with = "present")]
    archived_at: Option<String>,
    #[serde(deserialize_with = "present")]
    default_assignee: Option<Uuid>,
    #[serde(deserialize_with = "present")]
    estimate: Option<Uuid>,
    cycle_view: bool,
    module_view: bool,
}

/// Asks v1. "Not visible" is a verdict; any answer that is no card is an error.
pub(super) async fn ask(
    client: Client,
    key: V1Key,
    (project, path): (Uuid, String),
    ctx: Context,
) -> Result<Verdict<Arc<ProjectCard>>, Refusal> {
    let answer = client.ask(&key, V1Request::get(path, FIELDS), &ctx).await?;
    match answer.status {
        200 => read(&answer.body, project),
        // 404 for a private project (`projects_get_private_by_non_member`), 403 for other workspaces,
        // unknown slugs and removed members (`projects_get_outsider`).
        403 | 404 => Ok(Err(Refusal::not_found())),
        status => Err(no_card(format!("v1 answered {status}"))),
    }
}

fn read(body: &[u8], project: Uuid) -> Result<Verdict<Arc<ProjectCard>>, Refusal> {
    let Object(detail): Object<Detail> = serde_json::from_slice(body).map_err(no_card)?;
    if detail.id != project {
        return Err(no_card(format!("v1 answered {project} with {}", detail.id)));
    }
    if detail.is_member && detail.member_role.is_none() {
        return Err(no_card("a member without a role"));
    }
    // Trap 58: an archived project returns empty lists but accepts writes (`projects_archived_states`,
    // `projects_archived_item_create`); v2 does not show it.
    if let Some(archived) = &detail.archived_at {
        if !begins_with_a_day(archived) {
            return Err(no_card("archived at no time"));
        }
        return Ok(Err(Refusal::not_found()));
    }
    Ok(Ok(Arc::new(ProjectCard {
        id: detail.id,
        workspace_id: detail.workspace,
        is_member: detail.is_member,
        role: detail.member_role.filter(|_| detail.is_member).map(Role),
        identifier: detail.identifier,
        timezone: detail.timezone,
        default_assignee: detail.default_assignee,
        estimate: detail.estimate,
        cycle_view: detail.cycle_view,
        module_view: detail.module_view,
    })))
}

/// Checks whether a text can be a time, which begins like `2026-11-25`.
fn begins_with_a_day(text: &str) -> bool {
    let day = text.as_bytes().first_chunk::<10>();
    day.is_some_and(|day| {
        day.iter()
            .enumerate()
            .all(|(at, byte)| if matches!(at, 4 | 7) { *byte == b'-' } else { byte.is_ascii_digit() })
    })
}

/// Returns the refusal when the project belongs to a workspace other than the one that its slug named a moment ago.
pub(super) fn of_another_workspace() -> Refusal {
    no_card("another workspace than before")
}

fn no_card(cause: impl std::fmt::Display) -> Refusal {
    Refusal::upstream("Access to the project could not be checked.", format!("project card: {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn detail() -> Value {
        json!({"id": Uuid::from_u128(1), "workspace": Uuid::from_u128(2), "is_member": true,
            "member_role": 15, "identifier": "WEB", "timezone": "UTC", "archived_at": null,
            "default_assignee": null, "estimate": null, "cycle_view": true, "module_view": false})
    }

    fn with(key: &str, value: Value) -> Value {
        let mut detail = detail();
        detail[key] = value;
        detail
    }

    fn card(detail: &Value) -> Verdict<Arc<ProjectCard>> {
        read(detail.to_string().as_bytes(), Uuid::from_u128(1)).unwrap()
    }

    #[test]
    fn roles_decide_what_may_be_done() {
        for (role, may_write) in [(20, true), (15, true), (5, false)] {
            let card = card(&with("member_role", json!(role))).unwrap();
            assert_eq!(card.require_member(), Ok(Role(role)));
            assert_eq!(card.require_writer().is_ok(), may_write, "{role}");
        }
        let mut outside = with("is_member", json!(false));
        outside["member_role"] = Value::Null;
        let card = card(&outside).unwrap();
        assert_eq!(card.role, None);
        assert_eq!(card.require_member().unwrap_err().code(), "forbidden");
        assert_eq!(card.require_writer().unwrap_err().code(), "forbidden");
    }

    #[test]
    fn an_archived_project_is_not_there() {
        let archived = with("archived_at", json!("2026-11-21T10:36:08.423508Z"));
        assert_eq!(card(&archived).unwrap_err().code(), "resource_not_found");
    }

    #[test]
    fn the_card_of_another_project_is_a_fault() {
        let other = read(detail().to_string().as_bytes(), Uuid::from_u128(9));
        assert_eq!(other.unwrap_err().code(), "upstream_error");
    }

    #[test]
    fn a_card_without_an_expected_key_is_a_fault_of_the_service_behind() {
        for key in detail().as_object().unwrap().keys() {
            let mut lacking = detail();
            lacking.as_object_mut().unwrap().shift_remove(key);
            assert_eq!(
                read(lacking.to_string().as_bytes(), Uuid::from_u128(1)).unwrap_err().code(),
                "upstream_error",
                "{key}"
            );
        }
        let without_role = with("member_role", Value::Null).to_string();
        assert_eq!(read(without_role.as_bytes(), Uuid::from_u128(1)).unwrap_err().code(), "upstream_error");
    }
}
