//! Types of a workspace, and types that are available in a project. May use: `plan`, `refusal`, `v2`, this folder.

use super::super::model::{Catalogue, WorkItemType};
use crate::plan::TypeMode;
use crate::refusal::Refusal;
use crate::v2::time::Micros;
use std::sync::Arc;
use uuid::Uuid;

impl Catalogue {
    /// Returns the types owned by the workspace (`None`) or a project, with epics, oldest first.
    pub fn types_of(&self, owner: Option<Uuid>) -> Vec<&Arc<WorkItemType>> {
        let mut types: Vec<_> = self.types.values().filter(|kind| kind.project == owner).collect();
        types.sort_by_key(|kind| (kind.created_at, kind.id));
        types
    }

    /// Returns the types available in a project, own and imported, without epics, oldest first.
    pub fn types_on_project(&self, project: Uuid) -> Vec<&Arc<WorkItemType>> {
        let mut types: Vec<_> = self.types.values().filter(|kind| self.is_listed(project, kind)).collect();
        types.sort_by_key(|kind| (kind.created_at, kind.id));
        types
    }

    /// Returns a type if it is available in a project, own or imported, and is not an epic.
    pub fn type_on_project(&self, project: Uuid, id: Uuid) -> Option<&Arc<WorkItemType>> {
        self.types.get(&id).filter(|kind| self.is_listed(project, kind))
    }

    /// Returns the types of the workspace that a project has imported, each with the time of the import.
    pub fn imports_of(&self, project: Uuid) -> impl Iterator<Item = (Uuid, Micros)> {
        let imports = self.imports.range((project, Uuid::nil())..=(project, Uuid::max()));
        imports.map(|((_, type_id), since)| (*type_id, *since))
    }

    fn is_listed(&self, project: Uuid, kind: &WorkItemType) -> bool {
        let here = match kind.project {
            Some(owner) => owner == project,
            None => self.imports.contains_key(&(project, kind.id)),
        };
        here && !kind.is_epic
    }

    /// Returns the type of a new item of the project when the request names none.
    ///
    /// In workspace mode this is the default of the workspace if it was imported, else the first imported type that
    /// is active (O62). In project mode it is the project's own default. If the side of the mode has none, the type of
    /// the other side is used, because both are listed in both modes (O32).
    pub fn default_type(&self, project: Uuid, mode: TypeMode) -> Option<&Arc<WorkItemType>> {
        let own = self.types.values().find(|kind| kind.project == Some(project) && kind.is_default);
        let imported = self
            .imports_of(project)
            .filter_map(|(kind, since)| Some((since, self.types.get(&kind)?)))
            .filter(|(_, kind)| kind.is_active && !kind.is_epic)
            .min_by_key(|(since, kind)| (!kind.is_default, *since, kind.id))
            .map(|(_, kind)| kind);
        match mode {
            TypeMode::Workspace => imported.or(own),
            TypeMode::Project => own.or(imported),
        }
    }

    /// Returns a type that a write on this surface (`None`: the workspace's) may change.
    ///
    /// # Errors
    /// 404 for an unknown type; on a project, 409 for a type that it only imported (O86).
    pub fn writable_type(&self, surface: Option<Uuid>, id: Uuid) -> Result<&Arc<WorkItemType>, Refusal> {
        let kind = self.types.get(&id).ok_or_else(Refusal::not_found)?;
        match surface {
            _ if kind.project == surface => Ok(kind),
            Some(project) if self.is_listed(project, kind) => Err(Refusal::OwnedByWorkspace),
            _ => Err(Refusal::not_found()),
        }
    }
}
