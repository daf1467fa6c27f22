//! `causeway key`: gateway keys, which open less than the v1 key behind them. May use: what `cli` may use.

use super::arguments::{Outcome, SettingArgs, block_on, id, say};
use super::oauth::{bind, open_or_create, opened, told};
use crate::context::Context;
use crate::oauth::Minting;
use crate::printable::printable;
use crate::v2::time;
use clap::{Args, Subcommand};
use jiff::{SignedDuration, Timestamp};
use std::io::Read;
use uuid::Uuid;

/// Arguments of `key`.
#[derive(Debug, Args)]
pub struct KeyArgs {
    #[command(subcommand)]
    command: KeyCommand,
}

#[derive(Debug, Subcommand)]
enum KeyCommand {
    /// Create a key; it is shown only once
    Mint {
        #[command(flatten)]
        settings: SettingArgs,
        /// The v1 key that the new key acts with; if absent, it is read from standard input
        #[arg(long, value_name = "KEY", env = "CAUSEWAY_V1_KEY", hide_env_values = true)]
        from_v1_key: Option<String>,
        /// Scopes of the key, separated by blanks or commas, such as "projects.work_items:read read"
        #[arg(long, value_name = "SCOPES")]
        scopes: String,
        /// Slug of the only workspace that the key opens
        #[arg(long, value_name = "SLUG")]
        workspace: Option<String>,
        /// When the key expires: a duration such as 720h, or an instant such as 2027-01-31T00:00:00Z
        #[arg(long, value_name = "WHEN")]
        expires: Option<String>,
        /// Purpose of the key
        #[arg(long, default_value = "unnamed")]
        title: String,
    },
    /// List the valid keys
    List {
        #[command(flatten)]
        settings: SettingArgs,
    },
    /// Revoke a key
    Revoke {
        #[command(flatten)]
        settings: SettingArgs,
        /// Id of the key, as listed
        #[arg(value_parser = id)]
        id: Uuid,
    },
}

pub(super) fn run(args: KeyArgs) -> Outcome {
    block_on(async move {
        match args.command {
            KeyCommand::Mint { settings, from_v1_key, scopes, workspace, expires, title } => {
                let expires_at = expires.as_deref().map(instant).transpose()?;
                let v1_key = from_v1_key.map_or_else(piped, Ok)?;
                mint(&settings, &v1_key, Minting { title, scopes, workspace, expires_at }).await
            }
            KeyCommand::List { settings } => list(&settings).await,
            KeyCommand::Revoke { settings, id } => revoke(&settings, id).await,
        }
    })
}

fn piped() -> Result<String, String> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(|fault| format!("standard input: {fault}"))?;
    Ok(text.trim().to_owned())
}

/// Parses an instant, which must be in the future. Returns microseconds since 1970.
fn instant(text: &str) -> Result<i64, String> {
    let now = Timestamp::now();
    let duration = text.parse::<SignedDuration>().ok();
    let at = text.parse::<Timestamp>().ok().or_else(|| now.checked_add(duration?).ok());
    // A `Timestamp` ends a day before the year 9999 does.
    let is_too_far = || time::read_instant(text).is_some() || duration.is_some_and(|length| length.is_positive());
    match at {
        Some(at) if at > now => Ok(at.as_microsecond()),
        Some(_) => Err(format!("--expires {text}: that is over; name an instant that lies ahead")),
        None if is_too_far() => Err(format!(
            "--expires {text}: that is too far ahead; name an earlier instant, or leave out --expires for a key that \
             does not expire"
        )),
        None => Err(format!(
            "--expires {text}: write a duration such as 720h or an instant such as 2027-01-31T00:00:00Z"
        )),
    }
}

async fn mint(settings: &SettingArgs, v1_key: &str, wanted: Minting) -> Outcome {
    let settings = settings.load()?;
    let (oauth, store) = open_or_create(&settings).await?;
    let ctx = Context::new("mint", settings.limits.deadline);
    let (key, secret) = oauth.prepare_key(v1_key, wanted, &ctx).await.map_err(told)?;
    bind(&settings, &store).await?;
    oauth.keep_key(&key).await?;
    say!(
        "id      {}\nkey     {secret}\nperson  {}\nscopes  {}",
        key.id,
        printable(&key.user_name),
        key.scopes.join(" ")
    );
    say!("\nThe key is not shown again. Send it as X-Api-Key.");
    Ok(())
}

async fn list(settings: &SettingArgs) -> Outcome {
    let (oauth, _store) = opened(&settings.load()?).await?;
    for key in oauth.keys(None).await? {
        let place = key.workspace.map_or("all workspaces".to_owned(), |(_, slug)| format!("workspace {slug}"));
        let until = key.expires_at.and_then(|at| Timestamp::from_microsecond(at).ok());
        let until = until.map_or("for ever".to_owned(), |at| format!("until {at:.0}"));
        let (title, owner) = (printable(&key.title), printable(&key.user_name));
        say!("{}  {title}  ({owner}; {place}; {until}; {})", key.id, key.scopes.join(" "));
    }
    Ok(())
}

async fn revoke(settings: &SettingArgs, id: Uuid) -> Outcome {
    let settings = settings.load()?;
    let (oauth, _store) = opened(&settings).await?;
    if oauth.revoke_key(id, None).await? {
        say!("revoked; running gateways notice within {:?}", settings.oauth.revocation_delay);
        return Ok(());
    }
    Err(format!("there is no key {id} that is good; see `causeway key list`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_an_instant_ahead_or_a_duration() {
        assert!(instant("720h").is_ok() && instant("2999-01-01T00:00:00Z").is_ok());
        for wrong in ["soon", "2001-01-01T00:00:00Z", "-5h", ""] {
            assert!(instant(wrong).is_err(), "{wrong}");
        }
        for far in ["9999-12-31T23:59:59Z", "90000000h"] {
            assert!(instant(far).is_err_and(|told| told.contains("leave out --expires")), "{far}");
        }
    }
}
