//! The projects of a workspace that a caller sees, as a list: one call per 1,000.
//!
//! v1 lists the projects that the caller has joined and all public ones; for exactly these the card is not 404
//! (`projects_get_public_by_non_member`, `projects_get_private_by_non_member`). Archived projects are in v1's list but
//! do not exist in v2 (trap 58). May use: `context`, `refusal`, `v1`, this folder.

use super::paths;
use super::remembered::Verdict;
use crate::context::Context;
use crate::refusal::Refusal;
use crate::v1::{Client, NotDone, Object, V1Key, present};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::HashMap;
use std::sync::Arc;
use uuid::Uuid;

/// Query with the newest first, the best order to read a growing list in.
const QUERY: &str = "fields=id,identifier,archived_at&order_by=-created_at";

/// Projects of a workspace that are not 404 for a caller.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VisibleProjects(HashMap<Uuid, Box<str>>);

impl VisibleProjects {
    /// Checks whether the caller sees this project.
    pub fn contains(&self, project: Uuid) -> bool {
        self.0.contains_key(&project)
    }

    /// Returns the project with this identifier, which v1 keeps unique within a workspace.
    pub fn with_identifier(&self, identifier: &str) -> Option<Uuid> {
        self.0.iter().find(|(_, known)| ***known == *identifier).map(|(id, _)| *id)
    }

    pub fn iter(&self) -> impl Iterator<Item = Uuid> {
        self.0.keys().copied()
    }
}

pub(super) fn weight(seen: &Arc<VisibleProjects>) -> u32 {
    u32::try_from(seen.0.len()).unwrap_or(u32::MAX).saturating_mul(64).saturating_add(200)
}

/// Asks v1. 403 and 404 are the verdict "not visible" (`projects_list_outsider`).
pub(super) async fn ask(
    client: Client,
    key: V1Key,
    slug: String,
    ctx: Context,
) -> Result<Verdict<Arc<VisibleProjects>>, Refusal> {
    let path = paths::workspace(&slug, paths::PROJECTS)?;
    match client.read_all(&key, &path, QUERY, &ctx).await {
        Ok(pages) => {
            let rows = pages.iter().map(|page| read(page)).collect::<Result<Vec<_>, _>>()?;
            Ok(Ok(Arc::new(VisibleProjects(rows.into_iter().flatten().collect()))))
        }
        Err(NotDone::Answered(answer)) if matches!(answer.status, 403 | 404) => Ok(Err(Refusal::not_found())),
        Err(failure) => Err(failure.into()),
    }
}

#[derive(Deserialize)]
struct Page {
    results: Vec<Object<Row>>,
}

#[derive(Deserialize)]
struct Row {
    id: Uuid,
    identifier: Box<str>,
    #[serde(deserialize_with = "present")]
    archived_at: Option<IgnoredAny>,
}

fn read(page: &[u8]) -> Result<impl Iterator<Item = (Uuid, Box<str>)>, Refusal> {
    let Object(page): Object<Page> = serde_json::from_slice(page).map_err(|cause| {
        Refusal::upstream("The projects of the workspace could not be read.", format!("projects page: {cause}"))
    })?;
    let rows = page.results.into_iter().map(|Object(row)| row);
    let live = rows.filter(|row| row.archived_at.is_none());
    Ok(live.map(|row| (row.id, row.identifier)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archived_projects_are_not_there_and_a_row_that_does_not_tell_is_a_fault() {
        let (live, archived) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let page = format!(
            r#"{{"results":[{{"id":"{live}","identifier":"A","archived_at":null}},
                {{"id":"{archived}","identifier":"B","archived_at":"2026-11-21"}}]}}"#
        );
        let projects = VisibleProjects(read(page.as_bytes()).unwrap().collect());
        assert_eq!(projects.iter().collect::<Vec<_>>(), [live]);
        assert_eq!((projects.with_identifier("A"), projects.with_identifier("B")), (Some(live), None));
        let without = format!(r#"{{"results":[{{"id":"{live}","identifier":"A"}}]}}"#);
        assert_eq!(read(without.as_bytes()).err().unwrap().code(), "upstream_error");
    }
}
