//! Lists of v1 without rows.
//!
//! v1 does not refuse every list of a project that the caller has lost: labels are an empty list for a person who has
//! left it (trap 3, `labels_list_private_project_by_outsider_is_empty`), and so are all lists of an archived project
//! (trap 58). The caller's rights are cached for a while, and a list is cached for all callers with the same rights. So
//! an empty list is used only with rights that were read at about the same time. If they were read before the list, it
//! is used only for the caller who read it. May use: what `run` may use, but no step.

use crate::access::Caller;
use crate::context::Context;
use crate::fresh::Changed;
use crate::refusal::Refusal;
use crate::run::runner::Runner;
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Largest age of the rights when the list is read. A request without cached rights and list reads the rights first,
/// and need not read them again.
pub(in crate::run) const OLDER: Duration = Duration::from_secs(3);

impl Runner {
    /// Proves that a list of `project` without rows, which v1 answered at `read_at`, is really what the caller may see.
    /// The rights may be older than the list by `older`. Returns whether the list is also valid for others with the
    /// same rights.
    ///
    /// # Errors
    /// 404 or 403 when the list is wrong; then the cached lists of the project are invalidated too.
    pub(in crate::run) async fn prove_empty(
        &self,
        caller: &Caller,
        slug: &str,
        project: Uuid,
        read_at: Instant,
        older: Duration,
        ctx: &Context,
    ) -> Result<bool, Refusal> {
        let age = read_at.elapsed() + older;
        let card = self.access.project_within(caller, slug, project, age, ctx).await;
        let proven = card.and_then(|card| card.value.require_member().map(|_| card.began.at >= read_at));
        if matches!(proven, Err(Refusal::NotFound { .. } | Refusal::Forbidden { .. })) {
            self.changes.tell(Changed::Project(project));
        }
        proven
    }
}
