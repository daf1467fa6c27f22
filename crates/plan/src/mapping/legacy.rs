//! `v1/operations.toml`: the declarations about the public operations of v1, as written. May use: this folder.

use super::fault::Faults;
use super::trail::Trail;
use indexmap::IndexMap;
use serde::Deserialize;

/// The file, below the folder of mappings.
pub const FILE: &str = "v1/operations.toml";
/// The folder of the file.
pub(super) const FOLDER: &str = "v1/";

/// The whole table.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct V1Table {
    /// Parts of paths that v1 serves under a second name. The first name stands for both.
    pub spellings: Vec<[String; 2]>,
    /// Parts of paths that the name of an unknown path keeps.
    pub words: Vec<String>,
    /// The rows.
    pub operations: Vec<V1Row>,
    /// Fields of v1's records that v2 does not show, by resource.
    pub records: IndexMap<String, Vec<String>>,
    /// v2's names for members of v1's bodies, by resource, when they do not follow from the fields.
    pub inputs: IndexMap<String, IndexMap<String, String>>,
    /// Reasons why members of v1's bodies have no counterpart in v2, by resource, although v2 has a similar member.
    pub lost: IndexMap<String, IndexMap<String, String>>,
}

/// One row.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct V1Row {
    /// Name in reports and settings.
    pub id: Option<String>,
    /// Method and path.
    pub call: String,
    /// Short description of its effect.
    pub does: String,
    /// Ids of v2 operations, in addition to those that follow from their steps.
    pub successors: Vec<String>,
    /// Sources of the values for variables and parameters of the successor.
    pub fills: IndexMap<String, String>,
    /// Parameters that v1 reads in addition to those of every list.
    pub reads: Vec<String>,
    /// Parameters of `reads` that v1 reads only together. It then answers with the one record that they name.
    pub together: Vec<String>,
    /// Place of the rows in v1's answer, as text, when it differs from that of the successor's resource.
    pub rows: Option<String>,
    /// Members of v1's rows, when they differ from those of the successor's resource.
    pub shows: Vec<String>,
    /// Body members that mean another operation, each with the operation for a value and the operation for null.
    pub instead: IndexMap<String, [String; 2]>,
    /// Differences of a request to the usual successor.
    pub differs: Vec<String>,
    /// Parts of the operation that the successors lack.
    pub part: Option<String>,
    /// Reason why there is no successor.
    pub none: Option<String>,
    /// Whether v1 has the path.
    pub served: Option<bool>,
}

pub(super) fn read(text: &str, faults: &mut Faults) -> V1Table {
    let unreadable = |error| faults.add_unreadable(&Trail::file(FILE), text, &error);
    toml::from_str(text).map_err(unreadable).unwrap_or_default()
}
