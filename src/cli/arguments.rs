//! Shared parts of commands: flags that override settings, the result of a command, its runtime, access to its store,
//! and its output for a terminal or the next program. May use: what `cli` may use.

use crate::app::compile_plan;
use crate::doctor::remedy_for_read_only;
use crate::plan::Plan;
use crate::settings::{ENVIRONMENT_PREFIX, FILE_VARIABLE, HttpAddress, LoadArgs, Loaded, Settings};
use crate::store::{Store, in_words};
use clap::Args;
use clap::builder::{OsStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use futures_util::FutureExt;
use std::env::{var_os, vars_os};
use std::fmt::Arguments;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write, stdout};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::exit;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::ctrl_c;
use tokio::signal::unix::{SignalKind, signal};
use uuid::Uuid;

/// Flags that override settings, before or behind the name of a command below theirs, but `--set` only before it.
#[derive(Debug, Clone, Default, Args)]
pub struct SettingArgs {
    /// Settings file (TOML); without it, ./causeway.toml or ./config/causeway.toml is read if it exists
    #[arg(long, value_name = "FILE", global = true, env = FILE_VARIABLE,
          value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub(super) config: Option<PathBuf>,
    /// Address of the v1 deployment, without /api/v1 [setting: upstream.base_url]
    #[arg(long, value_name = "URL", global = true)]
    pub(super) upstream: Option<String>,
    /// Address and port to listen on [setting: listen.address, default 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS", global = true)]
    pub(super) listen: Option<String>,
    /// Where the gateway keeps what v1 cannot hold [setting: store.url, default sqlite:causeway.db]
    #[arg(long, value_name = "URL", global = true)]
    pub(super) store: Option<String>,
    /// Folder with mapping files that are laid over the built-in ones [setting: mappings]
    #[arg(long, value_name = "FOLDER", global = true)]
    pub(super) mappings: Option<String>,
    /// Any other setting, such as --set limits.deadline=10s; may be repeated
    // Not global: clap would drop the values before the name when there are some behind it.
    #[arg(long = "set", value_name = "SETTING=VALUE")]
    pub(super) others: Vec<String>,
}

pub(super) fn server(text: &str) -> Result<HttpAddress, String> {
    let address =
        HttpAddress::parse(text).ok_or_else(|| "write it as http://host:port or https://host".to_owned())?;
    match ["/api/v2", "/api/v1", "/api"].into_iter().find(|interface| address.as_str().ends_with(interface)) {
        Some(interface) => Err(format!("write it without {interface}")),
        None => Ok(address),
    }
}

/// Parses the slug of a workspace on the command line.
pub(super) fn slug(text: &str) -> Result<String, String> {
    let belongs = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '~');
    if text.is_empty() || !text.chars().all(belongs) {
        return Err("it is no slug; a slug is the part of the address behind the host, such as acme-corp".into());
    }
    Ok(text.to_owned())
}

pub(super) fn id(text: &str) -> Result<Uuid, String> {
    let text = text.trim();
    Uuid::try_parse(text).map_err(|_| {
        "it is no id; ids look like 3f2b8c1e-5d4a-4e6f-9a7b-0c1d2e3f4a5b, and the command `list` beside this one or \
         the API shows them"
            .to_owned()
    })
}

/// Parses one of a few words on the command line. Each entry has the word, its meaning for people, and its value.
pub(super) fn one_of<T: Clone + Send + Sync + 'static>(
    words: &'static [(&'static str, &'static str, T)],
) -> impl TypedValueParser<Value = T> {
    let told = words.iter().map(|(word, meaning, _)| PossibleValue::new(*word).help(*meaning));
    PossibleValuesParser::new(told).try_map(|given| {
        let found = words.iter().find(|(word, ..)| **word == given);
        found.map(|(.., value)| value.clone()).ok_or("there is no such word")
    })
}

/// Result of a command: success, or an error text for standard error.
pub(super) type Outcome = Result<(), String>;

impl SettingArgs {
    /// Loads the settings and applies these flags.
    pub(super) fn load(&self) -> Result<Settings, String> {
        self.load_from().map(|loaded| loaded.settings)
    }

    /// Compiles the mappings of `--mappings`, without reading any settings, or else those that the settings name.
    pub(super) fn plan(&self) -> Result<Arc<Plan>, String> {
        let folder = match &self.mappings {
            Some(folder) if !folder.is_empty() => Some(PathBuf::from(folder)),
            _ => self.load()?.mappings,
        };
        compile_plan(folder.as_deref()).map_err(|fault| fault.to_string())
    }

    /// Loads the settings like [`SettingArgs::load`], in a form that can be compared with a later state.
    pub(super) fn load_from(&self) -> Result<Loaded, String> {
        Settings::load_from(self.sources()?).map_err(|faults| faults.to_string())
    }

    /// Loads the settings again in a process that already serves.
    pub(super) fn load_again(&self) -> Result<Loaded, String> {
        Settings::load_again(self.sources()?).map_err(|faults| faults.to_string())
    }

