//! Commands at a place that holds no store of a gateway, or one that they may not use.

use crate::store::care::{causeway, told};
use crate::store::place::{Place, V1};
use causeway::store::Store;
use std::path::Path;

/// An address where nothing listens.
const NOTHING: &str = "http://127.0.0.1:9";

const CREATE: [&str; 7] = ["oauth", "client", "create", "--name", "x", "--redirect-uri", "https://a.example/cb"];

fn url_of(file: &Path) -> String {
    format!("sqlite:{}", file.display())
}

/// As with the state folder of a service, which only its own user may enter.
#[cfg(target_os = "linux")]
#[test]
fn a_store_that_the_user_may_not_see_is_not_called_missing() {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (private, closed) = (folder.path().join("private"), folder.path().join("closed.db"));
    let set_mode = |path: &Path, mode| std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    std::fs::create_dir(&private).unwrap();
    std::fs::write(&closed, "").unwrap();
    for (path, mode) in [(folder.path(), 0o755), (&private, 0o000), (&closed, 0o000)] {
        set_mode(path, mode);
    }
    let copy = folder.path().join("copy.db");
    for url in [url_of(&private.join("store.db")), url_of(&closed)] {
        for command in [
            vec!["store", "stats"],
            vec!["store", "check"],
            vec!["store", "backup", "--to", copy.to_str().unwrap()],
            vec!["migration"],
            vec!["shadow", "report"],
            vec!["key", "list", "--upstream", NOTHING],
            [&CREATE[..], &["--upstream", NOTHING]].concat(),
            vec!["check"],
        ] {
            let Some(ended) = unprivileged::causeway(&[&command[..], &["--store", &url]].concat()) else { return };
            let told = told(&ended);
            assert!(!ended.status.success(), "{command:?}: {told}");
            assert!(told.contains("the user that runs this may not"), "{command:?}: {told}");
            assert!(told.contains("as the user of the gateway"), "{command:?}: {told}");
            assert!(!told.contains("no store") && !told.contains("is made now"), "{command:?}: {told}");
        }
    }
    set_mode(&private, 0o700);
}

#[cfg(target_os = "linux")]
mod unprivileged {
    use std::fs::{File, metadata};
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Output};

    /// The user `nobody`.
    const NOBODY: u32 = 65_534;

    /// Runs the program as a user who is not root. Returns none where root cannot become another user.
    pub fn causeway(arguments: &[&str]) -> Option<Output> {
        // The file of the program may be in a folder that only root may enter.
        let program = File::open(env!("CARGO_BIN_EXE_causeway")).expect("the program");
        let mut command = Command::new(format!("/proc/self/fd/{}", program.as_raw_fd()));
        command.args(arguments).current_dir("/");
        if metadata("/proc/self").is_ok_and(|own| own.uid() == 0) {
            command.uid(NOBODY).gid(NOBODY);
        }
        command.output().ok()
    }
}

/// A nightly backup with a wrong path would otherwise go unnoticed until its copy is needed.
#[tokio::test]
async fn a_place_without_the_tables_of_a_gateway_is_no_store() {
    let folder = tempfile::tempdir().unwrap();
    let (empty, stranger) = (folder.path().join("empty.db"), folder.path().join("stranger.db"));
    std::fs::write(&empty, "").unwrap();
    let other = sqlx::SqlitePool::connect(&format!("{}?mode=rwc", url_of(&stranger))).await.unwrap();
    sqlx::query("CREATE TABLE service (name TEXT)").execute(&other).await.unwrap();
    other.close().await;
    let database = Place::postgres().await;
    let copy = folder.path().join("copy");
    let to = copy.to_str().unwrap();
    for url in [url_of(&empty), url_of(&stranger), "sqlite::memory:".to_owned(), database.url()] {
        for command in [
            vec!["store", "backup", "--to", to],
            vec!["store", "export", "--to", to],
            vec!["store", "rebase", "--to", "https://new.example"],
            vec!["store", "stats"],
            vec!["store", "check"],
            vec!["migration"],
            vec!["key", "list", "--upstream", NOTHING],
        ] {
            let ended = causeway(&[&command[..], &["--store", &url]].concat());
            let told = told(&ended);
            assert!(!ended.status.success() && told.contains("holds no store of a gateway"), "{command:?}: {told}");
            assert!(told.contains("see --store") && told.contains("causeway store migrate"), "{command:?}: {told}");
            assert!(!copy.exists(), "{command:?}");
        }
    }
    let planned = causeway(&["store", "migrate", "--plan", "--store", &url_of(&empty)]);
    assert!(String::from_utf8_lossy(&planned.stdout).contains("would migrate  0001"), "{}", told(&planned));
}

