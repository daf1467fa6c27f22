//! `causeway oauth`: the apps that people may allow to act for them. May use: what `cli` may use.

use super::arguments::{Outcome, SettingArgs, block_on, say};
use crate::app;
use crate::oauth::protocol::registration::{Metadata, judge};
use crate::oauth::{AdminError, OAuth};
use crate::plan::scopes;
use crate::settings::Settings;
use crate::store::{Store, StoreError, missing_file};
use clap::{Args, Subcommand};

/// Arguments of `oauth`.
#[derive(Debug, Args)]
pub struct OAuthArgs {
    #[command(subcommand)]
    command: OAuthCommand,
}

#[derive(Debug, Subcommand)]
enum OAuthCommand {
    /// Manage clients
    #[command(subcommand)]
    Client(Box<ClientCommand>),
    /// List the scopes and what each opens
    Scopes {
        /// Also list scopes that open nothing in this version
        #[arg(long)]
        all: bool,
    },
}

#[derive(Debug, Subcommand)]
enum ClientCommand {
    /// Register a client; its secret is shown only once
    Create {
        #[command(flatten)]
        settings: SettingArgs,
        /// Name of the app for people
        #[arg(long)]
        name: String,
        /// Redirect address: https, http on 127.0.0.1, [::1] or localhost (any port), or a private
        /// scheme with a dot; may be repeated
        #[arg(long = "redirect-uri", value_name = "URI", required = true)]
        redirect_uris: Vec<String>,
        /// For apps that cannot keep a secret (browser, mobile, desktop): the app gets none and must use PKCE
        #[arg(long)]
        public: bool,
        /// The only scopes that the app may request, separated by blanks; if absent, all scopes
        #[arg(long, value_name = "SCOPES")]
        scopes: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List the clients
    List {
        #[command(flatten)]
        settings: SettingArgs,
    },
    /// Give a client a new secret; the old one stops working at once
    Rotate {
        #[command(flatten)]
        settings: SettingArgs,
        /// Id of the client
        id: String,
    },
    /// Delete a client and end all its grants
    Delete {
        #[command(flatten)]
        settings: SettingArgs,
        /// Id of the client
        id: String,
    },
}

pub(super) fn run(args: OAuthArgs) -> Outcome {
    let command = match args.command {
        OAuthCommand::Client(command) => command,
        OAuthCommand::Scopes { all } => return list_scopes(all),
    };
    block_on(async move {
        match *command {
            ClientCommand::Create { settings, name, redirect_uris, public, scopes, json } => {
                let metadata = Metadata {
                    redirect_uris,
                    client_name: Some(name),
                    token_endpoint_auth_method: public.then(|| "none".to_owned()),
                    scope: scopes.map(|scopes| scopes.replace(',', " ")),
                    ..Metadata::default()
                };
                create(&settings, metadata, json).await
            }
            ClientCommand::List { settings } => list(&settings).await,
            ClientCommand::Rotate { settings, id } => rotate(&settings, &id).await,
            ClientCommand::Delete { settings, id } => delete(&settings, &id).await,
        }
    })
}

/// Converts an error to text. For an error about scopes, adds the command that lists them.
pub(super) fn told(fault: impl ToString) -> String {
    match fault.to_string() {
        scopes if scopes.contains("scope") => format!("{scopes} `causeway oauth scopes` lists them."),
        other => other,
    }
}

/// Opens the authorization server with its store, which must exist.
pub(super) async fn opened(settings: &Settings) -> Result<(OAuth, Store), String> {
    app::open_oauth(settings, Store::open_existing).await.map_err(|fault| fault.to_string())
}

/// Works like [`opened`], for commands that a new gateway may begin with. A missing store is created, with a message,
/// because the name may be a mistake. Before anything is stored in it, [`bind`] must be called.
pub(super) async fn open_or_create(settings: &Settings) -> Result<(OAuth, Store), String> {
    app::open_oauth(settings, made_if_missing).await.map_err(|fault| fault.to_string())
}

async fn made_if_missing(url: &str) -> Result<Store, StoreError> {
    let missing = missing_file(url)?;
    let store = Store::open_for_upkeep(url).await?;
    if let Some(file) = missing {
        eprintln!("causeway: there was no store at {}; it is made now (see --store)", file.display());
    }
    Ok(store)
}

/// Makes a new store that of the v1 deployment of the settings. A command does this only when it stores something, so
/// that a failed command with a mistyped address of v1 leaves a store that another address can still be used with.
pub(super) async fn bind(settings: &Settings, store: &Store) -> Outcome {
    app::bind_store(settings, store).await.map_err(|fault| fault.to_string())
}

fn list_scopes(all: bool) -> Outcome {
    for scope in scopes::all().filter(|scope| all || scopes::is_gating(scope)) {
        say!("{scope:<45} {}", scopes::sentence(scope));
    }
    Ok(())
}

async fn create(settings: &SettingArgs, metadata: Metadata, json: bool) -> Outcome {
    let wanted = judge(metadata, |scope| scopes::all().any(|known| known == scope));
    let wanted = wanted.map_err(|error| told(error.description))?;
    let settings = settings.load()?;
    let (oauth, store) = open_or_create(&settings).await?;
    bind(&settings, &store).await?;
    let (client, secret) = oauth.register(wanted, false).await?;
    if !oauth.is_set_up() {
        eprintln!(
            "causeway: the client is registered, but OAuth is off until there is a secret. {}",
            AdminError::NotSetUp
        );
    }
    if json {
        say!("{}", serde_json::json!({"client_id": client.id, "client_secret": secret}));
        return Ok(());
    }
    say!("client id      {}", client.id);
    match secret {
        Some(secret) => say!("client secret  {secret}\n\nThe secret is not shown again."),
        None => say!("\nThe client is public: it has no secret and must use PKCE."),
    }
    Ok(())
}

async fn list(settings: &SettingArgs) -> Outcome {
    let (oauth, _store) = opened(&settings.load()?).await?;
    for client in oauth.clients().await? {
        let kind = if client.secret_hash.is_some() { "confidential" } else { "public" };
        let origin = if client.self_registered { ", registered itself" } else { "" };
        let scopes = if client.scopes.is_empty() { "all scopes".to_owned() } else { client.scopes.join(" ") };
        say!("{}  {}  ({kind}{origin}; {scopes})", client.id, client.name);
        for uri in &client.redirect_uris {
            say!("    {uri}");
        }
    }
    Ok(())
}

async fn rotate(settings: &SettingArgs, id: &str) -> Outcome {
    let (oauth, _store) = opened(&settings.load()?).await?;
    match oauth.rotate_client(id).await? {
        Some(secret) => say!("client secret  {secret}\n\nThe secret is not shown again."),
        None => return Err(format!("there is no client {id} with a secret; see `causeway oauth client list`")),
    }
    Ok(())
}

async fn delete(settings: &SettingArgs, id: &str) -> Outcome {
    let (oauth, _store) = opened(&settings.load()?).await?;
    if oauth.delete_client(id).await? {
        say!("deleted; what it was allowed has ended");
        return Ok(());
    }
    Err(format!("there is no client {id}; see `causeway oauth client list`"))
}
