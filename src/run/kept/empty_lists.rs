//! Lists of v1 without a row.
//!
//! v1 does not refuse every list of a project that is not the caller's any more: labels are an empty list for whoever has
//! left it (trap 3, `labels_list_private_project_by_outsider_is_empty`), and all lists of an archived project are (trap
//! 58). The caller's rights are kept for a while, and a list is kept for all who have the same. So an empty one counts
//! only beside rights that were asked for about when it was read; and as long as they were asked for before, for nobody
//! but the caller who read it. May use: what `run` may use, but no step.

use crate::access::Caller;
use crate::context::Context;
use crate::fresh::Changed;
use crate::refusal::Refusal;
use crate::run::runner::Runner;
use std::time::{Duration, Instant};
use uuid::Uuid;

/// How much older than the list the rights may be. A request that knows neither asks for the rights first, and need not
/// ask again.
pub(in crate::run) const OLDER: Duration = Duration::from_secs(3);

impl Runner {
    /// Proves that a list of `project` that v1 answered at `read_at`, and has no row, is what the caller may see, by
    /// rights that may be `older` by so much. Tells whether it is for others who have the same rights, too.
    ///
    /// # Errors
    /// 404 or 403 when it is not; then what is kept of the project's lists counts no more.
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
