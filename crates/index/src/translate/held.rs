//! A v2 record together with the v1 record it was made from. May use: `json`, `v2`.

use crate::json;
use crate::v2::Record;
use bytes::Bytes;
use serde_json::{Map, Value};

/// A record as caches hold it: the read shape for clients, and v1's own text for later writes.
#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    /// The record as v2 shows it.
    pub record: Record,
    /// The record as v1 showed it.
    pub v1: Bytes,
}

impl Held {
    /// v1's record as members.
    pub fn v1_members(&self) -> Map<String, Value> {
        json::members(&self.v1).unwrap_or_default()
    }

    /// Returns the v2 read shape as members.
    pub fn v2_members(&self) -> Map<String, Value> {
        json::members(&self.record.json).unwrap_or_default()
    }
}
