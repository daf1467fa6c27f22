//! Pass-through writes to v1: invalidates the data that they may have changed, here and in other gateway processes.
//!
//! May use: `access`, `context`, `edge`, `fresh`, `limits`, `refusal`, `run`, `task`, `v1`; it is composition.

use crate::access::paths::LONGEST_SLUG;
use crate::context::Context;
use crate::edge::WriteObserver;
use crate::fresh::{Changed, Changes};
use crate::limits::Limits;
use crate::refusal::Refusal;
use crate::run::Runner;
use crate::task::spawn;
use crate::v1::{KeyId, is_refused_at_the_door, names_a_key};
use futures_util::future::BoxFuture;
use http::{HeaderMap, StatusCode};
use percent_encoding::percent_decode_str;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use uuid::Uuid;

/// Time after a pass-through write until everything that it may have changed is invalidated a second time: v1 cascades
/// deletes and moves `updated_at` in the background (traps 39, 56).
const BACKGROUND: Duration = Duration::from_secs(2);
/// Number of repetitions when a deletion could not be recorded, and the pause before the first one. Each next pause is
/// twice as long.
const TRIES: u32 = 8;
const FIRST_PAUSE: Duration = Duration::from_secs(4);

/// Invalidates the data that pass-through writes to v1 may have changed.
pub(super) struct ForeignWrites {
    pub runner: Arc<Runner>,
    pub changes: Changes,
    /// Knows the keys that v1 has accepted.
    pub limits: Arc<Limits>,
}

impl WriteObserver for ForeignWrites {
    fn key(&self, headers: &HeaderMap, context: &Context) -> Option<[u8; 32]> {
        let key = KeyId::passed(headers, &context.meter)?;
        names_a_key(headers).then_some(key.0)
    }

    fn is_accepted(&self, key: [u8; 32]) -> bool {
        self.limits.attempts.knows(key)
    }

    fn is_refusal(&self, path: &str, status: StatusCode, headers: &HeaderMap) -> bool {
        is_refused_at_the_door(path, status.as_u16(), headers)
    }

    fn carry_out(&self, work: BoxFuture<'static, ()>) {
        drop(self.runner.spawn_write(work));
    }

    fn client_left(&self, path: &str) {
        // v1 may still refuse the write, so nothing is stored and no other process drops its data.
        if let Some(touched) = TouchedPlace::by(path) {
            touched.tell(&self.changes);
        }
    }

    fn after_write(&self, path: &str) -> BoxFuture<'static, ()> {
        let Some(touched) = TouchedPlace::by(path) else { return Box::pin(std::future::ready(())) };
        touched.tell(&self.changes);
        // Without a runtime the process is at its end.
        if Handle::try_current().is_err() {
            return Box::pin(std::future::ready(()));
        }
        let (runner, later) = (Arc::clone(&self.runner), touched.clone());
        let announced = self.runner.spawn_write(async move { announce(&runner, &touched).await });
        let (runner, changes) = (Arc::clone(&self.runner), self.changes.clone());
        spawn(async move {
            tokio::time::sleep(BACKGROUND).await;
            later.tell(&changes);
            announce(&runner, &later).await;
        });
        Box::pin(async move {
            let _ = announced.await;
        })
    }

    fn deleted(&self, path: &str) -> BoxFuture<'static, ()> {
        let about = TouchedPlace::by(path).and_then(|touched| Some((touched.project?, touched.about)));
        let runner = Arc::clone(&self.runner);
        // A task of its own, which continues when the client leaves: v1 will not report the deletion again.
        let noted = about.map(|(project, about)| {
            self.runner.spawn_write(async move {
                if note_end(&runner, project, about).await.is_err() {
                    // The client need not wait for the repetitions.
                    spawn(note_end_later(runner, project, about));
                }
            })
        });
        Box::pin(async move {
            if let Some(noted) = noted {
                let _ = noted.await;
            }
        })
    }
}

async fn note_end(runner: &Runner, project: Uuid, about: WriteTarget) -> Result<(), Refusal> {
    match about {
        WriteTarget::Project => runner.project_deleted(project).await,
        WriteTarget::Record(id) => runner.record_deleted(project, id).await,
        WriteTarget::Other => Ok(()),
    }
}

/// Repeats for about a quarter of an hour, while the store cannot be written.
async fn note_end_later(runner: Arc<Runner>, project: Uuid, about: WriteTarget) {
    for pause in (0..TRIES).map(|tries| FIRST_PAUSE * 2_u32.pow(tries)) {
        tokio::time::sleep(pause).await;
        match note_end(&runner, project, about).await {
            Ok(()) => return,
            Err(refusal) => {
                let code = refusal.code();
                tracing::error!(%project, ?about, code, "the end of something could not be noted yet");
            }
        }
    }
    tracing::error!(%project, ?about, "the end of something was not noted; see `causeway store forget`");
}

