//! To whom a path belongs, by its beginning. May use: nothing of this crate.

/// Beginning of all v2 paths.
const V2: &str = "/api/v2/";

/// Beginning of all v1 paths.
const V1: &str = "/api/v1/";

/// Whether `path` belongs to v2.
pub(super) fn is_v2(path: &str) -> bool {
    path.starts_with(V2) || path == V2.trim_end_matches('/')
}

/// Whether `path` is passed through to v1.
pub(super) fn is_pass_through(path: &str) -> bool {
    path.starts_with(V1)
}
