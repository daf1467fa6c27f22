//! Requests to Redis: scripts that read and change data in one step.
//!
//! May use: nothing of this folder.

use redis::{Cmd, Value};
use std::sync::OnceLock;

/// Redis did not answer in time, or is not connected. It is unknown whether the script ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RedisUnavailable;

/// A script. Redis knows it by its hash after the first use.
#[derive(Debug)]
pub struct Script {
    code: &'static str,
    hash: OnceLock<String>,
}

impl Script {
    /// Creates a script with this text.
    pub const fn new(code: &'static str) -> Self {
        Self { code, hash: OnceLock::new() }
    }

    /// Creates a run of the script on keys of one tag.
    pub fn on<const N: usize>(&'static self, keys: [&str; N]) -> Call {
        let hash = self.hash.get_or_init(|| redis::Script::new(self.code).get_hash().to_owned());
        let mut command = redis::cmd("EVALSHA");
        command.arg(hash).arg(N).arg(&keys);
        Call { code: self.code, command }
    }
}

/// One run of a script.
#[derive(Debug, Clone)]
pub struct Call {
    pub(super) code: &'static str,
    pub(super) command: Cmd,
}

impl Call {
    /// Adds a number as the next argument.
    #[must_use]
    pub fn number(mut self, number: i64) -> Self {
        self.command.arg(number);
        self
    }

    /// Adds a text as the next argument.
    #[must_use]
    pub fn text(mut self, text: impl AsRef<[u8]>) -> Self {
        self.command.arg(text.as_ref());
        self
    }
}

/// Answer of a script: a list of numbers and texts.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer(pub(super) Value);

impl Answer {
    fn items(&self) -> &[Value] {
        match &self.0 {
            Value::Array(items) => items,
            single => std::slice::from_ref(single),
        }
    }

    /// Returns the number at this position.
    pub fn number(&self, at: usize) -> Option<i64> {
        match self.items().get(at)? {
            Value::Int(number) => Some(*number),
            Value::BulkString(text) => std::str::from_utf8(text).ok()?.parse().ok(),
            _ => None,
        }
    }

    /// Returns the text at this position.
    pub fn text(&self, at: usize) -> Option<&[u8]> {
        match self.items().get(at)? {
            Value::BulkString(text) => Some(text),
            _ => None,
        }
    }
}
