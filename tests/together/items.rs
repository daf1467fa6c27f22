//! One work item as its writers and readers should see it: the model with which histories are compared.

use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The members of an item that the histories write.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Row {
    name: String,
    priority: String,
    start: Option<String>,
    target: Option<String>,
    state: String,
    labels: BTreeSet<String>,
    parent: Option<String>,
}

impl Row {
    /// Reads the form of v2.
    pub fn of_v2(json: &Value) -> Self {
        Self::read(json, ["state_id", "label_ids", "parent_id"])
    }

    /// Reads the form of v1.
    pub fn of_v1(json: &Value) -> Self {
        Self::read(json, ["state", "labels", "parent"])
    }

    fn read(json: &Value, [state, labels, parent]: [&str; 3]) -> Self {
        let text = |name: &str| json[name].as_str().map(str::to_owned);
        let labels = json[labels].as_array().into_iter().flatten();
        Self {
            name: text("name").unwrap_or_default(),
            priority: text("priority").unwrap_or_default(),
            start: text("start_date"),
            target: text("target_date"),
            state: text(state).unwrap_or_default(),
            labels: labels.filter_map(|label| label.as_str().map(str::to_owned)).collect(),
            parent: text(parent),
        }
    }

    /// Returns the parent of the item.
    pub fn parent(&self) -> Option<&str> {
        self.parent.as_deref()
    }
}

/// A change of one item.
#[derive(Debug, Clone)]
pub enum Change {
    Name(String),
    Priority(String),
    Dates(String, String),
    Target(String),
    State(String),
    Labels(Vec<String>),
    Parent(Option<String>),
    Pair(String),
}

impl Change {
    /// The body of the PATCH.
    pub fn body(&self) -> Value {
        match self {
            Self::Name(name) => json!({"name": name}),
            Self::Priority(priority) => json!({"priority": priority}),
            Self::Dates(start, target) => json!({"start_date": start, "target_date": target}),
            Self::Target(target) => json!({"target_date": target}),
            Self::State(state) => json!({"state_id": state}),
            Self::Labels(labels) => json!({"label_ids": labels}),
            Self::Parent(parent) => json!({"parent_id": parent}),
            Self::Pair(id) => json!({"external_source": "histories", "external_id": id}),
        }
    }

    fn apply(&self, item: &mut Item) {
        let row = &mut item.row;
        match self.clone() {
            Self::Name(name) => row.name = name,
            Self::Priority(priority) => row.priority = priority,
            Self::Dates(start, target) => (row.start, row.target) = (Some(start), Some(target)),
            Self::Target(target) => row.target = Some(target),
            Self::State(state) => row.state = state,
            Self::Labels(labels) => row.labels = labels.into_iter().collect(),
            Self::Parent(parent) => row.parent = parent,
            Self::Pair(id) => item.pair = Some(id),
        }
    }
}

/// Whether an item exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Life {
    /// Not yet, or no longer.
    #[default]
    Absent,
    Live,
    Archived,
}

/// An item of the model.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Item {
    life: Life,
    row: Row,
    pair: Option<String>,
}

/// A request for an item with its answer. Refused writes are not here: they change nothing.
#[derive(Debug, Clone)]
pub enum What {
    Created {
        row: Row,
        pair: Option<String>,
    },
    Patched {
        change: Change,
        shown: Row,
    },
    Archived,
    Unarchived {
        shown: Row,
    },
    Deleted,
    Read {
        shown: Row,
    },
    /// 404 to anything but an unarchive.
    NotLive,
    /// 404 to an unarchive.
    NotThere,
    /// The parent was deleted.
    Detached {
        from: String,
    },
    /// The final state at v1.
    Last {
        life: Life,
        row: Row,
        pair: Option<String>,
    },
}

/// Returns the item after `what`, or none when that answer is impossible.
pub fn step(item: &Item, what: &What) -> Option<Item> {
    let live = item.life == Life::Live;
    let when = |may: bool, after: Item| may.then_some(after);
    let with = |life: Life| Item { life, ..item.clone() };
    match what {
        What::Created { row, pair } => {
            when(item.life == Life::Absent, Item { life: Life::Live, row: row.clone(), pair: pair.clone() })
        }
        What::Patched { change, shown } => {
            let mut after = item.clone();
            change.apply(&mut after);
            when(live && after.row == *shown, after)
        }
        What::Archived => when(live, with(Life::Archived)),
        What::Unarchived { shown } => when(item.life != Life::Absent && item.row == *shown, with(Life::Live)),
        What::Deleted => when(live, with(Life::Absent)),
        What::Read { shown } => when(live && item.row == *shown, item.clone()),
        What::NotLive => when(!live, item.clone()),
        What::NotThere => when(item.life == Life::Absent, item.clone()),
        What::Detached { from } => {
            let mut after = item.clone();
            after.row.parent.take_if(|parent| parent == from);
            Some(after)
        }
        What::Last { life, row, pair } => {
            let same = *life == Life::Absent || (item.row == *row && item.pair == *pair);
            when(item.life == *life && same, item.clone())
        }
    }
}
