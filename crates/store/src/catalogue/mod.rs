//! The definitions that v1 does not have: types, properties, options, contexts and features of one workspace.
//!
//! This module is pure: it reads and writes no storage. A [`Catalogue`] holds all definitions of one workspace, live
//! rows only. An [`Edit`] changes a copy of it under the rules of the contract (chapters 11, 14–16) and lists the
//! effects on the values recorded on work items. The store loads a catalogue, runs an edit in one transaction that no
//! other writer of the workspace can enter, and saves the difference. An edit that returns an error is incomplete and
//! must be dropped.
//!
//! May use: `plan` (the type mode, human keys), `refusal`, `v2` (bodies, times, values). May not use: `store`, `run`,
//! `v1`, `edge`.

mod check;
mod choices;
mod contexts;
mod decimals;
mod defaults;
mod edit;
mod entries;
mod entry;
mod entry_form;
mod faults;
mod lookup;
mod meant;
mod model;
mod options;
mod properties;
mod reach;
mod resolution;
mod restated;
pub mod schema;
mod scope;
pub mod shapes;
mod text_forms;
mod types;
pub mod values;

pub use edit::{Edit, Effect, TYPE_IN_USE};
pub use entries::{distinct_prefix_len, faults_inside};
pub use entry_form::{EntryForm, ignored_inside};
pub use model::{
    Attachment, Catalogue, Context, ContextOption, FLAGS, Features, Property, PropertyOption, PropertyType,
    RelationType, WorkItemType,
};
pub use properties::slug;
pub use resolution::{Applicable, Offered};
pub use scope::named_projects;
pub use types::PROVISIONED;
