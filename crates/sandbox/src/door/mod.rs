//! Path of a request from the socket to the view and back: connections, the checks in v1's order, routes, keys, the
//! quota. May use: this folder.

pub(crate) mod auth;
pub(crate) mod body;
pub(crate) mod call;
pub(crate) mod costs;
pub(crate) mod gzip;
pub(crate) mod http;
pub(crate) mod pipeline;
pub(crate) mod route;
pub(crate) mod routes;
pub(crate) mod server;
pub(crate) mod service;
pub(crate) mod shared;
pub(crate) mod throttle;
