//! How values are read and records are written: fields, HTML, validation with the messages of v1. May use: this
//! folder.

pub(crate) mod fields;
pub(crate) mod html;
pub(crate) mod html_tree;
pub(crate) mod item_shape;
pub(crate) mod validate;
pub(crate) mod values;
