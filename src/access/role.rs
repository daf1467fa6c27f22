//! Roles of v1. May use: nothing of this crate.

use serde::{Deserialize, Serialize};

/// Role of v1 in a project or workspace: 20 admin, 15 member (contributor), 5 guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Role(pub i64);

impl Role {
    /// May administer.
    pub const ADMIN: Role = Role(20);
    /// May write.
    pub const MEMBER: Role = Role(15);
    /// May read and comment.
    pub const GUEST: Role = Role(5);

    /// Slug on a workspace roster; a number v1 is not known to use reads `unknown`.
    pub fn workspace_slug(self) -> &'static str {
        match self.0 {
            20 => "admin",
            15 => "member",
            5 => "guest",
            _ => "unknown",
        }
    }

    /// Slug on a project roster.
    pub fn project_slug(self) -> &'static str {
        match self.0 {
            20 => "admin",
            15 => "contributor",
            5 => "guest",
            _ => "unknown",
        }
    }

    /// Whether the role sees what every member above guest sees.
    pub fn is_above_guest(self) -> bool {
        self.0 >= Self::MEMBER.0
    }
}
