//! One cache for data that is read from elsewhere: young enough, void after a change, and read once for all callers.
//!
//! Identities and cards, credentials, collections, indices of work items, single answers and the counters of the
//! store are all kept by these rules:
//!
//! 1. **A value counts from when its read began**, not from when it ended. A [`Moment`] is an instant on the clock
//!    together with a number in the order of events, so that two things at the same instant still have an order.
//! 2. **A change voids what began before it.** A caller that learns that something may have changed tells [`Changes`]
//!    with a [`Changed`], which is plain data. There are no callbacks: a caller that asks for a value names the changes
//!    that void it, and the last of them is looked up. When there are very many changes, the oldest are forgotten, and
//!    then everything that began before them counts as void.
//! 3. **A caller gets a value that is good enough for it** ([`Need`]): no change that was told before it asked came
//!    after the read of the value began, and the value was younger than the caller allows when it asked. A read that
//!    began after it asked is always good enough. A change that is told while it waits does not concern it: it asked
//!    before that.
//! 4. **One read at a time for each key.** A caller that needs a value and finds a read under way that will be good
//!    enough waits for it. A caller that finds one that began too early waits until it has ended and shares the next
//!    one with all other waiting callers. So no caller waits for more than two reads.
//! 5. **A read is a task of its own.** It continues when all waiting callers have left, and its value is kept.
//!    When it panics or is dropped, the waiting callers get [`ReadLost`], and the next caller that asks begins another.
//! 6. **A failure is told to the callers that could have used the value**, and is not kept. Callers that came too late
//!    for that read continue with the next one.
//! 7. **A value is replaced only by one that began later.** A write of the gateway itself can be carried into it
//!    ([`Fresh::amend`]). A read under way then gets the same change, so that it does not undo the write. A long read
//!    may bring a value that counts from a later moment than its start. A write before this moment is not carried into
//!    it: v1 may have lost the record since, and the value shows that. A value can also be put in place with a moment
//!    of its own ([`Fresh::put`]).
//! 8. **An older value may stand in while v1 is in trouble** ([`or_older`]): never a void one, and only up to an age
//!    that the caller states.
//! 9. **The kept values are bounded** by weight: the value that was used longest ago goes first. Values that are too
//!    old for any caller are dropped when the number of entries has doubled.
//!
//! `changes` has rules 1 to 3, `table` has the kept values and the reads under way as plain transitions under one lock,
//! `shared` adds tasks and waiting, `older` is rule 8. `model` is a test that runs `changes`, `table` and `shared`
//! under thousands of permuted schedules.
//!
//! May use: `context`, `refusal`, `task`, this folder.

mod changed;
mod changes;
mod clock;
#[cfg(test)]
mod model;
mod older;
mod shared;
mod sync;
mod table;
#[cfg(test)]
mod tests;

pub use changed::Changed;
pub use changes::{Changes, Moment, Need};
pub use clock::Clock;
pub use older::or_older;
pub use shared::{Fresh, ReadLost, Reading};
pub use table::{Figures, Kept, Key, ReadEnded, Value};
