//! Types and custom values of work items: data that v1 does not have, joined with the data that it shows.
//!
//! `asked` reads them from a body, `digits` the numbers among them, `shown` writes them into answers, `rich_text` makes
//! texts harmless for that, `types` knows the types of a project, `begun` notes writes to both v1 and the store,
//! `settle` ends writes whose answer was lost, by items from a `source`, `pairing` gives readers both halves of the
//! same moment, `missing` marks items that v1 does not show any more.
//!
//! May use: what `run` may use.

mod asked;
mod begun;
mod digits;
mod missing;
mod pairing;
mod records;
mod rich_text;
mod settle;
mod shown;
mod source;
mod types;

pub(in crate::run) use asked::{Asked, ask};
pub(in crate::run) use begun::WriteUnderWay;
pub(in crate::run) use missing::{mark_absences, note_absence};
pub(in crate::run) use pairing::Pairing;
pub(in crate::run) use rich_text::RichTexts;
pub(in crate::run) use settle::{Newest, drop_undecided, newest, settle_all, settle_open_writes};
pub(in crate::run) use shown::custom_fields;
pub(in crate::run) use source::ItemSource;
pub(in crate::run) use types::{asked as asked_type, expanded};
