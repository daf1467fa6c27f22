//! Types of the definitions of one workspace. May use: `v2`.

use crate::v2::time::Micros;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use uuid::Uuid;

/// All live definitions of one workspace, by id.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Catalogue {
    /// The workspace.
    pub workspace: Uuid,
    /// Version number, which grows with every change; 0 before the first write.
    pub version: i64,
    /// Its features.
    pub features: Arc<Features>,
    /// Types of the workspace and of its projects.
    pub types: BTreeMap<Uuid, Arc<WorkItemType>>,
    /// Properties of the workspace and of its projects.
    pub properties: BTreeMap<Uuid, Arc<Property>>,
    /// Options of all properties.
    pub options: BTreeMap<Uuid, Arc<PropertyOption>>,
    /// Contexts of workspace properties.
    pub contexts: BTreeMap<Uuid, Arc<Context>>,
    /// Attachments of properties to types, by type and property.
    pub attachments: BTreeMap<(Uuid, Uuid), Attachment>,
    /// Imports of workspace types by project and type, with the time of the import.
    pub imports: BTreeMap<(Uuid, Uuid), Micros>,
}

/// Names of the ten flags, in the order of the read shape.
pub const FLAGS: [&str; 10] = [
    "is_work_item_types_enabled",
    "is_workitem_hierarchy_enabled",
    "is_project_grouping_enabled",
    "is_teams_enabled",
    "is_wiki_enabled",
    "is_initiative_enabled",
    "is_customer_enabled",
    "is_release_enabled",
    "is_state_duration_enabled",
    "is_pi_enabled",
];

/// The one features record of a workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Features {
    /// UUIDv5 of the workspace's id, so that the id is the same before the first write.
    pub id: Uuid,
    /// The flags, in the order of [`FLAGS`].
    pub flags: [bool; 10],
    /// Level of new types.
    pub default_level: i64,
    /// Time when the store was set up.
    pub created_at: Micros,
}

/// A work item type.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WorkItemType {
    /// Id.
    pub id: Uuid,
    /// Owning project; none for a type of the workspace.
    pub project: Option<Uuid>,
    /// Name.
    pub name: String,
    /// Free text.
    pub description: String,
    /// Selectable on new items.
    pub is_active: bool,
    /// The default of its owner.
    pub is_default: bool,
    /// Whether the service made it for epics.
    pub is_epic: bool,
    /// Level in the hierarchy.
    pub level: i64,
    /// Icon.
    pub logo_props: Value,
    /// Correlation value; never read back.
    pub external_id: Option<String>,
    /// Origin of the correlation value; never read back.
    pub external_source: Option<String>,
    /// Creation.
    pub created_at: Micros,
}

/// Kind of values a property takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum PropertyType {
    /// Text.
    #[default]
    Text,
    /// An instant.
    Datetime,
    /// A number.
    Decimal,
    /// True or false.
    Boolean,
    /// One of the property's options.
    Option,
    /// Another record.
    Relation,
    /// An absolute http(s) URL.
    Url,
    /// An e-mail address.
    Email,
    /// A file reference.
    File,
    /// Computed; never writable.
    Formula,
}

/// Target of a relation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RelationType {
    /// A work item.
    Issue,
    /// A person.
    User,
    /// A release.
    Release,
    /// Rich text.
    RichText,
}

/// A custom property.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Property {
    /// Id.
    pub id: Uuid,
    /// Owning project; none for a property of the workspace.
    pub project: Option<Uuid>,
    /// Slug, fixed at creation, unique within the owner; key of `custom_fields`.
    pub name: String,
    /// Label.
    pub display_name: String,
    /// Helper text.
    pub description: Option<String>,
    /// Kind of values.
    pub property_type: PropertyType,
    /// Target of a relation; none for other kinds.
    pub relation_type: Option<RelationType>,
    /// Whether a value must be given on create.
    pub is_required: bool,
    /// Whether it takes several values.
    pub is_multi: bool,
    /// Whether it is active: an inactive property applies to no work item.
    pub is_active: bool,
    /// Default, as sent.
    pub default_value: Vec<String>,
    /// Type-specific object.
    pub settings: Value,
    /// Type-specific object.
    pub validation_rules: Value,
    /// Icon.
    pub logo_props: Value,
    /// Place among its owner's properties.
    pub sort_order: f64,
    /// Correlation value.
    pub external_id: Option<String>,
    /// Origin of the correlation value.
    pub external_source: Option<String>,
    /// Creation.
    pub created_at: Micros,
}

/// A choice of an option property.
#[derive(Debug, Clone, PartialEq)]
pub struct PropertyOption {
    /// Id.
    pub id: Uuid,
    /// Its property.
    pub property: Uuid,
    /// Name.
    pub name: String,
    /// Free text.
    pub description: String,
    /// Preselected; for workspace properties see [`ContextOption::is_default`].
    pub is_default: bool,
    /// Place, in steps of 10000.
    pub sort_order: f64,
    /// Icon.
    pub logo_props: Value,
    /// Correlation value.
    pub external_id: Option<String>,
    /// Origin of the correlation value.
    pub external_source: Option<String>,
    /// Creation.
    pub created_at: Micros,
}

/// A scope in which a workspace property applies, and its settings there.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Context {
    /// Id.
    pub id: Uuid,
    /// Its property.
    pub property: Uuid,
    /// Name, unique within the property.
    pub name: String,
    /// Covers every project; `projects` is empty then.
    pub all_projects: bool,
    /// Covers every type; `types` is empty then.
    pub all_types: bool,
    /// Covered projects.
    pub projects: Vec<Uuid>,
    /// Covered types.
    pub types: Vec<Uuid>,
    /// Replaces the property's own flag.
    pub is_required: bool,
    /// Replaces the property's own flag.
    pub is_multi: bool,
    /// Marks the seeded context; has no effect.
    pub is_default: bool,
    /// Replaces the property's own default.
    pub default_value: Vec<String>,
    /// Replaces the property's own settings.
    pub settings: Value,
    /// Offered choices, in the order of this context.
    pub options: Vec<ContextOption>,
    /// Place in lists; only for display.
    pub sort_order: f64,
    /// Correlation value.
    pub external_id: Option<String>,
    /// Origin of the correlation value.
    pub external_source: Option<String>,
    /// Creation.
    pub created_at: Micros,
}

/// An option as one context offers it (O73).
#[derive(Debug, Clone, PartialEq)]
pub struct ContextOption {
    /// The option.
    pub option: Uuid,
    /// Preselected within the context.
    pub is_default: bool,
    /// Place within the context.
    pub sort_order: f64,
}

/// A property on a type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Attachment {
    /// Place on the type.
    pub sort_order: f64,
    /// Time of the attachment.
    pub created_at: Micros,
}

/// Returns an external pair when both halves are set; an empty text is not set (O41).
fn pair<'t>(id: &'t Option<String>, source: &'t Option<String>) -> Option<(&'t str, &'t str)> {
    let set = |half: &'t Option<String>| half.as_deref().filter(|text| !text.is_empty());
    set(id).zip(set(source))
}

impl WorkItemType {
    /// Returns the external pair, which only one type of an owner may have.
    pub(super) fn external_pair(&self) -> Option<(&str, &str)> {
        pair(&self.external_id, &self.external_source)
    }
}

impl Context {
    /// Returns the external pair, which only one context of a property may have.
    pub(super) fn external_pair(&self) -> Option<(&str, &str)> {
        pair(&self.external_id, &self.external_source)
    }
}
