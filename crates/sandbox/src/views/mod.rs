//! The views: the work of each path of v1, one resource in each file. May use: this folder.

pub(crate) mod activities;
pub(crate) mod attachments;
pub(crate) mod comments;
pub(crate) mod cycle_items;
pub(crate) mod cycles;
pub(crate) mod intake;
pub(crate) mod items;
pub(crate) mod labels;
pub(crate) mod links;
pub(crate) mod members;
pub(crate) mod module_items;
pub(crate) mod modules;
pub(crate) mod projects;
pub(crate) mod relations;
pub(crate) mod states;
pub(crate) mod users;