/// A restore would refuse the copy.
#[test]
fn a_store_without_a_deployment_is_not_backed_up() {
    let folder = tempfile::tempdir().unwrap();
    let (url, copy) = (url_of(&folder.path().join("store.db")), folder.path().join("copy.db"));
    assert!(causeway(&["store", "migrate", "--store", &url]).status.success());
    let ended = causeway(&["store", "backup", "--to", copy.to_str().unwrap(), "--store", &url]);
    let told = told(&ended);
    assert!(!ended.status.success() && told.contains("belongs to no v1 deployment yet"), "{told}");
    assert!(!copy.exists());
}

#[test]
fn a_missing_file_that_its_mode_does_not_make_is_told_by_check_and_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let url = url_of(&folder.path().join("store.db"));
    for mode in ["ro", "rw"] {
        let url = format!("{url}?mode={mode}");
        for command in ["check", "serve"] {
            let ended = causeway(&[command, "--upstream", NOTHING, "--store", &url]);
            let told = told(&ended);
            assert!(!ended.status.success() && told.contains("leave the mode out"), "{command}, {mode}: {told}");
            assert!(!told.contains("must be able to write"), "{command}, {mode}: {told}");
        }
    }
    let ended = causeway(&["check", "--store", &format!("{url}?mode=rwc")]);
    let out = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(ended.status.success() && out.contains("the first start makes it"), "{out}{}", told(&ended));
}

#[tokio::test]
async fn commands_that_write_name_the_remedy_for_a_store_that_can_only_be_read() {
    let place = Place::sqlite();
    place.open().await.close().await;
    let url = format!("{}?mode=ro", place.url());
    for command in [
        vec!["store", "rebase", "--to", "https://new.example"],
        vec!["store", "sweep", "--purge-older-than", "30d"],
        vec!["shadow", "clear"],
    ] {
        let ended = causeway(&[&command[..], &["--store", &url]].concat());
        let told = told(&ended);
        assert!(!ended.status.success() && told.contains("can only be read"), "{command:?}: {told}");
        assert!(told.contains("leave mode=ro out") && !told.contains("code:"), "{command:?}: {told}");
    }
    let ended = causeway(&["store", "migrate", "--store", &url]);
    assert!(ended.status.success(), "there is nothing to write: {}", told(&ended));
    assert_eq!(place.open().await.deployment().await.unwrap().as_deref(), Some(V1));
}

#[test]
fn a_store_that_is_not_made_is_not_announced() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    let nowhere = folder.path().join("missing/store.db");
    for (url, more) in [(url_of(&nowhere), &["--upstream", NOTHING][..]), (url_of(&file), &[])] {
        let ended = causeway(&[&CREATE[..], &["--store", &url], more].concat());
        let told = told(&ended);
        assert!(!ended.status.success() && !told.contains("is made now"), "{told}");
        assert!(!file.exists());
    }
}

#[tokio::test]
async fn a_failed_mint_binds_a_new_store_to_no_deployment() {
    let folder = tempfile::tempdir().unwrap();
    let url = url_of(&folder.path().join("store.db"));
    let made = causeway(&["secrets", "new"]);
    let secret = String::from_utf8_lossy(&made.stdout).lines().next_back().map(str::to_owned).expect("a secret");
    let setting = format!("secrets.key={secret}");
    let mint = ["key", "mint", "--scopes", "read", "--from-v1-key", "k", "--set", &setting, "--store", &url];
    let ended = causeway(&[&mint[..], &["--upstream", NOTHING]].concat());
    assert!(!ended.status.success() && told(&ended).contains("v1 could not be asked"), "{}", told(&ended));
    let store = Store::open_existing(&url).await.expect("the tables");
    assert_eq!(store.deployment().await.unwrap(), None);
    store.close().await;
    let right = "https://right.example";
    let ended = causeway(&[&CREATE[..], &["--store", &url, "--upstream", right]].concat());
    assert!(ended.status.success(), "{}", told(&ended));
    let store = Store::open_existing(&url).await.expect("the store");
    assert_eq!(store.deployment().await.unwrap().as_deref(), Some(right));
}
