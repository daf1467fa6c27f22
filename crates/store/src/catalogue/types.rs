//! Rules of work item types (14.1): names, defaults, enabling, importing, deleting. Also the rules of properties on
//! types (14.5), and of the features record (16.2), which turns types on. May use: `plan`, `refusal`, `v2`, this
//! folder.

use super::edit::{Edit, Effect, STEP};
use super::faults::{flag, listed, nullable_text, take, text};
use super::model::{Attachment, FLAGS, WorkItemType};
use crate::plan::TypeMode;
use crate::refusal::Refusal;
use crate::v2::body::Given;
use serde_json::{Value, json};
use std::sync::Arc;
use uuid::Uuid;

/// Name of the default type that the service creates.
pub const PROVISIONED: &str = "Task";

impl Edit {
    /// Creates a type of the workspace (`None`) or of a project and returns its id.
    ///
    /// # Errors
    /// 409 for a name or an external pair that the owner already uses (O60).
    pub fn create_type(&mut self, owner: Option<Uuid>, given: &Given) -> Result<Uuid, Refusal> {
        let mut kind = self.blank_type(owner, text(given, "name").unwrap_or_default());
        assign(&mut kind, given);
        self.refuse_type_clash(&kind)?;
        Ok(self.put_type(kind))
    }

    /// Changes a type.
    ///
    /// # Errors
    /// 404; 400 for switching off the default; 409 for a name or an external pair that the owner already uses.
    pub fn update_type(&mut self, id: Uuid, given: &Given) -> Result<(), Refusal> {
        let mut kind = self.work_item_type(id)?;
        assign(&mut kind, given);
        if kind.is_default && !kind.is_active {
            return Err(Refusal::field("is_active", "the default type cannot be switched off"));
        }
        self.refuse_type_clash(&kind)?;
        self.put_type(kind);
        Ok(())
    }

    /// Deletes a type; the store rejects this when work items use it. Attachments and imports are deleted with it, and
    /// also a context that listed nothing else (O63, O84).
    ///
    /// # Errors
    /// 404; 409 for the default type.
    pub fn delete_type(&mut self, id: Uuid) -> Result<(), Refusal> {
        let kind = self.work_item_type(id)?;
        if kind.is_default {
            return Err(conflict("The default type cannot be deleted; mark another type as default first."));
        }
        self.effects.push(Effect::TypeMustBeUnused(id));
        self.after.types.remove(&id);
        self.after.attachments.retain(|(type_id, _), _| *type_id != id);
        self.after.imports.retain(|(_, type_id), _| *type_id != id);
        self.forget_listed(|context| &mut context.types, id);
        Ok(())
    }

    /// Makes a type the default of its owner.
    ///
    /// # Errors
    /// 404; 400 for an inactive or epic type (O60).
    pub fn mark_default(&mut self, id: Uuid) -> Result<(), Refusal> {
        let kind = self.work_item_type(id)?;
        if !kind.is_active || kind.is_epic {
            return Err(Refusal::invalid("An inactive type or an epic type cannot be the default type."));
        }
        for other in self.after.types.values_mut().filter(|other| other.project == kind.project) {
            if other.is_default != (other.id == id) {
                Arc::make_mut(other).is_default = other.id == id;
            }
        }
        Ok(())
    }

    /// Turns types on in a project and returns its default type, which may be an imported one (O62). A repeated call
    /// changes nothing.
    pub fn enable(&mut self, project: Uuid) -> Result<Uuid, Refusal> {
        match self.after.default_type(project, TypeMode::Project) {
            Some(default) => Ok(default.id),
            None => self.provide_default(Some(project)),
        }
    }

    /// Makes types of the workspace available in a project. Types that it already has are allowed.
    ///
    /// # Errors
    /// 400 for an empty list, or for an id that is not an importable type of the workspace.
    pub fn import(&mut self, project: Uuid, types: &[Uuid]) -> Result<(), Refusal> {
        if types.is_empty() {
            return Err(Refusal::field("work_item_types", "must not be empty"));
        }
        let known =
            |id: &Uuid| self.after.types.get(id).is_some_and(|kind| kind.project.is_none() && !kind.is_epic);
        let unknown: Vec<Uuid> = types.iter().copied().filter(|id| !known(id)).collect();
        if !unknown.is_empty() {
            let message = format!("not importable types of this workspace: {}", listed(&unknown));
            return Err(Refusal::field("work_item_types", message));
        }
        for type_id in types {
            if !self.after.imports.contains_key(&(project, *type_id)) {
                let since = self.stamp();
                self.after.imports.insert((project, *type_id), since);
            }
        }
        Ok(())
    }

    /// Changes flags and the default level. Turning workspace types on makes sure that the workspace has a default type
    /// (O61), independently of the current plan, because the plan may change later.
    ///
    /// # Errors
    /// None of its own (O79).
    pub fn update_features(&mut self, given: &Given) -> Result<(), Refusal> {
        let features = Arc::make_mut(&mut self.after.features);
        for (name, stored) in FLAGS.iter().zip(&mut features.flags) {
            *stored = flag(given, name).unwrap_or(*stored);
        }
        if let Some(level) = given.get("work_item_type_default_level").and_then(Value::as_i64) {
            features.default_level = level;
        }
        if features.flags[0] {
            self.provide_default(None)?;
        }
        Ok(())
    }

