//! Settings: flags over environment over settings file over the compiled-in defaults.
//!
//! Purpose: one checked value, [`Settings`], made once at start; a fault names the setting, where its
//! value came from and the remedy, and all faults are reported at once. `config/causeway.toml` documents
//! every setting and is compiled in as the default. Each concern has its own small struct and file.
//!
//! Own layering rather than a general crate, because those lose the line or variable a value came from.
//!
//! May use: nothing of this crate. May be used by every folder.

mod admin;
mod bounded;
mod cache;
mod cors;
mod edge;
mod error;
mod hints;
mod idempotency;
mod index;
mod limits;
mod listen;
mod loaded;
mod log;
mod native;
mod oauth;
mod origin;
mod pipes;
mod public;
mod rate;
mod reader;
mod ready;
mod retirement;
mod secrets;
mod shared;
mod source;
mod store;
mod tables;
mod traces;
mod types;
mod upstream;
mod usage;
mod value;
mod words;
mod workflow;

pub use admin::{AdminSettings, TOKEN_FORM, is_token};
pub use cache::CacheSettings;
pub use cors::CorsSettings;
pub use edge::{EdgeSettings, Underscores};
pub use error::{SettingFault, SettingsError};
pub use hints::HintSettings;
pub use idempotency::IdempotencySettings;
pub use index::IndexSettings;
pub use limits::LimitSettings;
pub use listen::{ListenSettings, TlsSettings};
pub use log::{LogFormat, LogSettings};
pub use native::{Mode, NativeSettings, Serve, ShadowSettings};
pub use oauth::OAuthSettings;
pub use origin::Origin;
pub use public::PublicSettings;
pub use rate::RateSettings;
pub use ready::ReadySettings;
pub use retirement::{Brownout, EVERY, Notice, RetirementSettings};
pub use secrets::SecretSettings;
pub use shared::SharedSettings;
pub use source::{DEFAULTS, ENVIRONMENT_PREFIX, FILE_VARIABLE};
pub use store::StoreSettings;
pub use traces::TraceSettings;
pub use types::TypeSettings;
pub use upstream::UpstreamSettings;
pub use usage::UsageSettings;
pub use value::{HttpAddress, Secret, path_of};
pub use words::most_similar;
pub use workflow::{Move, ProjectWorkflow, WorkflowSettings};

use reader::Reader;
use source::Entries;
use std::path::{Path, PathBuf};

/// Settings files that are used when they exist and no other is named, the first one found.
pub const USUAL_FILES: [&str; 2] = ["causeway.toml", "config/causeway.toml"];

/// Everything that can be set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The listener.
    pub listen: ListenSettings,
    /// The listener for operators.
    pub admin: AdminSettings,
    /// Counts of who calls which operation.
    pub usage: UsageSettings,
    /// The end of operations of v1.
    pub retirement: RetirementSettings,
    /// A v2 of the deployment's own.
    pub native: NativeSettings,
    /// The strictness of the door.
    pub edge: EdgeSettings,
    /// The public address.
    pub public: PublicSettings,
    /// The service behind.
    pub upstream: UpstreamSettings,
    /// The store.
    pub store: StoreSettings,
    /// What several processes share beside it.
    pub shared: SharedSettings,
    /// Limits of requests.
    pub limits: LimitSettings,
    /// Ages of cached answers.
    pub cache: CacheSettings,
    /// Requests that clients may repeat.
    pub idempotency: IdempotencySettings,
    /// Hints from v1's webhooks.
    pub hints: HintSettings,
    /// The index of work items.
    pub index: IndexSettings,
    /// Whether lists refuse unknown query parameters (O6).
    pub strict_query: bool,
    /// The authorization server.
    pub oauth: OAuthSettings,
    /// The secrets under which v1 keys are kept.
    pub secrets: SecretSettings,
    /// When it is ready.
    pub ready: ReadySettings,
    /// Cross-origin access.
    pub cors: CorsSettings,
    /// The log.
    pub log: LogSettings,
    /// Where traces go.
    pub traces: TraceSettings,
    /// Work item types.
    pub types: TypeSettings,
    /// Workflow rules of projects.
    pub workflow: WorkflowSettings,
    /// Folder with mapping files that are laid over the built-in ones.
    pub mappings: Option<PathBuf>,
    /// Names of secrets that are arguments.
    exposed: Vec<String>,
}

