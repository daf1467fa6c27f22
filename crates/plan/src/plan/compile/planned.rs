//! Stage 2, calls of v1: the calls of an operation when nothing is cached, and which of them remain when all is cached.
//!
//! For plain steps of resources behind v1 the calls follow from the step. All other calls are declared, as `METHOD
//! path`. A call ends with `unless kept` when it is not made if the gateway already has the answer, and with `for each
//! NAME` when it comes in addition to the usual calls. All figures of the cost are computed from these calls. May use:
//! `mapping`, this folder.

use super::draft::Builder;
use crate::mapping::{Faults, Keep, Method, ReadOneBy, Rows, Source, Step, Trail};
use crate::plan::{Extra, Made, PathTemplate, PlannedCall, Resource, V1Source};

/// Suffix of a declared call that a warm operation does not make.
const UNLESS_KEPT: &str = " unless kept";
/// Text between a declared extra call and the thing for which the call is made.
const FOR_EACH: &str = " for each ";
/// Query that asks v1 for a whole list, page by page.
const WHOLE_LIST: &str = "per_page=1000";

pub(super) fn build(builder: &Builder, resource: &Resource, faults: &mut Faults) -> Vec<PlannedCall> {
    let head = &builder.spec.head.value;
    let trail = builder.trail.then("v1");
    let own = builder.file.head.value.source == Some(Source::Own);
    let Some(calls) = head.step.filter(|_| !own).and_then(|step| of_step(step, resource, builder)) else {
        return head.v1.iter().flatten().filter_map(|text| declared(text, &trail, faults)).collect();
    };
    if head.v1.is_some() {
        faults.add(&trail, "the step says which calls it makes");
    }
    calls
}

/// Returns the calls of a plain step; `None` for steps that are functions.
fn of_step(step: Step, resource: &Resource, builder: &Builder) -> Option<Vec<PlannedCall>> {
    let (v1, head) = (resource.v1.as_ref(), &builder.spec.head.value);
    // When single records are read at their own path, nothing caches the list.
    let kept = v1.is_none_or(|v1| v1.one == ReadOneBy::Collection);
    let list = |made| read_list(v1?, made);
    let record = |method, made| call(method, v1?.record.as_ref()?, String::new(), made);
    let create = |made| call(Method::Post, v1?.collection.as_ref()?, String::new(), made);
    let other = |extra| {
        let path = v1?.record.as_ref()?.as_str().replace("{pk}", "{other}");
        call(Method::Patch, &PathTemplate::parse(&path).ok()?, String::new(), Made::ForEach(extra))
    };
    let refused = resource.fields.iter().any(|field| field.spec.keep == Keep::OverlayIfRefused);
    let again = Made::ForEach(Extra::RefusedValue);
    let flagged = || resource.exclusive.as_ref().and_then(|_| other(Extra::Default));
    let calls = match step {
        Step::ReadOne if !kept => vec![record(Method::Get, Made::Always)],
        Step::ReadCollection | Step::ReadOne => {
            vec![list(if kept { Made::UnlessCached } else { Made::Always })]
        }
        Step::Create => vec![
            resource.unique.as_ref().and_then(|_| list(Made::Always)),
            create(Made::Always),
            create(again).filter(|_| refused),
            record(Method::Get, Made::Always),
            flagged(),
        ],
        Step::Update => vec![
            list(Made::UnlessCached),
            record(Method::Patch, Made::Always),
            record(Method::Patch, again).filter(|_| refused),
            flagged(),
        ],
        Step::Delete => {
            let before = match (&head.detach_children, &head.may) {
                (Some(_), _) => list(Made::Always),
                (None, Some(_)) if kept => list(Made::UnlessCached),
                (None, Some(_)) => record(Method::Get, Made::Always),
                (None, None) if head.reads_first => list(Made::UnlessCached),
                (None, None) => None,
            };
            let children = head.detach_children.as_ref().and_then(|_| other(Extra::Child));
            let cleared = record(Method::Patch, Made::ForEach(Extra::Default));
            let cleared = cleared.filter(|_| resource.exclusive.is_some());
            vec![before, children, cleared, record(Method::Delete, Made::Always)]
        }
        Step::Special(_) | Step::Pending => return None,
    };
    Some([required(resource, builder)].into_iter().chain(calls).flatten().collect())
}

/// Returns the call that checks the required record. A fresh row of the index can replace this call.
fn required(resource: &Resource, builder: &Builder) -> Option<PlannedCall> {
    let (known, id) = resource.requires?.place();
    let file = builder.files.resources.iter().find(|file| file.head.value.resource == known.name())?;
    let path = file.v1.as_ref()?.value.record.as_ref()?.replace("{pk}", &format!("{{{id}}}"));
    call(Method::Get, &PathTemplate::parse(&path).ok()?, String::new(), Made::UnlessCached)
}

fn read_list(v1: &V1Source, made: Made) -> Option<PlannedCall> {
    let mut query = if v1.rows == Rows::Paged { WHOLE_LIST.to_owned() } else { String::new() };
    if !v1.list_query.is_empty() {
        query.push_str(if query.is_empty() { "" } else { "&" });
        query.push_str(&v1.list_query);
    }
    call(Method::Get, v1.collection.as_ref()?, query, made)
}

fn call(method: Method, path: &PathTemplate, query: String, made: Made) -> Option<PlannedCall> {
    Some(PlannedCall { method, path: path.clone(), query, made })
}

fn declared(text: &str, trail: &Trail, faults: &mut Faults) -> Option<PlannedCall> {
    let (call, made) = match (text.strip_suffix(UNLESS_KEPT), text.split_once(FOR_EACH)) {
        (Some(call), _) => (call, Made::UnlessCached),
        (None, None) => (text, Made::Always),
        (None, Some((call, name))) => {
            let Ok(extra) = name.parse() else {
                faults.add(trail, format!("nothing is called `{name}`, for which more calls are made"));
                return None;
            };
            (call, Made::ForEach(extra))
        }
    };
    let (word, path) = call.split_once(' ').unwrap_or((call, ""));
    let Ok(method) = word.parse() else {
        faults.add(trail, format!("`{text}` does not begin with a method: GET, POST, PATCH or DELETE"));
        return None;
    };
    match PathTemplate::parse(path) {
        Ok(path) => Some(PlannedCall { method, path, query: String::new(), made }),
        Err(message) => {
            faults.add(trail, format!("the path of `{text}` {message}"));
            None
        }
    }
}
