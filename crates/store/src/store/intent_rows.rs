//! Reading recorded writes (intents) from their rows.
//!
//! May use: this folder.

use super::error::StoreError;
use super::intent::Intent;
use super::rows::{Cells, all, query, sql};
use super::session::Session;
use serde::de::DeserializeOwned;
use std::str::FromStr;
use uuid::Uuid;

/// Columns of a row, in the order in which [`read`] reads them.
pub(super) const COLUMNS: &str =
    "id, workspace_id, project_id, kind, work_item_id, user_id, sent, own, state, began_at, process_id";

/// Returns the open writes of a project, oldest first.
pub(super) async fn open_of(connection: &mut Session, project: Uuid) -> Result<Vec<Intent>, StoreError> {
    let text =
        format!("SELECT {COLUMNS} FROM intent WHERE project_id = $1 AND settled_at IS NULL ORDER BY began_at, id");
    all(connection, query(sql(text), &[&project]), read).await
}

/// Reads a write from its row.
pub(super) fn read(cells: &mut Cells<'_>) -> Result<Intent, StoreError> {
    Ok(Intent {
        id: cells.next()?,
        workspace: cells.next()?,
        project: cells.next()?,
        kind: word(cells, "kind of an intent")?,
        item: cells.next()?,
        user: cells.next()?,
        sent: json(cells)?,
        own: json(cells)?,
        state: word(cells, "state of an intent")?,
        began_at: cells.next()?,
        process: cells.next()?,
    })
}

fn word<T: FromStr>(cells: &mut Cells<'_>, what: &str) -> Result<T, StoreError> {
    let word: String = cells.next()?;
    word.parse().map_err(|_| StoreError::unreadable(what, &word))
}

fn json<T: DeserializeOwned>(cells: &mut Cells<'_>) -> Result<T, StoreError> {
    let text: String = cells.next()?;
    serde_json::from_str(&text).map_err(|_| StoreError::unreadable("intent", &text))
}
