//! The list of tables that says which side answers which operations.
//!
//! May use: `settings::raw`, `settings::tables`.

use super::super::raw::Raw;
use super::super::tables::{Row, Table, known, optional, text, texts};
use strum::{EnumString, IntoStaticStr};

/// The side that answers some operations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Serve {
    /// Names of operations or resources, or `all`.
    pub operations: Vec<String>,
    /// Side that answers them.
    pub mode: Mode,
    /// Slugs of the workspaces in which this holds; all workspaces when empty.
    pub workspaces: Vec<String>,
}

impl Row for Serve {
    const FORM: &'static str = "one table per group of operations with `operations` (a list of names of operations or \
                                resources, or [\"all\"]) and `mode` (\"translated\", \"shadow\" or \"native\"), and if \
                                wanted `workspaces` (a list)";

    fn of(table: &Table) -> Option<Self> {
        known(table, &["operations", "mode", "workspaces"])?;
        let some = |raw: &Raw| texts(raw).filter(|names| !names.is_empty());
        Some(Self {
            operations: some(table.get("operations")?)?,
            mode: text(table.get("mode")?)?.parse().ok()?,
            workspaces: optional(table, "workspaces", some)?.unwrap_or_default(),
        })
    }
}

/// The side that answers an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Mode {
    /// This gateway.
    #[default]
    Translated,
    /// This gateway. Its answers to reads are compared with those of the deployment's own v2.
    Shadow,
    /// The deployment's own v2.
    Native,
}

impl Mode {
    /// Returns the word that settings use.
    pub fn word(self) -> &'static str {
        self.into()
    }
}
