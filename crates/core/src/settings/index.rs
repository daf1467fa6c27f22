//! How the local index of work items is kept. May use: this folder.

use super::reader::Reader;
use super::value::Size;
use std::path::PathBuf;
use std::time::Duration;

/// The index of work items (`[index]`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexSettings {
    /// Age up to which it answers without asking v1; zero means never.
    pub freshness: Duration,
    /// Time from one comparison of all ids to the next.
    pub sweep: Duration,
    /// Whether the index of a project is begun before a request needs it.
    pub ahead: bool,
    /// Bytes held by the indices of all projects together.
    pub max_size: usize,
    /// Where they are kept between starts; none for beside the store's file.
    pub directory: Option<PathBuf>,
}

impl IndexSettings {
    pub(super) fn read(from: &mut Reader) -> Self {
        let Size(max_size) = from.get("index.max_size");
        Self {
            freshness: from.get("index.freshness"),
            sweep: from.get("index.sweep"),
            ahead: from.get("index.ahead"),
            max_size,
            directory: from.optional("index.directory"),
        }
    }
}
