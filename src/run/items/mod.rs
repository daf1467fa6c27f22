//! Work items: the one resource whose steps go beyond the mapping language, because v1 stores only a part of what v2
//! shows of them and its lists can neither filter nor order.
//!
//! `steps` carry operations out; `fields` joins what v1 does not have (types, custom values); `names` and `workflow`
//! judge what is written; `key`, `lookup`, `page` and `sets` ask v1 for as little as possible.
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