    /// Returns the default type of an owner, and provides one when there is none. An existing type of the owner with
    /// the provisioned name is used.
    pub(super) fn provide_default(&mut self, owner: Option<Uuid>) -> Result<Uuid, Refusal> {
        let mut own = self.after.types.values().filter(|kind| kind.project == owner);
        if let Some(default) = own.clone().find(|kind| kind.is_default) {
            return Ok(default.id);
        }
        let id = match own.find(|kind| kind.name == PROVISIONED && !kind.is_epic).map(|kind| kind.id) {
            Some(id) => id,
            None => {
                let kind = self.blank_type(owner, PROVISIONED.to_owned());
                self.put_type(kind)
            }
        };
        if let Some(kind) = self.after.types.get_mut(&id) {
            Arc::make_mut(kind).is_active = true;
        }
        self.mark_default(id)?;
        Ok(id)
    }

    pub(super) fn work_item_type(&self, id: Uuid) -> Result<WorkItemType, Refusal> {
        self.after.types.get(&id).map(|kind| WorkItemType::clone(kind)).ok_or_else(Refusal::not_found)
    }

    fn blank_type(&mut self, owner: Option<Uuid>, name: String) -> WorkItemType {
        WorkItemType {
            id: Uuid::new_v4(),
            project: owner,
            name,
            is_active: true,
            level: self.after.features.default_level,
            // The service chooses the icon; clients cannot.
            logo_props: json!({ "in_use": "icon", "icon": { "name": "Check", "background_color": "#119988" } }),
            created_at: self.stamp(),
            ..WorkItemType::default()
        }
    }

    fn put_type(&mut self, kind: WorkItemType) -> Uuid {
        let id = kind.id;
        self.after.types.insert(id, Arc::new(kind));
        id
    }

    fn refuse_type_clash(&self, kind: &WorkItemType) -> Result<(), Refusal> {
        let pair = kind.external_pair();
        for other in self.after.types.values().filter(|other| other.project == kind.project && other.id != kind.id)
        {
            if other.name == kind.name {
                return Err(conflict("Another type has this name."));
            }
            if pair.is_some() && pair == other.external_pair() {
                return Err(conflict("Another type has this external_id and external_source."));
            }
        }
        Ok(())
    }

    /// Attaches properties of the type's owner to the type, after those it has. Repeats are harmless.
    ///
    /// # Errors
    /// 404 for the type; 400 for an empty list or a property that the owner does not have. Then none is attached.
    pub fn attach(&mut self, type_id: Uuid, properties: &[Uuid]) -> Result<(), Refusal> {
        let kind = self.work_item_type(type_id)?;
        if properties.is_empty() {
            return Err(Refusal::field("properties", "must not be empty"));
        }
        let owned = |id: &Uuid| self.after.properties.get(id).is_some_and(|found| found.project == kind.project);
        let foreign: Vec<Uuid> = properties.iter().copied().filter(|id| !owned(id)).collect();
        if !foreign.is_empty() {
            let owner = if kind.project.is_some() { "project" } else { "workspace" };
            let message = format!("not properties of this {owner}: {}", listed(&foreign));
            return Err(Refusal::field("properties", message));
        }
        for property in properties.iter().copied() {
            if self.after.attachments.contains_key(&(type_id, property)) {
                continue;
            }
            let places = self.after.attachments_of(type_id);
            let sort_order = places.map(|(_, link)| link.sort_order).fold(0.0, f64::max) + STEP;
            let link = Attachment { sort_order, created_at: self.stamp() };
            self.after.attachments.insert((type_id, property), link);
        }
        Ok(())
    }

    /// Detaches a property from a type. On a project its values on items of the type are deleted. On the workspace they
    /// are kept and show again once the property is attached again (O75).
    ///
    /// # Errors
    /// 404 when the property is not attached to the type.
    pub fn detach(&mut self, type_id: Uuid, property: Uuid) -> Result<(), Refusal> {
        let kind = self.work_item_type(type_id)?;
        self.after.attachments.remove(&(type_id, property)).ok_or_else(Refusal::not_found)?;
        if kind.project.is_some() {
            self.effects.push(Effect::Detached { type_id, property });
        }
        Ok(())
    }
}

fn assign(kind: &mut WorkItemType, given: &Given) {
    take(&mut kind.name, text(given, "name"));
    take(&mut kind.description, text(given, "description"));
    take(&mut kind.is_active, flag(given, "is_active"));
    take(&mut kind.external_id, nullable_text(given, "external_id"));
    take(&mut kind.external_source, nullable_text(given, "external_source"));
}

fn conflict(detail: &str) -> Refusal {
    Refusal::Conflict { detail: detail.into() }
}
