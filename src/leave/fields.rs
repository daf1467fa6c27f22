//! Tables of the fields of a record that are carried.
//!
//! Fields that are in no table belong to the service: ids, creation times, icons, and the place numbers of options. Of
//! place numbers only the order counts. May use: this folder.

use super::ids::Kind;

/// How a differing field can be corrected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Correction {
    Written,
    /// The field is set from something else when the record is made, and cannot be changed.
    Made,
}

use Correction::{Made, Written};

const FEATURES: [(&str, Correction); 11] = [
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
/// The owner's default type is changed by a separate operation. The external pair is never returned by reads.
const TYPE: [(&str, Correction); 5] =
    [("name", Written), ("description", Written), ("is_active", Written), ("is_epic", Made), ("level", Made)];
/// Options are not in the table, because they are separate records.
const PROPERTY: [(&str, Correction); 13] = [
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
/// For an option of the workspace, its context decides `is_default`.
const OPTION: [(&str, Correction); 5] = [
    ("name", Written),
    ("description", Written),
    ("is_default", Written),
    ("external_id", Written),
    ("external_source", Written),
];
/// `is_default` is not in the table: it only marks the context that came with the property.
const CONTEXT: [(&str, Correction); 13] = [
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

pub(super) fn table(kind: Kind) -> &'static [(&'static str, Correction)] {
    match kind {
        Kind::Features => &FEATURES,
        Kind::Type => &TYPE,
        Kind::Property => &PROPERTY,
        Kind::Option => &OPTION,
        Kind::Context => &CONTEXT,
        _ => &[],
    }
}
