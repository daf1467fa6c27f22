//! A workspace as one caller sees it.
//!
//! May use: this folder.

use super::caller::Role;
use super::projects_page::ProjectsPage;
use super::rosters::Roster;
use std::time::Instant;

/// Role of the caller in a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WorkspaceRole {
    /// May administer the workspace.
    Admin,
    /// May read the roster.
    Member,
    /// Sees only joined and public projects.
    Guest,
}

impl WorkspaceRole {
    /// Converts v1's number. A number that v1 is not known to use grants no more than the next lower known one.
    pub fn of(role: Role) -> Self {
        match role {
            role if role >= Role::ADMIN => Self::Admin,
            role if role.is_above_guest() => Self::Member,
            _ => Self::Guest,
        }
    }
}

/// A workspace as one caller sees it.
#[derive(Debug, Clone)]
pub struct WorkspaceCard {
    /// The caller's role.
    pub role: WorkspaceRole,
    /// The roster as v1 returned it to this caller. `None` for guests, who may not read it (`members_workspace_guest`).
    pub roster: Option<Roster>,
    /// Time when the roster was read.
    pub read_at: Instant,
}

/// Content of v1's answer: the card, and for guests also the workspace's id.
#[derive(Debug, Clone)]
pub(super) struct CardAnswer {
    pub(super) role: WorkspaceRole,
    pub(super) roster: Option<Roster>,
    pub(super) projects: Option<ProjectsPage>,
}

pub(super) fn weight(seen: &CardAnswer) -> u32 {
    let roster = seen.roster.as_ref().map_or(0, Roster::weight);
    u32::try_from(roster).unwrap_or(u32::MAX).saturating_add(200)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_numbers_grant_no_more_than_the_known_one_below() {
        for (number, role) in [
            (20, WorkspaceRole::Admin),
            (25, WorkspaceRole::Admin),
            (15, WorkspaceRole::Member),
            (19, WorkspaceRole::Member),
            (10, WorkspaceRole::Guest),
            (5, WorkspaceRole::Guest),
            (0, WorkspaceRole::Guest),
        ] {
            assert_eq!(WorkspaceRole::of(Role(number)), role, "{number}");
        }
    }
}
