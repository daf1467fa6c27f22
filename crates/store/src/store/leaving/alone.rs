//! One run at a time carries: two would make the same records there twice. With PostgreSQL it is a lock of a session, with
//! SQLite one on a file beside the store; both are gone when the process is.
//!
//! May use: this folder.

use super::super::error::StoreError;
use super::super::kind::Kind;
use super::super::peers::{Alone, CARRIES, NotTaken};
use super::super::place::file_of;
use super::super::service::Store;
use super::super::snapshots::AloneAmongAll;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long a run waits: a server may need a moment to notice that a killed one is gone.
const PATIENCE: Duration = Duration::from_secs(3);
/// Time from one try to the next.
const AGAIN: Duration = Duration::from_millis(100);

/// The right to carry; given up when this is dropped or the process ends.
pub struct CarryingAlone {
    _on_server: Option<AloneAmongAll>,
    _beside_file: Option<Alone>,
}

impl Store {
    /// Takes the store at `url`, which is this one, for a run that carries; none while another run has it. A store that
    /// can only be read is not locked: a run fails at its first note.
    ///
    /// # Errors
    /// [`StoreError`] when the database cannot be asked, or the lock cannot be opened.
    pub async fn carrying_alone(&self, url: &str) -> Result<Option<CarryingAlone>, StoreError> {
        if self.engine.kind() == Kind::Postgres {
            let end = Instant::now() + PATIENCE;
            loop {
                let taken = self.alone_among_all("causeway leave").await?;
                if taken.is_some() || Instant::now() > end {
                    return Ok(taken.map(|taken| CarryingAlone { _on_server: Some(taken), _beside_file: None }));
                }
                sleep(AGAIN).await;
            }
        }
        let beside = match file_of(url).filter(|_| !self.is_read_only()) {
            None => None,
            Some(file) => match Alone::take(&file, CARRIES, PATIENCE).await {
                Ok(taken) => Some(taken),
                Err(NotTaken::Taken) => return Ok(None),
                Err(NotTaken::Unusable { lock, cause }) => {
                    return Err(StoreError::NoLock { lock, cause: cause.to_string() });
                }
            },
        };
        Ok(Some(CarryingAlone { _on_server: None, _beside_file: beside }))
    }
}