/// Announces to other gateway processes that a write was, or may have been, carried out. They are not told before it:
/// until its answer they may show the older data, and a refused write then costs the store and them nothing.
async fn announce(runner: &Arc<Runner>, touched: &TouchedPlace) {
    let changes = touched.changes();
    match touched.project {
        Some(project) => runner.announce_done(project, changes, None).await,
        None => runner.announce_beyond_projects(changes).await,
    }
}

/// Records that a write to a v1 path can change.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TouchedPlace {
    workspace: String,
    project: Option<Uuid>,
    /// Whether the write can be seen outside the project: it changes the project itself or its members,
    /// or the workspace.
    beyond_project: bool,
    about: WriteTarget,
}

/// Target of a path within a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WriteTarget {
    /// The project itself and nothing in it.
    Project,
    /// One record of any kind that belongs to the project.
    Record(Uuid),
    Other,
}

impl TouchedPlace {
    /// Parses a path. The client wrote it, so it is decoded before it is compared, as v1 decodes it.
    fn by(path: &str) -> Option<Self> {
        let path = percent_decode_str(path).decode_utf8_lossy();
        let mut parts = path.strip_prefix("/api/v1/workspaces/")?.split('/').filter(|part| !part.is_empty());
        // The slugs of changes are kept for long.
        let workspace = parts.next().filter(|slug| slug.len() <= LONGEST_SLUG)?.to_owned();
        let within = (parts.next() == Some("projects")).then(|| parts.next()).flatten();
        let project = within.and_then(|id| Uuid::try_parse(id).ok());
        let inner = parts.next();
        let beyond_project =
            project.is_none() || matches!(inner, None | Some("archive" | "members" | "project-members"));
        let about = match (project, inner, parts.next().map(Uuid::try_parse), parts.next()) {
            (Some(_), None, ..) => WriteTarget::Project,
            (Some(_), Some(_), Some(Ok(record)), None) => WriteTarget::Record(record),
            _ => WriteTarget::Other,
        };
        Some(Self { workspace, project, beyond_project, about })
    }

    fn tell(&self, changes: &Changes) {
        for changed in self.changes() {
            changes.tell(changed);
        }
    }

    fn changes(&self) -> Vec<Changed> {
        let project = self.project.map(|id| [Changed::Project(id), Changed::ProjectAccess(id)]);
        let slug = self.workspace.as_str();
        let workspace = [Changed::Workspace(slug.into()), Changed::WorkspaceAccess(slug.into())];
        let workspace = self.beyond_project.then_some(workspace);
        project.into_iter().flatten().chain(workspace.into_iter().flatten()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_is_known_by_its_path() {
        let project = Uuid::from_u128(7);
        let base = format!("/api/v1/workspaces/ac%20me/projects/{project}/");
        let touched = |path: &str| TouchedPlace::by(path).map(|t| (t.workspace, t.project, t.beyond_project));
        assert_eq!(touched(&format!("{base}states/")), Some(("ac me".into(), Some(project), false)));
        assert_eq!(touched(&base), Some(("ac me".into(), Some(project), true)));
        assert_eq!(touched(&format!("{base}members/")), Some(("ac me".into(), Some(project), true)));
        assert_eq!(touched("/api/v1/workspaces/acme/projects/"), Some(("acme".into(), None, true)));
        assert_eq!(touched("/api/v1/%77orkspaces/acme/x/"), Some(("acme".into(), None, true)));
        assert_eq!(touched("/api/v1/users/me/"), None);
    }

    #[test]
    fn a_write_to_a_workspace_that_v1_cannot_have_touches_nothing() {
        let touched = |slug: usize| TouchedPlace::by(&format!("/api/v1/workspaces/{}/x/", "x".repeat(slug)));
        assert!(touched(LONGEST_SLUG).is_some());
        assert_eq!(touched(LONGEST_SLUG + 1), None);
    }

    #[test]
    fn the_path_of_a_delete_names_the_deleted_record() {
        let (project, record) = (Uuid::from_u128(7), Uuid::from_u128(8));
        let base = format!("/api/v1/workspaces/acme/projects/{project}/");
        let about = |path: &str| TouchedPlace::by(&format!("{base}{path}")).map(|touched| touched.about);
        assert_eq!(about(""), Some(WriteTarget::Project));
        assert_eq!(about(&format!("labels/{record}/")), Some(WriteTarget::Record(record)));
        for other in ["archive/", "labels/", "labels/x/", &format!("labels/{record}/more/")] {
            assert_eq!(about(other), Some(WriteTarget::Other), "{other}");
        }
    }
}
