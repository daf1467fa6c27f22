//! Epochs: gateway processes that share a store tell each other that a project was written to.
//!
//! A SQLite file belongs to one process, so no other process can write, and none must be told.
//! May use: `fresh`, this folder.

use super::error::StoreError;
use super::kind::Kind;
use super::peers::NOTES;
use super::rows::{query, sql, value};
use super::service::Store;
use super::under_way::{HeldNames, begins, ends};
use crate::fresh::Changed;
use sqlx::Row;
use uuid::Uuid;

impl Store {
    /// Returns a number that grows with every write to v1 that any gateway process makes in the project, and when the
    /// store records the result of such a write. It is always 0 with SQLite, where one process has the store to itself.
    pub async fn epoch(&self, project: Uuid) -> Result<i64, StoreError> {
        if self.engine.kind() == Kind::Sqlite {
            return Ok(0);
        }
        let epoch = move |store: Self| async move {
            let text = "SELECT epoch FROM project WHERE id = $1";
            value::<i64>(store.engine.pool(), query(text, &[&project])).await.map(Option::unwrap_or_default)
        };
        self.ask(&self.epochs, project, epoch).await
    }

    /// Sends all gateway processes a note of a write to v1 in the project and of the other `changed` data; returns the
    /// new epoch. With `heard` it waits until every process that answers from memory has received the note. Names that
    /// `turn` holds exclusively are recorded by the first call (without `heard`), and removed by the call with `heard`.
    pub async fn bump_epoch(
        &self,
        project: Uuid,
        mut changed: Vec<Changed>,
        turn: Option<&HeldNames>,
        heard: bool,
    ) -> Result<i64, StoreError> {
        if self.engine.kind() == Kind::Sqlite {
            return Ok(0);
        }
        changed.push(Changed::Stored(project));
        let (awaited, note) = if heard {
            let (awaited, note) = self.engine.peers.awaited_note(changed);
            (Some(awaited), note)
        } else {
            (None, self.engine.peers.note(changed).1)
        };
        let noting = match (turn, heard) {
            (None, _) => String::new(),
            (Some(_), false) => format!(", noted AS ({})", begins("$4", "$5")),
            (Some(_), true) => format!(", noted AS ({})", ends("$4")),
        };
        let text = format!(
            "WITH raised AS (INSERT INTO project (id, items, epoch) VALUES ($1, 0, 1) \
             ON CONFLICT (id) DO UPDATE SET epoch = project.epoch + 1 RETURNING epoch){noting} \
             SELECT epoch, pg_notify($2, $3)::text FROM raised"
        );
        let mut raising = query(sql(text), &[&project, &NOTES, &note]);
        if let Some(turn) = turn {
            raising = raising.bind(turn.turn.to_string());
            raising = if heard { raising } else { raising.bind(turn.names.clone()) };
        }
        let raising = raising.fetch_one(self.engine.pool());
        let row = self.engine.unless_unavailable(raising).await?;
        self.engine.peers.changes.tell(Changed::Stored(project));
        if let Some(awaited) = awaited {
            self.engine.wait_until_confirmed(awaited).await;
        }
        Ok(row.try_get(0)?)
    }
}
