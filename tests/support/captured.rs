//! The log of a thread, kept for checks.
//!
//! May use: nothing of this folder.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use tracing_subscriber::fmt::MakeWriter;

/// Everything that is logged on this thread; the gateways of the tests that use it serve on this thread too.
#[derive(Clone, Default)]
pub struct Captured(Arc<Mutex<Vec<u8>>>);

/// A capture that lasts until it is dropped.
pub struct Listening {
    _here: tracing::subscriber::DefaultGuard,
    _elsewhere: tracing::Dispatch,
}

impl Captured {
    /// Begins to capture all events on this thread.
    pub fn listen(&self) -> Listening {
        // With a single listener, the first thread that meets an event decides about it, even a thread without a
        // listener, and the event is then disabled for good. With two listeners both are asked.
        let elsewhere =
            tracing_subscriber::fmt().with_writer(io::sink).with_max_level(tracing::Level::TRACE).finish();
        let elsewhere = tracing::Dispatch::new(elsewhere);
        let here =
            tracing_subscriber::fmt().with_writer(self.clone()).with_max_level(tracing::Level::TRACE).finish();
        Listening { _here: tracing::subscriber::set_default(here), _elsewhere: elsewhere }
    }

    /// Returns the log so far.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'w> MakeWriter<'w> for Captured {
    type Writer = Self;

    fn make_writer(&'w self) -> Self {
        self.clone()
    }
}
