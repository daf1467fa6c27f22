//! Settings: flags take precedence over the environment, then the settings file, then the compiled-in defaults.
//!
//! Purpose: one checked value, [`Settings`], made once at start. A fault names the setting, the origin of its
//! value and the remedy, and all faults are reported at once. `config/causeway.toml` documents
//! every setting and is compiled in as the default.
//!
//! The layering is our own, because general crates lose the line or variable that a value came from.
//!
//! May use: nothing of this crate. May be used by every folder.

mod address;
mod cache;
mod credentials;
mod error;
mod flatten;
mod keeping;
mod native;
mod raw;
mod reader;
mod retirement;
mod serving;
mod source;
mod tables;
mod upstream;
mod value;
mod workflow;

pub use address::{HttpAddress, path_of};
pub use cache::{CacheSettings, IdempotencySettings, IndexSettings};
pub use credentials::{HintSettings, OAuthSettings, SecretSettings};
pub use error::{Origin, SettingFault, SettingsError};
pub use keeping::{SharedSettings, StoreSettings, TypeSettings, UsageSettings};
pub use native::{Mode, NativeSettings, Serve, ShadowSettings};
pub use reader::most_similar;
pub use retirement::{Brownout, EVERY, Notice, RetirementSettings};
pub use serving::{
    AdminSettings, CorsSettings, EdgeSettings, LimitSettings, ListenSettings, LogFormat, LogSettings,
    PublicSettings, RateSettings, ReadySettings, TOKEN_FORM, TlsSettings, TraceSettings, Underscores, is_token,
};
pub use source::{DEFAULTS, ENVIRONMENT_PREFIX, FILE_VARIABLE};
pub use upstream::UpstreamSettings;
pub use value::Secret;
pub use workflow::{Move, ProjectWorkflow, WorkflowSettings};

use native::native;
use raw::Entries;
use reader::{Reader, settings};
use serving::admin;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Settings files for which the gateway looks when none is named. The first one that exists is used.
const USUAL_FILES: [&str; 2] = ["causeway.toml", "config/causeway.toml"];

settings! {
    /// All settings.
    #[derive(Debug, Clone, PartialEq, Eq)]
    Settings {
        /// The listener.
        listen: ListenSettings = ListenSettings::read,
        /// The listener for operators.
        admin: AdminSettings = admin(&listen),
        /// Counts of calls by caller and operation.
        usage: UsageSettings = UsageSettings::read,
        /// The end of operations of v1.
        retirement: RetirementSettings = RetirementSettings::read,
        /// The public address.
        public: PublicSettings = PublicSettings::read,
        /// A v2 of the deployment's own.
        native: NativeSettings = native(&listen, &public),
        /// The handling of incoming requests and outgoing answers.
        edge: EdgeSettings = EdgeSettings::read,
        /// The deployment behind the gateway (v1).
        upstream: UpstreamSettings = UpstreamSettings::read,
        /// The store.
        store: StoreSettings = StoreSettings::read,
        /// The place that several processes share beside the store.
        shared: SharedSettings = SharedSettings::read,
        /// Limits of requests.
        limits: LimitSettings = LimitSettings::read,
        /// Ages of cached answers.
        cache: CacheSettings = CacheSettings::read,
        /// Requests that clients may repeat.
        idempotency: IdempotencySettings = IdempotencySettings::read,
        /// Hints from v1's webhooks.
        hints: HintSettings = HintSettings::read,
        /// The index of work items.
        index: IndexSettings = IndexSettings::read,
        /// Whether lists refuse unknown query parameters (O6).
        strict_query: bool = Reader::get,
        /// The authorization server.
        oauth: OAuthSettings = OAuthSettings::read,
        /// The secrets that encrypt v1 keys.
        secrets: SecretSettings = SecretSettings::read,
        /// The conditions under which the gateway is ready.
        ready: ReadySettings = ReadySettings::read,
        /// Cross-origin access.
        cors: CorsSettings = CorsSettings::read,
        /// The log.
        log: LogSettings = LogSettings::read,
        /// The destination of traces.
        traces: TraceSettings = TraceSettings::read,
        /// Work item types.
        types: TypeSettings = TypeSettings::read,
        /// Workflow rules of projects.
        workflow: WorkflowSettings = WorkflowSettings::read,
        /// Folder with mapping files that are laid over the built-in ones.
        mappings: Option<PathBuf> = Reader::optional,
        /// Names of secrets that were given as arguments.
        exposed: Vec<String> = Reader::exposed,
    }
}

/// Settings, or whole tables of settings, that can change while the gateway serves.
const RELOADED: [&str; 32] = [
    "admin.hosts",
    "admin.token",
    "admin.token_file",
    "brownout",
    "cache.",
    "cors.",
    "edge.",
    "hints.",
    "idempotency.",
    "index.ahead",
    "limits.body",
    "limits.body_grace",
    "limits.body_pace",
    "limits.body_pause",
    "limits.body_time",
    "limits.rate.",
    "limits.writers_waiting",
    "log.filter",
    "log.owner",
    "log.slow",
    "mappings",
    "native.",
    "oauth.",
    "public_url",
    "ready.",
    "retirement",
    "secrets.",
    "strict_query",
    "trusted_proxies",
    "types.",
    "upstream.service_key",
    "workflow",
];

