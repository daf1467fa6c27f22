//! A flag that only one record of a collection has, such as that of the default state: whether v1 has it on a record,
//! and on which record v2 shows it.
//!
//! May use: what `run` may use, but no step.

use crate::plan::{CollectionRule, Known, Resource};
use crate::run::kept::collection::Collection;
use crate::translate::Held;
use serde_json::{Map, Value};
use std::borrow::Borrow;

/// Returns the flag as a v1 body.
pub(in crate::run) fn flag(resource: &Resource, rule: &CollectionRule, value: bool) -> Map<String, Value> {
    let key = resource.fields[rule.field].spec.v1.clone();
    key.into_iter().map(|key| (key, Value::Bool(value))).collect()
}

/// Checks whether v1 shows the flag on a record; v2 may not, see [`is_shown`].
pub(in crate::run) fn has(resource: &Resource, rule: &CollectionRule, held: &Held) -> bool {
    let name = resource.fields[rule.field].spec.v1.as_deref();
    name.is_some_and(|name| held.v1_members().get(name) == Some(&Value::Bool(true)))
}

pub(in crate::run) fn is_shown(resource: &Resource, rule: &CollectionRule, held: &Held) -> bool {
    held.v2_members().get(&resource.fields[rule.field].name) == Some(&Value::Bool(true))
}

/// Returns the rows that do not show the flag as v2 must, each with the text of v1 that shows it so. v2 shows the flag
/// on one record only: the first in v1's order, which v1 itself uses. v1 has it on two records while the flag is moved,
/// after a gateway process ended during that, and when v1's users have set a second one (`states_list_two_defaults`).
/// It has it on none after a failed create (`states_list_defaults_after_failed_create`).
pub(in crate::run) fn corrections<H: Borrow<Held>>(
    resource: &Resource,
    rule: &CollectionRule,
    rows: &[H],
) -> Vec<(usize, String)> {
    let first = rows.iter().position(|held| has(resource, rule, held.borrow())).unwrap_or(0);
    let differs = |(at, held): &(usize, &H)| is_shown(resource, rule, (*held).borrow()) != (*at == first);
    let corrected = |(at, held): (usize, &H)| {
        let mut v1 = held.borrow().v1_members();
        v1.extend(flag(resource, rule, at == first));
        (at, Value::Object(v1).to_string())
    };
    rows.iter().enumerate().filter(differs).map(corrected).collect()
}

/// Returns the collection in v1's order, after a write that may have changed the place of a record. The order is known
/// for states, which v1 lists by `sequence` (`states_patch_sequence`, `states_list_final`).
pub(in crate::run) fn in_order(resource: &Resource, all: Collection) -> Collection {
    let places: Option<Vec<f64>> = all.rows().iter().map(|held| place(resource, held)).collect();
    let Some(places) = places.filter(|places| !places.is_sorted()) else { return all };
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by(|&a, &b| places[a].total_cmp(&places[b]));
    all.reordered(&order)
}

/// Checks whether the rows, which are [`in_order`], tell for certain which record v1 uses: v1 has the flag on one
/// record, or the first record is before the second one by more than chance.
pub(in crate::run) fn is_certain(resource: &Resource, rule: &CollectionRule, all: &Collection) -> bool {
    let mut first_two = all.rows().iter().filter(|held| has(resource, rule, held)).take(2);
    let (first, second) = match (first_two.next(), first_two.next()) {
        (Some(_), None) => return true,
        (first @ Some(_), second) => (first, second),
        (None, _) => (all.rows().first(), all.rows().get(1)),
    };
    let (Some(first), Some(second)) = (first, second) else { return true };
    matches!((place(resource, first), place(resource, second)), (Some(first), Some(second)) if first < second)
}

/// Checks whether v1 has the flag on exactly one record.
pub(in crate::run) fn is_on_one(resource: &Resource, rule: &CollectionRule, all: &Collection) -> bool {
    all.rows().iter().filter(|held| has(resource, rule, held)).count() == 1
}

fn place(resource: &Resource, held: &Held) -> Option<f64> {
    held.v1_members().get("sequence").filter(|_| resource.is(Known::States))?.as_f64()
}
