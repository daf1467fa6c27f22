//! The id of a workspace by its slug; v1 shows the id on projects only.
//!
//! May use: `context`, `refusal`, `v1`, this folder.

use super::paths;
use super::remembered::Verdict;
use crate::context::Context;
use crate::refusal::Refusal;
use crate::v1::{BaseUrl, Client, Object, V1Key, V1Request};
use serde::Deserialize;
use uuid::Uuid;

/// Content of the shortest possible page of a workspace's projects.
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

/// Derives the id of a workspace in which the caller sees no project. v1 shows the real id nowhere else, and a
/// workspace-level record still needs an id that is the same every time. Two deployments behind two gateways may have
/// the same slug, so the base URL is part of it. As soon as a project is visible, its real id is used; until then
/// nothing can have been stored under a project of the workspace.
pub(super) fn derived_id(base: &BaseUrl, slug: &str) -> Uuid {
    Uuid::new_v5(&Uuid::NAMESPACE_URL, format!("{base}/workspaces/{slug}").as_bytes())
}

fn no_page(cause: impl std::fmt::Display) -> Refusal {
    Refusal::upstream("The workspace could not be looked up.", format!("projects page: {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
