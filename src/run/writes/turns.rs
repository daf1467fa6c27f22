//! Turns: the order of writes.
//!
//! v1 loads a row, changes it and saves all of it, and checks rules that span rows before it saves. So of two writes at
//! once, one is lost, or both pass the check. Therefore each write first gets the turns that its operation declares
//! (`turns` in the mapping): the record, all records of a resource in the project, or a rule that spans records. All
//! reads, decisions, calls and comparisons of the write happen within its turns; data read before are not used.
//!
//! A write waits only for a part of its request's time, so that a write that begins can also be answered. It does not
//! wait at all when the line is too long. A client that leaves also leaves the line. May use: what `run` may use.

use crate::context::Priority;
use crate::plan::{BodyRule, Special, Step, Turn as Declared, TurnTarget};
use crate::refusal::Refusal;
use crate::run::job::Job;
use crate::store::{InLine, NoTurn, Patience, Turn, TurnName};
use serde::de::IgnoredAny;
use std::collections::BTreeMap;
use std::time::Instant;
use uuid::Uuid;

/// Share of the remaining time that may pass in line; the rest is for the write itself.
const IN_LINE: f64 = 0.75;

impl Job {
    /// Waits until the write has all turns that its operation declares.
    ///
    /// # Errors
    /// `overloaded` when too many writes wait or other writes take too long; `store_unavailable` when the shared store
    /// does not respond. Nothing was carried out then.
    pub(in crate::run) async fn wait_for_turn(&self) -> Result<Turn, Refusal> {
        let (store, wanted, patience) = (&self.runner.store, self.wanted(), self.patience());
        // See `take_turns_of_records`.
        let turn = match self.operation().step {
            Step::Special(Special::WorkItemDelete) => store.growing_turn(wanted, patience).await,
            _ => store.turn(wanted, patience).await,
        };
        turn.map_err(refusal)
    }

    /// Waits until v1's quota has room for a write, before the write takes a turn that writers with other keys wait for
    /// too: waiting during its turn would delay them. The room is not reserved, so no other write lacks it meanwhile;
    /// instead, only one write of each key proceeds at a time. None when no writer with another key can wait for the
    /// same turn, and for a body that will be refused. When the quota does not recover in time, the write goes on: it
    /// may need no call.
    pub(in crate::run) async fn wait_for_quota(&self) -> Result<Option<InLine>, Refusal> {
        let (budget, key) = (&self.runner.client.budget, self.key().id());
        let of_many = |turn: &Declared| !turn.shared && !matches!(turn.of, TurnTarget::Record);
        if !self.operation().turns.iter().any(of_many)
            || self.v1_project().is_none()
            || !budget.is_limited(key)
            // The body of a create was checked before.
            || !self.is_create() && self.body_is_refused()
        {
            return Ok(None);
        }
        let names: Vec<String> = self.wanted().into_iter().map(|wanted| wanted.name).collect();
        let name = format!("quota of {key:?}: {}", names.join(" "));
        let place = self.runner.store.join_queue(&name, self.patience()).await.map_err(refusal)?;
        // Includes calls that may be added, or the write would wait for them during its turn.
        let calls = self.operation().calls_at_once();
        if !budget.spares(key, Priority::Write, calls) {
            drop(budget.keep_room(key, calls, &self.call.ctx).await);
        }
        Ok(Some(place))
    }

    /// Waits for further records within this write's turn, which has begun as a growing one. Only a write that holds
    /// the project's rule of parents may do so: then a writer that holds one of these records waits for nothing that
    /// this write holds.
    pub(in crate::run) async fn take_turns_of_records(
        &self,
        ids: impl IntoIterator<Item = Uuid>,
    ) -> Result<(), Refusal> {
        let wanted = ids.into_iter().map(|id| TurnName { name: record(&id.to_string()), shared: false }).collect();
        let mut held = self.turn.lock().await;
        let turn = held.as_mut().ok_or_else(|| Refusal::internal("a write without its turn"))?;
        turn.also(wanted, self.patience()).await.map_err(refusal)?;
        match turn.noted() {
            Some(noted) => self.runner.store.note_more(&noted).await.map_err(Refusal::from),
            None => Ok(()),
        }
    }

    fn patience(&self) -> Patience {
        let until = Instant::now() + self.call.ctx.remaining().mul_f64(IN_LINE);
        Patience { waiting: self.runner.settings.limits.writers_waiting, until }
    }

    fn wanted(&self) -> Vec<TurnName> {
        let sent = self.members_sent();
        let touched = |turn: &&Declared| match &sent {
            Some(sent) => turn.members.is_empty() || turn.members.iter().any(|member| sent.contains_key(member)),
            // An unreadable body will be refused; until then, assume that it touches everything.
            None => true,
        };
        let turns = self.operation().turns.iter().filter(touched);
        turns.map(|turn| TurnName { name: self.name_of(&turn.of), shared: turn.shared }).collect()
    }

    /// Returns the names of the body's members; none for a body that is not an object.
    fn members_sent(&self) -> Option<BTreeMap<String, IgnoredAny>> {
        match (&self.operation().body, &self.call.body) {
            (BodyRule::Members(_), Ok(bytes)) if !bytes.is_empty() => serde_json::from_slice(bytes).ok(),
            _ => Some(BTreeMap::new()),
        }
    }

    /// Returns the name of a turn. Turns are taken in the order of their names, so turns that span records (`0`) come
    /// before turns of records (`1`).
    fn name_of(&self, what: &TurnTarget) -> String {
        let place = match self.call.card() {
            Some(card) => card.id.to_string(),
            None => self.slug().to_owned(),
        };
        match what {
            TurnTarget::Collection(resource) => format!("0/{place}/{resource}"),
            TurnTarget::Rule(rule) => format!("0/{place}/{}/{rule}", self.resource().name),
            TurnTarget::Record => record(self.variable("pk").unwrap_or_default()),
        }
    }
}

fn record(id: &str) -> String {
    format!("1/{id}")
}

fn refusal(no_turn: NoTurn) -> Refusal {
    let detail = match no_turn {
        NoTurn::Full => "Too many writes wait for the same record or rule already; nothing was carried out.",
        NoTurn::TooLate => "Other writes of the same record or rule took all the time; nothing was carried out.",
        NoTurn::Store(fault) => return fault.into(),
    };
    Refusal::TurnNotReached { detail: detail.into() }
}
