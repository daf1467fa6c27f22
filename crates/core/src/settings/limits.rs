//! How much one request may take, and how many there may be at once. May use: this folder.

use super::bounded::{at_once, positive, some_bytes};
use super::rate::RateSettings;
use super::reader::Reader;
use std::time::Duration;

/// The limits (`[limits]`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitSettings {
    /// Time until a v2 request must be answered.
    pub deadline: Duration,
    /// v2 requests served at once.
    pub concurrency: usize,
    /// Requests passed through at once, besides those whose body is still on its way.
    pub pass_through: usize,
    /// Requests to the authorization server served at once.
    pub oauth: usize,
    /// Requests for documentation and for unknown paths served at once.
    pub pages: usize,
    /// Bodies on their way at once, for each of the four.
    pub bodies: usize,
    /// Answers being sent at once.
    pub answers: usize,
    /// How much of each of these one address or credential may have once half is taken, in per cent of what is
    /// still free.
    pub share: usize,
    /// Largest v2 request body in bytes.
    pub body: usize,
    /// Longest pause between two pieces of a request body, the pass-through's excepted.
    pub body_pause: Duration,
    /// Time for which a body may fall behind its pace.
    pub body_grace: Duration,
    /// Bytes a second that a request body has to keep.
    pub body_pace: usize,
    /// Longest time a request body may take, the pass-through's excepted.
    pub body_time: Duration,
    /// Most bytes of bodies, answers and v1's answers at once.
    pub memory: usize,
    /// Most writes that wait for the same record or rule.
    pub writers_waiting: usize,
    /// Requests a minute.
    pub rate: RateSettings,
}

impl LimitSettings {
    pub(super) fn read(from: &mut Reader) -> Self {
        let (body, memory) = (some_bytes(from, "limits.body"), some_bytes(from, "limits.memory"));
        if body > memory {
            let problem = format!("a body of {body} bytes never fits into limits.memory, which is {memory} bytes");
            from.fault("limits.body", &problem, "write a smaller size, or a larger limits.memory");
        }
        Self {
            deadline: positive(from, "limits.deadline"),
            concurrency: at_once(from, "limits.concurrency"),
            pass_through: at_once(from, "limits.pass_through"),
            oauth: at_once(from, "limits.oauth"),
            pages: at_once(from, "limits.pages"),
            bodies: at_once(from, "limits.bodies"),
            answers: at_once(from, "limits.answers"),
            share: from.get_where("limits.share", "per cent, a whole number from 1 to 100", in_per_cent),
            body,
            body_pause: positive(from, "limits.body_pause"),
            body_grace: positive(from, "limits.body_grace"),
            body_pace: some_bytes(from, "limits.body_pace"),
            body_time: positive(from, "limits.body_time"),
            memory,
            writers_waiting: at_once(from, "limits.writers_waiting"),
            rate: RateSettings::read(from),
        }
    }
}

fn in_per_cent(share: &usize) -> bool {
    (1..=100).contains(share)
}
