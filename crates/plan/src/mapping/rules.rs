//! Structs of the rules a file can declare: one table each, in the place of a single key. May use: this folder.

use super::words::WhoWord;
use serde::Deserialize;

/// `unique = { … }`, `exclusive = { … }`: a field whose value says something about all records of a collection.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OneOfAllSpec {
    /// The field.
    pub field: String,
    /// Told to a client that asks for what the rule forbids.
    pub detail: String,
}

/// `requires = { … }`: a record that must be there.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequiresSpec {
    /// Resource of the record.
    pub live: String,
    /// Variable of the path that holds its id.
    pub id: String,
}

/// `may = { … }`: who may write to a record.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MaySpec {
    /// Who.
    pub who: WhoWord,
    /// Field that holds the author.
    pub author: String,
    /// Told to everybody else.
    pub detail: String,
}
