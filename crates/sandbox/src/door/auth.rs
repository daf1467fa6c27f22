//! Keys and permissions: identifies the caller, and checks its permission before the view runs. May use: `records`,
//! this folder.

use http::HeaderMap;

use crate::door::http::Reply;
use crate::door::route::Place;
use crate::records::kinds::ApiKey;
use crate::records::store::World;
use crate::records::table::Id;

/// The role of project and workspace admins.
pub(crate) const ADMIN: u8 = 20;
/// The role of members.
pub(crate) const MEMBER: u8 = 15;
/// The role of guests.
pub(crate) const GUEST: u8 = 5;

/// Returns the value of a request's key, and the key. A missing or empty key is 401, a key that is not valid is 403
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

/// Permissions to read, create and change the records of a path. They are checked before the path's methods
/// (`errors_405_by_outsider_is_403`).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Permissions {
    read: CallerGroup,
    create: CallerGroup,
    change: CallerGroup,
}

/// A group of callers with a key.
#[derive(Debug, Clone, Copy)]
enum CallerGroup {
    Everybody,
    Nobody,
    /// Active in the workspace, guests included.
    InWorkspace,
    /// In the workspace, but no guest.
    WorkspaceMember,
    /// In some project of the workspace.
    InSomeProject,
    /// In the project, guests included.
    InProject,
    /// In the project, but no guest.
    ProjectMember,
    ProjectAdmin,
    /// A project admin, or a workspace admin with any role in the project (`perm_admin_as_guest_patches_project`).
    EitherAdmin,
    /// In the project that the identifier in a work item's key names.
    InProjectOfKey,
}

const fn may(read: CallerGroup, create: CallerGroup, change: CallerGroup) -> Permissions {
    Permissions { read, create, change }
}

/// No check at all, not even of the workspace (`search_by_workspace_outsider`, `attachments_by_workspace_outsider`).
pub(crate) const EVERYBODY: Permissions =
    may(CallerGroup::Everybody, CallerGroup::Everybody, CallerGroup::Everybody);
/// Paths for members of the workspace only.
pub(crate) const WORKSPACE_MEMBERS: Permissions =
    may(CallerGroup::WorkspaceMember, CallerGroup::WorkspaceMember, CallerGroup::WorkspaceMember);
/// Projects.
pub(crate) const PROJECTS: Permissions =
    may(CallerGroup::InWorkspace, CallerGroup::WorkspaceMember, CallerGroup::EitherAdmin);
/// Labels. Reads and creates do not check the project in the path (`labels_list_random_project_is_empty`,
/// `labels_create_in_foreign_project_accepted`).
pub(crate) const LABELS: Permissions =
    may(CallerGroup::InSomeProject, CallerGroup::WorkspaceMember, CallerGroup::ProjectMember);
/// Project rosters. Reads do not check the project in the path (`members_private_project_by_outsider`).
pub(crate) const ROSTERS: Permissions =
    may(CallerGroup::InSomeProject, CallerGroup::ProjectAdmin, CallerGroup::ProjectAdmin);
/// Guests may comment, and may change comments of others (`comments_patch_of_others_by_guest_accepted`).
pub(crate) const MEMBERS_AND_GUESTS: Permissions =
    may(CallerGroup::InProject, CallerGroup::InProject, CallerGroup::InProject);
/// Keys of work items. Methods other than reads are forbidden before v1 finds that they do not exist
/// (`items_key_patch`).
pub(crate) const KEY_HOLDERS: Permissions =
    may(CallerGroup::InProjectOfKey, CallerGroup::Nobody, CallerGroup::Nobody);
/// All other records of a project.
pub(crate) const RECORDS: Permissions =
    may(CallerGroup::InProject, CallerGroup::ProjectMember, CallerGroup::ProjectMember);

impl Permissions {
    /// Checks whether the person may use a method on a path.
    pub(crate) fn permits(self, method: &str, world: &World, user: Id, place: &Place) -> bool {
        let who = match method {
            "GET" | "HEAD" | "OPTIONS" => self.read,
            "POST" => self.create,
            _ => self.change,
        };
        who.includes(world, user, place)
    }
}

impl CallerGroup {
    fn includes(self, world: &World, user: Id, place: &Place) -> bool {
        let slug = place.slug.as_str();
        let in_workspace = world.workspace_role(slug, user);
        let in_project = world.membership(slug, place.project, user).map(|member| member.role);
        match self {
            Self::Everybody => true,
            Self::Nobody => false,
            Self::InWorkspace => in_workspace.is_some(),
            Self::WorkspaceMember => in_workspace.is_some_and(|role| role >= MEMBER),
            Self::InSomeProject => world.in_some_project(slug, user),
            Self::InProject => in_project.is_some(),
            Self::ProjectMember => in_project.is_some_and(|role| role >= MEMBER),
            Self::ProjectAdmin => in_project == Some(ADMIN),
            Self::EitherAdmin => in_project == Some(ADMIN) || in_project.is_some() && in_workspace == Some(ADMIN),
            Self::InProjectOfKey => world.workspace(slug).is_some_and(|workspace| {
                let mut projects = world.projects.of(workspace.id);
                let project = projects.find(|project| project.identifier == place.key.0);
                project.is_some_and(|project| world.active_member(project.id, user).is_some())
            }),
        }
    }
}
