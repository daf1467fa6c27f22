//! Rules of properties on types (14.5). May use: `refusal`, this folder.

use super::edit::{Edit, Effect};
use super::faults::listed;
use super::model::Attachment;
use crate::refusal::Refusal;
use uuid::Uuid;

/// Distance between neighbours in an order the service assigns.
pub(super) const STEP: f64 = 10_000.0;

impl Edit {
    /// Puts properties of the type's owner on the type, behind those it has; repeats are harmless.
    ///
    /// # Errors
    /// 404 for the type; 400 for no properties or one that the owner does not have, and then none is attached.
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
            let places = self.after.attachments.values().filter(|link| link.type_id == type_id);
            let sort_order = places.map(|link| link.sort_order).fold(0.0, f64::max) + STEP;
            let link = Attachment { type_id, property, sort_order, created_at: self.stamp() };
            self.after.attachments.insert((type_id, property), link);
        }
        Ok(())
    }

    /// Takes a property off a type. On a project its values on items of the type go; on the workspace they are
    /// kept and show again once it is re-attached (O75).
    ///
    /// # Errors
    /// 404 when the type does not carry the property.
    pub fn detach(&mut self, type_id: Uuid, property: Uuid) -> Result<(), Refusal> {
        let kind = self.work_item_type(type_id)?;
        self.after.attachments.remove(&(type_id, property)).ok_or_else(Refusal::not_found)?;
        if kind.project.is_some() {
            self.effects.push(Effect::Detached { type_id, property });
        }
        Ok(())
    }
}
