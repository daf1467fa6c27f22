//! Output of the log: a thread gathers lines and writes them together, after a tenth of a second at most.
//!
//! Writing each line by itself would cost more than all other work for a small request. Warnings and errors are written
//! without waiting, together with all waiting lines. A request never waits for the reader of the log, which may have
//! stopped: then lines are lost as soon as too many wait, and their number is logged when the reader continues.
//!
//! Waiting lines are written when the [`Flush`] is dropped, and lost when the process is killed. Of the crates for this,
//! `tracing-appender` also writes each line by itself, on a thread that every line wakes. May use: nothing of this
//! crate.

use parking_lot::{Condvar, Mutex};
use std::cell::Cell;
use std::io::{self, Write};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;

/// Longest time for which a line waits while the reader keeps up.
const WAIT: Duration = Duration::from_millis(100);
/// Longest time for which the end of the process waits for the reader.
const LAST_WAIT: Duration = Duration::from_secs(1);
/// Number of bytes that are written without waiting longer.
const MANY: usize = 64 * 1024;
/// Most bytes that wait for the reader.
const MOST: usize = 1024 * 1024;

thread_local! {
    /// Whether this thread writes the number of lost lines, for which there is always room.
    static TELLS_OF_LOSS: Cell<bool> = const { Cell::new(false) };
}

/// Lines that wait to be written; clones are the same.
#[derive(Clone, Default)]
pub(super) struct Batch(Arc<Inner>);

#[derive(Default)]
struct Inner {
    lines: Mutex<Lines>,
    /// Notified when there is something to write, or it becomes urgent.
    added: Condvar,
    /// Notified when something was written.
    written: Condvar,
}

#[derive(Default)]
struct Lines {
    waiting: Vec<u8>,
    /// Whether they are written without waiting for more.
    urgent: bool,
    /// Whether earlier lines are being written.
    writing: bool,
    /// Number of lines for which there was no room.
    lost: u64,
}

/// Writes the waiting lines when it is dropped.
#[must_use = "the last lines are written when this is dropped"]
pub struct Flush(Batch);

impl Batch {
    /// Creates a batch, and starts the thread that writes it to `to`.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub(super) fn start(to: impl Write + Send + 'static) -> io::Result<(Self, Flush)> {
        let batch = Self::default();
        let own = batch.clone();
        thread::Builder::new().name("log".into()).spawn(move || own.write_on(to))?;
        Ok((batch.clone(), Flush(batch)))
    }

    fn write_on(&self, mut to: impl Write) {
        loop {
            let (lines, lost) = self.next();
            // A log that cannot be written cannot be reported anywhere.
            let _ = to.write_all(&lines).and_then(|()| to.flush());
            self.0.lines.lock().writing = false;
            self.0.written.notify_all();
            if lost > 0 {
                TELLS_OF_LOSS.set(true);
                tracing::warn!(lines = lost, "lines of the log were lost, because the earlier ones were not read");
                TELLS_OF_LOSS.set(false);
            }
        }
    }

    /// Waits for lines, and returns them with the number of lines that were lost meanwhile.
    fn next(&self) -> (Vec<u8>, u64) {
        let mut lines = self.0.lines.lock();
        self.0.added.wait_while(&mut lines, |lines| lines.waiting.is_empty());
        self.0.added.wait_while_for(&mut lines, |lines| !lines.urgent, WAIT);
        (lines.urgent, lines.writing) = (false, true);
        (std::mem::take(&mut lines.waiting), std::mem::take(&mut lines.lost))
    }

    fn add(&self, bytes: &[u8], at_once: bool) {
        let mut lines = self.0.lines.lock();
        if lines.waiting.len() + bytes.len() > MOST && !TELLS_OF_LOSS.get() {
            lines.lost += 1;
            return;
        }
        let is_first = lines.waiting.is_empty();
        lines.waiting.extend_from_slice(bytes);
        let becomes_urgent = !lines.urgent && (at_once || lines.waiting.len() >= MANY);
        lines.urgent |= becomes_urgent;
        if is_first || becomes_urgent {
            self.0.added.notify_one();
        }
    }
}

impl Drop for Flush {
    fn drop(&mut self) {
        let Inner { lines, added, written } = &*self.0.0;
        let mut lines = lines.lock();
        lines.urgent = true;
        added.notify_one();
        written.wait_while_for(&mut lines, |lines| lines.writing || !lines.waiting.is_empty(), LAST_WAIT);
    }
}

/// Receives one line.
pub(super) struct Line<'b> {
    batch: &'b Batch,
    at_once: bool,
}

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.batch.add(bytes, self.at_once);
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
    use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
    use std::time::Instant;

    /// A reader that takes a write only when the test asks for it.
    struct Writes(SyncSender<String>);

    impl Write for Writes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.send(String::from_utf8_lossy(bytes).into_owned()).map_err(io::Error::other)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn started() -> (Batch, Flush, Receiver<String>) {
        let (sender, written) = sync_channel(0);
        let (batch, flush) = Batch::start(Writes(sender)).unwrap();
        (batch, flush, written)
    }

    fn next(written: &Receiver<String>) -> String {
        written.recv_timeout(Duration::from_secs(30)).expect("it was never written")
    }

    #[test]
    fn lines_are_written_together_in_their_order_and_warnings_do_not_wait() {
        let (batch, flush, written) = started();
        batch.add(b"one\n", false);
        batch.add(b"two\n", false);
        batch.add(b"warning\n", true);
        assert_eq!(next(&written), "one\ntwo\nwarning\n");
        batch.add(b"last\n", false);
        let reader = thread::spawn(move || next(&written));
        drop(flush);
        assert_eq!(reader.join().unwrap(), "last\n");
    }

    #[test]
    fn a_line_waits_for_a_moment_only() {
        let (batch, _flush, written) = started();
        batch.add(b"one\n", false);
        assert_eq!(next(&written), "one\n");
    }

    /// The gateway once answered nobody any more, because the reader of its log had stopped.
    #[test]
    fn a_reader_that_stops_holds_up_nobody_and_loses_lines() {
        let (batch, flush, written) = started();
        batch.add(b"first\n", true);
        while !batch.0.lines.lock().writing {
            thread::sleep(Duration::from_millis(1));
        }
        let line = [b'x'; 1024];
        for _ in 0..2000 {
            batch.add(&line, true);
        }
        assert_eq!(batch.0.lines.lock().lost, 2000 - 1024);
        // There is always room for their number.
        TELLS_OF_LOSS.set(true);
        batch.add(&line, true);
        TELLS_OF_LOSS.set(false);
        let began = Instant::now();
        drop(flush);
        assert!(began.elapsed() >= LAST_WAIT);
        assert_eq!(next(&written), "first\n");
        assert_eq!(next(&written).len(), MOST + line.len());
    }
}
