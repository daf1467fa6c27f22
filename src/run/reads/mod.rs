//! Reads: a page or a record of a collection, the sources of the collection, and the answers while v1 is away or
//! its quota is short.
//!
//! May use: what `run` may use.

pub(super) mod ahead;
pub(super) mod catch_up;
pub(super) mod flagged;
pub(super) mod hinted;
pub(super) mod late;
pub(super) mod left_open;
pub(super) mod list;
pub(super) mod load;
pub(super) mod outage;
pub(super) mod outdated;
pub(super) mod shortage;
