//! May they? From the header of a request to a proven caller, and from a caller to what they may see.
//!
//! Purpose: prove a credential against v1 (`users/me`), and prove visibility and role with the project
//! card and the workspace card, each cached for a short time under the SHA-256 of the v1 key and nothing
//! else. A card is the proof of access for everything cached below its project: nothing obtained with one
//! credential is served to another unless that other credential's own card, at most its maximum age old,
//! says member and role.
//!
//! May use: `context`, `refusal`, `coalesce`, `settings`, `v1`. May not use: `v2`, `translate`, `run`, `edge`.

mod acquaintances;
mod caller;
mod clock;
pub mod credential;
pub mod gate;
mod identity;
mod paths;
mod project_card;
mod remembered;
mod service;
mod visible_projects;
mod workspace_card;
mod workspace_id;

pub use acquaintances::Acquaintance;
pub use caller::{Caller, PrincipalKind, User};
pub use clock::Clock;
pub use credential::{Acting, Credentials, Presented, presented_id};
pub use project_card::ProjectCard;
pub use service::{Access, AccessSettings};
pub use visible_projects::VisibleProjects;
pub use workspace_card::{WorkspaceCard, WorkspaceRole};

/// Role of v1 in a project or workspace: 20 admin, 15 member (contributor), 5 guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
