//! Stage 2, calls of v1: what an operation asks of v1 with nothing kept, and what of it even then.
//!
//! The plain steps of resources behind v1 say it by themselves; other calls are declared, as `METHOD path`, with `unless kept`
//! behind those that are not made when the gateway has the answer at hand.

use super::draft::Builder;
use crate::mapping::{Faults, SourceWord, StepWord, Trail};
use crate::plan::{Method, PathTemplate, PlannedCall, ReadOneBy, Resource, Rows, V1Source};

/// Ends a declared call that a warm operation does not make.
const UNLESS_KEPT: &str = " unless kept";
/// What asks v1 for a whole list, page by page.
const WHOLE_LIST: &str = "per_page=1000";

pub(super) fn build(builder: &Builder, resource: &Resource, faults: &mut Faults) -> Vec<PlannedCall> {
    let head = &builder.spec.head.value;
    let trail = builder.trail.then("v1");
    let own = builder.file.head.value.source == Some(SourceWord::Own);
    let Some(calls) = head.step.as_ref().filter(|_| !own).and_then(|step| of_step(step, resource, builder)) else {
        return head.v1.iter().filter_map(|text| declared(text, &trail, faults)).collect();
    };
    if !head.v1.is_empty() {
        faults.add(&trail, "the step says which calls it makes");
    }
    calls
}

/// The calls of a step of the language; none for steps that are functions.
fn of_step(step: &StepWord, resource: &Resource, builder: &Builder) -> Option<Vec<PlannedCall>> {
    let (v1, head) = (resource.v1.as_ref(), &builder.spec.head.value);
    // Where one record is read by itself, nothing else keeps the list.
    let kept = v1.is_none_or(|v1| v1.one == ReadOneBy::Collection);
    let list = |unless_kept| read_list(v1?, unless_kept);
    let record = |method| call(method, v1?.record.as_ref()?, String::new(), false);
    let create = || call(Method::Post, v1?.collection.as_ref()?, String::new(), false);
    let calls = match step {
        StepWord::ReadOne if !kept => [record(Method::Get), None, None],
        StepWord::ReadCollection | StepWord::ReadOne => [list(kept), None, None],
        StepWord::Create => [resource.unique.as_ref().and_then(|_| list(false)), create(), record(Method::Get)],
        StepWord::Update => [list(true), record(Method::Patch), None],
        StepWord::Delete => {
            let before = match (&head.detach_children, &head.may) {
                (Some(_), _) => list(false),
                (None, Some(_)) if kept => list(true),
                (None, Some(_)) => record(Method::Get),
                (None, None) => None,
            };
            [before, record(Method::Delete), None]
        }
        StepWord::Special(_) | StepWord::Pending => return None,
    };
    Some([required(resource, builder)].into_iter().chain(calls).flatten().collect())
}

/// The look at the record that must be there, which a fresh row of the index can take the place of.
fn required(resource: &Resource, builder: &Builder) -> Option<PlannedCall> {
    let (known, id) = resource.requires?.place();
    let file = builder.files.resources.iter().find(|file| file.head.value.resource == known.name())?;
    let path = file.v1.as_ref()?.value.record.as_ref()?.replace("{pk}", &format!("{{{id}}}"));
    call(Method::Get, &PathTemplate::parse(&path).ok()?, String::new(), true)
}

fn read_list(v1: &V1Source, unless_kept: bool) -> Option<PlannedCall> {
    let mut query = if v1.rows == Rows::Paged { WHOLE_LIST.to_owned() } else { String::new() };
    if !v1.list_query.is_empty() {
        query.push_str(if query.is_empty() { "" } else { "&" });
        query.push_str(&v1.list_query);
    }
    call(Method::Get, v1.collection.as_ref()?, query, unless_kept)
}

fn call(method: Method, path: &PathTemplate, query: String, unless_kept: bool) -> Option<PlannedCall> {
    Some(PlannedCall { method, path: path.clone(), query, unless_kept })
}

fn declared(text: &str, trail: &Trail, faults: &mut Faults) -> Option<PlannedCall> {
    let (made, unless_kept) = match text.strip_suffix(UNLESS_KEPT) {
        Some(made) => (made, true),
        None => (text, false),
    };
    let (word, path) = made.split_once(' ').unwrap_or((made, ""));
    let methods = [Method::Get, Method::Post, Method::Patch, Method::Delete];
    let Some(method) = methods.into_iter().find(|method| method.as_str() == word) else {
        faults.add(trail, format!("`{text}` does not begin with a method: GET, POST, PATCH or DELETE"));
        return None;
    };
    match PathTemplate::parse(path) {
        Ok(path) => Some(PlannedCall { method, path, query: String::new(), unless_kept }),
        Err(message) => {
            faults.add(trail, format!("the path of `{text}` {message}"));
            None
        }
    }
}
