//! The listener for operators (`admin.listen`): pages and figures that are not for clients.
//!
//! It stands apart from the listener for clients, so that no proxy passes it on by accident. [`Admin`] accepts the
//! connections, `door` judges each request by its host, its token and its origin, and hands what is left to the
//! [`AdminPage`] that has the path. A new page is a value with that trait, given to [`Admin::show`].
//!
//! May use: `html`, `settings`, `telemetry`.

mod door;
mod listener;
mod page;
mod token;

pub use listener::{Admin, AdminError};
pub use page::{AdminPage, rendered, text};
pub use token::{Token, TokenError, has_token};
