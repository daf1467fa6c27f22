//! Writes that concern v1 and the store: recorded before the request to v1, and settled once both have them.
//!
//! A crash or a lost answer between the two leaves the record, with the request to v1 and the data to be stored. The
//! next caller that sees the outcome at v1 finishes the write, drops it or reports it. Writes of this process whose
//! request is still running are known in memory, so that no other caller settles them. May use: `task`, `units`, `v2`
//! (times), this folder.

use super::error::StoreError;
use super::intent::{Intent, IntentKind, IntentState, Settled};
use super::intent_rows::{COLUMNS, read};
use super::items::{apply, bump, bump_with, purge, type_stands};
use super::kind::Kind;
use super::recorded::TypeChange;
use super::rows::{NewRow, all, insert, query, sql};
use super::running::RunningIntent;
use super::service::Store;
use crate::task::spawn;
use crate::units::now_micros;
use crate::v2::time::Micros;
use std::sync::Arc;
use std::time::Duration;

/// Time that settled writes are kept, in microseconds: their own requests may still end, even after a pause.
const SETTLED_KEPT: i64 = 86_400 * 1_000_000;

/// Number of attempts to drop a write that never began, and the pause before each.
const DROPPED_AGAIN: usize = 30;
const AGAIN: Duration = Duration::from_secs(2);

impl Store {
    /// Records a write before the request to v1. Returns none when its type was deleted meanwhile; then nothing was
    /// recorded.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be written, or its outcome is unknown; then no request to v1 may be sent.
    pub async fn begin_intent(&self, intent: Intent) -> Result<Option<RunningIntent>, StoreError> {
        let intent = Intent { process: Some(self.engine.peers.me), ..intent };
        let running = RunningIntent { running: Arc::clone(&self.running), intent };
        let intent = &running.intent;
        self.running.with(|ids| ids.insert(intent.id));
        let mut writing = self.engine.writing().await?;
        let catalogue = self.held_catalogue(&mut writing, intent.workspace).await?;
        if !type_stands(&catalogue, &intent.own) {
            return Ok(None);
        }
        let version = bump(&mut writing, intent.project).await?;
        let own = serde_json::to_string(&intent.own).map_err(|fault| StoreError::Internal(fault.to_string()))?;
        let row: NewRow = &[
            ("id", &intent.id),
            ("workspace_id", &intent.workspace),
            ("project_id", &intent.project),
            ("kind", &<&str>::from(intent.kind)),
            ("work_item_id", &intent.item),
            ("user_id", &intent.user),
            ("sent", &intent.sent),
            ("own", &own),
            ("state", &intent.state.word()),
            ("began_at", &intent.began_at),
            ("process_id", &intent.process),
        ];
        writing.run(insert("intent", row)).await?;
        match writing.commit().await {
            Ok(()) => {
                let open = intent.clone();
                self.carry(intent.project, version, move |items| Arc::make_mut(&mut items.open).push(open.clone()));
                Ok(Some(running))
            }
            Err(StoreError::Undecided(cause)) => {
                spawn(self.clone().drop_unsent(running));
                Err(StoreError::Unavailable(cause))
            }
            Err(fault) => Err(fault),
        }
    }

    /// Drops a write whose request to v1 is not sent, when it is unknown whether the write was recorded.
    async fn drop_unsent(self, running: RunningIntent) {
        for _ in 0..DROPPED_AGAIN {
            tokio::time::sleep(AGAIN).await;
            if self.settle_left(&running.intent, Settled::Dropped).await.is_ok() {
                return;
            }
        }
        tracing::warn!(intent = %running.intent.id, "a write that never began could not be dropped; it is settled later");
    }

    /// Settles a write for its own request, which knows the outcome at v1. Returns the epoch of the project if this
    /// call has raised it by one, else 0.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be written; the write stays open and is settled later.
    pub async fn settle_own(&self, running: RunningIntent, settled: Settled) -> Result<i64, StoreError> {
        Ok(self.settle(&running.intent, settled, true).await?.unwrap_or_default())
    }

    /// Settles a write of another request, from the data that v1 shows. Returns false when it was settled meanwhile, or
    /// when the created item already has a record of its own.
    pub async fn settle_left(&self, intent: &Intent, settled: Settled) -> Result<bool, StoreError> {
        Ok(self.settle(intent, settled, false).await?.is_some())
    }

