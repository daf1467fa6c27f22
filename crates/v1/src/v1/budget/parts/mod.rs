//! The quota of a key divided by demand among processes that share only a table of parts.
//!
//! Each key has a row, which holds the part of every process that uses the key. A process makes no more calls in a
//! window than its part. The sum of the parts never exceeds the quota:
//!
//! 1. **Only a process itself changes its part.** It may lower it at any time. It raises it only by calls that the row
//!    shows as free. A row is written only as the next version of the row that was read, so that two processes never
//!    take the same calls.
//! 2. **A part covers the calls used of it.** Calls count for a whole window (`window`), and the part in the row is
//!    never less than they are. So calls that are given away were never used, or no longer count.
//! 3. **Lowered here first, raised in the row first.** Even when the answer of a write is lost, the part in the row is
//!    at least the part that is used here.
//! 4. **The part of a dead process** stays in the row for another window.
//! 5. **A process without others** needs no rows, and has all of the quota. When others join, it first writes its use
//!    to the rows and then announces it (`Ledger::mark`). Until all have announced it, no process raises its part.
//! 6. **While the table is unreachable** each process has the even part, by the last known number of processes. In the
//!    first window it has no more than its part was.
//!
//! This assumes three things. The table is unreachable for all processes or for none. Every living process does its
//! work within some seconds. No process joins or dies while parts are even. Otherwise v1 may have to refuse a call;
//! such a call is sent again. The same can happen when a process uses a key for the first time in the first window
//! without the table.
//!
//! A key that is new to a process waits for one statement. Everything else happens in the background: at most one
//! statement a second for all keys, and none when nothing was used for a window. A few calls of the quota
//! stay free for each process that does not use the key. So its first calls need not wait until others give
//! something back.
//!
//! `row` calculates the parts, lanes read `held`, `divider` is the state of one process, `ledger` the table,
//! and `task` does the background work. May use: the key (in `task`), this folder.

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
