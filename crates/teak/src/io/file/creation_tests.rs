use super::*;
use crate::io::{
    Access, Create, Created, FILE_MODE, FileSharing, FileStorage, mutex::lock, storage::Storage,
};
use std::{fs, io::IoSlice, sync::Barrier, thread};
use tempfile::TempDir;

impl FileStorage {
    /// Creates a file at `path` with what `fill` writes. The file gets its name when everything is
    /// on the disk: a crash leaves no file, or a complete one.
    ///
    /// # Errors
    /// `AlreadyExists` when there is a file, even one that was created while `fill` ran; errors of
    /// `fill`; `Io` for the rest. There is no new file then.
    pub(in crate::io::file) fn create(
        path: &Path,
        fill: impl FnOnce(&Self) -> Result<()>,
    ) -> Result<Self> {
        let (storage, _) = Self::open(
            path,
            Access::ReadWrite,
            Create::New,
            FileSharing::Exclusive,
            FILE_MODE,
        )?;
        // Without a pending name, a flush by `fill` is an ordinary flush.
        let unnamed = lock(&storage.unnamed).take();
        fill(&storage)?;
        *lock(&storage.unnamed) = unnamed;
        match storage.flush() {
            Ok(()) => Ok(storage),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                Err(Error::AlreadyExists(path.into()))
            }
            Err(cause) => Err(Error::Io {
                operation: "giving the new database file its name",
                path: None,
                cause: cause.into(),
            }),
        }
    }
}

fn names(directory: &TempDir) -> Vec<OsString> {
    let entries = fs::read_dir(directory.path()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name());
    // Files without a name may be in the list, as ones that are being deleted.
    let is_shown =
        |name: &OsString| cfg!(unix) || !name.to_string_lossy().starts_with(".teak-new-");
    let mut names: Vec<_> = names.filter(is_shown).collect();
    names.sort();
    names
}

fn fill(storage: &FileStorage, bytes: &[u8]) -> Result<()> {
    storage
        .set_len(bytes.len() as u64)
        .map_err(Error::io("growing"))?;
    storage
        .write(0, &[IoSlice::new(bytes)])
        .map_err(Error::io("writing"))
}

#[test]
fn a_file_has_its_name_when_it_is_filled() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("file");
    let storage = FileStorage::create(&path, |storage| {
        fill(storage, b"content")?;
        storage.flush().map_err(Error::io("flushing"))?;
        assert!(!path.exists());
        Ok(())
    });
    assert_eq!(storage.unwrap().len(), 7);
    assert_eq!(fs::read(&path).unwrap(), b"content");
    assert_eq!(names(&directory), ["file"]);
}

#[test]
fn a_failed_fill_leaves_nothing() {
    let directory = TempDir::new().unwrap();
    let result = FileStorage::create(&directory.path().join("file"), |_| Err(Error::ReadOnly));
    assert!(matches!(result, Err(Error::ReadOnly)));
    assert!(names(&directory).is_empty());
}

fn open_or_create(path: &Path) -> (FileStorage, Created) {
    let (access, create) = (Access::ReadWrite, Create::IfMissing);
    FileStorage::open(path, access, create, FileSharing::Exclusive, FILE_MODE).unwrap()
}

#[test]
fn the_first_flush_gives_the_name() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("file");
    let (storage, created) = open_or_create(&path);
    assert_eq!(created, Created::Yes);
    assert!(!path.exists());
    fill(&storage, b"content").unwrap();
    storage.flush().unwrap();
    storage.flush().unwrap();
    drop(storage);
    let (storage, created) = open_or_create(&path);
    assert_eq!((storage.len(), created), (7, Created::No));
}

#[test]
fn a_file_must_or_must_not_exist() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("file");
    let open = |access, create| {
        FileStorage::open(&path, access, create, FileSharing::Exclusive, FILE_MODE)
    };
    assert!(matches!(
        open(Access::ReadWrite, Create::Never),
        Err(Error::NotFound(_))
    ));
    assert!(matches!(
        open(Access::ReadOnly, Create::IfMissing),
        Err(Error::NotFound(_))
    ));
    assert!(matches!(
        open(Access::ReadOnly, Create::New),
        Err(Error::InvalidArgument(_))
    ));
    fs::write(&path, b"old").unwrap();
    assert!(matches!(
        open(Access::ReadWrite, Create::New),
        Err(Error::AlreadyExists(_))
    ));
    assert!(open(Access::ReadWrite, Create::Never).is_ok());
    let missing = directory.path().join("missing/file");
    assert!(matches!(
        FileStorage::create(&missing, |_| Ok(())),
        Err(Error::Io { .. })
    ));
    let nameless = directory.path().join("missing/..");
    assert!(matches!(
        FileStorage::create(&nameless, |_| Ok(())),
        Err(Error::InvalidArgument(_))
    ));
    assert_eq!(fs::read(&path).unwrap(), b"old");
}

