//! Figures of the process, under the names that Prometheus' own libraries use. They are read from `/proc`; systems
//! without it have only the version.
//!
//! The crates for these figures bring their own registry; reading four lines is less than a second registry.
//!
//! May use: `store` (the number of its schema), this folder.

use super::family::{Family, Kind, gauge};
use crate::store::{self, last_step};
use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::sync::LazyLock;

pub(super) fn process() -> Vec<Family> {
    let schema = last_step(store::Kind::Sqlite).to_string();
    let mut families = vec![
        Family::new(Kind::Gauge, "causeway_build_info", "Always 1; its labels name the running version").with(
            &[("version", env!("CARGO_PKG_VERSION")), ("commit", env!("BUILT_FROM_COMMIT")), ("schema", &schema)],
            1.0,
        ),
    ];
    families.extend(read().unwrap_or_default());
    families
}

fn read() -> Option<Vec<Family>> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program is in brackets and may contain blanks.
    let rest: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |at: usize| rest.get(at).and_then(|text| text.parse::<f64>().ok());
    let (ticks, page) = (rustix::param::clock_ticks_per_second() as f64, rustix::param::page_size() as f64);
    let files = fs::read_dir("/proc/self/fd").ok()?.count().saturating_sub(1);
    let mut families = vec![
        Family::new(Kind::Counter, "process_cpu_seconds", "User and system time of the process")
            .with(&[], (number(11)? + number(12)?) / ticks),
        gauge("process_threads", "Threads of the process", number(17)?),
        gauge("process_virtual_memory_bytes", "Virtual memory of the process", number(20)?),
        gauge("process_resident_memory_bytes", "Resident memory of the process", number(21)? * page),
        gauge("process_open_fds", "Files that the process has open", files as f64),
    ];
    if let Some(most) = rustix::process::getrlimit(rustix::process::Resource::Nofile).current {
        families.push(gauge("process_max_fds", "Files that the process may open", most as f64));
    }
    let started = *BOOTED + number(19)? / ticks;
    families.push(gauge("process_start_time_seconds", "Start of the process in seconds since 1970", started));
    Some(families)
}

/// Time since the machine started, also while it slept.
#[cfg(target_os = "linux")]
const SINCE_START: ClockId = ClockId::Boottime;
/// Systems without `/proc` lack this clock, and it is never read there.
#[cfg(not(target_os = "linux"))]
const SINCE_START: ClockId = ClockId::Monotonic;

/// Start of the machine, in seconds since 1970. Computed from the clocks, because the service may see only processes in
/// `/proc` (`ProcSubset=pid`). Computed once, because the two clocks are not read at the same instant, and a figure
/// that moves looks like a restart.
static BOOTED: LazyLock<f64> = LazyLock::new(|| {
    let seconds = |clock| {
        let time = clock_gettime(clock);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    };
    seconds(ClockId::Realtime) - seconds(SINCE_START)
});
