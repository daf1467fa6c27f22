//! Size limits of heads. May use: `settings`.

use crate::settings::ListenSettings;

/// Size limits of heads.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Most bytes of a head, or of the trailers of a body.
    pub(super) head: usize,
    pub(super) fields: usize,
    /// Most bytes that an HTTP/2 connection may hold before the gateway reads them.
    pub(super) http2: usize,
}

impl Limits {
    /// Reads the limits from `settings`. An HTTP/2 connection may hold a head and `beside` further bytes.
    pub fn of(settings: &ListenSettings, beside: u32) -> Self {
        let beside = usize::try_from(beside).unwrap_or(usize::MAX);
        let http2 = settings.max_header_size.saturating_add(beside);
        Self { head: settings.max_header_size, fields: settings.max_headers, http2 }
    }
}