#[test]
fn one_of_many_concurrent_creations_wins() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("file");
    let together = Barrier::new(4);
    let create = |content: u8| {
        FileStorage::create(&path, |storage| {
            fill(storage, &[content; 100])?;
            together.wait();
            Ok(())
        })
    };
    let results: Vec<Result<FileStorage>> = thread::scope(|scope| {
        let handles: Vec<_> = (0..4)
            .map(|content| scope.spawn(move || create(content)))
            .collect();
        handles
            .into_iter()
            .map(|handle| handle.join().unwrap())
            .collect()
    });
    let winner = results.iter().position(Result::is_ok).unwrap();
    for (index, result) in results.iter().enumerate() {
        assert!(
            index == winner || matches!(result, Err(Error::AlreadyExists(_))),
            "{result:?}"
        );
    }
    assert_eq!(fs::read(&path).unwrap(), [winner as u8; 100]);
    assert_eq!(names(&directory), ["file"]);
}

#[test]
fn an_unfinished_file_is_replaced_without_loss() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("file");
    let (slow, _) = open_or_create(&path);
    let fast = FileStorage::create(&path, |storage| fill(storage, b"fast")).unwrap();
    fill(&slow, b"slow").unwrap();
    for _ in 0..2 {
        assert_eq!(
            slow.flush().unwrap_err().kind(),
            io::ErrorKind::AlreadyExists
        );
    }
    drop((slow, fast));
    assert_eq!(fs::read(&path).unwrap(), b"fast");
}

/// As on a file system without unnamed files.
fn make_named(directory: &TempDir) -> (File, Unnamed) {
    let unnamed = Unnamed {
        directory: Directory::open(directory.path(), DirectoryUse::Flush).unwrap(),
        name: "file".into(),
        temporary: None,
        is_linked: false,
    };
    unnamed.make_named(0o666).unwrap()
}

#[test]
fn the_real_name_replaces_a_temporary_one() {
    let directory = TempDir::new().unwrap();
    let (file, mut unnamed) = make_named(&directory);
    let temporary = unnamed.temporary.clone().unwrap();
    let temporary = directory.path().join(temporary);
    assert!(temporary.exists());
    unnamed.publish(&file).unwrap();
    assert!(!temporary.exists());
    assert_eq!(names(&directory), ["file"]);
}

#[test]
fn a_temporary_name_is_removed_with_an_abandoned_file() {
    let directory = TempDir::new().unwrap();
    drop(make_named(&directory));
    assert!(names(&directory).is_empty());
}

#[test]
fn a_temporary_file_replaces_nothing() {
    let directory = TempDir::new().unwrap();
    let (file, mut unnamed) = make_named(&directory);
    fs::write(directory.path().join("file"), b"old").unwrap();
    assert_eq!(
        unnamed.publish(&file).unwrap_err().kind(),
        io::ErrorKind::AlreadyExists
    );
    drop(unnamed);
    assert_eq!(fs::read(directory.path().join("file")).unwrap(), b"old");
    assert_eq!(names(&directory), ["file"]);
}

/// The directory of a new file was not flushed (LMDB, libmdbx, redb and bbolt): a crash could lose
/// the file with all acknowledged commits. Here flushing the directory is part of giving the file
/// its name. If it fails, so does the naming, and it is retried.
#[test]
#[cfg(unix)]
fn a_directory_that_cannot_be_flushed_is_an_error() {
    let directory = TempDir::new().unwrap();
    let (file, mut unnamed) = Unnamed::begin(&directory.path().join("file"), FILE_MODE).unwrap();
    // It supports names, but not flushing.
    let names_only = Directory::open(directory.path(), DirectoryUse::Names).unwrap();
    if names_only.flush().is_ok() {
        // The system has no way to open a directory for names only.
        return;
    }
    let flushable = std::mem::replace(&mut unnamed.directory, names_only);
    for _ in 0..2 {
        let failed = unnamed.publish(&file).unwrap_err();
        assert_eq!(failed.raw_os_error(), Some(libc::EBADF));
    }
    unnamed.directory = flushable;
    unnamed.publish(&file).unwrap();
    assert_eq!(names(&directory), ["file"]);
}

#[cfg(unix)] // Elsewhere no open file is replaced, and none has to be.
#[test]
fn a_claim_is_replaced_as_a_last_resort() {
    let directory = TempDir::new().unwrap();
    let name = directory.path().join("file");
    let made = ["one", "other"].map(|name| directory.path().join(name));
    made.iter()
        .for_each(|path| fs::write(path, path.as_os_str().as_encoded_bytes()).unwrap());
    let content = fs::read(&made[0]).unwrap();
    let claimed = made.each_ref().map(|path| {
        let (from, to) = (in_directory(path).unwrap(), in_directory(&name).unwrap());
        let claimed = super::claim((&from.0, from.1), (&to.0, to.1));
        claimed.map_err(|error| error.kind())
    });
    assert_eq!(claimed, [Ok(()), Err(io::ErrorKind::AlreadyExists)]);
    assert_eq!(fs::read(&name).unwrap(), content);
    assert_eq!(names(&directory), ["file", "other"]);
}
