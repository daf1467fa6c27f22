//! From what the files say to what they mean: the ordered stages of the compiler.
//!
//! 1. `resources`: fields, paths at v1, refusals
//! 2. `operations`: one operation each, with `params` (query) and `bodies`
//! 3. `shapes`: read shapes, from fields and from `shapes/`
//! 4. `paths`, `lists`, `fields`, `writes`, `turns`, `costs`, `whole`: the rules, each over everything
//!
//! No stage stops at a fault. A rule about a single part is silent when that part was already reported
//! as unreadable. The result is a plan without any fault, or every fault of every file.

mod bodies;
mod costs;
mod fields;
mod kinds;
mod lists;
mod operations;
mod params;
mod paths;
mod planned;
mod resources;
mod shapes;
mod turns;
mod whole;
mod writes;

use super::{Operation, Plan, Resource, Source};
use crate::mapping::{Faults, Files, OperationSpec, ResourceFile, Trail};

/// The functions a program has for the steps that name one.
#[derive(Debug, Clone, Copy)]
pub struct Functions<'n> {
    /// Those of `special:` steps.
    pub specials: &'n [&'n str],
    /// Those of `own:` steps.
    pub own: &'n [&'n str],
}

/// Compiles the mappings for a program with these functions.
///
/// # Errors
/// Every fault of every file, those of the reading included.
pub fn compile(files: &Files, functions: &Functions) -> Result<Plan, Faults> {
    let mut faults = files.faults.clone();
    let mut draft = Draft { files, resources: Vec::new(), operations: Vec::new(), origins: Vec::new() };
    resources::build(&mut draft, &mut faults);
    operations::build(&mut draft, &mut faults);
    resources::choose_cells(&mut draft);
    let shapes = shapes::build(&draft, &mut faults);
    for rule in RULES {
        rule(&draft, &mut faults);
    }
    whole::functions_are_used(&draft, functions, &mut faults);
    if faults.is_empty() {
        Ok(Plan { resources: draft.resources, operations: draft.operations, shapes })
    } else {
        Err(faults)
    }
}

type Rule = fn(&Draft, &mut Faults);

/// The rules in the order their faults are reported.
const RULES: [Rule; 7] =
    [whole::check, paths::check, lists::check, writes::check, turns::check, fields::check, costs::check];

/// The plan in the making, with what each part was made of.
struct Draft<'f> {
    files: &'f Files,
    resources: Vec<Resource>,
    operations: Vec<Operation>,
    /// What each operation was made of, by the same index.
    origins: Vec<Origin<'f>>,
}

/// What an operation was made of.
struct Origin<'f> {
    file: &'f ResourceFile,
    spec: &'f OperationSpec,
    /// Whether its keys and its path could be read.
    sound: bool,
}

/// One operation under a rule.
#[derive(Clone, Copy)]
struct Case<'d> {
    operation: &'d Operation,
    resource: &'d Resource,
    spec: &'d OperationSpec,
    file: &'d ResourceFile,
}

impl<'d> Draft<'d> {
    /// The operations that rules can speak about.
    fn cases(&self) -> impl Iterator<Item = Case<'_>> {
        self.operations.iter().zip(&self.origins).filter(|(_, origin)| origin.sound).map(|(operation, origin)| {
            Case { operation, resource: &self.resources[operation.resource], spec: origin.spec, file: origin.file }
        })
    }

    /// The operations of one resource that rules can speak about.
    fn cases_of(&self, resource: usize) -> impl Iterator<Item = Case<'_>> {
        self.cases().filter(move |case| case.operation.resource == resource)
    }

    /// Resources with the files they were made of.
    fn resources_with_files(&self) -> impl Iterator<Item = (usize, &Resource, &'d ResourceFile)> {
        self.resources
            .iter()
            .enumerate()
            .zip(&self.files.resources)
            .map(|((index, resource), file)| (index, resource, file))
    }

    /// Whether a resource has an operation that works already.
    fn works(&self, resource: usize) -> bool {
        self.cases_of(resource).any(|case| case.operation.works())
    }

    /// Whether a resource is translated to v1 by an operation that works already. Rules that hold the
    /// fields against what is done with them wait until then.
    fn translates(&self, resource: usize) -> bool {
        self.resources[resource].source == Source::V1 && self.works(resource)
    }
}

impl Case<'_> {
    fn trail(&self) -> Trail {
        Trail::file(&self.file.file).then(self.operation.id.as_str())
    }

    /// Whether it is translated to v1 and works already.
    fn translates(&self) -> bool {
        self.resource.source == Source::V1 && self.operation.works()
    }
}
