//! The wall clock of other processes, which a test moves. Linux only.
//!
//! The program knows nothing of it: a small library in C (`clock.c`) stands between it and the system.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

/// Seconds of a day.
const DAY: i64 = 86_400;

/// A clock for all processes that are started with its variables.
pub struct Clock {
    folder: TempDir,
    file: File,
}

impl Clock {
    /// A clock that shows the real time.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/processes/clock.c");
        let built = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()))
            .args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"])
            .arg(library(&folder))
            .arg(source)
            .status()
            .expect("a C compiler, which the build needs as well");
        assert!(built.success(), "clock.c cannot be built");
        let file = File::create(moved(&folder)).expect("a file");
        let clock = Self { folder, file };
        clock.write(0);
        clock
    }

    /// Moves the clock to noon of a day, counted from 1970; it runs on from there.
    pub fn move_to(&self, day: i64) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after 1970").as_secs();
        self.write(day * DAY + DAY / 2 - i64::try_from(now).expect("a time that fits"));
    }

    /// Sets the clock `seconds` ahead of the real time.
    pub fn set_ahead(&self, seconds: i64) {
        self.write(seconds);
    }

    fn write(&self, seconds: i64) {
        self.file.write_all_at(&seconds.to_ne_bytes(), 0).expect("a file that can be written");
    }

    /// Returns the variables of the environment that give a process this clock.
    pub fn variables(&self) -> [(&'static str, String); 2] {
        let text = |path: PathBuf| path.display().to_string();
        [("LD_PRELOAD", text(library(&self.folder))), ("MOVED_CLOCK", text(moved(&self.folder)))]
    }
}

fn library(folder: &TempDir) -> PathBuf {
    folder.path().join("clock.so")
}

fn moved(folder: &TempDir) -> PathBuf {
    folder.path().join("moved")
}
