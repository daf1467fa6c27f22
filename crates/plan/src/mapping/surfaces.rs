//! One file for several surfaces: what it says about one of them.
//!
//! Only a file with the key `surfaces` is read so, once for each. In its texts `{surface}/` stands for the path of the
//! surface, any other `{surface}` for its name, and a table of names of surfaces alone for what it says of this one.
//! May use: this folder.

use super::words::Surface;
use toml::{Table, Value};

/// Surfaces that one file can be about, and the path each is at.
const PLACES: [(Surface, &str); 2] =
    [(Surface::Project, "workspaces/{slug}/projects/{project_id}/"), (Surface::Workspace, "workspaces/{slug}/")];

/// The surfaces named by the value of the key `surfaces`, or what is wrong with it.
pub(super) fn named(value: Value) -> Result<Vec<Surface>, String> {
    let words: Vec<String> = value.try_into().unwrap_or_default();
    let known = PLACES.map(|(surface, _)| surface);
    if words.len() == known.len() && known.iter().all(|surface| words.iter().any(|word| word == surface.as_str())) {
        return Ok(known.to_vec());
    }
    Err(format!("is not [\"{}\"]; a single one is said with `surface`", known.map(Surface::as_str).join("\", \"")))
}

/// Every surface that a file can be about.
pub(super) fn all() -> Vec<Surface> {
    PLACES.map(|(surface, _)| surface).to_vec()
}

/// What a table says about one surface.
pub(super) fn only(table: Table, surface: Surface) -> Table {
    table.into_iter().filter_map(|(key, value)| Some((key, of(value, surface)?))).collect()
}

/// What a value says about one surface; none when it is about others alone.
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
