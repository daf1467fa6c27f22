//! The routes: which path is which view, and the methods each view has. Ids in paths must be spelt
//! in lower case with dashes. Uses nothing but the reader of path ids.

use percent_encoding::percent_decode_str;

use crate::forms::values::path_id;
use crate::records::table::Id;

/// A view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// `users/me/`
    Me,
    /// `projects/`
    Projects,
    /// `projects/{id}/`
    Project,
    /// `projects/{id}/archive/`
    ProjectArchive,
    /// `projects/{id}/summary/`
    ProjectSummary,
    /// `members/` of the workspace
    WorkspaceMembers,
    /// `members/` of a project
    ProjectMembers,
    /// one membership
    ProjectMember,
    /// `states/`
    States,
    /// one state
    State,
    /// `labels/`
    Labels,
    /// one label
    Label,
    /// `cycles/`
    Cycles,
    /// one cycle
    Cycle,
    /// `cycles/{id}/archive/`
    CycleArchive,
    /// `archived-cycles/`
    ArchivedCycles,
    /// `archived-cycles/{id}/unarchive/`
    CycleUnarchive,
    /// `cycle-issues/`
    CycleItems,
    /// one row of `cycle-issues/`
    CycleItem,
    /// `transfer-issues/`
    CycleTransfer,
    /// `modules/`
    Modules,
    /// one module
    Module,
    /// `modules/{id}/archive/`
    ModuleArchive,
    /// `archived-modules/`
    ArchivedModules,
    /// `archived-modules/{id}/unarchive/`
    ModuleUnarchive,
    /// `module-issues/`
    ModuleItems,
    /// one row of `module-issues/`
    ModuleItem,
    /// `work-items/`
    Items,
    /// one work item
    Item,
    /// a work item by its key
    ItemByKey,
    /// the search
    ItemSearch,
    /// `comments/`
    Comments,
    /// one comment
    Comment,
    /// `links/`
    Links,
    /// one link
    Link,
    /// `relations/`
    Relations,
    /// `activities/`
    Activities,
    /// one activity
    Activity,
    /// `attachments/`
    Attachments,
    /// one attachment
    Attachment,
    /// `intake-issues/`
    Intake,
    /// one intake entry, by its work item
    IntakeEntry,
}

/// The names and ids in a path.
#[derive(Debug, Clone, Default)]
pub(crate) struct Place {
    /// The workspace.
    pub(crate) slug: String,
    /// The project.
    pub(crate) project: Id,
    /// The record above the last one: work item, cycle or module.
    pub(crate) parent: Id,
    /// The last record.
    pub(crate) id: Id,
    /// The project part and the number part of a work item's key.
    pub(crate) key: (String, String),
}

impl Target {
    /// The methods, as the `Allow` header spells them.
    pub(crate) const fn allow(self) -> &'static str {
        match self {
            Self::Me
            | Self::ProjectSummary
            | Self::WorkspaceMembers
            | Self::ArchivedCycles
            | Self::ArchivedModules
            | Self::ItemByKey
            | Self::ItemSearch
            | Self::Activities
            | Self::Activity => "GET",
            Self::Projects
            | Self::ProjectMembers
            | Self::States
            | Self::Labels
            | Self::Cycles
            | Self::CycleItems
            | Self::Modules
            | Self::ModuleItems
            | Self::Items
            | Self::Comments
            | Self::Links
            | Self::Relations
            | Self::Attachments
            | Self::Intake => "GET, POST",
            Self::Project
            | Self::State
            | Self::Label
            | Self::Cycle
            | Self::Module
            | Self::Item
            | Self::Comment
            | Self::Link
            | Self::Attachment
            | Self::IntakeEntry => "GET, PATCH, DELETE",
            Self::ProjectMember => "PATCH, DELETE, GET",
            Self::ProjectArchive => "POST, DELETE",
            Self::CycleArchive | Self::ModuleArchive | Self::CycleTransfer => "POST",
            Self::CycleUnarchive | Self::ModuleUnarchive | Self::ModuleItem => "DELETE",
            Self::CycleItem => "GET, DELETE",
        }
    }

    /// Whether it has that method; HEAD and OPTIONS are never among them (`users_me_head`).
    pub(crate) fn has(self, method: &str) -> bool {
        self.allow().split(", ").any(|allowed| allowed == method)
    }
}

