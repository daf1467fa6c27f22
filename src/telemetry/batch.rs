//! Output of the log: lines are gathered and written together, after a tenth of a second at most.
//!
//! Writing each line by itself would cost more than all other work for a small request. Warnings and errors are written
//! at once, together with all waiting lines. Waiting lines are written when the [`Flush`] is dropped, and lost when
//! the process is killed. Of the crates for this, `tracing-appender` also writes each line by itself, on a thread
//! that every line wakes. May use: nothing of this crate.

use parking_lot::{Condvar, Mutex};
use std::io::{self, Write};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;

/// Longest time for which a line waits.
const WAIT: Duration = Duration::from_millis(100);
/// Number of bytes that are written without waiting longer.
const MANY: usize = 64 * 1024;

/// Lines that wait to be written; clones are the same.
#[derive(Clone)]
pub(super) struct Batch(Arc<Inner>);

struct Inner {
    waiting: Mutex<Vec<u8>>,
    some: Condvar,
    to: Mutex<Box<dyn Write + Send>>,
}

/// Writes the waiting lines when it is dropped.
#[must_use = "the last lines are written when this is dropped"]
pub struct Flush(Batch);

impl Batch {
    /// Creates a batch that writes to `to`, and starts its thread.
    pub(super) fn start(to: impl Write + Send + 'static) -> (Self, Flush) {
        let inner = Inner { waiting: Mutex::default(), some: Condvar::new(), to: Mutex::new(Box::new(to)) };
        let batch = Self(Arc::new(inner));
        let own = batch.clone();
        let writing = thread::Builder::new().name("log".into()).spawn(move || own.write_on());
        if let Err(error) = writing {
            // Then only large batches and warnings are written in time.
            batch.write_now();
            let _ = writeln!(io::stderr(), "no thread for the log: {error}");
        }
        (batch.clone(), Flush(batch))
    }

    fn write_on(&self) {
        loop {
            let mut waiting = self.0.waiting.lock();
            while waiting.is_empty() {
                self.0.some.wait(&mut waiting);
            }
            drop(waiting);
            thread::sleep(WAIT);
            self.write_now();
        }
    }

    /// Writes the waiting lines. Lines keep their order, because the writer is locked first.
    fn write_now(&self) {
        let mut to = self.0.to.lock();
        let waiting = std::mem::take(&mut *self.0.waiting.lock());
        // A log that cannot be written cannot be reported anywhere.
        let _ = to.write_all(&waiting).and_then(|()| to.flush());
    }

    fn add(&self, bytes: &[u8]) -> usize {
        let mut waiting = self.0.waiting.lock();
        if waiting.is_empty() {
            self.0.some.notify_one();
        }
        waiting.extend_from_slice(bytes);
        waiting.len()
    }
}

impl Drop for Flush {
    fn drop(&mut self) {
        self.0.write_now();
    }
}

/// Receives one line.
pub(super) struct Line<'b> {
    batch: &'b Batch,
    at_once: bool,
}

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.batch.add(bytes) >= MANY || self.at_once {
            self.batch.write_now();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'b> MakeWriter<'b> for Batch {
    type Writer = Line<'b>;

    fn make_writer(&'b self) -> Line<'b> {
        Line { batch: self, at_once: true }
    }

    fn make_writer_for(&'b self, line: &Metadata<'_>) -> Line<'b> {
        Line { batch: self, at_once: *line.level() <= Level::WARN }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[derive(Clone, Default)]
    struct Writes(Arc<Mutex<Vec<String>>>);

    impl Write for Writes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().push(String::from_utf8_lossy(bytes).into_owned());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_are_written_together_in_their_order_and_warnings_at_once() {
        let writes = Writes::default();
        let (batch, flush) = Batch::start(writes.clone());
        let line = |at_once| Line { batch: &batch, at_once };
        line(false).write_all(b"one\n").unwrap();
        line(false).write_all(b"two\n").unwrap();
        line(true).write_all(b"warning\n").unwrap();
        assert_eq!(*writes.0.lock(), ["one\ntwo\nwarning\n"]);
        line(false).write_all(b"last\n").unwrap();
        drop(flush);
        assert_eq!(writes.0.lock().concat(), "one\ntwo\nwarning\nlast\n");
    }

    #[test]
    fn a_line_waits_for_a_moment_only() {
        let writes = Writes::default();
        let (batch, _flush) = Batch::start(writes.clone());
        let began = Instant::now();
        Line { batch: &batch, at_once: false }.write_all(b"one\n").unwrap();
        while writes.0.lock().is_empty() {
            assert!(began.elapsed() < Duration::from_secs(30), "it was never written");
            thread::sleep(Duration::from_millis(5));
        }
    }
}
