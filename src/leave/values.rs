//! Types and values of work items.
//!
//! Values that are not visible here are not carried. These are values of archived work items, of properties that are
//! switched off or do not apply to the item's type, and values that do not fit what the property holds now. May use:
//! `catalogue`, `store`, `translate` (sanitising), this folder.

use super::ids::{Carried, Kind, digest};
use super::item::{self, Job, Outcome, WantedValue};
use super::scope::{Items, text};
use super::work::Work;
use crate::catalogue::Applicable;
use crate::catalogue::values::{ValueKind, plain, record};
use crate::store::{Element, ItemValues, RecordedItem};
use crate::translate::html;
use futures_util::StreamExt;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use uuid::Uuid;

/// Words for types and values of work items that v2 does not show.
const NOT_LIVE: &str = "types and values of work items that are archived, deleted or hidden";
/// Number of work items handled at once.
const AT_ONCE: usize = 4;
/// Number of work items after which progress is noted in the store.
const BATCH: usize = 20;

/// Counts of an item's elements that are not carried.
#[derive(Debug, Default)]
struct Losses {
    hidden: usize,
    nowhere: usize,
    unknown_people: usize,
}

/// Returns the target's id of the record that an element names. Without one, the element counts as lost.
fn id_or_count_lost(there: Option<Uuid>, lost: &mut usize) -> Option<Value> {
    *lost += usize::from(there.is_none());
    there.map(|id| json!(id))
}

/// Counts the elements of an item.
fn counted(values: &ItemValues) -> usize {
    values.values().map(Vec::len).sum()
}

