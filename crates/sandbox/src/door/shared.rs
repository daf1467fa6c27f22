//! What all clones of a sandbox share. May use: `records`, this folder.

use crate::door::throttle::Throttle;
use crate::records::clock::Clock;
use crate::records::saving::Pace;
use crate::records::store::World;
use parking_lot::{Mutex, RwLock};
use std::collections::VecDeque;
use std::sync::OnceLock;
use tokio::sync::Semaphore;

/// A request the sandbox answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalEntry {
    /// The method.
    pub method: String,
    /// The path, with the query if there was one.
    pub path: String,
    /// The status of the answer.
    pub status: u16,
    /// The key it came with.
    pub key: Option<String>,
}

/// What all clones share.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) world: RwLock<World>,
    pub(crate) clock: Clock,
    pub(crate) throttle: Throttle,
    pub(crate) journal: Mutex<VecDeque<JournalEntry>>,
    /// How long writes take, when they save whole rows; none when they change a row at once.
    pub(crate) pace: OnceLock<Pace>,
    /// The places of the calls that are carried out, when calls take the time of a real v1.
    pub(crate) workers: Option<Semaphore>,
}
