//! Files about several surfaces: finds the part of a file that is about one of them.
//!
//! Only a file with the key `surfaces` is read in this way, once for each surface. In its texts `{surface}/` stands for
//! the path of the surface, any other `{surface}` for its name. A table whose keys are all names of surfaces stands for
//! its value for this surface. May use: this folder.

use super::words::Surface;
use toml::{Table, Value};

/// Surfaces that one file can be about, each with its path.
const PLACES: [(Surface, &str); 2] =
    [(Surface::Project, "workspaces/{slug}/projects/{project_id}/"), (Surface::Workspace, "workspaces/{slug}/")];

/// Reads the surfaces in the value of the key `surfaces`; fails with a description of what is wrong with it.
pub(super) fn named(value: Value) -> Result<Vec<Surface>, String> {
    let words: Vec<String> = value.try_into().unwrap_or_default();
    let known = PLACES.map(|(surface, _)| surface);
    if words.len() == known.len() && known.iter().all(|surface| words.iter().any(|word| word == surface.as_str())) {
        return Ok(known.to_vec());
    }
    Err(format!("is not [\"{}\"]; a single one is said with `surface`", known.map(Surface::as_str).join("\", \"")))
}

/// Returns every surface that a file can be about.
pub(super) fn all() -> Vec<Surface> {
    PLACES.map(|(surface, _)| surface).to_vec()
}

/// Returns the part of a table that is about one surface.
pub(super) fn only(table: Table, surface: Surface) -> Table {
    table.into_iter().filter_map(|(key, value)| Some((key, of(value, surface)?))).collect()
}

/// Returns the part of a value that is about one surface; `None` when it is about others alone.
fn of(value: Value, surface: Surface) -> Option<Value> {
    Some(match value {
        Value::String(text) => Value::String(filled(&text, surface)),
        Value::Array(entries) => Value::Array(entries.into_iter().filter_map(|entry| of(entry, surface)).collect()),
        Value::Table(mut table) if is_a_choice(&table) => return of(table.remove(surface.as_str())?, surface),
        Value::Table(table) => Value::Table(only(table, surface)),
        other => other,
    })
}

fn is_a_choice(table: &Table) -> bool {
    let is_surface = |key: &String| PLACES.iter().any(|(surface, _)| surface.as_str() == key);
    !table.is_empty() && table.keys().all(is_surface)
}

fn filled(text: &str, surface: Surface) -> String {
    let place = PLACES.iter().find(|(known, _)| *known == surface).map_or("", |(_, place)| place);
    text.replace("{surface}/", place).replace("{surface}", surface.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_what_it_says_about_the_surface() {
        let text = r#"
            id = "{surface}_shelves_list"
            path = "/api/v2/{surface}/shelves/"
            notes = { project = "of a project", workspace = "of all" }
            errors = [[404, "gone", "no {surface}"], { project = [409, "taken", "here"] }]
            hint.workspace = { type = "string" }
            kind = { project = "plain", other = "kept as it is" }
        "#;
        let table: Table = text.parse().unwrap();
        let expected = r#"
            id = "workspace_shelves_list"
            path = "/api/v2/workspaces/{slug}/shelves/"
            notes = "of all"
            errors = [[404, "gone", "no workspace"]]
            hint = { type = "string" }
            kind = { project = "plain", other = "kept as it is" }
        "#;
        assert_eq!(only(table.clone(), Surface::Workspace), expected.parse().unwrap());
        let project = only(table, Surface::Project);
        assert_eq!(project["path"].as_str(), Some("/api/v2/workspaces/{slug}/projects/{project_id}/shelves/"));
        assert!(!project.contains_key("hint"));
    }
}
