//! `causeway store restore`: a store from a backup or an export.
//!
//! A store that is not there yet is made beside its place and moved there once it is whole. A gateway that is started
//! at that place meanwhile makes a store of its own, and nothing is taken from it.
//!
//! May use: what `cli` may use.

use super::arguments::{Outcome, absent, create, say, with_any_store};
use crate::amount::amount;
use crate::store::{Store, folder_of, url_of};
use std::fs::File;
use std::io::{BufReader, BufWriter, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Fills the store at `url` with what `from` holds.
///
/// # Errors
/// Why it is as it was before.
pub(super) async fn run(from: &Path, url: &str, force: bool) -> Outcome {
    let rows = match absent(url) {
        Some(file) => into_new(from, url, &file).await?,
        None => fill(from, url, force).await?,
    };
    say!("{} restored from {}", amount(rows, "row"), from.display());
    Ok(())
}

async fn into_new(from: &Path, url: &str, file: &Path) -> Result<u64, String> {
    let log = PathBuf::from(with_ending(file, "-wal"));
    if log.exists() {
        // SQLite would take it for the end of the new store.
        return Err(format!("{} is left of another store; move it away first", log.display()));
    }
    let unfinished = PathBuf::from(with_ending(file, &format!(".restoring-{}", std::process::id())));
    let parameters = url.split_once('?').map_or(String::new(), |(_, given)| format!("?{given}"));
    let filled = fill(from, &format!("{}{parameters}", url_of(&unfinished)), false).await;
    let moved = filled.and_then(|rows| put(&unfinished, file).map(|()| rows));
    remove(&unfinished);
    moved
}

/// Removes the file of a store with those beside it.
fn remove(store: &Path) {
    for ending in ["", "-wal", "-shm", ".lock"] {
        let _ = std::fs::remove_file(with_ending(store, ending));
    }
}

fn with_ending(file: &Path, ending: &str) -> std::ffi::OsString {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    name
}

/// Gives a whole store its place, unless there is one now.
fn put(whole: &Path, file: &Path) -> Result<(), String> {
    let fault = |cause: std::io::Error| match cause.kind() {
        ErrorKind::AlreadyExists => {
            format!("a store was made at {} meanwhile; nothing was restored", file.display())
        }
        _ => format!("{}: {cause}", file.display()),
    };
    if Path::new(&with_ending(whole, "-wal")).exists() {
        return Err(format!("{}: its log could not be brought into it", whole.display()));
    }
    // A link is refused where something is already, as a move is not.
    std::fs::hard_link(whole, file).map_err(fault)?;
    File::open(folder_of(file)).and_then(|folder| folder.sync_all()).map_err(fault)
}

async fn fill(from: &Path, url: &str, force: bool) -> Result<u64, String> {
    // Before a store is made for it.
    let is_copy = is_copy(from)?;
    with_any_store(url, async |store| fill_opened(from, is_copy, store, force).await).await
}

async fn fill_opened(from: &Path, is_copy: bool, store: &Store, force: bool) -> Result<u64, String> {
    let dump: Box<dyn Read + Send> = match is_copy {
        true => Box::new(lines_of_copy(from).await?),
        false => Box::new(File::open(from).map_err(|cause| format!("{}: {cause}", from.display()))?),
    };
    store.migrate().await?;
    store.import(&mut BufReader::new(dump), force).await.map_err(|fault| fault.to_string())
}

/// Whether a file to restore from is a copy of a SQLite store, or an export; it is neither when it begins as none of
/// them.
fn is_copy(from: &Path) -> Result<bool, String> {
    let fault = |cause: std::io::Error| format!("{}: {cause}", from.display());
    let mut start = Vec::new();
    File::open(from).map_err(fault)?.take(16).read_to_end(&mut start).map_err(fault)?;
    match start.as_slice() {
        b"SQLite format 3\0" => Ok(true),
        [b'{', ..] => Ok(false),
        _ => Err(format!("{} is neither a backup of a SQLite store nor an export of one", from.display())),
    }
}

/// A copy of a SQLite store as the lines of an export, in a file that is gone when it is closed; the copy is
/// looked through first. One of an older version is brought up to date in a copy of its own.
async fn lines_of_copy(from: &Path) -> Result<File, String> {
    let log = PathBuf::from(with_ending(from, "-wal"));
    if log.metadata().is_ok_and(|log| log.len() > 0) {
        return Err(format!(
            "{} holds writes that are not in {} yet: that is the store of a gateway and no backup; make one with \
             `causeway store backup --store {} --to FILE`",
            log.display(),
            from.display(),
            url_of(from)
        ));
    }
    let url = format!("{}?mode=ro&immutable=true", url_of(from));
    let copy = Store::open_for_upkeep(&url).await?;
    copy.sound().await?;
    if !matches!(copy.deployment().await, Ok(Some(_))) {
        return Err(format!(
            "{} holds no store of a gateway: it is another program's, or a copy without the log beside it",
            from.display()
        ));
    }
    let is_older = !copy.steps_to_take().await?.is_empty();
    let name = std::env::temp_dir().join(format!("causeway-restore-{}", uuid::Uuid::new_v4()));
    let mut file = create(&name).map_err(|fault| format!("{}: {fault}", name.display()))?;
    std::fs::remove_file(&name).map_err(|fault| format!("{}: {fault}", name.display()))?;
    let exported = match is_older {
        false => lines_of(&copy, &mut file).await,
        true => lines_of_older(from, &name, &mut file).await,
    };
    copy.close().await;
    exported?;
    std::io::Seek::rewind(&mut file).map_err(|fault| fault.to_string())?;
    Ok(file)
}

async fn lines_of(store: &Store, to: &mut File) -> Outcome {
    store.export(&mut BufWriter::new(to)).await.map(drop).map_err(|fault| fault.to_string())
}

/// The lines of a copy whose tables are those of an older version; a copy of it beside `name` is migrated for that.
async fn lines_of_older(from: &Path, name: &Path, to: &mut File) -> Outcome {
    let newer = PathBuf::from(with_ending(name, ".db"));
    let copied = File::open(from)
        .and_then(|mut from| create(&newer).and_then(|mut newer| std::io::copy(&mut from, &mut newer)));
    let exported = async {
        copied.map_err(|fault| format!("{}: {fault}", newer.display()))?;
        let migrated = async |store: &Store| {
            store.migrate().await?;
            lines_of(store, to).await
        };
        with_any_store(&url_of(&newer), migrated).await
    };
    let exported = exported.await;
    remove(&newer);
    exported
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_was_made_meanwhile_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (whole, place) = (folder.path().join("whole"), folder.path().join("place"));
        std::fs::write(&whole, "restored").unwrap();
        put(&whole, &place).unwrap();
        assert_eq!(std::fs::read_to_string(&place).unwrap(), "restored");
        std::fs::write(&place, "of a gateway").unwrap();
        assert!(put(&whole, &place).unwrap_err().contains("meanwhile"));
        assert_eq!(std::fs::read_to_string(&place).unwrap(), "of a gateway");
    }
}
