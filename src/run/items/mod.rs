//! Work items: the one resource whose steps go beyond the mapping language, because v1 stores only a part of what v2
//! shows of them, and v1's lists can neither filter nor order them.
//!
//! `steps` carry operations out; `fields` adds data that v1 does not have (types, custom values); `names` and
//! `workflow` check writes; `key`, `lookup`, `page` and `sets` read from v1 with as few calls as possible.
//!
//! May use: what `run` may use.

pub(in crate::run) mod deleted_labels;
pub(in crate::run) mod expansions;
pub(in crate::run) mod fields;
pub(in crate::run) mod key;
mod live_labels;
pub(in crate::run) mod lookup;
pub(in crate::run) mod names;
pub(in crate::run) mod page;
pub(in crate::run) mod record;
pub(in crate::run) mod sets;
pub(in crate::run) mod steps;
pub(in crate::run) mod unlisted_states;
pub(in crate::run) mod workflow;
