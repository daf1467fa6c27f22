//! Properties of a workspace, properties that a project shows, and properties on a type. May use: `refusal`, `v2`, this
//! folder.

use super::super::model::{Attachment, Catalogue, Property};
use super::in_order;
use crate::catalogue::reach::Reach;
use crate::refusal::Refusal;
use crate::v2::time::Micros;
use std::sync::Arc;
use uuid::Uuid;

impl Catalogue {
    /// Returns a property that a write on this surface (`None`: the workspace's) may change.
    ///
    /// # Errors
    /// 404 for an unknown property; on a project, 409 for a workspace property that the project shows (O86).
    pub fn writable_property(&self, surface: Option<Uuid>, id: Uuid) -> Result<&Arc<Property>, Refusal> {
        let property = self.properties.get(&id).ok_or_else(Refusal::not_found)?;
        match surface {
            _ if property.project == surface => Ok(property),
            Some(project) if self.shows(project, property) => Err(Refusal::OwnedByWorkspace),
            _ => Err(Refusal::not_found()),
        }
    }

    /// Returns the properties of the workspace (`None`) or a project in their order, with inactive and unattached ones.
    pub fn properties_of(&self, owner: Option<Uuid>) -> Vec<&Arc<Property>> {
        in_order(self.properties.values().filter(|property| property.project == owner).collect(), place)
    }

    /// Returns the properties a project shows: its own, and those that reach its imported types (O86).
    pub fn properties_on_project(&self, project: Uuid) -> Vec<&Arc<Property>> {
        let reach = Reach::of(self, project);
        in_order(self.properties.values().filter(|property| reach.shows(property)).collect(), place)
    }

    /// Returns one property that a project shows.
    pub fn property_on_project(&self, project: Uuid, id: Uuid) -> Option<&Arc<Property>> {
        self.properties.get(&id).filter(|property| self.shows(project, property))
    }

    fn shows(&self, project: Uuid, property: &Property) -> bool {
        Reach::of(self, project).shows(property)
    }

    /// Returns the properties on a type, in attachment order.
    pub fn attached(&self, type_id: Uuid) -> Vec<Arc<Property>> {
        let place = |(property, link): &(Uuid, &Attachment)| (link.sort_order, link.created_at, *property);
        let links = in_order(self.attachments_of(type_id).collect(), place).into_iter();
        links.filter_map(|(property, _)| self.properties.get(&property).cloned()).collect()
    }

    /// Returns the properties on a type, each with its attachment.
    pub(in crate::catalogue) fn attachments_of(&self, type_id: Uuid) -> impl Iterator<Item = (Uuid, &Attachment)> {
        let attachments = self.attachments.range((type_id, Uuid::nil())..=(type_id, Uuid::max()));
        attachments.map(|((_, property), link)| (*property, link))
    }
}

/// Returns the sort key of a property.
fn place(property: &&Arc<Property>) -> (f64, Micros, Uuid) {
    (property.sort_order, property.created_at, property.id)
}
