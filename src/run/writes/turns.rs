//! When it is a write's turn.
//!
//! v1 loads a row, changes it and saves all of it, and checks rules that span rows before it saves: of two writes at
//! once one is lost, or both pass the check. So each write first gets what its operation declares (`turns` in the
//! mapping): the record, all records of a resource in the project, or a rule that spans records. Everything the write
//! reads, decides, sends and compares lies inside, and anything that was read before counts for nothing.
//!
//! A write waits for a part of the time its request has, so that what begins is also answered, and not at all behind a
//! long line; a client that leaves while it waits takes its place along. May use: what `run` may use.

use crate::context::Priority;
use crate::plan::{BodyRule, Turn as Declared, TurnOf};
use crate::refusal::Refusal;
use crate::run::job::Job;
use crate::store::{InLine, NoTurn, Patience, Turn, Wanted};
use serde::de::IgnoredAny;
use std::collections::BTreeMap;
use std::time::Instant;
use uuid::Uuid;

/// Share of the time left that may go by in line; the rest is for the write itself.
const IN_LINE: f64 = 0.75;

impl Job {
    /// Waits until everything the operation must have to itself is this write's.
    ///
    /// # Errors
    /// `overloaded` when too many wait or others take too long; `store_unavailable` when processes share a store that
    /// cannot be asked. Nothing was carried out then.
    pub(in crate::run) async fn wait_for_turn(&self) -> Result<Turn, Refusal> {
        let store = &self.runner.store;
        store.turn(self.wanted(), self.patience()).await.map_err(refusal)
    }

    /// Waits until v1's quota has room for a write, before it takes a turn that writers with other keys wait for as well:
    /// in its turn it would hold them up. Nothing is kept, so that nobody lacks what one uses who still waits; instead
    /// one write of each key goes on at a time. None where nobody with another key waits for the same, and for a body that
    /// will be refused. A quota that is used up for longer than there is time is the write's own business, which may need
    /// no call.
    pub(in crate::run) async fn wait_for_quota(&self) -> Result<Option<InLine>, Refusal> {
        let (budget, key) = (&self.runner.client.budget, self.key().id());
        let of_many = |turn: &Declared| !turn.shared && !matches!(turn.of, TurnOf::Record);
        if !self.operation().turns.iter().any(of_many)
            || self.v1_project().is_none()
            || !budget.is_limited(key)
            // That of a create was looked at before.
            || !self.is_create() && self.body_is_refused()
        {
            return Ok(None);
        }
        let names: Vec<String> = self.wanted().into_iter().map(|wanted| wanted.name).collect();
        let name = format!("quota of {key:?}: {}", names.join(" "));
        let place = self.runner.store.stand_in_line(&name, self.patience()).await.map_err(refusal)?;
        // With what may be added, or it would wait for that in its turn.
        let calls = self.operation().calls_at_once();
        if !budget.spares(key, Priority::Write, calls) {
            drop(budget.keep_room(key, calls, &self.call.ctx).await);
        }
        Ok(Some(place))
    }

    /// Waits for further records within this write's turn. Only a write that has the project's rule of parents to
    /// itself may do so: a writer that holds one of these records then waits for nothing this write has.
    pub(in crate::run) async fn wait_for_records(
        &self,
        ids: impl IntoIterator<Item = Uuid>,
    ) -> Result<(), Refusal> {
        let wanted = ids.into_iter().map(|id| Wanted { name: record(&id.to_string()), shared: false }).collect();
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

    fn wanted(&self) -> Vec<Wanted> {
        let sent = self.members_sent();
        let touched = |turn: &&Declared| match &sent {
            Some(sent) => turn.members.is_empty() || turn.members.iter().any(|member| sent.contains_key(member)),
            // A body that cannot be read is refused; until then it might touch anything.
            None => true,
        };
        let turns = self.operation().turns.iter().filter(touched);
        turns.map(|turn| Wanted { name: self.name_of(&turn.of), shared: turn.shared }).collect()
    }

    /// Names of the members of the body; none for a body that is no object.
    fn members_sent(&self) -> Option<BTreeMap<String, IgnoredAny>> {
        match (&self.operation().body, &self.call.body) {
            (BodyRule::Members(_), Ok(bytes)) if !bytes.is_empty() => serde_json::from_slice(bytes).ok(),
            _ => Some(BTreeMap::new()),
        }
    }

    /// Names are taken in the order of their texts, so turns that span records (`0`) come before turns of records
    /// (`1`).
    fn name_of(&self, what: &TurnOf) -> String {
        let place = match self.call.card() {
            Some(card) => card.id.to_string(),
            None => self.slug().to_owned(),
        };
        match what {
            TurnOf::Collection(resource) => format!("0/{place}/{resource}"),
            TurnOf::Rule(rule) => format!("0/{place}/{}/{rule}", self.resource().name),
            TurnOf::Record => record(self.variable("pk").unwrap_or_default()),
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
