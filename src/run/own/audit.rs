//! Audit log entries of a change of definitions: one entry for each record that differs.
//!
//! Records that come or go together with their property or type (options, contexts, places on types) have no entry of
//! their own; nor has a type that stops being the default when another becomes it. May use: what `run` may use.

use crate::catalogue::{Catalogue, Context, WorkItemType, shapes};
use crate::run::Job;
use crate::run::audit::{Target, changed, features_updated};
use crate::store::{AuditActor, AuditEntry};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashSet};
use uuid::Uuid;

/// Names of the events for a created, changed or deleted record.
type Events = [&'static str; 3];

const TYPE: Events = ["work_item_type.created", "work_item_type.updated", "work_item_type.deleted"];
const PROPERTY: Events = ["work_item_property.created", "work_item_property.updated", "work_item_property.deleted"];
const OPTION: Events =
    ["work_item_property_option.created", "work_item_property_option.updated", "work_item_property_option.deleted"];
const CONTEXT: Events = [
    "work_item_property_context.created",
    "work_item_property_context.updated",
    "work_item_property_context.deleted",
];
const ATTACHED: &str = "work_item_type_property.attached";
const ATTACHMENT: Events = [ATTACHED, ATTACHED, "work_item_type_property.detached"];

/// A record in the form of the log: its name, its project, its values.
type AuditForm = Option<(String, Option<Uuid>, Map<String, Value>)>;

/// Returns entries for all differences between the two catalogues.
pub(super) fn entries(job: &Job, workspace: Uuid, before: &Catalogue, after: &Catalogue) -> Vec<AuditEntry> {
    let mut entries = Vec::new();
    if before.features != after.features {
        let shape = |catalogue: &Catalogue| Value::Object(shapes::features(&catalogue.features));
        let (actor, slug) = (job.actor(), job.slug());
        entries.push(features_updated(actor, workspace, slug, shape(before), shape(after)));
    }
    entries.append(&mut definitions(job.actor(), before, after));
    entries
}

/// Returns entries for the definitions that differ between the two catalogues.
pub(super) fn definitions(actor: AuditActor, before: &Catalogue, after: &Catalogue) -> Vec<AuditEntry> {
    let mut differences = Differences { actor, before, after, entries: Vec::new(), alone: None };
    differences.types();
    differences.properties();
    differences.options();
    differences.contexts();
    differences.attachments();
    differences.imports();
    differences.entries
}

struct Differences<'c> {
    actor: AuditActor,
    before: &'c Catalogue,
    after: &'c Catalogue,
    entries: Vec<AuditEntry>,
    /// The option that was created or deleted, if it is the only changed one.
    alone: Option<Uuid>,
}

