//! Work item types: which one is the default, which properties they have, and which projects import them.
//!
//! May use: `catalogue`, `plan` (the type mode), this folder.

use super::bodies::{create, update};
use super::findings::Class;
use super::ids::{Carried, Kind, digest};
use super::scope::{Scope, text};
use super::seen::{self, Record};
use super::work::{Verdict, Work};
use crate::catalogue::{WorkItemType, shapes};
use crate::plan::TypeMode;
use reqwest::Method;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use uuid::Uuid;

/// Our records compared with a list in the target.
struct ListComparison {
    /// Ids in the target of our records.
    wanted: Vec<String>,
    /// The wanted ids that the list lacks.
    missing: Vec<String>,
    /// Number of our records that the target does not have at all.
    unmade: usize,
}

/// Returns the fingerprint of our type.
fn digest_of(kind: &WorkItemType) -> String {
    digest(&json!([shapes::work_item_type(kind), kind.external_id, kind.external_source]))
}

/// Returns the name of a type for messages.
fn name_of(kind: &WorkItemType, scope: &Scope<'_>) -> String {
    format!("type `{}` of {}", kind.name, scope.owner_in_words(kind.project))
}

/// Returns the body members that name the external origin of a record, as far as it is known.
pub(super) fn pair_of(id: &Option<String>, source: &Option<String>) -> Record {
    let pair = [("external_id", id), ("external_source", source)];
    pair.into_iter().filter_map(|(name, text)| Some((name.to_owned(), json!(text.as_ref()?)))).collect()
}

/// Returns the mode in which an owner's definitions can be written.
pub(super) fn mode_of(owner: Option<Uuid>) -> TypeMode {
    if owner.is_none() { TypeMode::Workspace } else { TypeMode::Project }
}

