//! Translation between v2 and v1, pure: names, values, records and refusals, without any input or output.
//!
//! The oddities of each resource are in one file of its own. The parts that all resources share are in `incoming`,
//! `outgoing`, `confirm` and `refusal`.
//!
//! May use: types of `plan`, `v1` and `v2`, overlay values of `store`, `refusal`. May not use: `run`,
//! `edge`, `access` (but its role words), or anything that waits.

pub mod comments;
pub mod confirm;
pub mod cycles;
mod held;
pub mod html;
mod ids;
pub mod incoming;
pub mod members;
mod members_once;
pub mod modules;
pub mod outgoing;
mod pages;
pub mod refusal;
mod refused_fields;
mod text_members;
pub mod work_items;
pub mod work_items_text;
pub mod work_items_write;

pub use held::Held;
pub use incoming::{Fault, ReadShape};
pub use members_once::members_once;
