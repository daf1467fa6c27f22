//! Writes that concern v1 and the store, noted before v1 is asked and settled once both have them.
//!
//! A crash or a lost answer between the two leaves the note, with what was asked of v1 and what was to be
//! stored; the next caller that sees what v1 made of it finishes the write, drops it or reports it. Notes of this
//! process whose request still runs are known in memory, so that nobody else settles them.
//! May use: `units`, `v2` (times), this folder.

use super::error::StoreError;
use super::intent::{Intent, IntentKind, IntentState, Settled};
use super::intent_rows::{COLUMNS, read};
use super::items::{apply, bump, bump_with, purge, type_stands};
use super::kind::Kind;
use super::recorded::TypeChange;
use super::rows::{NewRow, all, insert, query, sql, value};
use super::running::RunningIntent;
use super::service::Store;
use super::session::Session;
use crate::units::now_micros;
use crate::v2::time::Micros;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// How long settled writes are remembered, in microseconds: their own requests may still end, also after a pause.
const SETTLED_KEPT: i64 = 86_400 * 1_000_000;

/// How often a write that never began is to be dropped, and the time until the next attempt.
const DROPPED_AGAIN: usize = 30;
const AGAIN: Duration = Duration::from_secs(2);
/// Settled writes that are forgotten at once, so that others need not wait long.
const PORTION: i64 = 1000;

impl Store {
    /// Notes a write before v1 is asked for it. None when its type was deleted meanwhile; then nothing was
    /// noted.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be written, or does not say whether it has; then v1 must not be asked.
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
            ("kind", &intent.kind.word()),
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
                tokio::spawn(self.clone().drop_unsent(running));
                Err(StoreError::Unavailable(cause))
            }
            Err(fault) => Err(fault),
        }
    }

    /// Drops a write for which v1 is not asked, and of which nobody knows whether it was noted.
    async fn drop_unsent(self, running: RunningIntent) {
        for _ in 0..DROPPED_AGAIN {
            tokio::time::sleep(AGAIN).await;
            if self.settle_left(&running.intent, Settled::Dropped).await.is_ok() {
                return;
            }
        }
        tracing::warn!(intent = %running.intent.id, "a write that never began could not be dropped; it is settled later");
    }

    /// Ends a write of this process's own request, which knows what v1 did. Answers the epoch of the project when this
    /// has raised it by a step, else 0.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be written; the write stays open and is settled later.
    pub async fn settle_own(&self, running: RunningIntent, settled: Settled) -> Result<i64, StoreError> {
        Ok(self.settle(&running.intent, settled, true).await?.unwrap_or_default())
    }

    /// Ends a write that somebody else began, from what v1 shows. False when it was settled meanwhile, or the
    /// item has a record of its own already.
    pub async fn settle_left(&self, intent: &Intent, settled: Settled) -> Result<bool, StoreError> {
        Ok(self.settle(intent, settled, false).await?.is_some())
    }

    /// Of what v1 has carried out, nothing that was read of v1 before may be shown beside what is recorded from now on,
    /// so other processes hear of both at once. Answers the epoch; none when nothing was settled.
    async fn settle(&self, intent: &Intent, settled: Settled, owner: bool) -> Result<Option<i64>, StoreError> {
        let mut writing = self.engine.writing().await?;
        // The workspace before the project, as an edit of the definitions takes them.
        let catalogue = self.held_catalogue(&mut writing, intent.workspace).await?;
        let is_told = self.engine.kind() == Kind::Postgres && !matches!(settled, Settled::Dropped);
        let (version, epoch) = bump_with(&mut writing, intent.project, is_told.into()).await?;
        let mut own = intent.own.clone();
        if !type_stands(&catalogue, &own) {
            own.type_id = TypeChange::Kept;
        }
        let (state, item) = match settled {
            Settled::Done(item) => ("done", Some(item)),
            Settled::Purged(item) => ("done", Some(item)),
            Settled::Dropped => ("dropped", intent.item),
        };
        let text = "UPDATE intent SET state = $2, work_item_id = $3, settled_at = $4 WHERE id = $1 \
                    AND (settled_at IS NULL OR $5 = 1) RETURNING id";
        let row = query(text, &[&intent.id, &state, &item, &now_micros(), &i64::from(owner)])
            .fetch_optional(&mut *writing)
            .await?;
        let bound = match settled {
            Settled::Done(item) if !owner && intent.kind == IntentKind::Create => {
                is_known(&mut writing, item).await?
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
        // v1's half of a new item is what it was made with.
        let update = (intent.kind == IntentKind::Update).then(|| Arc::new(intent.clone()));
        self.carry(intent.project, version, move |items| {
            Arc::make_mut(&mut items.open).retain(|open| open.id != id);
            match settled {
                Settled::Done(item) => items.wrote_beside(item, &own, at, update.clone()),
                Settled::Purged(item) => items.purged(item),
                Settled::Dropped => {}
            }
        });
        Ok(Some(if is_told { epoch } else { 0 }))
    }

    /// Notes what is known of a write that cannot be settled now.
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

    /// Whether the request of an open write may still be at work: in this process it is known, another one lives or
    /// does not, and where nobody can say that only the age tells.
    pub fn is_running(&self, intent: &Intent, longest: Micros) -> bool {
        if self.running.with(|ids| ids.contains(&intent.id)) {
            return true;
        }
        // A file has one gateway process at a time, so a write that is not of this one is of a dead one.
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

    /// Forgets writes that were settled longer ago than any request lasts.
    pub async fn forget_settled(&self) -> Result<(), StoreError> {
        let before = now_micros() - SETTLED_KEPT;
        loop {
            let text = "DELETE FROM intent WHERE id IN (SELECT id FROM intent WHERE settled_at < $1 LIMIT $2)";
            let gone = self.engine.write(query(text, &[&before, &PORTION])).await?;
            if gone < PORTION.unsigned_abs() {
                return Ok(());
            }
        }
    }

    /// All writes that are not settled, oldest first.
    pub async fn unsettled(&self) -> Result<Vec<Intent>, StoreError> {
        let text = format!("SELECT {COLUMNS} FROM intent WHERE settled_at IS NULL ORDER BY began_at, id");
        all(self.engine.pool(), query(sql(text), &[]), read).await
    }
}

async fn is_known(connection: &mut Session, item: Uuid) -> Result<bool, StoreError> {
    let found: Option<Uuid> = value(connection, query("SELECT id FROM work_item WHERE id = $1", &[&item])).await?;
    Ok(found.is_some())
}
