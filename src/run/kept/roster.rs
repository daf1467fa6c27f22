//! Rosters: people as v1 lists them, cached like collections. May use: what `run` may use.

use super::empty_lists::OLDER;
use crate::access::Caller;
use crate::context::Context;
use crate::fresh::Kept;
use crate::plan::Known;
use crate::refusal::Refusal;
use crate::run::job::Job;
use crate::run::members::{bad_data, refused_list};
use crate::run::runner::Runner;
use crate::translate::Fault;
use crate::translate::members::{self, Person};
use crate::v1::V1Request;
use std::sync::Arc;
use std::time::Instant;
use uuid::Uuid;

impl Job {
    /// Returns the people of the project, newest first. v1 shows them to any member of any project of the workspace
    /// (trap 3, `members_private_project_by_outsider`); the project card was checked before.
    pub(in crate::run) async fn project_people(&self) -> Result<Arc<Vec<Person>>, Refusal> {
        Ok(self.load_people(None).await?.value)
    }

    /// Returns the same, if `since` is given from a read that began after it.
    async fn load_people(&self, since: Option<Instant>) -> Result<Kept<Arc<Vec<Person>>>, Refusal> {
        let resource = self.resource_named(Known::ProjectMembers)?;
        let place = self.place_of(resource)?;
        let read = |how| {
            let (runner, caller, ctx) = (Arc::clone(&self.runner), self.call.caller.clone(), self.ctx_of(how));
            let (slug, path) = (self.slug().to_owned(), place.path.to_string());
            let project = self.call.card().map(|card| card.id);
            async move { read_people(&runner, &caller, &slug, project, path, &ctx).await }
        };
        let rosters = &self.runner.rosters;
        match since {
            Some(since) => self.read_since(rosters, &place, since, read).await,
            None => self.load_from(rosters, &place, read).await,
        }
    }

    /// Returns the people of the project; reads them again when they do not satisfy `complete`.
    pub(in crate::run) async fn project_people_with(
        &self,
        complete: impl Fn(&[Person]) -> bool,
    ) -> Result<Arc<Vec<Person>>, Refusal> {
        let asked = Instant::now();
        let loaded = self.load_people(None).await?;
        if loaded.began.at >= asked || complete(&loaded.value) {
            return Ok(loaded.value);
        }
        Ok(self.load_people(Some(asked)).await?.value)
    }

    /// Checks whether v1 lists the person in the project; a person missing from the cache causes a fresh read.
    pub(in crate::run) async fn is_on_project_roster(&self, person: Uuid) -> Result<bool, Refusal> {
        let listed = |people: &[Person]| people.iter().any(|known| known.id == person);
        Ok(listed(&self.project_people_with(listed).await?))
    }
}

/// Reads the roster at `path`, as v1 shows it now to this caller.
async fn read_people(
    runner: &Runner,
    caller: &Caller,
    slug: &str,
    project: Option<Uuid>,
    path: String,
    ctx: &Context,
) -> Result<Vec<Person>, Refusal> {
    let answer = runner.client.ask(&caller.key, V1Request::get(path, ""), ctx).await?;
    match answer.status {
        200 => {}
        403 => return Err(refused_list()),
        404 => return Err(Refusal::not_found()),
        status => return Err(Refusal::upstream("The roster could not be read.", format!("status {status}"))),
    }
    let people = members::read(&answer.body).map_err(|fault| bad_data(&fault))?;
    if people.is_empty() {
        // The roster of a deleted project is empty. Any other shows at least the caller.
        if let Some(project) = project {
            runner.prove_empty(caller, slug, project, Instant::now(), OLDER, ctx).await?;
        }
        return Err(bad_data(&Fault("an empty roster".into())));
    }
    Ok(people)
}
