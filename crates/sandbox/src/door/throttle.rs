//! The quota: a sliding minute per key, shared by all paths. May use: nothing of this crate.

use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};

use jiff::Timestamp;

/// The window in microseconds.
const MINUTE: i64 = 60_000_000;
/// Requests of a service key in a minute, with any quota (`throttle_service_key_6`).
const SERVICE: u32 = 300;
/// The quota that means "unlimited" in the answer headers.
const UNLIMITED: u32 = 600_000;

/// The quota in the answer headers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rate {
    /// Requests left after this one.
    pub(crate) remaining: u32,
    /// The Unix second in which the window of this request ends.
    pub(crate) reset: i64,
}

/// The counted requests of all keys.
#[derive(Debug)]
pub(crate) struct Throttle {
    quota: Option<u32>,
    windows: Mutex<HashMap<String, VecDeque<i64>>>,
}

impl Throttle {
    /// Creates a throttle with this quota per minute for ordinary keys; `None` counts nothing.
    pub(crate) fn new(quota: Option<u32>) -> Self {
        Self { quota, windows: Mutex::new(HashMap::new()) }
    }

    /// Counts a request, or returns the seconds to wait. Rejected requests are not counted.
    pub(crate) fn pass(&self, key: &str, service: bool, now: Timestamp) -> Result<Rate, i64> {
        let reset = now.as_second() + 60;
        let Some(quota) = self.quota else {
            return Ok(Rate { remaining: UNLIMITED, reset });
        };
        let quota = if service { SERVICE } else { quota };
        let now = now.as_microsecond();
        let mut windows = self.windows.lock();
        let window = windows.entry(key.to_owned()).or_default();
        while window.front().is_some_and(|&at| at <= now - MINUTE) {
            window.pop_front();
        }
        let used = u32::try_from(window.len()).unwrap_or(u32::MAX);
        if used >= quota {
            let oldest = window.front().copied().unwrap_or(now);
            let wait = MINUTE - (now - oldest);
            return Err((wait + 999_999) / 1_000_000);
        }
        window.push_back(now);
        Ok(Rate { remaining: quota - used - 1, reset })
    }
}
