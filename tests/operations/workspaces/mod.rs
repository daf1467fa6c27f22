//! Below `workspaces/{slug}/`.

mod audit_logs;
mod features;
mod members;
mod projects;
mod work_item_properties;
mod work_item_property_contexts;
mod work_item_property_options;
mod work_item_type_properties;
mod work_item_types;
