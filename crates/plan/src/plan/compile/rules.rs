//! Stages 1 and 2, rules that files declare (`unique`, `exclusive`, `requires`, `needs_feature`, `detach_children`,
//! `may`, `also_in`). May use: `mapping`, this folder.

use super::draft::Builder;
use crate::mapping::{Faults, MaySpec, OneOfAllSpec, RequiresSpec, Trail, WhoWord};
use crate::plan::{CollectionRule, Field, May, Required};

const NO_FIELD: &str = "there is no field of this name";

/// Builds a rule about all records of a collection.
pub(super) fn of_all(
    spec: Option<&OneOfAllSpec>,
    fields: &[Field],
    trail: &Trail,
    faults: &mut Faults,
) -> Option<CollectionRule> {
    let spec = spec?;
    let field = position(fields, &spec.field, trail, faults)?;
    Some(CollectionRule { field, detail: spec.detail.clone() })
}

fn position(fields: &[Field], name: &str, trail: &Trail, faults: &mut Faults) -> Option<usize> {
    let found = fields.iter().position(|field| field.name == name);
    if found.is_none() {
        faults.add(trail, format!("{NO_FIELD}: `{name}`"));
    }
    found
}

/// Returns the record that must exist; only work items are possible.
pub(super) fn required(spec: Option<&RequiresSpec>, trail: &Trail, faults: &mut Faults) -> Option<Required> {
    let spec = spec?;
    let known = [Required::WorkItem]
        .into_iter()
        .find(|known| (known.place().0.name(), known.place().1) == (&spec.live, &spec.id));
    if known.is_none() {
        let (resource, id) = Required::WorkItem.place();
        faults.add(trail, format!("only {{ live = \"{}\", id = \"{id}\" }} can be required", resource.name()));
    }
    known
}

/// Returns the index of the field that a key of an operation names.
pub(super) fn field(builder: &Builder, name: Option<&str>, key: &str, faults: &mut Faults) -> Option<usize> {
    position(builder.fields, name?, &builder.trail.then(key), faults)
}

pub(super) fn may(builder: &Builder, faults: &mut Faults) -> Option<May> {
    let MaySpec { who: WhoWord::AuthorOrAdmin, author, detail } = builder.spec.head.value.may.as_ref()?;
    let author = position(builder.fields, author, &builder.trail.then("may"), faults)?;
    Some(May { author, detail: detail.clone() })
}
