//! Stage 2: operations. May use: `mapping`, this folder.

use super::draft::{Builder, Draft, Origin};
use super::{bodies, params, planned, rules, turns};
use crate::mapping::{Answer, ErrorCase, Faults, Method, Step, Surface, Trail};
use crate::plan::{Calls, Operation, PathTemplate, Resource};

/// Placeholder for a path that could not be read. The operation is not sound then.
const NO_PATH: &str = "unreadable/";

/// Builds an operation from every table.
pub(super) fn build(draft: &mut Draft, faults: &mut Faults) {
    for (resource, file) in draft.files.resources.iter().enumerate() {
        for spec in &file.operations {
            let trail = file.trail().then(spec.head.value.id.as_str());
            let path = path(&spec.head.value.path, &trail.then("path"), faults);
            let sound = spec.head.sound && path.is_some() && file.head.sound;
            let built = &draft.resources[resource];
            let builder = Builder { files: draft.files, file, fields: &built.fields, spec, trail };
            let operation = builder.operation((resource, built), path, faults);
            draft.operations.push(operation);
            draft.origins.push(Origin { file, spec, sound });
        }
    }
}

fn path(text: &str, trail: &Trail, faults: &mut Faults) -> Option<PathTemplate> {
    if text.is_empty() {
        return None;
    }
    PathTemplate::parse(text).map_err(|message| faults.add(trail, format!("the path {message}"))).ok()
}

impl Builder<'_> {
    fn operation(
        &self,
        (index, resource): (usize, &Resource),
        path: Option<PathTemplate>,
        faults: &mut Faults,
    ) -> Operation {
        let head = &self.spec.head.value;
        let (method, step) = (head.method.unwrap_or(Method::Get), head.step.unwrap_or(Step::Pending));
        let v1 = planned::build(self, resource, faults);
        Operation {
            id: head.id.clone(),
            resource: index,
            method,
            turns: turns::build(self, method, path.as_ref()),
            path: path.unwrap_or_else(|| PathTemplate::parse(NO_PATH).expect("a valid template")),
            surface: head.surface.or(self.file.head.value.surface).unwrap_or(Surface::User),
            summary: head.summary.clone(),
            scopes: head.scopes.clone(),
            status: head.status,
            answer: head.answer.unwrap_or(Answer::Record),
            response: head.response.clone(),
            mode: head.mode,
            guests_may_write: self.file.head.value.guests_may_write,
            expand: head.expand.clone(),
            search: head.search.clone(),
            order: self.spec.order.as_ref().map(|order| order.value.clone()),
            params: params::build(self, faults),
            body: bodies::build(self, faults),
            errors: self.errors(),
            step,
            calls: (step != Step::Pending).then(|| Calls::of(&v1, head.why.clone())),
            v1,
            needs_feature: head.needs_feature,
            detach_children: rules::field(self, head.detach_children.as_deref(), "detach_children", faults),
            reads_first: head.reads_first,
            may: rules::may(self, faults),
            line: self.spec.line,
        }
    }

    /// Returns the operation's own errors, with the common errors inserted. The error of the mode it needs comes before
    /// the first error of the same or a higher status. An error that every operation has comes before the first of a
    /// higher status.
    fn errors(&self) -> Vec<ErrorCase> {
        let mut errors = self.spec.errors.clone();
        let needs = |mode: &str| self.spec.head.value.mode.is_some_and(|needed| needed.as_str() == mode);
        for (_, error) in self.files.common.modes.iter().filter(|(mode, _)| needs(mode)) {
            let position = errors.iter().position(|known| known.status >= error.status).unwrap_or(errors.len());
            errors.insert(position, error.clone());
        }
        for error in &self.files.common.every_operation {
            let position = errors.iter().position(|known| known.status > error.status).unwrap_or(errors.len());
            errors.insert(position, error.clone());
        }
        errors
    }
}