/// The settings and their written values, for comparison with a later reading.
#[derive(Clone)]
pub struct Loaded {
    /// The settings.
    pub settings: Settings,
    /// The values as written, by name.
    values: BTreeMap<String, String>,
}

impl fmt::Debug for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The values hold secrets as they were written.
        f.debug_struct("Loaded").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Loaded {
    /// Returns the names of settings whose written value differs from `before`.
    pub fn changed_from(&self, before: &Self) -> Vec<String> {
        let names: BTreeSet<&String> = self.values.keys().chain(before.values.keys()).collect();
        names.into_iter().filter(|name| self.values.get(*name) != before.values.get(*name)).cloned().collect()
    }
}

/// The sources from which [`Settings::load`] reads.
#[derive(Debug, Clone, Default)]
pub struct LoadArgs<E> {
    /// Settings file that must exist; `None` tries the usual ones.
    pub file: Option<PathBuf>,
    /// All environment variables; those without the prefix are skipped.
    pub env: E,
    /// Flags: dotted name and text.
    pub overrides: Vec<(String, String)>,
}

impl Settings {
    /// Reads and checks all settings.
    ///
    /// # Errors
    /// Returns all faults at once. A file that cannot be read or is not TOML is reported alone.
    pub fn load(args: LoadArgs<impl IntoIterator<Item = (String, String)>>) -> Result<Self, SettingsError> {
        Self::load_from(args).map(|loaded| loaded.settings)
    }

    /// As [`Settings::load`], but also returns the written values, for comparison with a later reading.
    ///
    /// # Errors
    /// As [`Settings::load`].
    pub fn load_from(args: LoadArgs<impl IntoIterator<Item = (String, String)>>) -> Result<Loaded, SettingsError> {
        let file = read_file(args.file.as_deref())?;
        let mut reader = Reader::new([file, source::environment(args.env), source::flags(args.overrides)]);
        let settings = Self::read(&mut reader, "");
        let values = reader.values();
        Ok(Loaded { settings: reader.finish(settings)?, values })
    }

    /// As [`Settings::load_from`], for a running process that reads its settings again.
    ///
    /// # Errors
    /// As [`Settings::load`], and for a file that is a pipe: it was already read, and reading it again would never end.
    pub fn load_again(args: LoadArgs<impl IntoIterator<Item = (String, String)>>) -> Result<Loaded, SettingsError> {
        if let Some(path) = args.file.as_deref() {
            refuse_pipe(&path.display().to_string(), path)?;
        }
        let loaded = Self::load_from(args)?;
        let settings = &loaded.settings;
        for (name, path) in [
            ("secrets.key_file", &settings.secrets.key_file),
            ("admin.token_file", &settings.admin.token_file),
            ("hints.secrets_file", &settings.hints.secrets_file),
        ] {
            if let Some(path) = path {
                refuse_pipe(name, path)?;
            }
        }
        Ok(loaded)
    }

    /// Checks whether the setting `name` can change while the gateway serves. All other settings need a restart.
    pub fn reloads(name: &str) -> bool {
        let is = |known: &&str| if known.ends_with('.') { name.starts_with(*known) } else { name == *known };
        RELOADED.iter().any(is)
    }

    /// Returns a sentence for each setting that is allowed but probably not wanted.
    pub fn warnings(&self) -> Vec<String> {
        let open = !self.listen.address.ip().to_canonical().is_loopback() && self.public.url.is_none();
        let warning = format!(
            "public_url is not set although {} can be reached from other machines: addresses in answers, and the \
             issuer of OAuth, are then what each client says in its Host header; set public_url",
            self.listen.address
        );
        let exposed = self.exposed.iter().map(|name| {
            let variable = source::variable(name);
            format!("{name} is an argument, which everybody on the machine can read; use the variable {variable}")
        });
        let passed = self.retirement.passed(jiff::Timestamp::now());
        open.then_some(warning).into_iter().chain(exposed).chain(passed).collect()
    }
}

impl Default for Settings {
    /// Returns the compiled-in defaults alone.
    fn default() -> Self {
        Self::read(&mut Reader::new([]), "")
    }
}

fn read_file(named: Option<&Path>) -> Result<Entries, SettingsError> {
    let usual = || USUAL_FILES.iter().map(Path::new).find(|path| path.is_file());
    let Some(path) = named.or_else(usual) else { return Ok(Entries::new()) };
    let text = std::fs::read_to_string(path).map_err(|error| {
        let problem = format!("the settings file cannot be read: {error}");
        SettingFault::new(
            path.display().to_string(),
            problem,
            "correct the path, or leave it out to use the defaults",
        )
    })?;
    source::file(path, &text)
}

/// Refuses a pipe at `path`, which `setting` names. Reading a pipe again would wait until a process writes to it.
fn refuse_pipe(setting: &str, path: &Path) -> Result<(), SettingsError> {
    match std::fs::metadata(path) {
        Ok(there) if there.file_type().is_fifo() => {
            let problem = format!("{} is a pipe, which cannot be read again", path.display());
            Err(SettingFault::new(setting, problem, "name a file, or restart the gateway").into())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
