//! A file system that accepts no more writes after a fault of its disk: the store is then only read, and reports it.
//!
//! The test makes such a file system on machines that allow it: ext4 in a file, and root to mount it.

use crate::store::place::{Place, V1, WORKSPACE, edit, given};
use crate::support::mounted::Mounted;
use causeway::fresh::Changes;
use causeway::refusal::Refusal;
use causeway::store::Store;
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use uuid::Uuid;

/// An ext4 file system in a file, mounted on a folder until this is dropped.
struct Disk<'p> {
    folder: &'p Path,
    image: PathBuf,
}

fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

impl<'p> Disk<'p> {
    fn at(folder: &'p Path, image: PathBuf) -> Option<Self> {
        std::fs::File::create(&image).and_then(|file| file.set_len(16 << 20)).expect("a file for the disk");
        let made = succeeds(Command::new("mkfs.ext4").arg("-q").arg(&image));
        let disk = Self { folder, image };
        (made && disk.mount()).then_some(disk)
    }

    fn mount(&self) -> bool {
        let mut mount = Command::new("mount");
        succeeds(mount.args(["-o", "loop,errors=remount-ro"]).arg(&self.image).arg(self.folder))
    }

    /// Unmounts it and mounts it again, as an operator does after such a fault.
    fn repair(&self) {
        assert!(succeeds(Command::new("umount").arg(self.folder)), "nobody uses it");
        assert!(self.mount(), "mounted anew");
    }

    /// Causes a fault of the file system; not every machine can.
    fn fail(&self) -> bool {
        let device =
            Command::new("findmnt").args(["-n", "-o", "SOURCE"]).arg(self.folder).output().expect("findmnt");
        let device = String::from_utf8(device.stdout).expect("a name");
        let device = Path::new(device.trim()).file_name().expect("a device").to_owned();
        std::fs::write(Path::new("/sys/fs/ext4").join(device).join("trigger_fs_error"), "1").is_ok()
    }
}

impl Drop for Disk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.folder).status();
    }
}

async fn define(store: &Store, name: &str) -> Result<Uuid, Refusal> {
    let body = given(json!({"name": name}));
    edit(store, |edit| edit.create_type(None, &body)).await
}

async fn assert_only_read(store: &Store, types: usize) {
    store.ping().await.expect("it is read");
    assert!(store.is_read_only());
    assert_eq!(store.catalogue(WORKSPACE).await.expect("the definitions").types.len(), types);
    let refused = define(store, "not now").await.expect_err("it cannot be written");
    assert_eq!((refused.status(), refused.code()), (503, "store_unavailable"), "{refused:?}");
    assert!(store.is_read_only());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_system_that_stops_is_read_and_found_also_by_the_next_start() {
    let place = Place::sqlite();
    let images = tempfile::tempdir().expect("a folder");
    let Some(disk) = Disk::at(place.folder(), images.path().join("disk")) else { return };
    let changes = Changes::default();
    let store = place.open().await;
    let joined = store.join(&changes, Duration::ZERO).await.expect("the file is ours");
    for name in ["Bug", "Task"] {
        define(&store, name).await.expect("a type");
    }
    if !disk.fail() {
        return;
    }
    // A check finds it before any write, and it stays so.
    for _ in 0..2 {
        assert_only_read(&store, 2).await;
        tokio::time::sleep(Duration::from_millis(1_100)).await;
    }
    joined.leave().await;
    store.close().await;

    let store = Store::open(&place.url(), V1).await.expect("it is opened for reading");
    let joined = store.join(&changes, Duration::ZERO).await.expect("it is read");
    assert_only_read(&store, 2).await;
    joined.leave().await;
    store.close().await;

    disk.repair();
    let store = place.open().await;
    let joined = store.join(&changes, Duration::ZERO).await.expect("the file is ours");
    define(&store, "Story").await.expect("a type");
    assert_eq!(store.catalogue(WORKSPACE).await.expect("the definitions").types.len(), 3);
    joined.leave().await;
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_the_disk_does_not_say_it_has_is_not_said_to_be_undone() {
    let place = Place::sqlite();
    let images = tempfile::tempdir().expect("a folder");
    // Memory in place of a disk, with little room. A file system in such a file finds its limit late: the system first
    // buffers its writes, and learns only when they must be saved that some have no room.
    let Some(_small) = Mounted::at(images.path(), "8m") else { return };
    let Some(_disk) = Disk::at(place.folder(), images.path().join("disk")) else { return };
    let store = place.open().await;
    define(&store, "Bug").await.expect("a type");
    // The real place of the disk has no room left, which the file system on it does not know.
    let mut rest = std::fs::File::create(images.path().join("rest")).expect("a file");
    while rest.write_all(&[1; 4096]).is_ok() {}
    let body = given(json!({"name": "Task", "description": "d".repeat(500_000)}));
    let refused = edit(&store, |edit| edit.create_type(None, &body)).await.expect_err("it does not last");
    assert_eq!(refused.status(), 502, "{refused:?}");
    assert!(format!("{refused:?}").contains("may have been carried out"), "{refused:?}");
    store.close().await;
}
