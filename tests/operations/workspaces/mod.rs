//! Below `workspaces/{slug}/`.

mod members;
mod projects;
