//! Working data of the compiler's stages: the unfinished plan, and one operation while it is built or checked. May use:
//! `mapping`, this folder.

use crate::mapping::{Faults, Files, OperationSpec, ResourceFile, Source, Trail};
use crate::plan::{Field, Operation, Resource};

/// The unfinished plan, with the sources of its parts.
pub(super) struct Draft<'f> {
    pub(super) files: &'f Files,
    pub(super) resources: Vec<Resource>,
    pub(super) operations: Vec<Operation>,
    /// Source of each operation, at the same index.
    pub(super) origins: Vec<Origin<'f>>,
}

/// The source of an operation in the mapping files.
pub(super) struct Origin<'f> {
    pub(super) file: &'f ResourceFile,
    pub(super) spec: &'f OperationSpec,
    /// Whether its keys and its path could be read.
    pub(super) sound: bool,
}

/// One operation while a rule checks it.
#[derive(Clone, Copy)]
pub(super) struct Case<'d> {
    pub(super) operation: &'d Operation,
    pub(super) resource: &'d Resource,
    pub(super) spec: &'d OperationSpec,
    pub(super) file: &'d ResourceFile,
}

impl<'d> Draft<'d> {
    /// Returns the operations that could be read. Rules check only these operations.
    pub(super) fn cases(&self) -> impl Iterator<Item = Case<'_>> {
        self.operations.iter().zip(&self.origins).filter(|(_, origin)| origin.sound).map(|(operation, origin)| {
            Case { operation, resource: &self.resources[operation.resource], spec: origin.spec, file: origin.file }
        })
    }

    /// Returns the operations of one resource that could be read.
    pub(super) fn cases_of(&self, resource: usize) -> impl Iterator<Item = Case<'_>> {
        self.cases().filter(move |case| case.operation.resource == resource)
    }

    /// Checks whether all operations of a resource could be read. Nothing is known about an unreadable operation.
    pub(super) fn is_read(&self, resource: usize) -> bool {
        let mut both = self.operations.iter().zip(&self.origins);
        both.all(|(operation, origin)| operation.resource != resource || origin.sound)
    }

    /// Returns the resources, each with its index and the file it was made from.
    pub(super) fn resources_with_files(&self) -> impl Iterator<Item = (usize, &Resource, &'d ResourceFile)> {
        self.resources
            .iter()
            .enumerate()
            .zip(&self.files.resources)
            .map(|((index, resource), file)| (index, resource, file))
    }

    /// Checks whether a resource has an operation that already works.
    pub(super) fn works(&self, resource: usize) -> bool {
        self.cases_of(resource).any(|case| case.operation.works())
    }

    /// Checks whether an operation that already works translates the resource to v1. Only then do the rules apply that
    /// compare the fields with their use.
    pub(super) fn translates(&self, resource: usize) -> bool {
        self.resources[resource].source == Source::V1 && self.works(resource)
    }
}

impl Case<'_> {
    pub(super) fn trail(&self) -> Trail {
        self.file.trail().then(self.operation.id.as_str())
    }

    /// Checks whether the operation is translated to v1 and already works.
    pub(super) fn translates(&self) -> bool {
        self.resource.source == Source::V1 && self.operation.works()
    }

    /// Checks that the resource has a field that the operation uses, if the operation works.
    pub(super) fn must_have(&self, field: &str, trail: &Trail, faults: &mut Faults) {
        if self.operation.works() && self.resource.field(field).is_none() {
            faults.add(trail, format!("the resource has no field `{field}`"));
        }
    }
}

/// The input from which one operation is built.
pub(super) struct Builder<'f> {
    pub(super) files: &'f Files,
    pub(super) file: &'f ResourceFile,
    pub(super) fields: &'f [Field],
    pub(super) spec: &'f OperationSpec,
    pub(super) trail: Trail,
}
