//! Databases or directories without write permission; unusual files and links; and the permissions
//! of copies. Tests that mount something or act as another user need root, and print a note if they
//! do nothing.

use crate::{processes::Other, shared::temporary_path};
#[cfg(unix)]
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::{
    borrow::Cow,
    fs::{self, File, Permissions},
    io::{self, Write},
    ops::ControlFlow,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Duration,
};
use teak::{
    Create, Database, Error, Options, Result, Sharing, Table, Transaction,
    codec::{Codec, CodecOrder, EncodeAs, KeyPart, Raw, Str},
};

fn put(database: &Database, key: &str, value: u64) {
    let mut txn = database.begin_write().unwrap();
    let table: Table<Str, u64> = txn.create_table("numbers").unwrap();
    table.insert(&mut txn, key, value).unwrap();
    txn.commit().unwrap();
}

fn get(database: &Database, key: &str) -> Result<Option<u64>> {
    let txn = database.begin_read()?;
    txn.open_table::<Str, u64>("numbers")?.get(&txn, key)
}

#[cfg(unix)]
fn is_root() -> bool {
    // SAFETY: asks for a number.
    unsafe { libc::geteuid() == 0 }
}

/// Runs something as a user who cannot write to files of root.
#[cfg(unix)]
fn as_other_user<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    if !is_root() {
        return work();
    }
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            // SAFETY: these change the permissions of this thread, which ends here.
            unsafe {
                libc::setfsgid(65_534);
                libc::setfsuid(65_534);
            }
            work()
        });
        thread.join().unwrap()
    })
}

fn reading() -> Options {
    Options::new().read_only(true).create(Create::Never)
}

/// A mounted directory, which is unmounted on drop.
struct Mount(PathBuf);

