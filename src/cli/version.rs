//! `--version`: the version, the commit it was built from, and the tables of its store. May use: what `cli` may use.

use crate::store::{Kind, last_step};
use std::sync::LazyLock;

/// Version and commit, in one line.
pub(super) fn short() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let (version, commit) = (env!("CARGO_PKG_VERSION"), env!("BUILT_FROM_COMMIT"));
        format!("{version} (commit {commit}, store schema {})", last_step(Kind::Sqlite))
    });
    &TEXT
}

/// The same with what it was built for.
pub(super) fn long() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| format!("{}\ntarget: {}", short(), env!("BUILT_FOR_TARGET")));
    &TEXT
}
