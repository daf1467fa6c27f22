//! How large a head may be. May use: `settings`.

use crate::settings::ListenSettings;

/// How large a head may be.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of a head, or of the trailers of a body.
    pub(super) head: usize,
    pub(super) fields: usize,
    /// Bytes that a connection of HTTP/2 may hold at most before anybody has asked for them.
    pub(super) http2: usize,
}

impl Limits {
    /// As `settings` say; a connection of HTTP/2 may hold a head and besides it `beside` bytes.
    pub fn of(settings: &ListenSettings, beside: u32) -> Self {
        let beside = usize::try_from(beside).unwrap_or(usize::MAX);
        let http2 = settings.max_header_size.saturating_add(beside);
        Self { head: settings.max_header_size, fields: settings.max_headers, http2 }
    }
}
