//! Keys and permissions: who asks, and whether they may before the view is even reached. Uses the
//! store and the routes only.

use http::HeaderMap;

use crate::door::http::Reply;
use crate::door::route::{Place, Target};
use crate::records::kinds::ApiKey;
use crate::records::store::World;
use crate::records::table::Id;

/// The role of project and workspace admins.
pub(crate) const ADMIN: u8 = 20;
/// The role of members.
pub(crate) const MEMBER: u8 = 15;
/// The role of guests.
pub(crate) const GUEST: u8 = 5;

/// The key of a request and its value. A missing or empty key is 401, one that does not open is 403
/// (`auth_missing_key`, `auth_empty_key`, `auth_wrong_key`, `auth_expired_key`).
pub(crate) fn identify<'w, 'h>(headers: &'h HeaderMap, world: &'w World) -> Result<(&'h str, &'w ApiKey), Reply> {
    let value = headers
        .get("x-api-key")
        .and_then(|value| value.to_str().ok())
        .filter(|value| !value.is_empty())
        .ok_or_else(|| Reply::detail(401, "Authentication credentials were not provided."))?;
    world
        .keys
        .get(value)
        .filter(|key| key.valid)
        .map(|key| (value, key))
        .ok_or_else(|| Reply::detail(403, "Given API token is not valid"))
}

/// Whether the person may use that method of the view. This comes before the check whether the view
/// has the method at all (`errors_405_by_outsider_is_403`).
pub(crate) fn permitted(world: &World, user: Id, target: Target, place: &Place, method: &str) -> bool {
    let reading = matches!(method, "GET" | "HEAD" | "OPTIONS");
    let slug = place.slug.as_str();
    let in_workspace = || world.workspace_role(slug, user).is_some();
    let workspace_member = || world.workspace_role(slug, user).is_some_and(|r| r >= MEMBER);
    let role = || world.membership(slug, place.project, user).map(|m| m.role);
    let writer = || role().is_some_and(|r| r >= MEMBER);
    let somewhere = || world.in_some_project(slug, user);
    match target {
        // No check at all, not even of the workspace (`search_by_workspace_outsider`,
        // `attachments_by_workspace_outsider`).
        Target::Me | Target::ItemSearch | Target::Attachments | Target::Attachment => true,
        Target::WorkspaceMembers | Target::ProjectSummary => workspace_member(),
        Target::Projects | Target::Project | Target::ProjectArchive => {
            if reading {
                in_workspace()
            } else if method == "POST" {
                workspace_member()
            } else {
                // A project admin, or a workspace admin with any role in the project
                // (`perm_admin_as_guest_patches_project`).
                role().is_some_and(|r| r == ADMIN || world.workspace_role(slug, user) == Some(ADMIN))
            }
        }
        // Reads and creates of labels do not look at the project in the path
        // (`labels_list_random_project_is_empty`, `labels_create_in_foreign_project_accepted`).
        Target::Labels | Target::Label => {
            if reading {
                somewhere()
            } else if method == "POST" {
                workspace_member()
            } else {
                writer()
            }
        }
        // So do reads of project rosters (`members_private_project_by_outsider`).
        Target::ProjectMembers | Target::ProjectMember => {
            if reading {
                somewhere()
            } else {
                role() == Some(ADMIN)
            }
        }
        // Guests comment, and may change what others wrote
        // (`comments_patch_of_others_by_guest_accepted`).
        Target::Comments | Target::Comment | Target::Intake | Target::IntakeEntry => role().is_some(),
        // A key names its project by the identifier, for reads only; other methods are refused
        // before they are found missing (`items_key_patch`).
        Target::ItemByKey => {
            reading
                && world.workspace(slug).is_some_and(|workspace| {
                    world
                        .projects
                        .of(workspace.id)
                        .find(|p| p.identifier == place.key.0)
                        .is_some_and(|p| world.active_member(p.id, user).is_some())
                })
        }
        _ => {
            if reading {
                role().is_some()
            } else {
                writer()
            }
        }
    }
}
