//! How many gateway processes of the deployment there are.
//!
//! Each says every second or two that it is there, which also finds out that Redis is away before a request does.
//! May use: `link`, `script`.

use super::link::Inner;
use super::script::Script;
use std::sync::Weak;
use std::sync::atomic::Ordering;
use std::time::Duration;
use uuid::Uuid;

/// Time from one word to the next.
const PULSE: Duration = Duration::from_secs(1);
/// How long a process counts after its last word.
const COUNTS: Duration = Duration::from_secs(5);

static PRESENT: Script = Script::new(include_str!("processes.lua"));

/// Says that this process is there until nobody uses the place any more.
pub(super) async fn pulse(inner: Weak<Inner>) {
    let id = Uuid::new_v4().to_string();
    loop {
        let Some(inner) = inner.upgrade() else { return };
        let present = PRESENT.on(&inner.key("processes", "all")).text(&id).number(COUNTS.as_millis() as i64);
        if let Ok(answer) = inner.run_one(present).await {
            let processes = answer.number(0).and_then(|count| usize::try_from(count).ok()).unwrap_or(1);
            inner.processes.store(processes.max(1), Ordering::Relaxed);
        }
        drop(inner);
        tokio::time::sleep(PULSE).await;
    }
}