/// Finds the view of a path, percent-decoded (`errors_path_percent_encoded`).
pub(crate) fn resolve(path: &str) -> Option<(Target, Place)> {
    let path = percent_decode_str(path).decode_utf8_lossy();
    let segments: Vec<&str> = path.strip_prefix("/api/v1/")?.strip_suffix('/')?.split('/').collect();
    if segments == ["users", "me"] {
        return Some((Target::Me, Place::default()));
    }
    let ["workspaces", slug, rest @ ..] = segments.as_slice() else {
        return None;
    };
    if slug.is_empty() {
        return None;
    }
    let mut place = Place { slug: (*slug).to_owned(), ..Place::default() };
    let target = match rest {
        ["projects"] => Target::Projects,
        ["members"] => Target::WorkspaceMembers,
        ["work-items" | "issues", "search"] => Target::ItemSearch,
        ["work-items" | "issues", key] => {
            // The last dash divides (`items_key_two_dashes`, `items_key_negative`).
            let (project, number) = key.rsplit_once('-')?;
            if project.is_empty() || number.is_empty() {
                return None;
            }
            place.key = (project.to_owned(), number.to_owned());
            Target::ItemByKey
        }
        ["projects", project, below @ ..] => {
            place.project = path_id(project)?;
            in_project(below, &mut place)?
        }
        _ => return None,
    };
    Some((target, place))
}

fn in_project(below: &[&str], place: &mut Place) -> Option<Target> {
    Some(match below {
        [] => Target::Project,
        ["archive"] => Target::ProjectArchive,
        ["summary"] => Target::ProjectSummary,
        [list] => match *list {
            "members" | "project-members" => Target::ProjectMembers,
            "states" => Target::States,
            "labels" => Target::Labels,
            "cycles" => Target::Cycles,
            "archived-cycles" => Target::ArchivedCycles,
            "modules" => Target::Modules,
            "archived-modules" => Target::ArchivedModules,
            "work-items" | "issues" => Target::Items,
            "intake-issues" => Target::Intake,
            _ => return None,
        },
        [list, id] => {
            place.id = path_id(id)?;
            match *list {
                "members" | "project-members" => Target::ProjectMember,
                "states" => Target::State,
                "labels" => Target::Label,
                "cycles" => Target::Cycle,
                "modules" => Target::Module,
                "work-items" | "issues" => Target::Item,
                "intake-issues" => Target::IntakeEntry,
                _ => return None,
            }
        }
        [list, parent, list_below] => {
            let parent = path_id(parent)?;
            place.id = parent;
            place.parent = parent;
            match (*list, *list_below) {
                ("cycles", "archive") => Target::CycleArchive,
                ("cycles", "cycle-issues") => Target::CycleItems,
                ("cycles", "transfer-issues") => Target::CycleTransfer,
                ("archived-cycles", "unarchive") => Target::CycleUnarchive,
                ("modules", "archive") => Target::ModuleArchive,
                ("modules", "module-issues") => Target::ModuleItems,
                ("archived-modules", "unarchive") => Target::ModuleUnarchive,
                ("work-items" | "issues", "comments") => Target::Comments,
                ("work-items" | "issues", "links") => Target::Links,
                ("work-items" | "issues", "activities") => Target::Activities,
                // Relations exist in one path family only (`relations_issues_path_missing`),
                // attachments have a name in each (`attachments_list_issues_path`).
                ("work-items", "relations") => Target::Relations,
                ("work-items", "attachments") | ("issues", "issue-attachments") => Target::Attachments,
                _ => return None,
            }
        }
        [list, parent, list_below, id] => {
            place.parent = path_id(parent)?;
            place.id = path_id(id)?;
            match (*list, *list_below) {
                ("cycles", "cycle-issues") => Target::CycleItem,
                ("modules", "module-issues") => Target::ModuleItem,
                ("work-items" | "issues", "comments") => Target::Comment,
                ("work-items" | "issues", "links") => Target::Link,
                ("work-items" | "issues", "activities") => Target::Activity,
                ("work-items", "attachments") | ("issues", "issue-attachments") => Target::Attachment,
                _ => return None,
            }
        }
        _ => return None,
    })
}
