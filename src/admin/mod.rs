//! The listener for operators (`admin.listen`): pages and figures that are not for clients.
//!
//! It is separate from the listener for clients, so that no proxy forwards to it by accident. [`Admin`] accepts the
//! connections. `door` checks the host, the token and the origin of each request, and passes admitted requests to the
//! [`AdminPage`] that has the path. A new page is a value with that trait, given to [`Admin::show`].
//!
//! May use: `html`, `settings`, `task`, `telemetry`.

mod door;
mod listener;
mod page;
mod token;

pub use listener::{Admin, AdminError};
pub use page::{AdminPage, rendered, text};
pub use token::{Token, TokenError, has_token};
