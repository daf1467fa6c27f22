//! Below `workspaces/{slug}/projects/{project_id}/`.

mod cycles;
mod labels;
mod members;
mod modules;
mod states;
mod work_items;
