//! The authorization server over HTTP: its answers, every refusal, and the attacks of RFC 9700.
//!
//! `stage` plays the app, the browser and the person. May use: the public interface of the crate and
//! `tests/support`.

mod admin;
mod audit;
mod authorize;
mod bearer;
mod consent;
mod corpora;
mod grants;
mod keys;
mod limits;
mod lost_answers;
mod metadata;
mod refresh;
mod registration;
mod revocation;
mod secrets;
mod security;
mod simultaneous;
pub mod stage;
mod token;
mod waiting;
