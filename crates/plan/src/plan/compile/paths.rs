//! Rules of paths: v2's must differ from each other, and v1's must fit v2's. May use: `mapping`, this folder.

use super::draft::{Case, Draft};
use crate::mapping::{Faults, Method, Step, Surface};
use std::collections::HashMap;

/// Variables that every file may use. Further variables are declared under `variables`.
const USUAL: [&str; 7] = ["slug", "project_id", "pk", "work_item_id", "property_id", "type_id", "identifier"];

pub(super) fn check(draft: &Draft, faults: &mut Faults) {
    for case in draft.cases() {
        prefix(case, faults);
        surface(case, faults);
        variables_are_known(case, faults);
        v1_paths_fit(case, faults);
    }
    shapes_are_unique(draft, faults);
}

/// Checks that the variables of a path fit its surface.
fn surface(case: Case, faults: &mut Faults) {
    let operation = case.operation;
    let has = |name: &str| operation.path.variables().any(|known| known == name);
    let right = match operation.surface {
        Surface::User => Surface::User,
        _ if has("project_id") => Surface::Project,
        _ => Surface::Workspace,
    };
    if operation.surface != right || operation.surface != Surface::User && !has("slug") {
        faults.add(
            &case.trail().then("path"),
            "does not lie where its surface says: `{slug}` is a workspace, `{project_id}` a project in it",
        );
    }
}

fn prefix(case: Case, faults: &mut Faults) {
    let path = case.operation.path.as_str();
    if !path.starts_with("/api/v2/") || path == "/api/v2/" {
        faults.add(&case.trail().then("path"), "does not start with /api/v2/");
    }
}

fn variables_are_known(case: Case, faults: &mut Faults) {
    let more = &case.file.head.value.variables;
    for name in case.operation.path.variables() {
        if !USUAL.contains(&name) && !more.iter().any(|known| known == name) {
            let message = format!("unknown variable {{{name}}}; name it under `variables` when it is meant");
            faults.add(&case.trail().then("path"), message);
        }
    }
}

/// Checks that no method and path occur twice, and that no two paths differ only in the names of variables. The route
/// table could not choose between them.
fn shapes_are_unique(draft: &Draft, faults: &mut Faults) {
    let mut operations: HashMap<(Method, String), &str> = HashMap::new();
    let mut texts: HashMap<String, (&str, &str)> = HashMap::new();
    for case in draft.cases() {
        let operation = case.operation;
        let shape = operation.path.shape();
        let trail = case.trail().then("path");
        if let Some(first) = operations.insert((operation.method, shape.clone()), &operation.id) {
            faults.add(&trail, format!("`{first}` has the same method and path"));
        }
        match texts.get(&shape) {
            Some((text, first)) if *text != operation.path.as_str() => {
                faults.add(
                    &trail,
                    format!("differs from the path of `{first}` only in the names of variables: {text}"),
                );
            }
            Some(_) => {}
            None => {
                texts.insert(shape, (operation.path.as_str(), &operation.id));
            }
        }
    }
}

/// Checks that every value that a step fills into v1's paths comes from v2's path, and that no variable of v2's path is
/// ignored.
fn v1_paths_fit(case: Case, faults: &mut Faults) {
    let Some(v1) = case.resource.v1.as_ref().filter(|_| case.translates()) else { return };
    let own: Vec<&str> = case.operation.path.variables().collect();
    let below_record = own.contains(&"pk");
    let v1_trail = case.file.trail().then("v1");
    for (name, template) in [("collection", &v1.collection), ("record", &v1.record), ("also_in", &v1.also_in)] {
        for variable in template.iter().flat_map(|template| template.variables()) {
            // A list or create does not know a record yet.
            let later = name == "record" && variable == "pk" && !below_record;
            // A special step of a workspace path, such as a look-up by human key, finds the project itself.
            let found =
                matches!(case.operation.step, Step::Special(_)) && case.operation.surface == Surface::Workspace;
            if !own.contains(&variable) && !later && !found {
                let message = format!("{{{variable}}} is not in the path of `{}`", case.operation.id);
                faults.add(&v1_trail.then(name), message);
            }
        }
    }
    if !matches!(case.operation.step, Step::Special(_)) {
        let reaches = |name: &str| {
            [&v1.collection, &v1.record].into_iter().flatten().any(|t| t.variables().any(|v| v == name))
        };
        for name in own.into_iter().filter(|name| *name != "pk" && !reaches(name)) {
            faults.add(
                &case.trail().then("path"),
                format!("{{{name}}} is in no path of [v1], so it would be ignored"),
            );
        }
    }
}
