//! `v1/operations.toml`: what is declared about the public operations of v1, as it is written. May use: this folder.

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
    /// Parts of paths that v1 serves under a second name: the first stands for both.
    pub spellings: Vec<[String; 2]>,
    /// Parts of paths that are kept in the name of a path that is not known.
    pub words: Vec<String>,
    /// The rows.
    pub operations: Vec<V1Row>,
    /// Fields of v1's records that v2 does not show, by resource.
    pub records: IndexMap<String, Vec<String>>,
    /// Members of v1's bodies and what v2 calls them, by resource, where the fields do not say it.
    pub inputs: IndexMap<String, IndexMap<String, String>>,
}

/// One row.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct V1Row {
    /// Name in reports and settings.
    pub id: Option<String>,
    /// Method and path.
    pub call: String,
    /// What it does.
    pub does: String,
    /// Ids of v2 operations, beyond those that follow from their steps.
    pub successors: Vec<String>,
    /// What variables and parameters of the successor are filled with.
    pub fills: IndexMap<String, String>,
    /// Parameters that v1 reads beside those of every list.
    pub reads: Vec<String>,
    /// Of them, those that v1 reads only together: it answers with the one record that they name.
    pub together: Vec<String>,
    /// What v1's rows stand in, where they do not stand as the successor's resource says.
    pub rows: Option<String>,
    /// Members of v1's rows, where they are not those of the successor's resource.
    pub shows: Vec<String>,
    /// Members of a body that stand for another operation: with a value, and with null.
    pub instead: IndexMap<String, [String; 2]>,
    /// What a request to the usual successor does differently.
    pub differs: Vec<String>,
    /// What the successors lack.
    pub part: Option<String>,
    /// Why there is no successor.
    pub none: Option<String>,
    /// Whether v1 has the path.
    pub served: Option<bool>,
}

pub(super) fn read(text: &str, faults: &mut Faults) -> V1Table {
    let unreadable = |error| faults.add_unreadable(&Trail::file(FILE), text, &error);
    toml::from_str(text).map_err(unreadable).unwrap_or_default()
}
