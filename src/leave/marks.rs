//! Records beside single v1 records: the marks of archived work items, and fields that v1 has no place for.
//!
//! May use: `plan` (names of resources), `store`, this folder.

use super::findings::Class;
use super::ids::{Carried, Kind, digest};
use super::scope::{Items, Project, id, text};
use super::seen::Record;
use super::work::Work;
use crate::plan::Known;
use crate::store::{HeldOverlay, RecordedItem, overlay_wins};
use reqwest::Method;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use uuid::Uuid;

/// Fingerprint of a carried archive mark whose work item is live again.
const BROUGHT_BACK: &str = "brought back";

/// State in the target of a work item that is archived here.
enum TargetState {
    Live(Uuid),
    /// Not live, or missing.
    Not,
    /// Possibly another work item, with the reason.
    Doubtful(String),
}

/// Kinds of records with overlaid fields that are found through their lists.
const LISTED: [Known; 2] = [Known::Cycles, Known::Modules];

impl Work<'_> {
    /// Unarchives work items that this command archived in the target and that are live here again. Call it before
    /// types and values, because the target accepts them only for a live work item.
    pub(super) async fn unarchive_live_items(&mut self) -> Result<(), String> {
        let carried = self.ids.noted_except(Kind::Archive, BROUGHT_BACK);
        if carried.is_empty() {
            return Ok(());
        }
        for project in self.scope.projects.keys().copied().collect::<Vec<_>>() {
            let Some(items) = self.items_of(project).await? else { continue };
            let again = carried.iter().filter(|(own, _)| items.is_live_here(*own));
            for (own, there) in again {
                let is_live = Uuid::try_parse(there).is_ok_and(|there| items.there.contains_key(&there));
                let name = format!("work item {there} of project {}", self.scope.project_in_words(project));
                if !is_live {
                    self.findings.of(Kind::Archive).here += 1;
                    self.findings.of(Kind::Archive).carried += 1;
                    self.findings.tell(Class::Changed, format!("{name} is brought back, because it is live here"));
                    self.returning.insert(*own);
                }
                if !self.carries() {
                    continue;
                }
                let path = self.scope.v2("work_items_unarchive", Some(items.project.theirs), Some(there))?;
                let done =
                    is_live || self.write(Kind::Archive, &name, Method::POST, &path, &json!({})).await?.is_some();
                if done {
                    let carried = Carried { own: *own, theirs: there.clone(), digest: BROUGHT_BACK.to_owned() };
                    self.ids.end(Kind::Archive, &[carried]).await?;
                    // Read the project's items again, with the items that are live now.
                    self.items.remove(&project);
                }
            }
        }
        Ok(())
    }

    /// Archives work items that are archived here and live in the target. The target sets its own `archived_at`.
    pub(super) async fn archives(&mut self, recorded: &[RecordedItem]) -> Result<(), String> {
        for item in recorded.iter().filter(|item| item.archived_at.is_some()) {
            self.findings.of(Kind::Archive).here += 1;
            let name = self.scope.project_in_words(item.project_id);
            let Some(items) = self.items_of(item.project_id).await? else {
                if self.scope.has_lost_project(item.project_id, item.missing_since.is_some()) {
                    let words = "archive marks of work items whose project is archived or deleted";
                    self.findings.never(Kind::Archive, 1, words);
                } else {
                    self.findings.leave(Kind::Archive, 1, format!("archived work items of project {name}"));
                }
                continue;
            };
            // It may have been unarchived without the gateway.
            if items.is_live_here(item.id) {
                self.findings.of(Kind::Archive).alike += 1;
                continue;
            }
            self.findings.tell(Class::Changed, "archived_at of archived work items: the target keeps its own");
            let project = items.project.clone();
            let there = match self.live_there(&items, item).await? {
                TargetState::Live(there) => there,
                TargetState::Not => {
                    self.findings.of(Kind::Archive).alike += 1;
                    continue;
                }
                TargetState::Doubtful(words) => {
                    self.findings.never(Kind::Archive, 1, words);
                    continue;
                }
            };
            // It may be missing from v1's list here for another reason.
            let here = self.scope.v1("v1_work_items_retrieve", Some(project.own), Some(&item.id.to_string()))?;
            let shown = self.v1.get(&format!("{here}?fields=id")).await?;
            if shown.status == 200 {
                self.findings.of(Kind::Archive).alike += 1;
                continue;
            }
            if shown.status != 404 {
                return Err(format!("v1 did not show work item {}: {}", item.id, shown.brief()));
            }
            if !shown.is_of_v1() {
                return Err(format!(
                    "v1 did not say itself that work item {} is archived: 404 {}",
                    item.id, shown.json
                ));
            }
            self.findings.of(Kind::Archive).carried += 1;
            if self.carries() {
                let path = self.scope.v2("work_items_archive", Some(project.theirs), Some(&there.to_string()))?;
                let name = format!("archived work item {there} of project {name}");
                if self.write(Kind::Archive, &name, Method::POST, &path, &json!({})).await?.is_some() {
                    let digest = digest(&json!([item.archived_at]));
                    let carried = Carried { own: item.id, theirs: there.to_string(), digest };
                    self.ids.end(Kind::Archive, &[carried]).await?;
                }
            }
        }
        Ok(())
    }

    /// Finds the live work item in the target that is archived here. Where the ids differ, its number and name identify
    /// it, because v1 shows an archived work item in no list.
    async fn live_there(&self, items: &Items, item: &RecordedItem) -> Result<TargetState, String> {
        if items.project.is_same() {
            return Ok(items.theirs(item.id).map_or(TargetState::Not, TargetState::Live));
        }
        let Some((number, name)) = item.archived_number.zip(item.archived_name.as_deref()) else {
            let words = "archive marks of work items whose numbers were not kept when they were archived";
            return Ok(TargetState::Doubtful(words.to_owned()));
        };
        let key = format!("{}-{number}", items.project.identifier);
        let path = self.scope.v2("work_items_retrieve_by_identifier", None, Some(&key))?;
        let answer = self.target.get(&path).await?;
        let (status, told) = (answer.status, answer.brief());
        let record = answer.record();
        Ok(match (status, id(&record)) {
            (200, Some(there)) if text(&record, "name") == name => TargetState::Live(there),
            (200, _) => {
                TargetState::Doubtful(format!("archive mark of {key}: there it is a work item of another name"))
            }
            (404, _) => TargetState::Not,
            _ => return Err(format!("the target did not show work item {key}: {told}")),
        })
    }

    /// Handles fields that v1 has no place for, while they still apply here.
    pub(super) async fn overlays(&mut self, held: &[HeldOverlay]) -> Result<(), String> {
        self.findings.of(Kind::Overlay).here += held.len();
        for known in LISTED {
            let kind = known.name();
            let mut records: BTreeMap<Uuid, Vec<&HeldOverlay>> = BTreeMap::new();
            for one in held.iter().filter(|one| one.kind == kind) {
                records.entry(one.record).or_default().push(one);
            }
            if !records.is_empty() {
                self.overlays_of(kind, &records).await?;
            }
        }
        let others: Vec<&HeldOverlay> =
            held.iter().filter(|one| !LISTED.iter().any(|known| known.name() == one.kind)).collect();
        let edited = others.iter().filter(|one| one.value.field == "edited_at").count();
        self.findings.never(Kind::Overlay, edited, "edited_at of comments");
        let words = "external_id and external_source of comments that v1 refused: no operation finds a comment \
                     without its work item";
        self.findings.never(Kind::Overlay, others.len() - edited, words);
        Ok(())
    }

    async fn overlays_of(&mut self, kind: &str, records: &BTreeMap<Uuid, Vec<&HeldOverlay>>) -> Result<(), String> {
        let mut left: BTreeMap<Uuid, Vec<&HeldOverlay>> = records.clone();
        for project in self.scope.projects.values().cloned().collect::<Vec<_>>() {
            if left.is_empty() {
                break;
            }
            let list = self.scope.v1(&format!("v1_{kind}_list"), Some(project.own), None)?;
            let here = self.v1.v1_rows(&list, "").await?;
            let ours: Vec<&Record> =
                here.iter().filter(|row| id(row).is_some_and(|id| left.contains_key(&id))).collect();
            if ours.is_empty() {
                continue;
            }
            let base = self.scope.v2(&format!("{kind}_list"), Some(project.theirs), None)?;
            let there = self.target.rows(&format!("{base}?order_by=created_at")).await?;
            for row in ours {
                let Some((own, fields)) = id(row).and_then(|own| Some((own, left.remove(&own)?))) else { continue };
                match pair(&project, row, &there) {
                    Some(record) => {
                        let path = format!("{base}{}/", text(record, "id"));
                        self.overlay_of(&path, own, &fields, row, record).await?;
                    }
                    None => {
                        let words = format!("fields of {kind} that are not there under their id or name");
                        self.findings.leave(Kind::Overlay, fields.len(), words);
                    }
                }
            }
        }
        let gone: usize = left.values().map(Vec::len).sum();
        if self.scope.hidden_here.is_empty() {
            let words = format!("fields of {kind} that v1 does not show any more, or whose project is archived");
            self.findings.never(Kind::Overlay, gone, words);
        } else {
            let words =
                format!("fields of {kind} that the key does not see, and may be in projects that it is not in");
            self.findings.leave(Kind::Overlay, gone, words);
        }
        Ok(())
    }

    async fn overlay_of(
        &mut self,
        path: &str,
        own: Uuid,
        fields: &[&HeldOverlay],
        here: &Record,
        there: &Record,
    ) -> Result<(), String> {
        let mut body = Map::new();
        for one in fields {
            let of = |record: &Record| record.get(&one.value.field).cloned().unwrap_or_default();
            if !overlay_wins(&one.value.seen, &of(here)) {
                let words =
                    "overlays of what was changed on v1 since they were written: they do not count here either";
                self.findings.never(Kind::Overlay, 1, words);
            } else if overlay_wins(&one.value.value, &of(there)) {
                self.findings.of(Kind::Overlay).alike += 1;
            } else {
                body.insert(one.value.field.clone(), one.value.value.clone());
            }
        }
        if body.is_empty() {
            return Ok(());
        }
        let count = body.len();
        let name = format!("fields of `{}`", text(there, "name"));
        if self.carries() {
            let digest = digest(&json!([body]));
            let body = Value::Object(body);
            if self.write(Kind::Overlay, &name, Method::PATCH, path, &body).await?.is_none() {
                return Ok(());
            }
            let carried = Carried { own, theirs: text(there, "id").to_owned(), digest };
            self.ids.end(Kind::Overlay, &[carried]).await?;
        }
        self.findings.of(Kind::Overlay).carried += count;
        Ok(())
    }
}

/// Finds the same record in the target: by id where ids are the same, else by name, which is unique in a project.
fn pair<'r>(project: &Project, here: &Record, there: &'r [Record]) -> Option<&'r Record> {
    if project.is_same() {
        return there.iter().find(|record| id(record) == id(here));
    }
    let mut named = there.iter().filter(|record| text(record, "name") == text(here, "name"));
    match (named.next(), named.next()) {
        (Some(one), None) => Some(one),
        _ => None,
    }
}
