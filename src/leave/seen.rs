//! The definitions in the target, read over v2.
//!
//! May use: this folder.

use super::scope::{Scope, text};
use super::side::Side;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap, HashSet};
use uuid::Uuid;

/// A record in the read shape of v2.
pub(super) type Record = Map<String, Value>;

/// Definitions of one owner: the workspace or a project.
#[derive(Debug, Clone, Default)]
pub(super) struct Owned {
    /// Types, oldest first.
    pub(super) types: Vec<Record>,
    /// Properties in their order, with their options.
    pub(super) properties: Vec<Record>,
    /// Ids of the properties on a type, in their order, by the id of the type.
    pub(super) attached: HashMap<String, Vec<String>>,
    /// Ids of imported types, in the order of the list.
    pub(super) imported: Vec<String>,
}

/// All definitions in the target.
#[derive(Debug, Clone, Default)]
pub(super) struct TargetDefinitions {
    pub(super) features: Record,
    /// Definitions by owner: `None` is the workspace, else the project's id here.
    pub(super) owned: BTreeMap<Option<Uuid>, Owned>,
    /// Contexts by the property's id in the target.
    pub(super) contexts: HashMap<String, Vec<Record>>,
}

impl TargetDefinitions {
    pub(super) async fn read(target: &Side, scope: &Scope<'_>) -> Result<Self, String> {
        let mut seen = Self::default();
        let base = scope.there(None);
        if let Value::Object(features) = target.read(&format!("{base}/features/")).await? {
            seen.features = features;
        }
        let mut workspace = Owned {
            types: target.rows(&types(&base)).await?,
            properties: target.rows(&properties(&base)).await?,
            ..Owned::default()
        };
        for kind in &workspace.types {
            let id = text(kind, "id").to_owned();
            workspace.attached.insert(id.clone(), attached(target, &base, &id).await?);
        }
        for property in &workspace.properties {
            let id = text(property, "id").to_owned();
            seen.contexts.insert(id.clone(), contexts(target, scope, &id).await?);
        }
        let ids = |records: &[Record]| -> HashSet<String> {
            records.iter().map(|record| text(record, "id").to_owned()).collect()
        };
        let (common_types, common_properties) = (ids(&workspace.types), ids(&workspace.properties));
        seen.owned.insert(None, workspace);
        for project in scope.projects.values() {
            let base = scope.there(Some(project.theirs));
            let mut owned = Owned::default();
            for kind in target.rows(&types(&base)).await? {
                match common_types.contains(text(&kind, "id")) {
                    true => owned.imported.push(text(&kind, "id").to_owned()),
                    false => owned.types.push(kind),
                }
            }
            owned.properties = target.rows(&properties(&base)).await?;
            owned.properties.retain(|property| !common_properties.contains(text(property, "id")));
            for kind in &owned.types {
                let id = text(kind, "id").to_owned();
                owned.attached.insert(id.clone(), attached(target, &base, &id).await?);
            }
            seen.owned.insert(Some(project.own), owned);
        }
        Ok(seen)
    }

    /// Returns the definitions of an owner in the target.
    pub(super) fn of(&mut self, owner: Option<Uuid>) -> &mut Owned {
        self.owned.entry(owner).or_default()
    }

    /// Checks whether a type or a property in the target has one of these ids.
    pub(super) fn has_any(&self, ids: &HashSet<Uuid>) -> bool {
        let records = self.owned.values().flat_map(|owned| owned.types.iter().chain(&owned.properties));
        records.filter_map(super::scope::id).any(|id| ids.contains(&id))
    }
}

fn types(base: &str) -> String {
    format!("{base}/work-item-types/?order_by=created_at")
}

fn properties(base: &str) -> String {
    format!("{base}/work-item-properties/?order_by=sort_order")
}

/// Returns the ids of the properties on a type.
pub(super) async fn attached(target: &Side, base: &str, kind: &str) -> Result<Vec<String>, String> {
    let rows = target.rows(&format!("{base}/work-item-types/{kind}/properties/?order_by=sort_order")).await?;
    Ok(rows.iter().map(|row| text(row, "id").to_owned()).collect())
}

pub(super) async fn contexts(target: &Side, scope: &Scope<'_>, property: &str) -> Result<Vec<Record>, String> {
    let base = scope.there(None);
    target.rows(&format!("{base}/work-item-properties/{property}/contexts/?order_by=sort_order")).await
}
