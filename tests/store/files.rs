//! Properties of a store that is a file.

use crate::store::place::V1;
use causeway::store::{Store, StoreError};
use causeway::task::spawn;
use rustix::process::{Pid, Signal, kill_process};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

fn url(path: &Path) -> String {
    format!("sqlite:{}", path.display())
}

#[tokio::test]
async fn urls_that_name_no_store_are_refused_without_their_credentials() {
    for url in ["mysql://me:secret@h/db", "store.db", "mysql:x"] {
        let refused = Store::open(url, V1).await.unwrap_err();
        assert!(matches!(refused, StoreError::UnknownKind { .. }), "{refused:?}");
        assert!(!refused.to_string().contains("secret"));
    }
    assert!(matches!(Store::open("sqlite::memory:", "nowhere").await, Err(StoreError::BaseUrl(_))));
}

#[tokio::test]
async fn a_new_store_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let _store = Store::open(&url(&path), V1).await.unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

/// Found with such a store: an empty file of the encoded name beside it, and a store that every user may read.
#[tokio::test]
async fn a_name_that_is_encoded_in_the_url_is_that_of_one_file_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}/our%20store%3F.db", folder.path().display());
    let store = Store::open(&url, V1).await.unwrap();
    let path = folder.path().join("our store?.db");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    store.findings().await.unwrap();
    let name_of = |file: std::io::Result<std::fs::DirEntry>| file.unwrap().file_name().into_string().unwrap();
    let others: Vec<String> = std::fs::read_dir(folder.path()).unwrap().map(name_of).collect();
    assert!(others.iter().all(|name| name.starts_with("our store?.db")), "{others:?}");
    std::fs::rename(&path, folder.path().join("elsewhere.db")).unwrap();
    assert!(store.findings().await.is_err(), "its file is not in its place");
}

/// SQLite keeps its other files beside the file behind the link, so the folder of the link need not be writable.
#[tokio::test]
async fn a_link_to_a_store_is_the_store_that_it_leads_to() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let (links, stores) = (folder.path().join("links"), folder.path().join("stores"));
    std::fs::create_dir(&links).unwrap();
    std::fs::create_dir(&stores).unwrap();
    let (link, path) = (links.join("link.db"), stores.join("store.db"));
    symlink("../stores/store.db", &link).unwrap();
    let set_mode = |mode| std::fs::set_permissions(&links, std::fs::Permissions::from_mode(mode)).unwrap();
    set_mode(0o500);
    let store = Store::open_to_serve(&url(&link), V1, Duration::ZERO).await.unwrap();
    assert!(!store.is_read_only());
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(store.stats(&url(&link)).await.unwrap(), store.stats(&url(&path)).await.unwrap());
    for name in [&link, &path] {
        let second = Store::open_to_serve(&url(name), V1, Duration::ZERO).await;
        assert!(matches!(second, Err(StoreError::Served { .. })), "the lock is one, under each name");
    }
    assert_eq!(std::fs::read_dir(&links).unwrap().count(), 1);
    set_mode(0o700);
    store.close().await;
}

#[tokio::test]
async fn a_file_that_is_no_store_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    std::fs::write(&path, "this is a letter, not a database; it is long enough to have a header".repeat(50))
        .unwrap();
    let refused = Store::open(&url(&path), V1).await.unwrap_err();
    assert!(matches!(refused, StoreError::Damaged(_)), "{refused:?}");
    let nowhere = Store::open(&url(&folder.path().join("missing/store.db")), V1).await.unwrap_err();
    assert!(matches!(nowhere, StoreError::Unavailable(_)), "{nowhere:?}");
}

/// The locks that show other processes that the file is in use belong to the process, not to the descriptor: opening
/// and closing one of SQLite's files would release them.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn looking_whether_a_store_can_be_written_ends_no_lock() {
    use std::os::unix::fs::MetadataExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = Store::open(&url(&path), V1).await.unwrap();
    let locks = || {
        let inode = std::fs::metadata(folder.path().join("store.db-shm")).unwrap().ino();
        let all = std::fs::read_to_string("/proc/locks").unwrap();
        all.lines().filter(|line| line.contains("POSIX") && line.contains(&format!(":{inode} "))).count()
    };
    assert!(locks() > 0);
    let again = Store::open(&url(&path), V1).await.unwrap();
    again.close().await;
    assert!(locks() > 0, "the first store is still open");
    store.close().await;
}

/// A store in memory lives as long as its one connection, which must survive a request that is dropped half-way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_in_memory_outlives_whoever_stops_waiting() {
    let store = Store::open("sqlite::memory:", V1).await.expect("a store in memory");
    for round in 0..2_000 {
        let asked = store.clone();
        let asking = spawn(async move { asked.ping().await });
        for _ in 0..round % 40 {
            tokio::task::yield_now().await;
        }
        asking.abort();
        let _ = asking.await;
    }
    store.ping().await.expect("the store is still there");
}

/// Starts a restore from a pipe into the store at `url`.
fn restoring(url: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_causeway"));
    command.args(["store", "restore", "--from", "/dev/stdin", "--store", url]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn told(output: Output) -> String {
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

/// The command read the first bytes to tell the kind of file, and then opened it again. A pipe gives them only once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_is_restored_from_a_pipe_and_a_copy_is_refused_there() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.db");
    let store = Store::open(&url(&folder.path().join("store.db")), V1).await.unwrap();
    let mut lines = Vec::new();
    store.export(&mut lines).await.unwrap();
    store.copy_to(&copy).await.unwrap();
    store.close().await;
    let new = url(&folder.path().join("new.db"));
    let piped = |content: &[u8]| {
        let mut running = restoring(&new);
        // A command that refuses the content does not read all of it.
        let _ = running.stdin.take().unwrap().write_all(content);
        let output = running.wait_with_output().unwrap();
        (output.status.success(), told(output))
    };
    let (done, text) = piped(&std::fs::read(&copy).unwrap());
    assert!(!done && text.contains("/dev/stdin is a pipe") && text.contains("the name of its file"), "{text}");
    let (done, text) = piped(br#"{"key": "of another program"}"#);
    assert!(!done && text.contains("line 1 of the dump: it is no line of a dump"), "{text}");
    let (done, text) = piped(&lines);
    assert!(done && text.contains("restored from /dev/stdin"), "{text}");
    let restored = Store::open_for_upkeep(&new).await.unwrap();
    assert_eq!(restored.deployment().await.unwrap().as_deref(), Some(V1));
}

/// The command waited for the pipe where no signal reached it, with the new store half made.
#[test]
fn a_signal_ends_a_restore_that_waits_for_its_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let mut running = restoring(&url(&folder.path().join("new.db")));
    let mut pipe = running.stdin.take().unwrap();
    // This is more than a pipe holds, so the command is reading when it has been written. The last line has no end.
    let mut begun = b"{\"causeway_store\": 1, \"tables_version\": 1}\n".to_vec();
    begun.resize(1 << 20, b' ');
    pipe.write_all(&begun).unwrap();
    kill_process(Pid::from_child(&running), Signal::TERM).unwrap();
    let output = running.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = told(output);
    assert!(text.contains("stopped by a signal"), "{text}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing of the new store is left");
    drop(pipe);
}
