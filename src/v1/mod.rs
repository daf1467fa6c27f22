//! The service behind: an existing deployment that speaks only v1.
//!
//! Purpose: carry a [`V1Request`] to the backend and bring a [`V1Response`] back, with pooling, time
//! limits, size limits and the rules about what may be repeated. It knows nothing of v2.
//!
//! May use: `context`, `refusal`, `settings`. May not use: `v2`, `translate`, `plan`, `run`, `edge`.

mod client;
mod key;
mod message;

pub use client::{Client, ClientSettings};
pub use key::{KeyId, V1Key};
pub use message::{Method, V1Error, V1Request, V1Response};