impl Mount {
    fn new(at: &Path, arguments: &[&str]) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let mount = Command::new("mount").args(arguments).arg(at).output();
        let is_mounted = mount.is_ok_and(|mount| mount.status.success());
        if !is_mounted {
            eprintln!("not run: it requires root to mount {arguments:?}");
        }
        is_mounted.then(|| Self(at.to_path_buf()))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

/// A closed database in a directory that only root can write to.
#[cfg(unix)]
fn in_closed_directory() -> (tempfile::TempDir, PathBuf) {
    let (directory, path) = temporary_path();
    put(&Database::open(&path).unwrap(), "a", 1);
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    fs::set_permissions(directory.path(), Permissions::from_mode(0o555)).unwrap();
    (directory, path)
}

#[cfg(unix)]
#[test]
fn a_database_in_a_read_only_directory_is_readable() {
    let (_directory, path) = in_closed_directory();
    as_other_user(|| {
        let [one, other] = [(); 2].map(|()| reading().open(&path).unwrap());
        assert_eq!(get(&one, "a").unwrap(), Some(1));
        assert_eq!(get(&other, "a").unwrap(), Some(1));
        assert!(!path.with_file_name("some.teak-lock").exists());
    });
}

#[cfg(unix)]
#[test]
fn no_process_writes_while_another_reads_without_a_lock_file() {
    if !is_root() {
        return eprintln!("not run: it requires root to act as another user");
    }
    let (_directory, path) = in_closed_directory();
    let database = as_other_user(|| reading().open(&path).unwrap());
    let mut other = Other::start(&path);
    assert!(other.ask("open").contains("in use"));
    assert_eq!(get(&database, "a").unwrap(), Some(1));
    drop(database);
    assert_eq!(other.ask("open"), "Clean");
}

#[cfg(unix)]
#[test]
fn reading_without_a_lock_file_during_writes_requires_an_option() {
    if !is_root() {
        return eprintln!("not run: it requires root to act as another user");
    }
    let (_directory, path) = in_closed_directory();
    let mut other = Other::start(&path);
    assert_eq!(other.ask("open"), "Clean");
    as_other_user(|| {
        match reading().open(&path) {
            Err(Error::Io { cause, .. }) => {
                assert_eq!(cause.kind(), io::ErrorKind::PermissionDenied);
            }
            opened => panic!("{opened:?}"),
        }
        let database = reading().sharing(Sharing::Unlocked).open(&path).unwrap();
        assert_eq!(get(&database, "a").unwrap(), Some(1));
        let txn = database.begin_read().unwrap();
        let table: Table<Str, u64> = txn.open_table("numbers").unwrap();
        let mut found = 1;
        for value in 2..50 {
            let mode = ["lazy", "durable"][value as usize % 2];
            other.ask(&format!("put {mode} a {value}"));
            let next = get(&database, "a").unwrap().unwrap();
            assert!((found..=value).contains(&next), "{next} after {found}");
            found = next;
        }
        while found < 49 {
            // Small commits are seen when they are merged.
            thread::sleep(Duration::from_millis(1));
            found = get(&database, "a").unwrap().unwrap();
        }
        other.ask("fill 5000");
        let lost = table.get(&txn, "a");
        assert!(matches!(lost, Err(Error::SnapshotLost)), "{lost:?}");
        drop(txn);
        assert_eq!(get(&database, "a").unwrap(), Some(49));
    });
}

#[test]
fn nothing_is_written_without_a_lock_file() {
    let (_directory, path) = temporary_path();
    let opened = Options::new().sharing(Sharing::Unlocked).open(&path);
    assert!(matches!(opened, Err(Error::InvalidArgument(_))));
    let database = Database::open(&path).unwrap();
    put(&database, "a", 1);
    // This process has it open with a lock file, which works as well.
    let same = reading().sharing(Sharing::Unlocked).open(&path).unwrap();
    put(&database, "a", 2);
    assert_eq!(get(&same, "a").unwrap(), Some(2));
}

#[test]
fn a_database_on_a_read_only_mount_is_readable() {
    let (directory, path) = temporary_path();
    put(&Database::open(&path).unwrap(), "a", 1);
    let at = tempfile::tempdir().unwrap();
    let source = directory.path().to_str().unwrap();
    let Some(mount) = Mount::new(at.path(), &["--bind", source]) else {
        return;
    };
    let remount = Command::new("mount")
        .args(["-o", "remount,ro,bind"])
        .arg(at.path())
        .status();
    assert!(remount.unwrap().success());
    let database = reading().open(mount.0.join("some.teak")).unwrap();
    assert_eq!(get(&database, "a").unwrap(), Some(1));
    drop(database);
    let mut other = Other::start(&path);
    assert_eq!(other.ask("open"), "Clean");
    let opened = reading().open(mount.0.join("some.teak"));
    assert!(matches!(opened, Err(Error::InUse(_))), "{opened:?}");
    let opened = reading()
        .sharing(Sharing::Unlocked)
        .open(mount.0.join("some.teak"));
    assert_eq!(get(&opened.unwrap(), "a").unwrap(), Some(1));
}

#[test]
fn a_database_on_a_full_disk_is_readable() {
    let at = tempfile::tempdir().unwrap();
    let Some(mount) = Mount::new(at.path(), &["-t", "tmpfs", "-o", "size=4m", "teak-test"]) else {
        return;
    };
    let path = mount.0.join("some.teak");
    put(&Database::open(&path).unwrap(), "a", 1);
    let mut filler = File::create(mount.0.join("filler")).unwrap();
    while filler.write_all(&[1; 4096]).is_ok() {}
    while filler.write_all(&[1]).is_ok() {}
    let database = reading().open(&path).unwrap();
    assert_eq!(get(&database, "a").unwrap(), Some(1));
    assert!(!mount.0.join("some.teak-lock").exists());
}

/// An overlay over `directory`, as used by containers.
fn overlay(directory: &Path, at: &Path) -> Option<[Mount; 2]> {
    let upper = Mount::new(&at.join("upper"), &["-t", "tmpfs", "teak-test"])?;
    for name in ["changes", "work"] {
        fs::create_dir(upper.0.join(name)).unwrap();
    }
    let (lower, at_upper) = (directory.display(), upper.0.display());
    let layers = format!("lowerdir={lower},upperdir={at_upper}/changes,workdir={at_upper}/work");
    let merged = Mount::new(
        &at.join("merged"),
        &["-t", "overlay", "-o", &layers, "teak-test"],
    )?;
    Some([merged, upper])
}

#[test]
fn a_reader_sees_writes_to_a_file_that_an_overlay_copies_up() {
    let (directory, path) = temporary_path();
    put(&Database::open(&path).unwrap(), "a", 1);
    let at = tempfile::tempdir().unwrap();
    let Some([merged, _upper]) = overlay(directory.path(), at.path()) else {
        return;
    };
    if !teak::testing::Abilities::of(&merged.0).unwrap().overlay {
        eprintln!("not run: the system does not say that a file is on an overlay");
        return;
    }
    let path = merged.0.join("some.teak");
    let database = reading().open(&path).unwrap();
    assert_eq!(get(&database, "a").unwrap(), Some(1));
    let old = database.begin_read().unwrap();
    // The file is copied when this process opens it.
    let mut other = Other::start(&path);
    other.ask("open");
    for value in 2..20 {
        let order = format!("put {} a {value}", ["lazy", "durable"][value as usize % 2]);
        other.ask(&order);
        assert_eq!(get(&database, "a").unwrap(), Some(value));
    }
    other.ask("fill 5000");
    assert_eq!(get(&database, "a").unwrap(), Some(19));
    assert!(
        database
            .check(&mut |_| ControlFlow::Continue(()))
            .unwrap()
            .is_clean()
    );
    let table: Table<Str, u64> = old.open_table("numbers").unwrap();
    assert_eq!(table.get(&old, "a").unwrap(), Some(1));
}

#[cfg(unix)]
#[test]
fn an_empty_file_becomes_a_database_and_keeps_its_permissions() {
    for sharing in [Sharing::Processes, Sharing::Alone] {
        let (_directory, path) = temporary_path();
        File::create(&path).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let inode = path.metadata().unwrap().ino();
        for opened in [
            reading().open(&path),
            Options::new().create(Create::Never).open(&path),
        ] {
            assert!(
                matches!(opened, Err(Error::NotADatabase { .. })),
                "{opened:?}"
            );
        }
        let opened = Options::new().create(Create::New).open(&path);
        assert!(matches!(opened, Err(Error::AlreadyExists(_))));
        assert_eq!(path.metadata().unwrap().len(), 0);
        let database = Options::new().sharing(sharing).open(&path).unwrap();
        put(&database, "a", 1);
        database.close().unwrap();
        let found = path.metadata().unwrap();
        assert_eq!((found.ino(), found.mode() & 0o777), (inode, 0o600));
        assert_eq!(get(&Database::open(&path).unwrap(), "a").unwrap(), Some(1));
    }
}

#[cfg(unix)]
#[test]
fn a_dangling_link_is_reported_as_such() {
    let (directory, path) = temporary_path();
    symlink("missing/file.teak", &path).unwrap();
    let target = directory.path().join("missing/file.teak");
    let target = target.to_str().unwrap();
    for options in [Options::new(), Options::new().create(Create::New)] {
        match options.open(&path) {
            Err(error @ Error::InvalidArgument(_)) => {
                assert!(error.to_string().contains(target), "{error}");
            }
            opened => panic!("{opened:?}"),
        }
    }
    let opened = reading().open(&path);
    assert!(matches!(&opened, Err(Error::NotFound(found)) if found.to_str() == Some(target)));
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[cfg(unix)]
fn go_on<P>(_: P) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

#[cfg(unix)]
#[test]
fn copies_have_no_more_permissions_than_their_originals() {
    let (directory, path) = temporary_path();
    let database = Options::new().file_mode(0o640).open(&path).unwrap();
    put(&database, "a", 1);
    database.create_snapshot("monday").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    let at = |name: &str| directory.path().join(name);
    database.backup(at("exact"), None, &mut go_on).unwrap();
    database
        .begin_read()
        .unwrap()
        .copy_dense(at("dense"), &mut go_on)
        .unwrap();
    let monday = database.open_snapshot("monday").unwrap();
    put(&database, "a", 2);
    database
        .backup(at("increment"), Some(&monday), &mut go_on)
        .unwrap();
    drop((monday, database));
    teak::salvage(&path, at("saved"), &[], &mut |_| ControlFlow::Continue(())).unwrap();
    let [mut exact, mut increment] =
        ["exact", "increment"].map(|name| File::open(at(name)).unwrap());
    let sources = [exact.metadata().unwrap(), increment.metadata().unwrap()];
    let target = at("restored");
    teak::restore(
        &mut exact,
        &mut [&mut increment],
        &sources,
        target,
        &mut go_on,
    )
    .unwrap();
    for name in ["exact", "dense", "increment", "saved", "restored"] {
        assert_eq!(at(name).metadata().unwrap().mode() & 0o777, 0o600, "{name}");
    }
}

#[cfg(unix)]
#[test]
fn copies_belong_to_the_owner_of_their_originals() {
    if !is_root() {
        return eprintln!("not run: it requires root to change owners");
    }
    let (directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    put(&database, "a", 1);
    std::os::unix::fs::chown(&path, Some(1234), Some(2345)).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    let copy = directory.path().join("copy");
    database.backup(&copy, None, &mut go_on).unwrap();
    let found = copy.metadata().unwrap();
    assert_eq!(
        (found.uid(), found.gid(), found.mode() & 0o777),
        (1234, 2345, 0o640)
    );
}

#[test]
fn two_mounts_of_one_directory_have_the_same_database() {
    let (directory, path) = temporary_path();
    let at = tempfile::tempdir().unwrap();
    let source = directory.path().to_str().unwrap();
    let Some(mount) = Mount::new(at.path(), &["--bind", source]) else {
        return;
    };
    let database = Database::open(&path).unwrap();
    put(&database, "a", 1);
    let began = std::time::Instant::now();
    let same = Database::open(mount.0.join("some.teak")).unwrap();
    assert!(
        began.elapsed() < std::time::Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
    put(&same, "a", 2);
    assert_eq!(get(&database, "a").unwrap(), Some(2));
}

/// A codec that claims a wrong length of its items.
struct TooLong;

impl Codec for TooLong {
    type Item<'a> = u8;
    type Owned = u8;
    const ORDER: CodecOrder = u8::ORDER;

    fn name() -> Cow<'static, str> {
        "tests.too-long".into()
    }

    fn decode(bytes: &[u8]) -> Result<u8> {
        u8::decode(bytes)
    }

    fn to_owned(item: u8) -> u8 {
        item
    }
}

impl EncodeAs<TooLong> for u8 {
    fn encode_as(&self) -> Result<impl AsRef<[u8]>> {
        Ok([*self])
    }
}

impl KeyPart for TooLong {
    type Part<'a> = u8;
    const LEN: Option<usize> = Some(1 << 40);

    fn decode_part(bytes: Cow<'_, [u8]>) -> Result<u8> {
        Self::decode(&bytes)
    }

    fn part_to_owned(part: u8) -> u8 {
        part
    }
}

#[test]
fn a_codec_of_a_wrong_length_is_an_error() {
    let (_directory, path) = temporary_path();
    let database = Database::open(&path).unwrap();
    let mut txn = database.begin_write().unwrap();
    type Keys = (TooLong, (TooLong, u8));
    let table: Table<Keys, Keys> = txn.create_table("numbers").unwrap();
    let inserted = table.insert(&mut txn, (1, (2, 3)), (4, (5, 6)));
    assert!(
        matches!(inserted, Err(Error::Encode { .. })),
        "{inserted:?}"
    );
    let found = table.get(&txn, (1, (2, 3)));
    assert!(matches!(found, Err(Error::Encode { .. })), "{found:?}");
    let raw = table.cast::<Raw, Raw>();
    raw.insert(&mut txn, b"key", [1, 2, 3]).unwrap();
    let found = table.first(&txn);
    assert!(matches!(found, Err(Error::Decode { .. })), "{found:?}");
}
