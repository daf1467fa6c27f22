//! `causeway store restore`: fills a store from a backup or an export.
//!
//! A new store is created beside its final path and moved there when it is complete. A gateway that starts
//! at that path meanwhile creates a store of its own, and the restore does not touch it.
//!
//! May use: what `cli` may use.

use super::arguments::{Outcome, create_private_file, say, with_store_made_if_absent};
use crate::amount::amount;
use crate::aside::aside;
use crate::store::{
    DumpError, Store, StoreError, Unfinished, behind_links, folder_of, missing_file, url_of, with_ending,
};
use std::fs::File;
use std::io::{BufReader, BufWriter, ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use uuid::Uuid;

/// Content to restore.
enum Source {
    /// Copy of a SQLite store; SQLite opens it by its name.
    Copy,
    /// Lines of an export, from the first on.
    Lines(File),
}

/// Fills the store at `url` with the contents of `from`.
///
/// # Errors
/// The reason why the restore failed. The store is unchanged then, unless only the last step failed, which makes the
/// name of a new store lasting on the disk.
pub(super) async fn run(from: &Path, url: &str, force: bool) -> Outcome {
    // Checked before a store is created for it.
    let source = opened(from).await?;
    let rows = match missing_file(url)? {
        Some(file) => into_new(from, source, url, &file).await?,
        None => with_store_made_if_absent(url, async move |store| fill(from, source, store, force).await).await?,
    };
    say!("{} restored from {}", amount(rows, "row"), from.display());
    Ok(())
}

async fn into_new(from: &Path, source: Source, url: &str, file: &Path) -> Result<u64, String> {
    let log = with_ending(file, "-wal");
    if log.exists() {
        // SQLite would read this log as the end of the new store.
        return Err(format!("{} is left of another store; move it away first", log.display()));
    }
    let unfinished = with_ending(file, &format!(".restoring-{}", std::process::id()));
    let parameters = url.split_once('?').map_or(String::new(), |(_, given)| format!("?{given}"));
    // Its name is removed in any case; the complete store has a second one then.
    let _removed = Unfinished::store(&unfinished);
    let whole = async move |store: &Store| {
        let rows = fill(from, source, store, false).await?;
        store.merge_log().await.map(|()| rows).map_err(String::from)
    };
    let rows = with_store_made_if_absent(&format!("{}{parameters}", url_of(&unfinished)), whole).await?;
    put(&unfinished, file)?;
    Ok(rows)
}

/// Moves a complete store to its final path. Fails when a store exists there by now.
fn put(whole: &Path, file: &Path) -> Result<(), String> {
    let fault = |cause: std::io::Error| match cause.kind() {
        ErrorKind::AlreadyExists => {
            format!("a store was made at {} meanwhile; nothing was restored", file.display())
        }
        _ => format!("{}: {cause}", file.display()),
    };
    if with_ending(whole, "-wal").exists() {
        return Err(format!("{}: its log could not be brought into it", whole.display()));
    }
    // Unlike a move, a link fails when the file already exists.
    std::fs::hard_link(whole, file).map_err(fault)?;
    File::open(folder_of(file)).and_then(|folder| folder.sync_all()).map_err(fault)
}

async fn fill(from: &Path, source: Source, store: &Store, force: bool) -> Result<u64, String> {
    let dump = match source {
        Source::Copy => lines_of_copy(from).await?,
        Source::Lines(lines) => lines,
    };
    store.migrate().await?;
    store.import(&mut BufReader::new(dump), force).await.map_err(|fault| fault.to_string())
}

/// Opens a file to restore from, and reads a pipe to its end. A pipe may keep its reader waiting for ever. So this is
/// done on a thread of its own, which delays neither a signal nor the end of the process.
async fn opened(from: &Path) -> Result<Source, String> {
    let is_file = from.metadata().map_err(|cause| format!("{}: {cause}", from.display()))?.is_file();
    let room = if is_file { None } else { Some(unnamed_file()?) };
    let name = from.to_owned();
    let opening = aside("restore", Duration::MAX, move || open(&name, room));
    opening.await.unwrap_or_else(|| Err(format!("{} could not be read", from.display())))
}

/// Opens a file to restore from. Its first bytes tell whether it is a copy of a SQLite store or an export. Fails when
/// they fit neither. With `room` it is a pipe, which can be read only once: its lines are copied into `room`, and a
/// copy of a store is refused.
fn open(from: &Path, room: Option<File>) -> Result<Source, String> {
    let fault = |cause: std::io::Error| format!("{}: {cause}", from.display());
    let mut file = File::open(from).map_err(fault)?;
    let mut start = Vec::new();
    Read::by_ref(&mut file).take(16).read_to_end(&mut start).map_err(fault)?;
    match (start.as_slice(), room) {
        (b"SQLite format 3\0", None) => Ok(Source::Copy),
        (b"SQLite format 3\0", Some(_)) => Err(format!(
            "{} is a pipe, and a backup of a SQLite store is read more than once; give the name of its file",
            from.display()
        )),
        ([b'{', ..], None) => file.rewind().map(|()| Source::Lines(file)).map_err(fault),
        ([b'{', ..], Some(mut room)) => {
            room.write_all(&start).map_err(no_room)?;
            std::io::copy(&mut file, &mut room).map_err(no_room)?;
            room.rewind().map(|()| Source::Lines(room)).map_err(no_room)
        }
        _ => Err(format!("{} is neither a backup of a SQLite store nor an export of one", from.display())),
    }
}

/// Checks a copy of a SQLite store and converts it to the lines of an export. They are in a file that is deleted when
/// it is closed. A copy of an older version is first migrated, in a second copy.
async fn lines_of_copy(from: &Path) -> Result<File, String> {
    let log = with_ending(&behind_links(from), "-wal");
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
    let of_copy = |fault: StoreError| match fault {
        StoreError::Damaged(cause) => format!("the backup {} is damaged; use another one: {cause}", from.display()),
        other => other.to_string(),
    };
    let copy = Store::open_for_upkeep(&url).await.map_err(of_copy)?;
    copy.sound().await.map_err(of_copy)?;
    if !matches!(copy.deployment().await, Ok(Some(_))) {
        return Err(format!(
            "{} holds no store of a gateway: it is another program's, or a copy without the log beside it",
            from.display()
        ));
    }
    let is_older = !copy.steps_to_take().await?.is_empty();
    let mut file = unnamed_file()?;
    let exported = match is_older {
        false => lines_of(&copy, &mut file).await,
        true => lines_of_older(from, &mut file).await,
    };
    copy.close().await;
    exported?;
    file.rewind().map_err(|fault| fault.to_string())?;
    Ok(file)
}

async fn lines_of(store: &Store, to: &mut File) -> Outcome {
    store.export(&mut BufWriter::new(to)).await.map(drop).map_err(|fault| match fault {
        DumpError::File(cause) => no_room(cause),
        other => other.to_string(),
    })
}

/// Writes the lines of a copy with the tables of an older version. For that, a second copy is migrated.
async fn lines_of_older(from: &Path, to: &mut File) -> Outcome {
    let newer = with_ending(&temporary_name(), ".db");
    let _removed = Unfinished::store(&newer);
    let copied = File::open(from).and_then(|mut from| {
        create_private_file(&newer).and_then(|mut newer| std::io::copy(&mut from, &mut newer))
    });
    copied.map_err(|fault| format!("{}: {fault}", newer.display()))?;
    let migrated = async |store: &Store| {
        store.migrate().await?;
        lines_of(store, to).await
    };
    with_store_made_if_absent(&url_of(&newer), migrated).await
}

/// Creates a file that is deleted when it is closed.
fn unnamed_file() -> Result<File, String> {
    let name = temporary_name();
    let created = create_private_file(&name).and_then(|file| std::fs::remove_file(&name).map(|()| file));
    created.map_err(|fault| format!("{}: {fault}", name.display()))
}

/// Returns a new name in the folder for temporary files.
fn temporary_name() -> PathBuf {
    std::env::temp_dir().join(format!("causeway-restore-{}", Uuid::new_v4()))
}

/// Describes why lines could not be copied to the folder for temporary files.
fn no_room(cause: std::io::Error) -> String {
    let folder = std::env::temp_dir();
    format!("{}: {cause}; the variable TMPDIR can name a folder with more room", folder.display())
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
