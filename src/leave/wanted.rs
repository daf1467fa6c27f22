//! What a run is asked for. May use: nothing of this crate.

/// What a run is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// Look and tell, write nothing.
    DryRun,
    /// Carry, then check.
    Carry,
    /// Check what was carried.
    Check,
}

/// What a run is asked for.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// What to do.
    pub wish: Wish,
    /// Slugs of the workspaces.
    pub workspaces: Vec<String>,
    /// Makes alike what is there under the same name.
    pub update: bool,
    /// Records that are only there do not count as unlike.
    pub keep_extra: bool,
    /// Addresses of this gateway.
    pub own_addresses: Vec<String>,
}
