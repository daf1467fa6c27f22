//! Lists: the envelope of pages, and the orders and lookups of work items. May use: this folder.

pub(crate) mod item_lists;
pub(crate) mod orders;
pub(crate) mod paging;
pub(crate) mod search;