impl Work<'_> {
    /// Handles all work items with a type or values.
    pub(super) async fn values(&mut self, recorded: &[RecordedItem]) -> Result<(), String> {
        let mut projects: BTreeMap<Uuid, Vec<&RecordedItem>> = BTreeMap::new();
        for item in recorded {
            projects.entry(item.project_id).or_default().push(item);
        }
        for (project, recorded) in projects {
            let values = self.store.recorded_values(project).await?;
            self.project_values(project, &recorded, values).await?;
        }
        for project in self.scope.projects.keys().copied().collect::<Vec<_>>() {
            self.types_only_there(project, recorded).await?;
        }
        Ok(())
    }

    async fn project_values(
        &mut self,
        project: Uuid,
        recorded: &[&RecordedItem],
        mut values: HashMap<Uuid, ItemValues>,
    ) -> Result<(), String> {
        let name = self.scope.project_in_words(project);
        let Some(items) = self.items_of(project).await? else {
            self.leave_values(project, recorded, &values);
            return Ok(());
        };
        let (mut jobs, mut losses) = (Vec::new(), Losses::default());
        let mut applicable: HashMap<Uuid, Vec<Applicable>> = HashMap::new();
        for kind in recorded.iter().filter_map(|item| item.type_id) {
            applicable.entry(kind).or_insert_with(|| self.catalogue.applicable(project, kind));
        }
        for item in recorded {
            let kept = values.remove(&item.id).unwrap_or_default();
            // A type that was carried and is cleared here has to be cleared there too.
            if item.type_id.is_none() && kept.is_empty() && !self.ids.is_begun(Kind::Item, item.id) {
                continue;
            }
            self.findings.of(Kind::Item).here += 1;
            let elements = counted(&kept);
            self.findings.of(Kind::Value).here += elements;
            if let Some(key) = items.doubtful.get(&item.id) {
                self.findings.conflict(Kind::Item, format!("{key} is another work item there"));
                self.findings.of(Kind::Value).conflicts += elements;
                continue;
            }
            let is_archived = item.archived_at.is_some() && !items.is_live_here(item.id);
            match items.theirs(item.id).filter(|_| !is_archived) {
                Some(theirs) => {
                    let applicable = item.type_id.and_then(|kind| applicable.get(&kind));
                    let applicable = applicable.map(Vec::as_slice).unwrap_or_default();
                    jobs.push(self.job(item, theirs, applicable, &items, &kept, &mut losses)?);
                }
                None if self.returning.contains(&item.id) && !self.carries() => {
                    self.findings.of(Kind::Item).carried += 1;
                    self.findings.of(Kind::Value).carried += elements;
                }
                None if items.is_live_here(item.id) => {
                    self.needed.extend(item.type_id);
                    self.findings.leave(Kind::Item, 1, format!("work items of project {name} that are not there"));
                    self.findings.of(Kind::Value).left += elements;
                }
                None => {
                    self.findings.never(Kind::Item, 1, NOT_LIVE);
                    self.findings.never(Kind::Value, elements, NOT_LIVE);
                }
            }
        }
        self.tell_losses(&losses);
        if self.carries() {
            let given = jobs.iter().filter(|job| !job.is_done && job.type_there != job.type_id);
            let given: BTreeSet<Uuid> = given.filter_map(|job| job.own_type).collect();
            self.make_active(given).await?;
        }
        self.settle_all(&name, jobs).await
    }

    /// Reports the items of a project that the target does not have.
    fn leave_values(&mut self, project: Uuid, recorded: &[&RecordedItem], values: &HashMap<Uuid, ItemValues>) {
        let name = self.scope.project_in_words(project);
        let words = format!("work items of project {name}: it is not there, or not to be seen with the keys");
        for item in recorded.iter().filter(|item| item.type_id.is_some() || values.contains_key(&item.id)) {
            let elements = values.get(&item.id).map_or(0, counted);
            self.findings.of(Kind::Item).here += 1;
            self.findings.of(Kind::Value).here += elements;
            if self.scope.has_lost_project(project, item.missing_since.is_some()) {
                self.findings.never(Kind::Item, 1, NOT_LIVE);
                self.findings.never(Kind::Value, elements, NOT_LIVE);
            } else {
                self.findings.leave(Kind::Item, 1, words.as_str());
                self.findings.of(Kind::Value).left += elements;
            }
        }
    }

    fn tell_losses(&mut self, losses: &Losses) {
        let hidden = "values that do not show here: of a property that is switched off, does not apply to the item's \
                      type or holds something else now";
        self.findings.never(Kind::Value, losses.hidden, hidden);
        self.findings.never(Kind::Value, losses.nowhere, "values that point at work items that are not live there");
        let unknown_people = "values that name people who are not on the roster of the workspace there";
        self.findings.leave(Kind::Value, losses.unknown_people, unknown_people);
    }

    async fn settle_all(&mut self, project: &str, jobs: Vec<Job>) -> Result<(), String> {
        let (target, doing, all) = (self.target, self.doing, jobs.len());
        let mut settled = futures_util::stream::iter(jobs)
            .map(|job| async move { (item::settle(target, &job, doing).await, job) })
            .buffer_unordered(AT_ONCE);
        let mut done = Vec::new();
        let mut count = 0;
        while let Some((outcome, job)) = settled.next().await {
            let outcome = match outcome {
                Ok(outcome) => outcome,
                Err(fault) => {
                    self.ids.end(Kind::Item, &done).await?;
                    return Err(fault);
                }
            };
            count += 1;
            let elements = job.elements();
            let (items, values) = (Kind::Item, Kind::Value);
            match outcome {
                Outcome::Alike | Outcome::Written => {
                    let is_alike = outcome == Outcome::Alike;
                    for (kind, count) in [(items, 1), (values, elements)] {
                        let line = self.findings.of(kind);
                        *(if is_alike { &mut line.alike } else { &mut line.carried }) += count;
                    }
                    if self.carries() {
                        done.push(Carried { own: job.own, theirs: job.theirs.to_string(), digest: job.digest });
                    }
                }
                Outcome::Conflict(words) => {
                    self.findings.conflict(items, words);
                    self.findings.of(values).conflicts += elements;
                }
                Outcome::Refused(words) => {
                    self.needed.extend(job.own_type);
                    self.findings.leave(items, 1, words);
                    self.findings.of(values).left += elements;
                }
            }
            if done.len() >= BATCH {
                self.ids.end(items, &done).await?;
                done.clear();
                (self.tell)(&format!("{}: {count} of {all} work items of project {project}", self.scope.slug));
            }
        }
        self.ids.end(Kind::Item, &done).await
    }

    /// Builds the job that makes the work item `theirs` equal to `item` here.
    fn job(
        &self,
        item: &RecordedItem,
        theirs: Uuid,
        applicable: &[Applicable],
        items: &Items,
        kept: &ItemValues,
        losses: &mut Losses,
    ) -> Result<Job, String> {
        let project = items.project.theirs;
        let path = self.scope.v2("work_items_retrieve", Some(project), Some(&theirs.to_string()))?;
        let mut shown = 0;
        let mut values = Vec::new();
        let mut wanted: BTreeMap<Uuid, Vec<Value>> = BTreeMap::new();
        for one in applicable {
            let Some(elements) = kept.get(&one.property.id) else { continue };
            let before = losses.nowhere + losses.unknown_people;
            let readable = self.elements(one, elements, items, losses);
            shown += losses.nowhere + losses.unknown_people - before + readable.len();
            if readable.is_empty() {
                continue;
            }
            wanted.insert(one.property.id, readable.clone());
            let kind = ValueKind::of(&one.property);
            values.push(WantedValue {
                name: self.name_there(one),
                elements: readable,
                is_multi: one.is_multi,
                are_records: matches!(kind, ValueKind::Option | ValueKind::Person | ValueKind::Item),
            });
        }
        losses.hidden += counted(kept) - shown;
        let mut recorded: Vec<(Uuid, Value)> = kept
            .iter()
            .map(|(id, elements)| (*id, elements.iter().map(|one| one.value.clone()).collect()))
            .collect();
        recorded.sort_by_key(|(id, _)| *id);
        let whole = digest(&json!([item.type_id, recorded]));
        // Elements that are not carried now may be carried later, so the note names those that were.
        let carried: usize = wanted.values().map(Vec::len).sum();
        let digest = match carried == counted(kept) {
            true => whole.clone(),
            false => digest(&json!([item.type_id, recorded, wanted])),
        };
        let type_id = item.type_id.and_then(|kind| self.ids.theirs(Kind::Type, kind)).map(str::to_owned);
        // With `--update` a carried work item is compared again, because it may have been changed there.
        let is_carried = |digest: &str| self.ids.is_done(Kind::Item, item.id, digest);
        let is_done = !self.update && (is_carried(&digest) || is_carried(&whole));
        Ok(Job {
            own: item.id,
            own_type: item.type_id,
            theirs,
            path,
            name: format!("work item {theirs} of project {}", items.project.identifier),
            type_id,
            type_there: items.there.get(&theirs).cloned().flatten(),
            values,
            is_done,
            may_change: self.update || self.ids.is_begun(Kind::Item, item.id) && !is_done,
            digest,
        })
    }

    /// Returns the name of a property in the target, or its name here while the target does not have it.
    fn name_there(&self, one: &Applicable) -> String {
        let id = self.ids.theirs(Kind::Property, one.property.id);
        let there = self.seen.owned.get(&one.property.project).map(|owned| owned.properties.as_slice());
        let record = Self::with_id(there.unwrap_or_default(), id);
        record.map_or_else(|| one.property.name.clone(), |record| text(record, "name").to_owned())
    }

    /// Returns the elements that are visible here, with the target's ids.
    fn elements(&self, one: &Applicable, elements: &[Element], items: &Items, losses: &mut Losses) -> Vec<Value> {
        let kind = ValueKind::of(&one.property);
        let mut shown = Vec::new();
        for element in elements {
            if !one.is_multi && !shown.is_empty() {
                break;
            }
            let id = record(&element.value);
            let there = match kind {
                ValueKind::Option => {
                    let offered = |id: &Uuid| one.options.iter().any(|offered| offered.option.id == *id);
                    let id = id.filter(offered);
                    // While the target does not have the option, use the id here.
                    id.map(|id| json!(self.ids.theirs(Kind::Option, id).unwrap_or(&id.to_string())))
                }
                ValueKind::Person => {
                    id.and_then(|id| id_or_count_lost(self.people.get(&id).copied(), &mut losses.unknown_people))
                }
                ValueKind::Item => id.and_then(|id| id_or_count_lost(items.theirs(id), &mut losses.nowhere)),
                ValueKind::Formula => None,
                // It may have been written as plain text, and the target sanitises what it gets.
                ValueKind::Html => plain(kind, &element.value)
                    .and_then(|text| html::readable(text.as_str().unwrap_or_default()))
                    .map(Value::String),
                _ => plain(kind, &element.value),
            };
            shown.extend(there);
        }
        shown
    }

    /// Reports work items that have a type in the target and none here.
    async fn types_only_there(&mut self, project: Uuid, recorded: &[RecordedItem]) -> Result<(), String> {
        let owned = self.seen.owned.get(&Some(project));
        let has_types = owned.is_some_and(|owned| !owned.types.is_empty() || !owned.imported.is_empty());
        if !has_types {
            return Ok(());
        }
        let Some(items) = self.items_of(project).await? else { return Ok(()) };
        let typed_here = recorded.iter().filter(|item| item.project_id == project && item.type_id.is_some());
        let typed_here: HashSet<Uuid> = typed_here.filter_map(|item| items.theirs(item.id)).collect();
        let only_there = items.there.iter().filter(|(id, kind)| kind.is_some() && !typed_here.contains(id)).count();
        if only_there > 0 {
            let name = self.scope.project_in_words(project);
            self.extra(format!("types on {only_there} work items of project {name} that have none here"));
        }
        Ok(())
    }

    /// Checks whether values or defaults may name people, so that rosters are needed.
    pub(super) fn names_people(&self) -> bool {
        self.catalogue.properties.values().any(|property| ValueKind::of(property) == ValueKind::Person)
    }
}