    fn sources(&self) -> Result<LoadArgs<Vec<(String, String)>>, String> {
        let flags = [
            ("upstream.base_url", &self.upstream),
            ("listen.address", &self.listen),
            ("store.url", &self.store),
            ("mappings", &self.mappings),
        ];
        let mut overrides: Vec<(String, String)> =
            flags.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.clone()?))).collect();
        for other in &self.others {
            let Some((name, value)) = other.split_once('=') else {
                return Err(format!(
                    "--set {other}: write it as SETTING=VALUE, for example --set limits.deadline=10s"
                ));
            };
            overrides.push((name.trim().to_owned(), value.to_owned()));
        }
        Ok(LoadArgs { file: self.file(), env: variables()?, overrides })
    }

    /// Returns the settings file. A variable that is set to nothing counts as not set.
    fn file(&self) -> Option<PathBuf> {
        let is_set_to_nothing = var_os(FILE_VARIABLE).is_some_and(|value| value.is_empty());
        self.config.clone().filter(|file| !is_set_to_nothing || !file.as_os_str().is_empty())
    }
}

/// Returns the environment variables. Those of other programs need not be text.
fn variables() -> Result<Vec<(String, String)>, String> {
    let mut variables = Vec::new();
    for (name, value) in vars_os() {
        let Ok(name) = name.into_string() else { continue };
        match value.into_string() {
            Ok(value) => variables.push((name, value)),
            Err(_) if name.starts_with(ENVIRONMENT_PREFIX) => {
                return Err(format!(
                    "the environment variable {name} is not UTF-8; write another value or unset it"
                ));
            }
            Err(_) => {}
        }
    }
    Ok(variables)
}

/// Longest wait, when a command ends, for a file that is still being read.
const READING: Duration = Duration::from_secs(5);

/// Runs `work` on a multi-threaded runtime.
pub(super) fn block_on<T>(work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|fault| format!("the runtime could not start: {fault}"))?;
    // On the heap, so that the code of the runtime is compiled once for all commands.
    let outcome = runtime.block_on(work.boxed_local());
    runtime.shutdown_timeout(READING);
    outcome
}

/// Resolves at the first SIGINT or SIGTERM.
pub(super) async fn stop_signal() {
    let interrupt = ctrl_c();
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => {
            tokio::select! { _ = interrupt => {}, _ = terminate.recv() => {} }
        }
        Err(_) => drop(interrupt.await),
    }
}

/// Writes to standard output. When the reader has closed the pipe, as `head` does, the process exits silently with 1.
pub(super) fn write(text: Arguments<'_>) {
    if let Err(fault) = stdout().lock().write_fmt(text) {
        if fault.kind() != ErrorKind::BrokenPipe {
            eprintln!("the output could not be written: {fault}");
        }
        exit(1);
    }
}

/// Prints text like [`std::print`], but accepts that the reader has closed the pipe.
macro_rules! print_out {
    ($($text:tt)*) => { $crate::cli::arguments::write(format_args!($($text)*)) };
}

/// Prints text like `print_out!`, and ends the line.
macro_rules! say {
    ($($text:tt)*) => { $crate::cli::arguments::write(format_args!("{}\n", format_args!($($text)*))) };
}

pub(super) use {print_out, say};

/// Creates a new file that only its owner can read and write.
pub(super) fn create_private_file(file: &Path) -> std::io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(file)
}

/// Opens the store at `url`, which must be one of a gateway, runs `work` with it and closes it.
pub(super) async fn with_store<T>(
    url: &str,
    work: impl AsyncFnOnce(&Store) -> Result<T, String>,
) -> Result<T, String> {
    closing(Store::open_existing(url).await?, work).await
}

/// Works like [`with_store`], but requires tables that this version reads correctly.
pub(super) async fn with_current_store<T>(
    url: &str,
    work: impl AsyncFnOnce(&Store) -> Result<T, String>,
) -> Result<T, String> {
    with_store(url, async |store| {
        expect_current(store).await?;
        work(store).await
    })
    .await
}

/// Fails when the tables are those of an older version, or when a newer version has changed the meaning of data.
pub(super) async fn expect_current(store: &Store) -> Outcome {
    store.check_readable().await?;
    match store.steps_to_take().await?.is_empty() {
        true => Ok(()),
        false => Err("the tables are not those of this version; run `causeway store migrate` first".to_owned()),
    }
}

/// Fails like [`expect_current`], and when a newer version does not allow this one to write.
pub(super) async fn expect_writable(store: &Store) -> Outcome {
    store.check_writable().await?;
    expect_current(store).await
}

/// Fails when the store at `url` can only be read.
pub(super) fn expect_not_read_only(store: &Store, url: &str) -> Outcome {
    match store.is_read_only() {
        true => Err(format!("{} can only be read; {}", in_words(url), remedy_for_read_only(url))),
        false => Ok(()),
    }
}

/// Works like [`with_store`], but creates the store when there is none.
pub(super) async fn with_store_made_if_absent<T>(
    url: &str,
    work: impl AsyncFnOnce(&Store) -> Result<T, String>,
) -> Result<T, String> {
    closing(Store::open_for_upkeep(url).await?, work).await
}

async fn closing<T>(store: Store, work: impl AsyncFnOnce(&Store) -> Result<T, String>) -> Result<T, String> {
    let outcome = work(&store).await;
    store.close().await;
    outcome
}
