//! The surface over real connections: the messages that clients and v1 receive, byte for byte where it matters. May
//! use: this folder.

mod busy;
mod connections;
mod logging;
mod pass_through;
mod refused;
mod requests;
mod support;
mod unread;