    /// Settles a write. When v1 has carried it out, older data of v1 must not be shown beside the new records, so other
    /// processes get news of both in one commit. Returns the epoch; none when nothing was settled.
    async fn settle(&self, intent: &Intent, settled: Settled, owner: bool) -> Result<Option<i64>, StoreError> {
        let mut writing = self.engine.writing().await?;
        // Lock the workspace before the project, in the same order as an edit of the definitions.
        let catalogue = self.held_catalogue(&mut writing, intent.workspace).await?;
        let is_told = self.engine.kind() == Kind::Postgres && !matches!(settled, Settled::Dropped);
        let (version, epoch) = bump_with(&mut writing, intent.project, is_told.into()).await?;
        let mut own = intent.own.clone();
        if !type_stands(&catalogue, &own) {
            own.type_id = TypeChange::Kept;
        }
        let (state, item) = match settled {
            Settled::Done(item) | Settled::Purged(item) => ("done", Some(item)),
            Settled::Dropped => ("dropped", intent.item),
        };
        let text = "UPDATE intent SET state = $2, work_item_id = $3, settled_at = $4 WHERE id = $1 \
                    AND (settled_at IS NULL OR $5 = 1) RETURNING id";
        let row =
            query(text, &[&intent.id, &state, &item, &now_micros(), &owner]).fetch_optional(&mut *writing).await?;
        let bound = match settled {
            Settled::Done(item) if !owner && intent.kind == IntentKind::Create => {
                let known = query("SELECT id FROM work_item WHERE id = $1", &[&item]);
                known.fetch_optional(&mut *writing).await?.is_some()
            }
            _ => false,
        };
        if row.is_none() || bound {
            return Ok(None);
        }
        let at = match settled {
            Settled::Done(item) => apply(&mut writing, &catalogue, intent.project, item, &own).await?,
            Settled::Purged(item) => purge(&mut writing, item).await.map(|()| 0)?,
            Settled::Dropped => 0,
        };
        writing.commit().await?;
        let id = intent.id;
        // For a new item, the values at v1 are those of its creation, so only updates are kept.
        let update = (intent.kind == IntentKind::Update).then(|| Arc::new(intent.clone()));
        self.carry(intent.project, version, move |items| {
            Arc::make_mut(&mut items.open).retain(|open| open.id != id);
            match settled {
                Settled::Done(item) => items.wrote_and_remembered(item, &own, at, update.clone()),
                Settled::Purged(item) => items.purged(item),
                Settled::Dropped => {}
            }
        });
        Ok(Some(if is_told { epoch } else { 0 }))
    }

    /// Records the state of a write that cannot be settled now.
    pub async fn report_intent(&self, intent: &Intent, state: IntentState) -> Result<(), StoreError> {
        if intent.state == state {
            return Ok(());
        }
        let mut writing = self.engine.writing().await?;
        let version = bump(&mut writing, intent.project).await?;
        let text = "UPDATE intent SET state = $2 WHERE id = $1 AND settled_at IS NULL";
        writing.run(query(text, &[&intent.id, &state.word()])).await?;
        writing.commit().await?;
        let id = intent.id;
        self.carry(intent.project, version, move |items| {
            let open = Arc::make_mut(&mut items.open).iter_mut().find(|open| open.id == id);
            if let Some(open) = open {
                open.state = state;
            }
        });
        Ok(())
    }

    /// Checks whether the request of an open write may still be running. For this process it is known. Another process
    /// is alive or not; if that is unknown, only the age of the write decides.
    pub fn is_running(&self, intent: &Intent, longest: Micros) -> bool {
        if self.running.with(|ids| ids.contains(&intent.id)) {
            return true;
        }
        // A file has one gateway process at a time, so a write that is not of this process is of a dead one.
        if self.engine.kind() == Kind::Sqlite || intent.state != IntentState::Open {
            return false;
        }
        let peers = &self.engine.peers;
        let lives = match intent.process {
            Some(id) if id == peers.me => Some(false),
            Some(id) => peers.lives(id, intent.began_at),
            None => None,
        };
        lives.unwrap_or(true) && now_micros() - intent.began_at < longest
    }

    /// Removes writes that were settled longer ago than any request lasts.
    pub async fn forget_settled(&self) -> Result<(), StoreError> {
        let text = "DELETE FROM intent WHERE id IN (SELECT id FROM intent WHERE settled_at < $1 LIMIT $2)";
        self.engine.delete_in_pieces(text, now_micros() - SETTLED_KEPT).await.map(drop)
    }

    /// Returns all writes that are not settled, oldest first.
    pub async fn unsettled(&self) -> Result<Vec<Intent>, StoreError> {
        let text = format!("SELECT {COLUMNS} FROM intent WHERE settled_at IS NULL ORDER BY began_at, id");
        all(self.engine.pool(), query(sql(text), &[]), read).await
    }
}
