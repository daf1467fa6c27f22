//! Data that all clones of a sandbox share. May use: `records`, this folder.

use crate::door::throttle::Throttle;
use crate::records::clock::Clock;
use crate::records::saving::Pace;
use crate::records::store::World;
use parking_lot::{Mutex, RwLock};
use std::collections::VecDeque;
use std::sync::OnceLock;
use tokio::sync::Semaphore;

/// A request that the sandbox answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalEntry {
    /// The method.
    pub method: String,
    /// The path, with the query if there was one.
    pub path: String,
    /// The status of the answer.
    pub status: u16,
    /// The key of the request.
    pub key: Option<String>,
}

/// Data that all clones share.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) world: RwLock<World>,
    pub(crate) clock: Clock,
    pub(crate) throttle: Throttle,
    pub(crate) journal: Mutex<VecDeque<JournalEntry>>,
    /// Duration of writes, when they save whole rows; unset when they change a row at once.
    pub(crate) pace: OnceLock<Pace>,
    /// Workers for the running calls, when calls take the time of a real v1.
    pub(crate) workers: Option<Semaphore>,
}
