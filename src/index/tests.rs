//! Unit tests of the index.
