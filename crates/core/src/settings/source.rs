//! Sources of settings: the defaults, a file, the environment and flags, each value with its origin.
//!
//! Goal: every error names the line or variable to change. May use: `settings::error`, `settings::flatten`,
//! `settings::raw`.

use super::error::{Origin, SettingsError};
use super::flatten::{file_origin, flatten, not_toml};
use super::raw::{Entries, Entry, Raw};
use std::path::Path;

/// The compiled-in defaults, which are also the documentation of all settings.
pub const DEFAULTS: &str = include_str!("../../../../config/causeway.toml");

/// Prefix of the gateway's environment variables.
pub const ENVIRONMENT_PREFIX: &str = "CAUSEWAY_";

/// Variable that names the settings file. The command line reads it; it is not a setting.
pub const FILE_VARIABLE: &str = "CAUSEWAY_CONFIG";

/// Variables that single commands read as arguments. They are not settings either.
const COMMAND_VARIABLES: [&str; 4] =
    ["CAUSEWAY_KEY", "CAUSEWAY_CHECK_KEY", "CAUSEWAY_TARGET_KEY", "CAUSEWAY_V1_KEY"];

/// Returns the compiled-in defaults.
pub(super) fn defaults() -> Entries {
    let origin = |_| Origin::Default;
    flatten(DEFAULTS, origin).expect("the compiled-in defaults are valid TOML, as their test holds")
}

/// Reads the values of a settings file with the content `text`.
pub(super) fn file(path: &Path, text: &str) -> Result<Entries, SettingsError> {
    flatten(text, |offset| file_origin(path, text, offset)).map_err(|error| not_toml(path, text, &error))
}

/// Returns the settings in `variables`. Service variables of Kubernetes are not settings.
pub(super) fn environment(variables: impl IntoIterator<Item = (String, String)>) -> Entries {
    variables.into_iter().filter_map(environment_entry).collect()
}

/// Returns the values of flags, by dotted name.
pub(super) fn flags(overrides: Vec<(String, String)>) -> Entries {
    let entry = |(key, text)| (key, Entry { raw: Raw::Bare(text), origin: Origin::Flag });
    overrides.into_iter().map(entry).collect()
}

/// Returns the environment variable of the setting `key`.
pub(super) fn variable(key: &str) -> String {
    format!("{ENVIRONMENT_PREFIX}{}", key.replace('.', "__").to_ascii_uppercase())
}

fn environment_entry((variable, text): (String, String)) -> Option<(String, Entry)> {
    let name = variable.strip_prefix(ENVIRONMENT_PREFIX)?;
    let is_of_a_command = variable == FILE_VARIABLE || COMMAND_VARIABLES.contains(&variable.as_str());
    if is_of_a_command || is_of_kubernetes(name, &text) {
        return None;
    }
    let key = name.to_ascii_lowercase().replace("__", ".");
    Some((key, Entry { raw: Raw::Bare(text), origin: Origin::Environment(variable) }))
}

/// Checks for variables like `CAUSEWAY_SERVICE_HOST` and `CAUSEWAY_REDIS_PORT=tcp://10.0.0.2:6379`, which Kubernetes
/// gives every pod when a service is called causeway or causeway-redis. Settings in a table have two underscores
/// together, and a plain number in `CAUSEWAY_LISTEN_PORT` is a mistake to be told.
fn is_of_kubernetes(name: &str, text: &str) -> bool {
    let name = format!("_{name}");
    let is_service = name.contains("_SERVICE_HOST") || name.contains("_SERVICE_PORT");
    let is_address = name.ends_with("_PORT") && text.contains("://") || name.contains("_PORT_");
    !name.contains("__") && (is_service || is_address)
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
            ("CAUSEWAY_CONFIG", ""),
            ("CAUSEWAY_PORT", "tcp://10.0.0.2:80"),
            ("CAUSEWAY_PORT_80_TCP", "tcp://10.0.0.2:80"),
            ("CAUSEWAY_SERVICE_PORT_HTTP", "80"),
            ("CAUSEWAY_REDIS_SERVICE_HOST", "10.0.0.2"),
            ("CAUSEWAY_REDIS_SERVICE_PORT", "6379"),
            ("CAUSEWAY_REDIS_PORT", "tcp://10.0.0.2:6379"),
            ("CAUSEWAY_REDIS_PORT_6379_TCP_ADDR", "10.0.0.2"),
            ("CAUSEWAY_KEY", ""),
        ];
        assert!(environment(given.map(|(name, text)| (name.to_owned(), text.to_owned()))).is_empty());
        let settings = defaults().into_keys().map(|key| (variable(&key), String::new()));
        assert_eq!(environment(settings).len(), defaults().len());
        let mistaken = ["CAUSEWAY_LISTEN__PORT", "CAUSEWAY_LISTEN_PORT"];
        let refused = environment(mistaken.map(|name| (name.to_owned(), "80".to_owned())));
        assert_eq!(refused.len(), 2, "they are no settings");
    }
}
