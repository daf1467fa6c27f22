//! A call inside a project: with it comes the project card, which the gate has asked for.
//!
//! Code that needs the card takes one of these, so that it cannot be without. May use: what `run` may use, but no step.

use super::job::{Call, Job};
use super::runner::Runner;
use crate::access::{ProjectCard, Standing};
use std::ops::Deref;
use std::sync::Arc;

/// A call being carried out inside a project.
#[derive(Clone, Copy)]
pub struct InProject<'j> {
    job: &'j Job,
    pub(super) card: &'j Arc<ProjectCard>,
}

impl Deref for InProject<'_> {
    type Target = Job;

    fn deref(&self) -> &Job {
        self.job
    }
}

impl InProject<'_> {
    /// The same call for work beside it, which may take longer than the call.
    pub(super) fn aside(&self) -> Inside {
        let job = self.as_operation(self.call.operation, self.call.parameters.clone());
        Inside { job, card: Arc::clone(self.card) }
    }
}

impl Job {
    /// This call with its project card; none when its path lies in no project.
    pub(super) fn in_project(&self) -> Option<InProject<'_>> {
        self.call.card().map(|card| InProject { job: self, card })
    }
}

/// An [`InProject`] that owns its call.
pub(super) struct Inside {
    job: Job,
    card: Arc<ProjectCard>,
}

impl Inside {
    pub(super) fn new(runner: Arc<Runner>, call: Call, card: Arc<ProjectCard>) -> Self {
        let call = Call { standing: Standing::Project(Arc::clone(&card)), ..call };
        Self { job: Job::new(runner, call), card }
    }

    pub(super) fn here(&self) -> InProject<'_> {
        InProject { job: &self.job, card: &self.card }
    }
}
