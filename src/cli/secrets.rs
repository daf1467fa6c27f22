//! `causeway secrets`: the secrets under which v1 keys are kept. May use: what `cli` may use.

use super::arguments::{Outcome, SettingArgs, block_on};
use super::oauth::opened;
use super::out::say;
use super::store_files::create;
use crate::oauth::Keyring;
use clap::{Args, Subcommand};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Arguments of `secrets`.
#[derive(Debug, Args)]
pub struct SecretsArgs {
    #[command(subcommand)]
    command: SecretsCommand,
}

#[derive(Debug, Subcommand)]
enum SecretsCommand {
    /// Make a secret: print it, or put it on top of a file for the setting secrets.key_file
    New {
        /// The file; it is made when there is none, readable by its owner alone
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// Seal every kept v1 key with the first secret, so that the others can go
    Rotate {
        #[command(flatten)]
        settings: SettingArgs,
    },
}

pub(super) fn run(args: SecretsArgs) -> Outcome {
    match args.command {
        SecretsCommand::New { file: None } => {
            say!("{}", Keyring::new_secret());
            Ok(())
        }
        SecretsCommand::New { file: Some(path) } => {
            let put = put(&path, &Keyring::new_secret()).map_err(|fault| format!("{}: {fault}", path.display()))?;
            if !put {
                return Err(format!(
                    "{} holds something other than secrets and was left as it is; name another file",
                    path.display()
                ));
            }
            say!("{} has a new secret on top; name it in secrets.key_file", path.display());
            Ok(())
        }
        SecretsCommand::Rotate { settings } => block_on(async move { rotate(&settings).await }),
    }
}

/// Writes beside the file and renames, so that there is always a whole file. A file that holds something other than
/// secrets is left as it is; false then.
fn put(path: &Path, secret: &str) -> std::io::Result<bool> {
    let before = if path.exists() { std::fs::read(path)? } else { Vec::new() };
    let Some(before) = std::str::from_utf8(&before).ok().filter(|text| Keyring::are_secrets(text)) else {
        return Ok(false);
    };
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}", uuid::Uuid::new_v4()));
    let beside = PathBuf::from(beside);
    let mut file = create(&beside)?;
    let put = file.write_all(format!("{secret}\n{before}").as_bytes());
    let put = put.and_then(|()| file.sync_all()).and_then(|()| std::fs::rename(&beside, path));
    if put.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    put.map(|()| true)
}

async fn rotate(settings: &SettingArgs) -> Outcome {
    let (oauth, _store) = opened(&settings.load()?).await?;
    let rotation = oauth.rotate_secrets().await.map_err(|fault| fault.to_string())?;
    say!("{} keys sealed anew", rotation.sealed_anew);
    match rotation.lost {
        0 => Ok(()),
        lost => Err(format!(
            "{lost} keys were sealed with a secret that is not configured any more; put it back, or have their \
             owners allow their apps again"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_secret_stands_on_top_of_the_old_ones() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secrets");
        let (first, second) = (Keyring::new_secret(), Keyring::new_secret());
        assert!(put(&path, &first).unwrap() && put(&path, &second).unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{second}\n{first}\n"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    }
}
