//! The listener for operators. May use: this folder.

use super::reader::Reader;
use super::value::Secret;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Shortest token: guessing one takes longer than any gateway runs.
const SHORTEST_TOKEN: usize = 16;

/// The listener for operators (`[admin]`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AdminSettings {
    /// Address and port; none for no such listener.
    pub listen: Option<SocketAddr>,
    /// Names by which it may be asked, besides addresses and `localhost`.
    pub hosts: Vec<String>,
    /// File with the token.
    pub token_file: Option<PathBuf>,
    /// The token as text; wins over the file.
    pub token: Option<Secret>,
}

impl AdminSettings {
    pub(super) fn read(from: &mut Reader) -> Self {
        let settings = Self {
            listen: from.optional("admin.listen"),
            hosts: from.get("admin.hosts"),
            token_file: from.optional("admin.token_file"),
            token: from.off_the_command_line("admin.token", TOKEN_FORM, |token: &Secret| is_token(token.expose())),
        };
        let open = settings.listen.filter(|address| !address.ip().to_canonical().is_loopback());
        if open.is_some() && settings.token_file.is_none() && settings.token.is_none() {
            from.fault(
                "admin.listen",
                "other machines can reach it, and there is no token",
                "set admin.token_file or the variable CAUSEWAY_ADMIN__TOKEN, or listen on 127.0.0.1",
            );
        }
        settings
    }
}

/// How a token is written.
pub const TOKEN_FORM: &str =
    "at least 16 printable characters without spaces, for example from `openssl rand -hex 24`";

/// Whether `text` will do as a token.
pub fn is_token(text: &str) -> bool {
    text.len() >= SHORTEST_TOKEN && text.bytes().all(|byte| byte.is_ascii_graphic())
}
