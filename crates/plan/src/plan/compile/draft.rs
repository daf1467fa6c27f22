//! What the stages of the compiler work on: the plan in the making, and one operation of it under a rule or while it is
//! built. May use: `mapping`, this folder.

use crate::mapping::{Faults, Files, OperationSpec, ResourceFile, Source, Trail};
use crate::plan::{Field, Operation, Resource};

/// The plan in the making, with what each part was made of.
pub(super) struct Draft<'f> {
    pub(super) files: &'f Files,
    pub(super) resources: Vec<Resource>,
    pub(super) operations: Vec<Operation>,
    /// What each operation was made of, by the same index.
    pub(super) origins: Vec<Origin<'f>>,
}

/// What an operation was made of.
pub(super) struct Origin<'f> {
    pub(super) file: &'f ResourceFile,
    pub(super) spec: &'f OperationSpec,
    /// Whether its keys and its path could be read.
    pub(super) sound: bool,
}

/// One operation under a rule.
#[derive(Clone, Copy)]
pub(super) struct Case<'d> {
    pub(super) operation: &'d Operation,
    pub(super) resource: &'d Resource,
    pub(super) spec: &'d OperationSpec,
    pub(super) file: &'d ResourceFile,
}

impl<'d> Draft<'d> {
    /// The operations that rules can speak about.
    pub(super) fn cases(&self) -> impl Iterator<Item = Case<'_>> {
        self.operations.iter().zip(&self.origins).filter(|(_, origin)| origin.sound).map(|(operation, origin)| {
            Case { operation, resource: &self.resources[operation.resource], spec: origin.spec, file: origin.file }
        })
    }

    /// The operations of one resource that rules can speak about.
    pub(super) fn cases_of(&self, resource: usize) -> impl Iterator<Item = Case<'_>> {
        self.cases().filter(move |case| case.operation.resource == resource)
    }

    /// Whether all operations of a resource could be read. Of one that could not, nobody knows what it is.
    pub(super) fn is_read(&self, resource: usize) -> bool {
        let mut both = self.operations.iter().zip(&self.origins);
        both.all(|(operation, origin)| operation.resource != resource || origin.sound)
    }

    /// Resources with the files they were made of.
    pub(super) fn resources_with_files(&self) -> impl Iterator<Item = (usize, &Resource, &'d ResourceFile)> {
        self.resources
            .iter()
            .enumerate()
            .zip(&self.files.resources)
            .map(|((index, resource), file)| (index, resource, file))
    }

    /// Whether a resource has an operation that works already.
    pub(super) fn works(&self, resource: usize) -> bool {
        self.cases_of(resource).any(|case| case.operation.works())
    }

    /// Whether a resource is translated to v1 by an operation that works already. Rules that hold the
    /// fields against what is done with them wait until then.
    pub(super) fn translates(&self, resource: usize) -> bool {
        self.resources[resource].source == Source::V1 && self.works(resource)
    }
}

impl Case<'_> {
    pub(super) fn trail(&self) -> Trail {
        self.file.trail().then(self.operation.id.as_str())
    }

    /// Whether it is translated to v1 and works already.
    pub(super) fn translates(&self) -> bool {
        self.resource.source == Source::V1 && self.operation.works()
    }

    /// The resource must have a field that an operation at work looks at.
    pub(super) fn must_have(&self, field: &str, trail: &Trail, faults: &mut Faults) {
        if self.operation.works() && self.resource.field(field).is_none() {
            faults.add(trail, format!("the resource has no field `{field}`"));
        }
    }
}

/// What one operation is made of.
pub(super) struct Builder<'f> {
    pub(super) files: &'f Files,
    pub(super) file: &'f ResourceFile,
    pub(super) fields: &'f [Field],
    pub(super) spec: &'f OperationSpec,
    pub(super) trail: Trail,
}
