//! Reading of values and writing of records: fields, HTML, validation with v1's messages. May use: this
//! folder.

pub(crate) mod fields;
pub(crate) mod html;
pub(crate) mod html_tree;
pub(crate) mod item_shape;
pub(crate) mod validate;
pub(crate) mod values;
