//! A flag that only one record of a collection has, such as that of the default state: whether v1 has it on a record,
//! and on which record v2 shows it.
//!
//! May use: what `run` may use, but no step.

use crate::plan::{CollectionRule, Resource};
use crate::run::kept::collection::Collection;
use crate::translate::{Fault, Held};
use serde_json::{Map, Value};
use uuid::Uuid;

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

/// Checks whether both v1 and v2 show the flag on a record other than `id`.
pub(in crate::run) fn is_on_another(
    resource: &Resource,
    rule: &CollectionRule,
    all: &Collection,
    id: Uuid,
) -> bool {
    let is_on = |held: &Held| has(resource, rule, held) && is_shown(resource, rule, held);
    all.rows().iter().any(|held| held.record.id != id && is_on(held))
}

/// Shows the flag on one record only: the first in v1's order, which v1 itself uses. v1 has it on two records while the
/// flag is moved, after a gateway process ended during that, and when v1's users have set a second one
/// (`states_list_two_defaults`). It has it on none after a failed create (`states_list_defaults_after_failed_create`).
pub(in crate::run) fn show_one(
    resource: &Resource,
    rule: &CollectionRule,
    rows: &mut [Held],
    read: impl Fn(&str, Uuid) -> Result<Held, Fault>,
) -> Result<(), Fault> {
    let first = rows.iter().position(|held| has(resource, rule, held)).unwrap_or(0);
    for (at, held) in rows.iter_mut().enumerate() {
        let is_flagged = at == first;
        if has(resource, rule, held) != is_flagged {
            let mut v1 = held.v1_members();
            v1.extend(flag(resource, rule, is_flagged));
            let text = Value::Object(v1).to_string();
            held.record = read(&text, held.record.id)?.record;
        }
    }
    Ok(())
}
