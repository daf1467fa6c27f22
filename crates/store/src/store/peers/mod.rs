//! Gateway processes that share a store in PostgreSQL: the notes they send each other, and the time for which each may
//! answer from memory.
//!
//! Readers hold counters in memory: the number of writes to a project's items, to its records in v1, or to a
//! workspace's definitions. A counter in memory equals the one in the database as long as no other process has raised
//! it. So:
//!
//! 1. **A process has a lease** of two seconds, a row of the table `process`, which it renews five times in two seconds
//!    over the same connection that listens. A renewal counts from before it was sent, and only when the note that was
//!    sent with it has come back through the listener: then every earlier note has arrived too.
//! 2. **A write is announced** with a note (`NOTIFY`) in its own transaction, which names the counters and all other
//!    data that changed (`fresh::Changed`). A process that receives it invalidates its cache entries and confirms.
//! 3. **A write is acknowledged** to its client when every process that had a lease after the commit has confirmed, or
//!    two seconds have passed. After two seconds a process has either lost its lease, or renewed it after the commit
//!    and so has received the note. So no process with a lease returns data older than the acknowledged writes.
//! 4. **Without a lease** every counter is read from the database, as before there were leases. When the database does
//!    not respond at all, or refuses the login and no connection is open, reads use the data in memory, marked with
//!    `Age`; writes are rejected.
//! 5. **A process that has missed notes** (its connection was lost) treats no earlier counter as known.
//! 6. **A process lives** as long as its session holds an advisory lock. The other processes settle its unfinished work
//!    as soon as the lock is gone.
//!
//! In addition, hints of v1 are passed on, without any of these guarantees (`hint`).
//!
//! Commands such as `causeway store sweep` write without a lease of their own and receive no confirmations. They wait
//! until every process has renewed its lease twice, or the two seconds are over.
//!
//! May use: `fresh`, `v2` (times), `engine` and what is below it.

mod alone;
mod confirm;
mod hint;
mod keeper;
mod lease;
mod note;
mod state;

pub(super) use alone::{CARRIES, FileLock, NotTaken, Serving};
pub(super) use confirm::DATABASE_NOW;
pub use keeper::Joined;
pub use note::Hint;
pub(super) use note::NOTES;
pub(super) use state::{Awaited, Peers};
