//! Which fields of a record are carried, as tables.
//!
//! Fields that are in no table are the service's own: ids, instants of creation, icons, and place numbers of options, of
//! which the order counts and not the number. May use: this folder.

use super::ids::Kind;

/// What can be done about a field that differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    Written,
    /// It follows from something else when the record is made, and stays.
    Made,
}

use How::{Made, Written};

const FEATURES: [(&str, How); 11] = [
    ("is_work_item_types_enabled", Written),
    ("work_item_type_default_level", Written),
    ("is_workitem_hierarchy_enabled", Written),
    ("is_project_grouping_enabled", Written),
    ("is_teams_enabled", Written),
    ("is_wiki_enabled", Written),
    ("is_initiative_enabled", Written),
    ("is_customer_enabled", Written),
    ("is_release_enabled", Written),
    ("is_state_duration_enabled", Written),
    ("is_pi_enabled", Written),
];
/// The default of its owner is moved by an operation of its own, the external pair is never read back.
const TYPE: [(&str, How); 5] =
    [("name", Written), ("description", Written), ("is_active", Written), ("is_epic", Made), ("level", Made)];
/// Options are records of their own.
const PROPERTY: [(&str, How); 13] = [
    ("name", Made),
    ("display_name", Written),
    ("description", Written),
    ("property_type", Written),
    ("relation_type", Written),
    ("is_required", Written),
    ("is_multi", Written),
    ("is_active", Written),
    ("default_value", Written),
    ("settings", Written),
    ("validation_rules", Written),
    ("external_id", Written),
    ("external_source", Written),
];
/// `is_default` of an option of the workspace is what its context says.
const OPTION: [(&str, How); 5] = [
    ("name", Written),
    ("description", Written),
    ("is_default", Written),
    ("external_id", Written),
    ("external_source", Written),
];
/// `is_default` marks the context that came with the property, without effect.
const CONTEXT: [(&str, How); 13] = [
    ("name", Written),
    ("applies_to_all_projects", Written),
    ("project_ids", Written),
    ("applies_to_all_work_item_types", Written),
    ("issue_type_ids", Written),
    ("is_required", Written),
    ("is_multi", Written),
    ("default_value", Written),
    ("settings", Written),
    ("sort_order", Written),
    ("external_id", Written),
    ("external_source", Written),
    ("options", Written),
];

pub(super) fn table(kind: Kind) -> &'static [(&'static str, How)] {
    match kind {
        Kind::Features => &FEATURES,
        Kind::Type => &TYPE,
        Kind::Property => &PROPERTY,
        Kind::Option => &OPTION,
        Kind::Context => &CONTEXT,
        _ => &[],
    }
}
