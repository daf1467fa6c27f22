//! What is logged on a thread, kept to be looked through.
//!
//! May use: nothing of this folder.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use tracing_subscriber::fmt::MakeWriter;

/// Everything that is logged on this thread, on which the tests that use it serve too.
#[derive(Clone, Default)]
pub struct Captured(Arc<Mutex<Vec<u8>>>);

/// Listens until it is dropped.
pub struct Listening {
    _here: tracing::subscriber::DefaultGuard,
    _elsewhere: tracing::Dispatch,
}

impl Captured {
    /// Begins to listen on this thread to everything.
    pub fn listen(&self) -> Listening {
        // While there is one listener alone, an event that another thread meets first is judged by that thread,
        // which has none, and is never told again; two of them are both asked.
        let elsewhere =
            tracing_subscriber::fmt().with_writer(io::sink).with_max_level(tracing::Level::TRACE).finish();
        let elsewhere = tracing::Dispatch::new(elsewhere);
        let here =
            tracing_subscriber::fmt().with_writer(self.clone()).with_max_level(tracing::Level::TRACE).finish();
        Listening { _here: tracing::subscriber::set_default(here), _elsewhere: elsewhere }
    }

    /// What was logged so far.
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
