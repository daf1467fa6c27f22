//! The rules of `fresh` under permuted schedules: the thread or task that runs next is chosen anew at each step,
//! at random, by priorities, or, for small worlds, one schedule after the other.
//!
//! The files are those of the gateway, compiled a second time with the scheduler's lock and tasks in place of the real
//! ones. These rules are checked: no caller that asks after a change was told gets a value whose read began before; no
//! value is older than allowed; there is one read at a time for each key; every waiting caller gets an outcome, even
//! when others leave; writes of the gateway itself are not undone by a read that was under way; a record that was
//! written and then removed elsewhere does not come back. May use: this folder.

mod scenes;
mod world;

/// The replacement of `sync.rs` for the gateway's files.
mod sync {
    use shuttle::future::AbortHandle;
    use std::cell::RefCell;

    /// A lock. Wherever it is locked, the scheduler may let another thread run.
    #[derive(Debug, Default)]
    pub struct Mutex<T>(shuttle::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub fn new(value: T) -> Self {
            Self(shuttle::sync::Mutex::new(value))
        }

        pub fn lock(&self) -> shuttle::sync::MutexGuard<'_, T> {
            self.0.lock().expect("nobody panics while holding it")
        }
    }

    thread_local! {
        // All threads and tasks of a schedule run on one thread of the machine.
        static TASKS: RefCell<Vec<AbortHandle>> = const { RefCell::new(Vec::new()) };
    }

    pub fn spawn(work: impl Future<Output = ()> + Send + 'static) {
        let task = shuttle::future::spawn(work);
        TASKS.with_borrow_mut(|tasks| tasks.push(task.abort_handle()));
    }

    /// Drops the task that was begun last, wherever it is.
    pub fn drop_last_task() {
        let last = TASKS.with_borrow_mut(Vec::pop);
        last.iter().for_each(AbortHandle::abort);
    }

    /// Forgets the tasks of the previous schedule; called before each schedule.
    pub fn forget_tasks() {
        TASKS.with_borrow_mut(Vec::clear);
    }
}

#[path = "../changed.rs"]
#[allow(dead_code, clippy::duplicate_mod)]
mod changed;
#[path = "../changes.rs"]
#[allow(dead_code, clippy::duplicate_mod)]
mod changes;
#[path = "../clock.rs"]
#[allow(clippy::duplicate_mod)]
mod clock;
#[path = "../shared.rs"]
#[allow(dead_code, clippy::duplicate_mod)]
mod shared;
#[path = "../table.rs"]
#[allow(dead_code, clippy::duplicate_mod)]
mod table;

/// The name that the links in the files use.
#[allow(unused_imports)]
use shared::Fresh;
