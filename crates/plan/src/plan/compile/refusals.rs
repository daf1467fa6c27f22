//! Rules of errors, and of the meanings of v1's refusals. May use: `mapping`, this folder.

use super::draft::{Case, Draft};
use crate::mapping::{Faults, Method, ResourceFile, WriteKind};
use crate::plan::codes;

pub(super) fn errors_are_known(case: Case, faults: &mut Faults) {
    for error in &case.operation.errors {
        if !codes::TABLE.contains(&(error.status, error.code.as_str())) {
            let message = match codes::status_of(&error.code) {
                Some(status) => format!("`{}` comes with {status}, not {}", error.code, error.status),
                None => format!("`{}` is not in the table of codes", error.code),
            };
            faults.add(&case.trail().then("errors"), message);
        }
    }
}

pub(super) fn refusals_fit(draft: &Draft, resource: usize, file: &ResourceFile, faults: &mut Faults) {
    let Some(v1) = &draft.resources[resource].v1 else { return };
    let whole = file.head.sound && file.refusals.iter().all(|refusal| refusal.sound);
    for (index, refusal) in v1.refusals.iter().enumerate().filter(|_| whole) {
        let trail = file.trail().then("v1").then(format!("refusals.{}", index + 1));
        let (method, word) = match refusal.on {
            WriteKind::Create => (Method::Post, "create"),
            WriteKind::Update => (Method::Patch, "update"),
            WriteKind::Delete => (Method::Delete, "delete"),
        };
        if draft.is_read(resource) && !draft.cases_of(resource).any(|case| case.operation.method == method) {
            faults.add(&trail.then("on"), format!("the resource has no {word}"));
        }
        if !(400..=499).contains(&refusal.status) {
            faults.add(&trail.then("status"), format!("{} is no refusal", refusal.status));
        }
        let is_of_flag = refusal.on == WriteKind::Delete && refusal.code == "conflict";
        if refusal.exclusive && !(is_of_flag && draft.resources[resource].exclusive.is_some()) {
            let message = "marks a `conflict` of a delete, in a resource with `exclusive`";
            faults.add(&trail.then("exclusive"), message);
        }
        if codes::status_of(&refusal.code).is_none() {
            faults.add(&trail.then("code"), format!("`{}` is not in the table of codes", refusal.code));
        }
    }
}
