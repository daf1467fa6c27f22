//! The HTTP client towards v1.