/// Settings and what stood there, to be compared with a later reading.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The settings.
    pub settings: Settings,
    values: loaded::Values,
}

impl Loaded {
    /// Names of the settings that are written differently than in `before`.
    pub fn changed_from(&self, before: &Self) -> Vec<String> {
        loaded::changed(&self.values, &before.values)
    }
}

/// Where [`Settings::load`] looks.
#[derive(Debug, Clone, Default)]
pub struct LoadArgs<E> {
    /// Settings file that must exist; `None` tries [`USUAL_FILES`].
    pub file: Option<PathBuf>,
    /// Environment variables, all of them; those without the prefix are skipped.
    pub env: E,
    /// Flags: dotted name and text.
    pub overrides: Vec<(String, String)>,
}

impl Settings {
    /// Reads and checks all settings.
    ///
    /// # Errors
    /// All faults at once; a file that cannot be read or is not TOML is reported alone.
    pub fn load(args: LoadArgs<impl IntoIterator<Item = (String, String)>>) -> Result<Self, SettingsError> {
        Self::load_from(args).map(|loaded| loaded.settings)
    }

    /// The same with what stood there, to be compared with what stands there later.
    ///
    /// # Errors
    /// As [`Settings::load`].
    pub fn load_from(args: LoadArgs<impl IntoIterator<Item = (String, String)>>) -> Result<Loaded, SettingsError> {
        let file = read_file(args.file.as_deref())?;
        let mut reader = Reader::new([file, source::environment(args.env), source::flags(args.overrides)]);
        let settings = Self::read(&mut reader);
        let values = reader.values();
        Ok(Loaded { settings: reader.finish(settings)?, values })
    }

    /// The same for a process that serves and reads its settings again.
    ///
    /// # Errors
    /// As [`Settings::load`], and for a file that is a pipe: it has been read, and reading it again would wait for ever.
    pub fn load_again(args: LoadArgs<impl IntoIterator<Item = (String, String)>>) -> Result<Loaded, SettingsError> {
        if let Some(path) = args.file.as_deref() {
            pipes::refuse(&path.display().to_string(), path)?;
        }
        let loaded = Self::load_from(args)?;
        let settings = &loaded.settings;
        for (name, path) in [
            ("secrets.key_file", &settings.secrets.key_file),
            ("admin.token_file", &settings.admin.token_file),
            ("hints.secrets_file", &settings.hints.secrets_file),
        ] {
            if let Some(path) = path {
                pipes::refuse(name, path)?;
            }
        }
        Ok(loaded)
    }

    /// Whether the setting `name` can change while the gateway serves; the others need a restart.
    pub fn reloads(name: &str) -> bool {
        loaded::reloads(name)
    }

    /// What is allowed and probably not wanted, a sentence each.
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
        open.then_some(warning).into_iter().chain(exposed).collect()
    }

    fn read(from: &mut Reader) -> Self {
        let (listen, public) = (ListenSettings::read(from), PublicSettings::read(from));
        Self {
            native: NativeSettings::read(from, &listen, &public),
            upstream: UpstreamSettings::read(from),
            listen,
            admin: AdminSettings::read(from),
            usage: UsageSettings::read(from),
            retirement: RetirementSettings::read(from),
            edge: EdgeSettings::read(from),
            public,
            store: StoreSettings::read(from),
            shared: SharedSettings::read(from),
            limits: LimitSettings::read(from),
            cache: CacheSettings::read(from),
            idempotency: IdempotencySettings::read(from),
            hints: HintSettings::read(from),
            index: IndexSettings::read(from),
            strict_query: from.get("strict_query"),
            oauth: OAuthSettings::read(from),
            secrets: SecretSettings::read(from),
            ready: ReadySettings::read(from),
            cors: CorsSettings::read(from),
            log: LogSettings::read(from),
            traces: TraceSettings::read(from),
            types: TypeSettings::read(from),
            workflow: WorkflowSettings::read(from),
            mappings: from.optional("mappings"),
            exposed: from.exposed(),
        }
    }
}

impl Default for Settings {
    /// The compiled-in defaults alone.
    fn default() -> Self {
        Self::read(&mut Reader::new([]))
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

#[cfg(test)]
mod tests;
