//! The documents in `docs/` that are generated from the mappings and the settings.

pub(super) mod configuration;
pub(super) mod known_gaps;
pub(super) mod operations;