impl Differences<'_> {
    fn types(&mut self) {
        let show = |kind: &WorkItemType| {
            let pair = [("external_id", json!(kind.external_id)), ("external_source", json!(kind.external_source))];
            let mut shape = shapes::work_item_type(kind);
            shape.extend(pair.map(|(name, value)| (name.to_owned(), value)));
            (kind.name.clone(), kind.project, shape)
        };
        for id in differing(&self.before.types, &self.after.types) {
            let (was, is) = (self.before.types.get(&id), self.after.types.get(&id));
            let only_default = was.zip(is).is_some_and(|(was, is)| {
                **is == WorkItemType { is_default: is.is_default, ..WorkItemType::clone(was) }
            });
            let (old, new) = (was.map(|kind| show(kind)), is.map(|kind| show(kind)));
            match is {
                Some(kind) if only_default && kind.is_default => {
                    self.push(["work_item_type.default_changed"; 3], id, old, new);
                }
                Some(_) if only_default => {}
                _ => self.push(TYPE, id, old, new),
            }
        }
    }

    fn properties(&mut self) {
        for id in differing(&self.before.properties, &self.after.properties) {
            let show = |catalogue: &Catalogue| {
                let property = catalogue.properties.get(&id)?;
                Some((property.display_name.clone(), property.project, shapes::property(catalogue, property)))
            };
            self.push(PROPERTY, id, show(self.before), show(self.after));
        }
    }

    fn options(&mut self) {
        let changed = differing(&self.before.options, &self.after.options);
        let property = |id: &Uuid| {
            let option = self.after.options.get(id).or_else(|| self.before.options.get(id));
            option.map(|option| option.property)
        };
        let properties: HashSet<Uuid> = changed.iter().filter_map(property).collect();
        let preselected = [self.before, self.after].map(|catalogue| catalogue.preselected_of_many(&properties));
        for id in &changed {
            let show = |catalogue: &Catalogue, preselected: &HashSet<Uuid>| {
                let option = catalogue.options.get(id).filter(|option| self.stays(option.property))?;
                let project = catalogue.properties.get(&option.property)?.project;
                Some((option.name.clone(), project, shapes::option_with(option, preselected.contains(id))))
            };
            let (old, new) = (show(self.before, &preselected[0]), show(self.after, &preselected[1]));
            self.push(OPTION, *id, old, new);
        }
        self.alone = match changed.as_slice() {
            [id] if !(self.before.options.contains_key(id) && self.after.options.contains_key(id)) => Some(*id),
            _ => None,
        };
    }

    fn contexts(&mut self) {
        for id in differing(&self.before.contexts, &self.after.contexts) {
            if self.differs_by_what_is_told(id) {
                continue;
            }
            let show = |catalogue: &Catalogue| {
                let context = catalogue.contexts.get(&id).filter(|context| self.stays(context.property))?;
                Some((context.name.clone(), None, shapes::context(catalogue, context)))
            };
            let (old, new) = (show(self.before), show(self.after));
            self.push(CONTEXT, id, old, new);
        }
    }

    /// Checks whether a context differs only by an option that is the only created or deleted one. The entry of the
    /// option already says so, and an entry of the context would contain all of its options, twice. For a new option
    /// this holds only in the context that covers everything: elsewhere the offer itself is news.
    fn differs_by_what_is_told(&self, id: Uuid) -> bool {
        let Some(alone) = self.alone else { return false };
        let Some((was, is)) = self.before.contexts.get(&id).zip(self.after.contexts.get(&id)) else { return false };
        if is.tier() != 4 && self.after.options.contains_key(&alone) {
            return false;
        }
        let others = |context: &Context| {
            let mut others = context.clone();
            others.options.retain(|link| link.option != alone);
            others
        };
        others(was) == others(is)
    }

    /// Checks whether the property exists both before and after.
    fn stays(&self, property: Uuid) -> bool {
        [self.before, self.after].iter().all(|catalogue| catalogue.properties.contains_key(&property))
    }

    fn attachments(&mut self) {
        let (before, after) = (self.before, self.after);
        let stays = |catalogue: &Catalogue, (type_id, property): (Uuid, Uuid)| {
            catalogue.types.contains_key(&type_id) && catalogue.properties.contains_key(&property)
        };
        for link in differing(&before.attachments, &after.attachments) {
            let show = |catalogue: &Catalogue| {
                catalogue.attachments.get(&link).filter(|_| stays(before, link) && stays(after, link))?;
                let property = catalogue.properties.get(&link.1)?;
                let mut shape = Map::new();
                shape.insert("type_id".into(), json!(link.0));
                shape.insert("property_id".into(), json!(link.1));
                Some((property.display_name.clone(), property.project, shape))
            };
            self.push(ATTACHMENT, link.1, show(before), show(after));
        }
    }

    fn imports(&mut self) {
        for (project, id) in differing(&self.before.imports, &self.after.imports) {
            // A removed import went together with its project or its type.
            let imported = self.after.imports.contains_key(&(project, id));
            let Some(kind) = self.after.types.get(&id).filter(|_| imported) else { continue };
            let target = Target { id, name: kind.name.clone(), project: Some(project) };
            let new = json!({ "work_item_types": [id] });
            self.entries.push(changed(self.actor.clone(), "work_item_type.imported", target, None, Some(new)));
        }
    }

    fn push(&mut self, [created, updated, deleted]: Events, id: Uuid, old: AuditForm, new: AuditForm) {
        let Some((name, project, _)) = new.as_ref().or(old.as_ref()) else { return };
        let target = Target { id, name: name.clone(), project: *project };
        let event = match (&old, &new) {
            (None, _) => created,
            (_, None) => deleted,
            _ => updated,
        };
        let value = |shown: AuditForm| shown.map(|(_, _, shape)| Value::Object(shape));
        let (old, new) = (value(old), value(new));
        if old != new {
            self.entries.push(changed(self.actor.clone(), event, target, old, new));
        }
    }
}

/// Returns the keys whose records differ, or that only one of the two has.
fn differing<K: Ord + Copy, T: PartialEq>(before: &BTreeMap<K, T>, after: &BTreeMap<K, T>) -> Vec<K> {
    let gone = before.keys().filter(|key| !after.contains_key(key));
    let other = after.iter().filter(|(key, record)| before.get(key) != Some(record)).map(|(key, _)| key);
    gone.chain(other).copied().collect()
}
