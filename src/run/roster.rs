//! Rosters: people as v1 lists them, kept like collections.

use super::job::Job;
use crate::refusal::Refusal;
use crate::translate::members::{self, Person};
use crate::v1::V1Request;
use std::sync::Arc;
use uuid::Uuid;

impl Job {
    /// People of the project, newest first. v1 answers this to anyone in any project of the workspace (trap 3,
    /// `members_private_project_by_outsider`); the project card has decided before.
    pub(super) async fn project_people(&self) -> Result<Arc<Vec<Person>>, Refusal> {
        let resource = self.runner.plan.resource("project_members");
        let resource = resource.ok_or_else(|| Refusal::internal("no project roster in the plan"))?;
        let place = self.place_of(resource)?;
        let (runner, key, ctx) = (Arc::clone(&self.runner), self.key().clone(), self.shared_ctx());
        let path = place.path.to_string();
        let read = || async move {
            let answer = runner.client.ask(&key, V1Request::get(path, ""), &ctx).await?;
            match answer.status {
                200 => members::read(&answer.body).map_err(|fault| super::collection::bad_data(&fault)),
                403 | 404 => Err(Refusal::not_found()),
                status => Err(Refusal::upstream("The roster could not be read.", format!("status {status}"))),
            }
        };
        let loaded = self.runner.rosters.load(&place, self.audience()?, read).await;
        loaded.map(|loaded| loaded.thing).map_err(|refusal| self.after_refused_read(refusal))
    }

    /// The people of the project, read again when they do not satisfy `complete`.
    pub(super) async fn project_people_with(
        &self,
        complete: impl Fn(&[Person]) -> bool,
    ) -> Result<Arc<Vec<Person>>, Refusal> {
        let people = self.project_people().await?;
        if complete(&people) {
            return Ok(people);
        }
        self.runner.rosters.drop_kept(&self.place_of(self.resource_named("project_members")?)?);
        self.project_people().await
    }

    /// Whether v1 lists the person in the project. A person missing from what is kept is looked for afresh.
    pub(super) async fn is_on_project_roster(&self, person: Uuid) -> Result<bool, Refusal> {
        let listed = |people: &[Person]| people.iter().any(|known| known.id == person);
        Ok(listed(&self.project_people_with(listed).await?))
    }
}
