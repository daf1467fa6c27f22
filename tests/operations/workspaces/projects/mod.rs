//! Below `workspaces/{slug}/projects/{project_id}/`.

mod cycles;
mod labels;
mod members;
mod modules;
mod states;
mod work_item_properties;
mod work_item_property_options;
mod work_item_type_properties;
mod work_item_types;
mod work_items;
