//! The gateway's own store, for data that v1 cannot hold.
//!
//! Purpose: the definitions of workspaces, the records about work items, the audit log, and overlay values, each with
//! the v1 value seen when it was written; all under workspace ids, never slugs. A store belongs to one v1 deployment
//! and rejects any other. There is one interface and one SQL text for both kinds of storage: a SQLite file or a
//! PostgreSQL database; `engine` handles the differences.
//!
//! May use: `catalogue`, `fresh`, `refusal`, `task`, `trace`, `v1` (the base URL, the parts of its quota), `v2`
//! (times). May not use: `translate`, `run`, `edge`.

mod archived;
mod asked;
mod audit;
mod audit_hidden;
mod audit_reads;
mod audit_record;
mod copy;
mod definitions;
mod deltas;
mod dump;
mod emptied;
mod engine;
mod epochs;
mod error;
mod file_log;
mod file_mode;
mod findings;
mod in_place;
mod intent;
mod intent_rows;
mod intents;
mod items;
mod items_kept;
mod kind;
mod leaving;
mod lines;
mod newer_tables;
pub mod oauth;
mod opening;
mod overlay;
mod overlay_value;
mod peers;
mod pieces;
mod place;
mod pool_options;
mod privileges;
mod quota_parts;
mod recorded;
mod recovery;
mod repeatable;
mod repeated;
mod restored;
mod rows;
mod running;
mod service;
mod session;
mod shadow;
mod snapshots;
mod stats;
mod steps;
mod sweep;
mod tables;
mod turns;
mod unchanged;
mod under_way;
mod unfinished;
mod upkeep;
mod usage;
mod versions;
mod writable;

pub use archived::{ArchivedItem, ArchivedNames};
pub use audit::{AuditActor, AuditEntry};
pub use audit_reads::{AuditColumn, AuditFilter, AuditOrder, AuditPage, AuditQuery, AuditRows, AuditStart};
pub use audit_record::AuditRecord;
pub use copy::make_lasting;
pub use deltas::{DeltaTurn, StoredDelta, TakenTurn};
pub use dump::DumpError;
pub use engine::{Engine, Used, Writing};
pub use error::StoreError;
pub use file_mode::is_stopped;
pub use intent::{Intent, IntentKind, IntentState, Settled};
pub use items_kept::{ProjectItems, WrittenSince};
pub use kind::Kind;
pub use leaving::{HeldOverlay, LeaveRecord, LeavingLock, LeftWorkspace, RecordedItem};
pub use opening::check_address_of_missing_file;
pub use overlay::Overlays;
pub use overlay_value::{OverlayValue, overlay_wins};
pub use peers::{Hint, Joined};
pub use place::{behind_links, expect_file, file_of, folder_of, in_words, missing_file, url_of};
pub use recorded::{Element, ItemValues, OwnWrite, TypeChange};
pub use repeatable::{Attempt, KeptAnswer, Repeatable, RepeatableBounds, RepeatableRequest};
pub use running::RunningIntent;
pub use service::Store;
pub use session::{Pool, Session};
pub use shadow::{ShadowCount, ShadowDifference};
pub use snapshots::ClusterLock;
pub use stats::Stats;
pub use steps::last_step;
pub use sweep::Swept;
pub use turns::{InLine, NoTurn, Patience, Turn, TurnName};
pub use under_way::{AT_WORK, HeldNames};
pub use unfinished::{Unfinished, with_ending};
pub use usage::bound::UsageBound;
pub use usage::callers::UsageCaller;
pub use usage::{OTHER, UsageRow};
