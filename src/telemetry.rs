//! Log set-up.
//!
//! May use: `settings`. May be used by every folder.

mod batch;
pub mod field;

use crate::settings::{LogFormat, LogSettings};
use batch::{Batch, Flush};
use std::any::Any;
use std::io;
use std::panic::PanicHookInfo;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{fmt, reload};

/// The log of the process. The last lines are written when this is dropped.
#[must_use = "the last lines are written when this is dropped"]
pub struct Log {
    refilter: Refilter,
    _flush: Flush,
}

/// Changes the filter of the log.
type Refilter = Box<dyn Fn(&str) + Send + Sync>;

impl Log {
    /// Sets the filter of the log from now on.
    pub fn filter(&self, filter: &str) {
        (self.refilter)(filter);
    }
}

/// Sends the log of the whole process to standard error, as `settings` say. Panics are logged too.
///
/// # Errors
/// When the process has a log already, or the thread that writes it cannot be started.
pub fn start(settings: &LogSettings) -> io::Result<Log> {
    let (batch, _flush) = Batch::start(io::stderr())?;
    let (subscriber, refilter) = subscriber(settings, batch);
    tracing::subscriber::set_global_default(subscriber).map_err(io::Error::other)?;
    std::panic::set_hook(Box::new(log_panic));
    Ok(Log { refilter, _flush })
}

/// Returns a subscriber that writes to `writer` as `settings` say, and a function that changes its filter.
pub(crate) fn subscriber<W>(
    settings: &LogSettings,
    writer: W,
) -> (Box<dyn tracing::Subscriber + Send + Sync>, Refilter)
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let (filter, handle) = reload::Layer::new(targets(&settings.filter));
    let (filtered, lines) =
        (tracing_subscriber::registry().with(filter), fmt::layer().with_writer(writer).with_ansi(false));
    let subscriber: Box<dyn tracing::Subscriber + Send + Sync> = match settings.format {
        LogFormat::Text => Box::new(filtered.with(lines)),
        LogFormat::Json => Box::new(filtered.with(lines.json().flatten_event(true))),
    };
    // Reloading fails only when the log is gone, at the end of the process.
    (subscriber, Box::new(move |filter| drop(handle.reload(targets(filter)))))
}

/// Parses a valid `log.filter`.
fn targets(filter: &str) -> Targets {
    filter.parse().unwrap_or_else(|_| Targets::new().with_default(tracing::Level::INFO))
}

/// Returns the message of a panic.
pub fn panic_message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

fn log_panic(panic: &PanicHookInfo<'_>) {
    let location = panic.location().map(ToString::to_string).unwrap_or_default();
    let cause = panic_message(panic.payload());
    tracing::error!({ field::CAUSE } = cause, { field::LOCATION } = location, "panic");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Captured(Arc<Mutex<Vec<u8>>>);

    impl Write for Captured {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn logged(format: LogFormat) -> String {
        let captured = Captured::default();
        let writer = captured.clone();
        let settings = LogSettings { format, ..Settings::default().log };
        tracing::subscriber::with_default(subscriber(&settings, move || writer.clone()).0, || {
            tracing::info!({ field::STATUS } = 200, { field::PATH } = "/x", "request");
            tracing::debug!("not wanted");
        });
        String::from_utf8(captured.0.lock().unwrap().clone()).unwrap()
    }

    #[test]
    fn json_lines_carry_the_fields_flat() {
        let line: serde_json::Value = serde_json::from_str(&logged(LogFormat::Json)).unwrap();
        assert_eq!((&line["status"], &line["path"]), (&200.into(), &"/x".into()));
    }

    #[test]
    fn the_log_filter_can_be_changed_at_run_time() {
        let captured = Captured::default();
        let writer = captured.clone();
        let settings = LogSettings { format: LogFormat::Json, filter: "warn".into(), ..Settings::default().log };
        let (subscriber, refilter) = subscriber(&settings, move || writer.clone());
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!("before");
            refilter("info");
            tracing::info!("after");
        });
        let lines = String::from_utf8(captured.0.lock().unwrap().clone()).unwrap();
        assert!(lines.contains("after") && !lines.contains("before"), "{lines}");
    }

    #[test]
    fn text_lines_are_for_people() {
        let line = logged(LogFormat::Text);
        assert!(line.contains("status=200") && line.lines().count() == 1, "{line}");
    }
}