impl Work<'_> {
    /// Handles the types of an owner, oldest first, and its default type.
    pub(super) async fn types(&mut self, owner: Option<Uuid>) -> Result<(), String> {
        let types: Vec<Arc<WorkItemType>> = self.catalogue.types_of(owner).into_iter().cloned().collect();
        for kind in &types {
            let name = name_of(kind, self.scope);
            self.findings.of(Kind::Type).here += 1;
            if self.scope.base(owner).is_none() {
                let words = format!("{name}: {}", self.scope.why_without_place(owner));
                self.findings.leave(Kind::Type, 1, words);
                continue;
            }
            if kind.is_epic {
                self.findings.never(Kind::Type, 1, format!("{name}: types of epics are made by the service"));
                continue;
            }
            self.one_type(owner, kind, &name).await?;
        }
        if self.scope.base(owner).is_none() {
            return Ok(());
        }
        self.default_type(owner, &types).await?;
        if self.carries() && owner.is_none() {
            self.remove_provisioned().await?;
        }
        let ours: Vec<Uuid> = types.iter().map(|kind| kind.id).collect();
        let there = self.seen.owned.get(&owner).map(|owned| owned.types.clone()).unwrap_or_default();
        self.only_there(Kind::Type, "type", "name", owner, &ours, &there);
        Ok(())
    }

    async fn one_type(&mut self, owner: Option<Uuid>, kind: &WorkItemType, name: &str) -> Result<(), String> {
        let Some(base) = self.scope.base(owner) else { return Ok(()) };
        let ours = shapes::work_item_type(kind);
        let digest = digest_of(kind);
        let there = self.seen.of(owner).types.clone();
        let known = Self::with_id(&there, self.ids.theirs(Kind::Type, kind.id));
        let found = known.or_else(|| match self.ids.is_noted(Kind::Type, kind.id) {
            true => None,
            false => there.iter().find(|record| text(record, "name") == kind.name),
        });
        let verdict = self.judge(Kind::Type, kind.id, &digest, &ours, found);
        self.count(Kind::Type, name, &verdict);
        if let Some(found) = found {
            self.ids.pair_for_this_run(Kind::Type, kind.id, text(found, "id"));
        }
        if !self.carries() {
            return Ok(());
        }
        let record = match (&verdict, found) {
            (Verdict::Make, _) => self.make_type(owner, kind, name).await?,
            (Verdict::Change(unlike), Some(found)) => {
                let mut changed = Some(found.clone());
                let unlike = unlike.iter().filter(|one| kind.is_active || one.field != "is_active").cloned();
                if let Some(mut body) = update(&ours, &unlike.collect::<Vec<_>>()) {
                    self.switch(mode_of(owner)).await?;
                    body.extend(pair_of(&kind.external_id, &kind.external_source));
                    let path = format!("{base}/work-item-types/{}/", text(found, "id"));
                    changed = self.write(Kind::Type, name, Method::PATCH, &path, &Value::Object(body)).await?;
                }
                changed
            }
            (Verdict::Alike, found) => found.cloned(),
            _ => None,
        };
        let Some(record) = record else { return Ok(()) };
        let id = text(&record, "id").to_owned();
        if !kind.is_active && record.get("is_active") == Some(&json!(true)) {
            self.retired.push(kind.id);
            return self.ids.unfinished(Kind::Type, kind.id, Some(id)).await;
        }
        self.ids.end(Kind::Type, &[Carried { own: kind.id, theirs: id, digest }]).await
    }

    /// Makes the type in the target. Returns the target's record of it.
    async fn make_type(
        &mut self,
        owner: Option<Uuid>,
        kind: &WorkItemType,
        name: &str,
    ) -> Result<Option<Record>, String> {
        let Some(base) = self.scope.base(owner) else { return Ok(None) };
        let list = format!("{base}/work-item-types/");
        self.ids.begin(Kind::Type, &[kind.id]).await?;
        self.switch(mode_of(owner)).await?;
        self.set_level(kind.level).await?;
        let mut body = create(Kind::Type, &shapes::work_item_type(kind));
        body.insert("is_active".to_owned(), json!(true));
        body.extend(pair_of(&kind.external_id, &kind.external_source));
        let body = Value::Object(body);
        // The mode switch may have created a type of this name.
        let there = self.seen.of(owner).types.iter().find(|record| text(record, "name") == kind.name);
        if let Some(id) = there.map(|record| text(record, "id").to_owned()) {
            return self.write(Kind::Type, name, Method::PATCH, &format!("{list}{id}/"), &body).await;
        }
        let made = self.write(Kind::Type, name, Method::POST, &list, &body).await?;
        self.seen.of(owner).types.extend(made.clone());
        Ok(made)
    }

    /// Activates types again that are inactive on both sides and that work items need.
    pub(super) async fn make_active(&mut self, types: BTreeSet<Uuid>) -> Result<(), String> {
        let mut is_changed = false;
        for own in types {
            let is_retired = self.catalogue.types.get(&own).is_some_and(|kind| !kind.is_active);
            if is_retired && !self.retired.contains(&own) {
                is_changed = true;
                if self.switch_type(own, true).await?.is_some() {
                    self.retired.push(own);
                }
            }
        }
        if is_changed { self.features_again().await } else { Ok(()) }
    }

    /// Deactivates the types that are inactive here. Their work items are carried now, and needed an active type
    /// before.
    pub(super) async fn retire_types(&mut self) -> Result<(), String> {
        let retired = std::mem::take(&mut self.retired);
        if retired.is_empty() {
            return Ok(());
        }
        // A type that an item still lacks is deactivated by a later run, when the item has it.
        let needed = std::mem::take(&mut self.needed);
        for own in retired.into_iter().filter(|own| !needed.contains(own)) {
            if let Some(switched) = self.switch_type(own, false).await? {
                self.ids.end(Kind::Type, &[switched]).await?;
            }
        }
        self.features_again().await
    }

    /// Activates or deactivates a type in the target. Returns `None` when the type is missing or the target refused it.
    async fn switch_type(&mut self, own: Uuid, is_active: bool) -> Result<Option<Carried>, String> {
        let kind = self.catalogue.types.get(&own).cloned();
        let theirs = self.ids.theirs(Kind::Type, own).map(str::to_owned);
        let (Some(kind), Some(theirs)) = (kind, theirs) else { return Ok(None) };
        let Some(base) = self.scope.base(kind.project) else { return Ok(None) };
        let name = name_of(&kind, self.scope);
        let path = format!("{base}/work-item-types/{theirs}/");
        self.switch(mode_of(kind.project)).await?;
        let done = self.write(Kind::Type, &name, Method::PATCH, &path, &json!({"is_active": is_active})).await?;
        Ok(done.map(|_| Carried { own, theirs, digest: digest_of(&kind) }))
    }

    /// Sets the default type only where this command made the type, where the target has no default yet, or where the
    /// run updates. While the workspace manages types, a project with imported types shows none of its own types as the
    /// default.
    async fn default_type(&mut self, owner: Option<Uuid>, types: &[Arc<WorkItemType>]) -> Result<(), String> {
        let Some(base) = self.scope.base(owner) else { return Ok(()) };
        let is_workspace = self.seen.features.get("is_work_item_types_enabled") == Some(&Value::Bool(true));
        let there = self.seen.of(owner);
        let is_hidden = owner.is_some() && is_workspace && !there.imported.is_empty();
        let is_default = |record: &&Record| record.get("is_default") == Some(&Value::Bool(true));
        let theirs = there.types.iter().filter(|_| !is_hidden).find(is_default).cloned();
        let place = self.scope.owner_in_words(owner);
        let Some(ours) = types.iter().find(|kind| kind.is_default) else {
            let is_ours = |record: &Record| {
                types.iter().any(|kind| self.ids.theirs(Kind::Type, kind.id) == Some(text(record, "id")))
            };
            if theirs.as_ref().is_some_and(is_ours) {
                let words =
                    format!("{place} has a default type there and none here, and no operation takes it away");
                self.findings.leave(Kind::Type, 1, words);
            }
            return Ok(());
        };
        let Some(id) = self.ids.theirs(Kind::Type, ours.id).map(str::to_owned) else { return Ok(()) };
        let mark = Uuid::new_v5(&ours.id, b"default type");
        let is_begun = self.ids.is_begun(Kind::Type, ours.id);
        let is_alike = match &theirs {
            Some(record) => text(record, "id") == id,
            // A hidden default counts as right when this command marked it, or did not make the type.
            None => is_hidden && (!is_begun || self.ids.is_done(Kind::Type, mark, &id)),
        };
        if is_alike {
            // Note it now, because it may be hidden in the next run.
            return match self.carries() && theirs.is_some() {
                true => self.ids.end(Kind::Type, &[Carried { own: mark, theirs: id.clone(), digest: id }]).await,
                false => Ok(()),
            };
        }
        if !(theirs.is_none() || self.update || is_begun) {
            let name = theirs.map(|record| text(&record, "name").to_owned()).unwrap_or_default();
            let words = format!("the default type of {place} is `{}` here and `{name}` there", ours.name);
            self.findings.conflict(Kind::Type, words);
            return Ok(());
        }
        if !self.carries() {
            self.findings.tell(Class::Changed, format!("the default type of {place} becomes `{}`", ours.name));
            self.findings.of(Kind::Type).carried += 1;
            return Ok(());
        }
        self.switch(mode_of(owner)).await?;
        let path = format!("{base}/work-item-types/{id}/mark-default/");
        let name = format!("default type of {place}");
        if self.write(Kind::Type, &name, Method::POST, &path, &json!({})).await?.is_some() {
            for record in &mut self.seen.of(owner).types {
                let is_default = text(record, "id") == id;
                record.insert("is_default".to_owned(), json!(is_default));
            }
            self.ids.end(Kind::Type, &[Carried { own: mark, theirs: id.clone(), digest: id }]).await?;
        }
        Ok(())
    }

    /// Handles the properties on the types of an owner.
    pub(super) async fn attachments(&mut self, owner: Option<Uuid>) -> Result<(), String> {
        let types: Vec<Arc<WorkItemType>> = self.catalogue.types_of(owner).into_iter().cloned().collect();
        for kind in types.iter().filter(|kind| !kind.is_epic) {
            let ours: Vec<Uuid> = self.catalogue.attached(kind.id).iter().map(|property| property.id).collect();
            self.findings.of(Kind::Attachment).here += ours.len();
            let name = name_of(kind, self.scope);
            let place = self.scope.base(owner).zip(self.ids.theirs(Kind::Type, kind.id).map(str::to_owned));
            let Some((base, id)) = place else {
                match self.carries() || self.scope.base(owner).is_none() {
                    true => self.findings.leave(
                        Kind::Attachment,
                        ours.len(),
                        format!("properties of {name}: the type is not there"),
                    ),
                    false => self.findings.of(Kind::Attachment).carried += ours.len(),
                }
                continue;
            };
            let there = self.seen.of(owner).attached.get(&id).cloned().unwrap_or_default();
            let ListComparison { wanted, missing, unmade } = self.held_against(Kind::Property, &ours, &there);
            self.findings.of(Kind::Attachment).alike += wanted.len() - missing.len();
            if self.carries() {
                let words = format!("{name}: {unmade} of its properties are not there");
                self.findings.leave(Kind::Attachment, unmade, words);
            } else {
                self.findings.of(Kind::Attachment).carried += missing.len() + unmade;
            }
            let mut after = there.clone();
            if self.carries() && !missing.is_empty() {
                self.switch(mode_of(owner)).await?;
                let path = format!("{base}/work-item-types/{id}/properties/");
                let body = json!({"properties": missing});
                if self.write(Kind::Attachment, &name, Method::POST, &path, &body).await?.is_some() {
                    self.findings.of(Kind::Attachment).carried += missing.len();
                    after = seen::attached(self.target, &base, &id).await?;
                    self.seen.of(owner).attached.insert(id.clone(), after.clone());
                }
            }
            let common: Vec<&String> = after.iter().filter(|id| wanted.contains(id)).collect();
            if common.len() == wanted.len() && !common.iter().copied().eq(&wanted) {
                let words =
                    format!("{name}: its properties are in another order there; detach and attach them there");
                self.findings.leave(Kind::Attachment, 1, words);
            }
            if common.len() < after.len() {
                self.extra(format!("{} more properties on {name}", after.len() - common.len()));
            }
        }
        Ok(())
    }

    /// Compares records that must be in a list in the target with the records that are in it.
    fn held_against(&self, kind: Kind, ours: &[Uuid], there: &[String]) -> ListComparison {
        let wanted: Vec<String> =
            ours.iter().filter_map(|own| self.ids.theirs(kind, *own)).map(str::to_owned).collect();
        let missing = wanted.iter().filter(|id| !there.contains(id)).cloned().collect();
        let unmade = ours.len() - wanted.len();
        ListComparison { wanted, missing, unmade }
    }

    /// Handles the workspace types in a project, in the order in which they were imported.
    pub(super) async fn imports(&mut self, project: Uuid) -> Result<(), String> {
        let mut links: Vec<_> = self.catalogue.imports_of(project).collect();
        links.sort_unstable_by_key(|(type_id, since)| (*since, *type_id));
        let name = self.scope.owner_in_words(Some(project));
        self.findings.of(Kind::Import).here += links.len();
        let Some(base) = self.scope.base(Some(project)) else {
            let words = format!("imported types of {name}: {}", self.scope.why_without_place(Some(project)));
            self.findings.leave(Kind::Import, links.len(), words);
            return Ok(());
        };
        let there = self.seen.of(Some(project)).imported.clone();
        let ours: Vec<Uuid> = links.iter().map(|(type_id, _)| *type_id).collect();
        let ListComparison { wanted, missing, unmade } = self.held_against(Kind::Type, &ours, &there);
        self.findings.of(Kind::Import).alike += wanted.len() - missing.len();
        let extra = there.iter().filter(|id| !wanted.contains(id)).count();
        if extra > 0 {
            self.extra(format!("{extra} more imported types in {name}"));
        }
        if !self.carries() {
            self.findings.of(Kind::Import).carried += missing.len() + unmade;
            return Ok(());
        }
        self.findings.leave(Kind::Import, unmade, format!("{unmade} imported types of {name} are not there"));
        if !missing.is_empty() {
            self.switch(TypeMode::Workspace).await?;
            let path = format!("{base}/work-item-types/import/");
            let body = json!({"work_item_types": missing});
            let name = format!("imported types of {name}");
            if self.write(Kind::Import, &name, Method::POST, &path, &body).await?.is_some() {
                self.findings.of(Kind::Import).carried += missing.len();
                self.seen.of(Some(project)).imported.extend(missing);
            }
        }
        Ok(())
    }
}
