//! Where settings come from: flattens TOML, environment and flags into dotted names, each value with its
//! origin.
//!
//! Goal: an error can always say which line or variable to change. May use: `settings::error`.

use super::error::{Origin, SettingFault, SettingsError};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The compiled-in defaults, the documentation of all settings at the same time.
pub const DEFAULTS: &str = include_str!("../../../../config/causeway.toml");

/// What environment variables of the gateway begin with.
pub const ENVIRONMENT_PREFIX: &str = "CAUSEWAY_";

/// Variable that names the settings file; read by the command line, not a setting itself.
pub const FILE_VARIABLE: &str = "CAUSEWAY_CONFIG";

/// Variables that single commands read as arguments; no settings either.
const COMMAND_VARIABLES: [&str; 3] = ["CAUSEWAY_KEY", "CAUSEWAY_CHECK_KEY", "CAUSEWAY_TARGET_KEY"];

/// A value as written, before its type is known.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Raw {
    /// Text without a type: from the environment or a flag.
    Bare(String),
    /// A TOML string.
    Text(String),
    /// A TOML integer.
    Integer(i64),
    /// A TOML boolean.
    Boolean(bool),
    /// A TOML array.
    List(Vec<Raw>),
    /// A TOML table inside a list.
    Table(BTreeMap<String, Raw>),
    /// Any other TOML value, as written or by type.
    Other(String),
}

impl fmt::Display for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bare(text) | Self::Text(text) => write!(f, "\"{text}\""),
            Self::Integer(number) => write!(f, "{number}"),
            Self::Boolean(value) => write!(f, "{value}"),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(Self::to_string).collect();
                write!(f, "[{}]", items.join(", "))
            }
            Self::Table(members) => {
                let members: Vec<String> = members.iter().map(|(name, raw)| format!("{name} = {raw}")).collect();
                write!(f, "{{ {} }}", members.join(", "))
            }
            Self::Other(text) => f.write_str(text),
        }
    }
}

/// A value with its origin.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub raw: Raw,
    pub origin: Origin,
}

/// Values by dotted name.
pub(super) type Entries = BTreeMap<String, Entry>;

/// The compiled-in defaults.
pub(super) fn defaults() -> Entries {
    let origin = |_| Origin::Default;
    flatten(DEFAULTS, origin).expect("the compiled-in defaults are valid TOML, as their test holds")
}

/// The values of a settings file with `text`.
pub(super) fn file(path: &Path, text: &str) -> Result<Entries, SettingsError> {
    flatten(text, |offset| file_origin(path, text, offset)).map_err(|error| not_toml(path, text, &error))
}

/// The settings among `variables`; service variables of Kubernetes are none.
pub(super) fn environment(variables: impl IntoIterator<Item = (String, String)>) -> Entries {
    variables.into_iter().filter_map(environment_entry).collect()
}

/// The values of flags, by dotted name.
pub(super) fn flags(overrides: Vec<(String, String)>) -> Entries {
    let entry = |(key, text)| (key, Entry { raw: Raw::Bare(text), origin: Origin::Flag });
    overrides.into_iter().map(entry).collect()
}

/// The environment variable of the setting `key`.
pub(super) fn variable(key: &str) -> String {
    format!("{ENVIRONMENT_PREFIX}{}", key.replace('.', "__").to_ascii_uppercase())
}

fn environment_entry((variable, text): (String, String)) -> Option<(String, Entry)> {
    let name = variable.strip_prefix(ENVIRONMENT_PREFIX)?;
    if variable == FILE_VARIABLE || COMMAND_VARIABLES.contains(&variable.as_str()) || is_kubernetes_service(name) {
        return None;
    }
    let key = name.to_ascii_lowercase().replace("__", ".");
    Some((key, Entry { raw: Raw::Bare(text), origin: Origin::Environment(variable) }))
}

/// Kubernetes gives every pod variables like `CAUSEWAY_SERVICE_HOST` and `CAUSEWAY_PORT_8080_TCP` when
/// a service is called causeway.
fn is_kubernetes_service(name: &str) -> bool {
    name == "PORT"
        || name.starts_with("PORT_")
        || name == "SERVICE_HOST"
        || name == "SERVICE_PORT"
        || name.starts_with("SERVICE_PORT_")
}

