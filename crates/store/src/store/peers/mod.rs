//! Gateway processes that share a store in PostgreSQL: what each tells the others, and for how long each may answer
//! from memory.
//!
//! Readers hold counters in memory: how often a project's items, its records in v1 or a workspace's definitions were
//! written to. A counter in memory is what the database says as long as nobody else has raised it. So:
//!
//! 1. **A process has a lease** of two seconds, a row of the table `process`, which it renews five times in two seconds
//!    over the same connection that listens. A renewal counts from before it was sent, and only once the note that went
//!    with it has come back through the listener: then every earlier note has come as well.
//! 2. **A write is told** with a note (`NOTIFY`) in its own transaction, which names the counters and everything else
//!    that has changed (`fresh::Changed`). A process that hears it voids what it kept and confirms.
//! 3. **A write is acknowledged** to its client when every process that had a lease after the commit has confirmed, or two
//!    seconds have passed. After two seconds a process has either lost its lease, or renewed it after the commit and so
//!    has heard the note. So no process with a lease answers anything older than the acknowledged writes.
//! 4. **Without a lease** every counter is asked of the database, as before there were leases. When the database does not
//!    answer at all, reads make do with what is in memory, marked with `Age`; writes are refused.
//! 5. **A process that has missed notes** (its connection was lost) takes no counter from before for known.
//! 6. **A process lives** as long as its session holds an advisory lock. The others judge its half-done work as soon as
//!    the lock is gone.
//!
//! Beside all that, what v1 hints at is passed on without any of these promises (`hint`).
//!
//! Commands such as `causeway store sweep` write without a lease of their own and hear no confirmations; they wait
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

pub(super) use alone::{Alone, CARRIES, NotTaken, Serving};
pub(super) use confirm::DATABASE_NOW;
pub use keeper::Joined;
pub use note::Hint;
pub(super) use note::NOTES;
pub(super) use state::{Awaited, Peers};
