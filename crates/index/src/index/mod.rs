//! The local index of work items: the rows of each project that lists need, as fresh as promised.
//!
//! v1 lists work items slowly, and without filters, search or a reliable order of ties. So the rows of a project are
//! read once ([`service`](Indexes): `build`), updated by small deltas (`refresh`), and kept in compact form
//! (`rows`) and on disk (`files`). List calls are answered from them (`select`). The caller has proven before that v1
//! shows it these rows; the [`Scope`] says to which audience they belong.
//!
//! May use: `context`, `fresh`, `refusal`, `task`, `v1`, `plan` (columns), `store` (what it tells of refreshes), `v2`
//! (list calls), `translate::work_items`.

mod bits;
mod build;
mod check;
mod chunk;
mod chunk_writer;
mod chunks;
mod delta;
mod deployment;
mod entry;
mod figures;
mod file_form;
mod files;
mod filter;
mod glance;
mod known;
mod local_write;
mod lookups;
mod mask;
mod moves;
mod order;
mod orders;
mod pace;
mod pool;
mod private;
mod progress;
mod project_index;
mod read_failure;
mod refresh;
mod row;
mod rows;
mod select;
mod service;
mod shared_reads;
mod sorted;
mod source;
mod sweep;
mod v1_source;
mod verified;
mod view;
mod walk;
mod whole_file;

pub use deployment::{BuildLock, Deployment, Turn};
pub use figures::Figures;
pub use lookups::{Lookups, Memberships, Needs, SetNeeds};
pub use project_index::Index;
pub use read_failure::ReadFailure;
pub use select::Selection;
pub use service::{IndexSettings, Indexes, Scope};

#[cfg(test)]
mod tests;
