//! `causeway secrets`: the secrets under which v1 keys are kept. May use: what `cli` may use.

use super::arguments::{Outcome, SettingArgs, block_on, say};
use super::oauth::opened;
use super::secret_file::put;
use crate::amount::amount;
use crate::oauth::Keyring;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Arguments of `secrets`.
#[derive(Debug, Args)]
pub struct SecretsArgs {
    #[command(subcommand)]
    command: SecretsCommand,
}

#[derive(Debug, Subcommand)]
enum SecretsCommand {
    /// Create a secret: print it, or add it at the top of a file for the setting secrets.key_file
    New {
        /// The file; a new file is readable by its owner alone, an existing one keeps its owner and permissions
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// Seal every stored v1 key with the first secret; remove the other secrets idempotency.keep (24 h) later
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

async fn rotate(settings: &SettingArgs) -> Outcome {
    let (oauth, _store) = opened(&settings.load()?).await?;
    let rotation = oauth.rotate_secrets().await.map_err(|fault| fault.to_string())?;
    say!("{} sealed anew", amount(rotation.sealed_anew, "key"));
    match rotation.lost {
        0 => Ok(()),
        lost => Err(format!(
            "{} cannot be opened: the secret is not configured any more; put it back, or have their owners allow \
             their apps again",
            amount(lost, "key")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::MetadataExt;

    #[test]
    fn a_new_secret_stands_on_top_of_the_old_ones() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secrets");
        let (first, second) = (Keyring::new_secret(), Keyring::new_secret());
        assert!(put(&path, &first).unwrap() && put(&path, &second).unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{second}\n{first}\n"));
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    /// The situation of a root-owned folder with a file that belongs to the gateway's user.
    #[test]
    fn a_file_keeps_its_owner_its_rights_and_the_links_that_lead_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("secrets"), folder.path().join("link"));
        let (first, second) = (Keyring::new_secret(), Keyring::new_secret());
        assert!(put(&file, &first).unwrap());
        let may = std::os::unix::fs::chown(&file, Some(65_534), Some(65_534)).is_ok();
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("secrets", &link).unwrap();
        assert!(put(&link, &second).unwrap());
        assert!(link.is_symlink());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), format!("{second}\n{first}\n"));
        let known = file.metadata().unwrap();
        assert_eq!(known.mode() & 0o777, 0o640);
        assert!(!may || (known.uid(), known.gid()) == (65_534, 65_534), "{known:?}");
    }

    #[test]
    fn a_secret_is_not_written_to_a_path_that_is_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let nowhere = folder.path().join("nowhere");
        std::os::unix::fs::symlink("missing", &nowhere).unwrap();
        let secret = Keyring::new_secret();
        assert!(put(&nowhere, &secret).unwrap_err().to_string().contains("leads to no file"));
        assert!(nowhere.is_symlink());
        assert!(put(folder.path(), &secret).unwrap_err().to_string().contains("no file"));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
