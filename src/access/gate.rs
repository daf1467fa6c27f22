//! The fixed order of refusals before a record is read (O2): scope, well-formed path ids, visibility of workspace and
//! project, role. The credential is checked earlier, even before the route is looked up.
//!
//! May use: `context`, `plan`, this folder, `refusal`.

use super::{Access, Caller, ProjectCard, Role, WorkspaceRole, paths};
use crate::context::Context;
use crate::plan::{Known, Operation, Resource, Surface, is_in_key};
use crate::refusal::Refusal;
use std::sync::Arc;
use uuid::Uuid;

/// Proven access of the caller to the place that a path names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProvenAccess {
    /// Nothing but the person. A look-up by human key proves access to its result itself.
    Person,
    Workspace(WorkspaceRole),
    Project(Arc<ProjectCard>),
}

impl ProvenAccess {
    /// Checks whether reads may show less with this access than with `before`.
    pub fn sees_less_than(&self, before: &Self) -> bool {
        let above_guests = |card: &ProjectCard| card.role.is_some_and(Role::is_above_guest);
        match (self, before) {
            (Self::Project(now), Self::Project(before)) => above_guests(before) && !above_guests(now),
            (Self::Workspace(now), Self::Workspace(before)) => {
                now != before && (*before == WorkspaceRole::Admin || *now == WorkspaceRole::Guest)
            }
            _ => false,
        }
    }
}

/// Path variables that are ids.
const IDS: &[&str] = &["project_id", "pk", "work_item_id", "property_id", "type_id"];

/// Checks whether every path variable for an id is a UUID.
pub fn are_ids(variables: &[(String, String)]) -> bool {
    let mut ids = variables.iter().filter(|(name, _)| IDS.contains(&name.as_str()));
    ids.all(|(_, value)| id_of(value).is_some())
}

/// Parses the id in a path variable: a UUID of 36 characters, in no other form.
fn id_of(value: &str) -> Option<Uuid> {
    Uuid::try_parse(value).ok().filter(|_| value.len() == 36)
}

/// Checks whether the credential's scopes allow the operation. API keys have no scopes and are not limited.
pub fn check_scope(operation: &Operation, caller: &Caller) -> Result<(), Refusal> {
    let Some(granted) = &caller.scopes else { return Ok(()) };
    if operation.scopes.iter().any(|scope| granted.contains(scope)) {
        return Ok(());
    }
    Err(Refusal::InsufficientScope { scopes: operation.scopes.to_vec() })
}

/// Checks the ids of a path and writes them in lower case, the only form v1's router knows (trap 12,
/// `errors_upper_case_uuid_path`).
///
/// # Errors
/// `validation_error` on the variable; 404 for a human key where a work item's id belongs (O3).
pub fn check_ids(resource: &Resource, variables: &mut [(String, String)]) -> Result<(), Refusal> {
    for (name, value) in variables.iter_mut().filter(|(name, _)| IDS.contains(&name.as_str())) {
        match id_of(value) {
            Some(id) => *value = id.to_string(),
            None if name == "pk" && resource.is(Known::WorkItems) && is_human_key(value) => {
                return Err(Refusal::not_found());
            }
            None => return Err(Refusal::field(name.clone(), "must be a UUID")),
        }
    }
    Ok(())
}

/// Checks for the form of a key as it is shown: an identifier that begins with a letter, and a number.
fn is_human_key(text: &str) -> bool {
    let Some((project, number)) = text.rsplit_once('-') else { return false };
    let letters = project.starts_with(char::is_alphabetic) && project.chars().all(is_in_key);
    letters && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
}

/// Proves that the caller sees the place that the path names, and that the role is sufficient.
///
/// # Errors
/// 404 when the caller cannot see it, 403 when the caller sees it but lacks the role.
pub async fn check_visible(
    access: &Access,
    operation: &Operation,
    caller: &Caller,
    variables: &[(String, String)],
    ctx: &Context,
) -> Result<ProvenAccess, Refusal> {
    let variable = |name: &str| variables.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value);
    if operation.surface != Surface::User {
        check_workspace(access, caller, variable("slug"), ctx).await?;
    }
    match operation.surface {
        Surface::User => Ok(ProvenAccess::Person),
        // A look-up by human key proves access to the project that it finds, and answers 404 in all other cases.
        Surface::Workspace if operation.path.variables().any(|name| name == "identifier") => {
            paths::check(variable("slug"))?;
            Ok(ProvenAccess::Person)
        }
        Surface::Workspace => {
            let card = access.workspace(caller, variable("slug"), ctx).await?;
            Ok(ProvenAccess::Workspace(card.role))
        }
        Surface::Project => {
            let project = Uuid::try_parse(variable("project_id")).map_err(Refusal::internal)?;
            let card = access.project(caller, variable("slug"), project, ctx).await?;
            card.require_member()?;
            if operation.method.writes() && !operation.guests_may_write {
                card.require_writer()?;
            }
            Ok(ProvenAccess::Project(card))
        }
    }
}

/// Checks that a credential for one workspace is used there only. It compares ids, because a slug can be given to
/// another workspace.
pub async fn check_workspace(access: &Access, caller: &Caller, slug: &str, ctx: &Context) -> Result<(), Refusal> {
    match caller.workspace {
        Some(only) if access.workspace_id(caller, slug, ctx).await? != only => Err(Refusal::not_found()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn human_keys_are_told_from_garbage() {
        assert!(is_human_key("WEB-7") && is_human_key("a1-12") && is_human_key("A[B-1"));
        for garbage in ["7", "-7", "WEB_7", "WEB-", "1A-3", "WEB-7x", "A.B-1", ""] {
            assert!(!is_human_key(garbage), "{garbage}");
        }
    }
}
