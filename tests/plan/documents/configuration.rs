//! `docs/configuration.md`: every setting, read off the documented defaults that are compiled in.

use causeway::settings::{DEFAULTS, ENVIRONMENT_PREFIX};
use std::fmt::Write;

const HEAD: &str = "\
# Configuration

Every setting with its default and its environment variable. This page is generated from
[config/causeway.toml](../config/causeway.toml), which is compiled in as the default; change that file, not this page.

A setting can come from several places. The first of these that has it wins: command line flags (`--set name=value` takes
any setting but `admin.token`), environment variables, the settings file (`--config FILE`, else `causeway.toml` or
`config/causeway.toml` in the current folder), the defaults. Unknown names are refused. An empty text stands for the
default, also where a later place has a value. Durations are written `500ms`, `30s`, `10m`, `1h`, and are at most ten
years (`87600h`); sizes as bytes, or `64KiB`, `1MiB`, `2GiB`. In environment variables lists are separated by commas. Lists of tables (`workflow`, `retirement`, `brownout`, `native.serve`)
are written as TOML there and after `--set`, such as
`CAUSEWAY_NATIVE__SERVE='[{ operations = [\"states\"], mode = \"native\" }]'`.

The variable `CAUSEWAY_CONFIG` names the settings file as `--config` does. Variables that hold keys for commands are no
settings: `CAUSEWAY_CHECK_KEY` (`check`, `doctor`), `CAUSEWAY_KEY` (`explain`, `verify`, `leave`), `CAUSEWAY_TARGET_KEY`
(`leave`) and `CAUSEWAY_V1_KEY` (`key mint`).
";

/// One setting of the documented defaults.
struct Setting<'d> {
    section: &'d str,
    name: &'d str,
    /// The default as written; none when the line is commented out.
    default: Option<&'d str>,
    about: String,
}

/// The document.
pub fn markdown() -> String {
    let mut text = HEAD.to_owned();
    let mut section = None;
    for setting in settings() {
        if section != Some(setting.section) {
            let title = if setting.section.is_empty() { "General" } else { setting.section };
            let _ = write!(text, "\n## {title}\n\n| Setting | Default | Environment | |\n|---|---|---|---|\n");
            section = Some(setting.section);
        }
        let name = match setting.section {
            "" => setting.name.to_owned(),
            section => format!("{section}.{}", setting.name),
        };
        let variable = format!("{ENVIRONMENT_PREFIX}{}", name.to_ascii_uppercase().replace('.', "__"));
        let default = setting.default.map_or("none".to_owned(), |default| format!("`{default}`"));
        let _ = writeln!(text, "| `{name}` | {default} | `{variable}` | {} |", setting.about.replace('|', "\\|"));
    }
    text
}

fn settings() -> Vec<Setting<'static>> {
    let (mut settings, mut section, mut about) = (Vec::new(), "", Vec::new());
    for line in DEFAULTS.lines() {
        let unmarked = line.trim_start_matches("# ");
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
        } else if let Some((name, value)) = unmarked.split_once(" = ") {
            let default = (!line.starts_with('#')).then_some(value);
            settings.push(Setting { section, name, default, about: about.join(" ") });
            about.clear();
        } else if line.is_empty() {
            about.clear();
        } else {
            about.push(unmarked.trim_start_matches('#').trim());
        }
    }
    settings
}