fn not_toml(path: &Path, text: &str, error: &toml::de::Error) -> SettingsError {
    let offset = error.span().map_or(0, |span| span.start);
    SettingFault {
        setting: path.display().to_string(),
        origin: Some(file_origin(path, text, offset)),
        problem: format!("not valid TOML: {}", error.message()),
        remedy: "correct the line".into(),
    }
    .into()
}

fn file_origin(path: &Path, text: &str, offset: usize) -> Origin {
    let before = &text.as_bytes()[..offset.min(text.len())];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    Origin::File { path: path.to_owned(), line }
}

fn flatten(text: &str, origin: impl Fn(usize) -> Origin) -> Result<Entries, toml::de::Error> {
    let table = DeTable::parse(text)?;
    let mut entries = Entries::new();
    flatten_table("", table.get_ref(), &origin, &mut entries);
    Ok(entries)
}

fn flatten_table(prefix: &str, table: &DeTable<'_>, origin: &dyn Fn(usize) -> Origin, into: &mut Entries) {
    for (key, value) in table {
        let name = dotted(prefix, key.get_ref());
        match value.get_ref() {
            DeValue::Table(inner) => flatten_table(&name, inner, origin, into),
            _ => {
                into.insert(name, Entry { raw: raw(value), origin: origin(key.span().start) });
            }
        }
    }
}

/// The name of `key` in `table`, which is empty for what stands in none.
pub(super) fn dotted(table: &str, key: &str) -> String {
    if table.is_empty() { key.to_owned() } else { format!("{table}.{key}") }
}

/// A value that is written in TOML although it comes from the environment or a flag.
pub(super) fn inline(text: &str) -> Option<Raw> {
    let line = format!("value = {text}");
    let table = DeTable::parse(&line).ok()?;
    let members = table.get_ref();
    if members.len() != 1 {
        return None;
    }
    members.iter().next().map(|(_, value)| raw(value))
}

fn raw(value: &Spanned<DeValue<'_>>) -> Raw {
    match value.get_ref() {
        DeValue::String(text) => Raw::Text(text.to_string()),
        DeValue::Boolean(value) => Raw::Boolean(*value),
        DeValue::Array(items) => Raw::List(items.iter().map(raw).collect()),
        DeValue::Table(members) => {
            Raw::Table(members.iter().map(|(name, value)| (name.get_ref().to_string(), raw(value))).collect())
        }
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or_else(|_| Raw::Other(number.as_str().to_owned()), Raw::Integer),
        DeValue::Datetime(date) => Raw::Other(date.to_string()),
        other => Raw::Other(format!("a {}", other.type_str())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_value_is_known() {
        let entries = file(Path::new("c.toml"), "strict_query = true\n\n[limits]\nbody = \"2MiB\"\n").unwrap();
        assert_eq!(entries["limits.body"].origin.to_string(), "c.toml, line 4");
    }

    #[test]
    fn faulty_toml_names_file_and_line() {
        let error = file(Path::new("c.toml"), "[listen]\naddress = = 1\n").unwrap_err();
        assert!(error.to_string().contains("c.toml, line 2"), "{error}");
    }

    #[test]
    fn variables_become_dotted_names() {
        let given = [("CAUSEWAY_UPSTREAM__BASE_URL", "x"), ("CAUSEWAY_STRICT_QUERY", "y"), ("PATH", "z")];
        let entries = environment(given.map(|(name, text)| (name.to_owned(), text.to_owned())));
        assert_eq!(entries.keys().collect::<Vec<_>>(), ["strict_query", "upstream.base_url"]);
        assert_eq!(variable("upstream.base_url"), "CAUSEWAY_UPSTREAM__BASE_URL");
    }

    #[test]
    fn variables_that_are_no_settings_are_left_alone() {
        let given = [
            "CAUSEWAY_CONFIG",
            "CAUSEWAY_PORT",
            "CAUSEWAY_PORT_80_TCP",
            "CAUSEWAY_SERVICE_PORT_HTTP",
            "CAUSEWAY_KEY",
        ];
        assert!(environment(given.map(|name| (name.to_owned(), String::new()))).is_empty());
    }
}
