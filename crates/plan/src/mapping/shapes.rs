//! Reads `shapes/*.json`: the parts of read shapes that the fields of a resource cannot express.
//!
//! Each file is an object from names to JSON Schemas (2020-12), which refer to one another as
//! `#/components/schemas/<name>`. The name of a file has no meaning. The name of a shape may occur once. May use: this
//! folder.

use super::fault::Faults;
use super::trail::Trail;
use indexmap::IndexMap;
use serde_json::{Map, Value};

/// Folder of the shapes: the beginning of their file names.
pub(super) const FOLDER: &str = "shapes/";

/// The key that refines members of bodies; every other key is JSON Schema.
const INPUTS: &str = "x-inputs";

/// One entry of a file.
#[derive(Debug, Clone, Default)]
pub struct ShapeSpec {
    /// File it was declared in.
    pub file: String,
    /// The schema, complete or laid over the one that follows from `[fields]`.
    pub schema: Map<String, Value>,
    /// Schemas laid over the members of bodies, by member.
    pub inputs: Map<String, Value>,
}

/// Adds the entries of one file to `shapes`.
pub(super) fn read(file: &str, text: &str, shapes: &mut IndexMap<String, ShapeSpec>, faults: &mut Faults) {
    let trail = Trail::file(file);
    match serde_json::from_str::<Map<String, Value>>(text) {
        Ok(entries) => {
            for (name, value) in entries {
                entry(file, &name, value, shapes, faults);
            }
        }
        Err(error) => faults.add(&trail, format!("is not a JSON object of shapes: {error}")),
    }
}

fn entry(file: &str, name: &str, value: Value, shapes: &mut IndexMap<String, ShapeSpec>, faults: &mut Faults) {
    let trail = Trail::file(file).then(name);
    let Value::Object(mut schema) = value else { return faults.add(&trail, "is not a JSON Schema object") };
    let inputs = match schema.shift_remove(INPUTS) {
        None => Map::new(),
        Some(Value::Object(inputs)) => inputs,
        Some(_) => return faults.add(&trail.then(INPUTS), "is not an object from members to schemas"),
    };
    if let Some(first) = shapes.get(name) {
        return faults.add(&trail, format!("is declared in {} already", first.file));
    }
    shapes.insert(name.into(), ShapeSpec { file: file.into(), schema, inputs });
}
