//! The quota of a key divided by demand among processes that share nothing but a table of parts.
//!
//! Each key has a row, which holds the part of every process that uses the key. A process makes no more calls in a
//! window than its part. The sum of the parts never passes the quota:
//!
//! 1. **Only a process itself changes its part.** It lowers it as it likes, and raises it only into what the row shows to
//!    be free. A row is written only as the next version of the one that was read, so that two never take the same.
//! 2. **A part covers what was used of it.** Calls count for a whole window (`window`), and the part in the row is never
//!    less than they are: calls that are given away were either never used or count no longer.
//! 3. **Lowered here first, raised in the row first.** Even when the answer of a write is lost, the part in the row is
//!    at least the one that is used here.
//! 4. **The part of a process that has died** stays in the row for a window more.
//! 5. **A process without others** needs no rows, and has all of the quota. When others come, it writes what it uses into
//!    the rows first and then says so (`Ledger::mark`); until all have said it, nobody raises its part.
//! 6. **While the table is away** each process has the even part, by the number of processes that was last known; in the
//!    first window not more than its part was.
//!
//! This takes for granted that the table is away for all or for none, that every process that is there does its work
//! within some seconds, and that no process comes or dies while parts are even. Otherwise, and when a key is used for
//! the first time by a process in the first window without the table, v1 may have to refuse a call; such a call is sent
//! again.
//!
//! A key that is new to a process waits for one statement; everything else happens beside the requests, in one
//! statement a second at most for all keys, and in none when nothing was used for a window. Of the quota a few calls
//! stay free for each process that does not use the key, so that its first calls need not wait for others to give
//! something back.
//!
//! `row` decides who gets what, `held` is what lanes ask, `divider` is the state of one process, `ledger` the table,
//! and `task` does the work beside the requests. May use: the key (in `task`), this folder.

mod divider;
mod held;
mod ledger;
mod row;
mod task;

pub(super) use held::Held;
pub use ledger::{Change, Ledger, Members, Seen};
pub(super) use row::Demand;
pub(super) use task::{Lanes, divide};

#[cfg(test)]
mod many_tests;
#[cfg(test)]
mod tests;
