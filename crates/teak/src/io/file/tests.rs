use super::*;
#[cfg(unix)]
use crate::io::system::{PRETENDED_PAGE_LEN, page_len};
use crate::io::{
    FileSharing,
    file::{Create, FILE_MODE, is_on_network},
};
use crate::{Error, Result, io::sys};
#[cfg(unix)]
use std::os::unix::fs::MetadataExt;
use std::{fs, path::Path, process::Command};
use tempfile::TempDir;

fn create(path: &Path) -> FileStorage {
    FileStorage::create(path, |_| Ok(())).unwrap()
}

fn new_file() -> (TempDir, FileStorage) {
    let directory = TempDir::new().unwrap();
    let storage = create(&directory.path().join("file"));
    (directory, storage)
}

fn reopen(directory: &TempDir, access: Access) -> Result<FileStorage> {
    let file_sharing = match access {
        Access::ReadOnly => FileSharing::Shared,
        Access::ReadWrite => FileSharing::Exclusive,
    };
    FileStorage::open(
        &directory.path().join("file"),
        access,
        Create::Never,
        file_sharing,
        FILE_MODE,
    )
    .map(|(storage, _)| storage)
}

#[test]
fn writes_are_visible_and_permanent() {
    let (directory, storage) = new_file();
    storage.set_len(10_000).unwrap();
    storage
        .write(
            4094,
            &[IoSlice::new(b"ab"), IoSlice::new(b""), IoSlice::new(b"cd")],
        )
        .unwrap();
    let mapping = storage.mapping().unwrap();
    assert_eq!(mapping.bytes_at_rest(4093, 6), Some(&b"\0abcd\0"[..]));
    let mut copy = [0; 4];
    assert!(mapping.copy(4094, &mut copy));
    assert_eq!(copy, *b"abcd");
    storage.flush().unwrap();
    drop((storage, mapping));
    let storage = reopen(&directory, Access::ReadOnly).unwrap();
    assert_eq!(storage.len(), 10_000);
    assert_eq!(
        storage.mapping().unwrap().bytes_at_rest(4094, 4),
        Some(&b"abcd"[..])
    );
}

#[test]
fn a_write_does_not_extend_the_file() {
    let (_directory, storage) = new_file();
    storage.set_len(10).unwrap();
    for offset in [7, 10, 1 << 30, u64::MAX] {
        let error = storage.write(offset, &[IoSlice::new(b"abcd")]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }
    assert_eq!(storage.file.metadata().unwrap().len(), 10);
}

#[test]
fn many_parts_are_written() {
    let (_directory, storage) = new_file();
    let parts: Vec<[u8; 3]> = (0..5000u32).map(|i| [i as u8, (i >> 8) as u8, 7]).collect();
    let slices: Vec<IoSlice> = parts.iter().map(|part| IoSlice::new(part)).collect();
    storage.set_len(20_000).unwrap();
    storage.write(1, &slices).unwrap();
    assert_eq!(
        storage.mapping().unwrap().bytes_at_rest(1, 15_000),
        Some(&parts.concat()[..])
    );
}

#[cfg(unix)]
#[test]
fn growing_allocates_blocks() {
    let (_directory, storage) = new_file();
    storage.set_len(1 << 20).unwrap();
    if storage.secure(0, 1 << 20).unwrap() {
        assert!(storage.file.metadata().unwrap().blocks() * 512 >= 1 << 20);
    }
}

#[test]
fn growth_is_seen_through_an_old_mapping() {
    let (_directory, storage) = new_file();
    let mapping = storage.mapping().unwrap();
    assert_eq!(mapping.bytes_at_rest(0, 1), None);
    storage.set_len(1 << 20).unwrap();
    storage.write((1 << 20) - 1, &[IoSlice::new(b"x")]).unwrap();
    assert_eq!(mapping.bytes_at_rest((1 << 20) - 1, 1), Some(&b"x"[..]));
    assert!(Arc::ptr_eq(&mapping, &storage.mapping().unwrap()));
    storage.set_len(4096).unwrap();
    assert_eq!(mapping.bytes_at_rest(4096, 1), None);
    assert!(mapping.bytes_at_rest(0, 4096).is_some());
}

#[test]
fn a_file_that_outgrows_its_address_range_gets_another_mapping() {
    let (_directory, mut storage) = new_file();
    storage.reserve_len = 1 << 16;
    storage.set_len(4096).unwrap();
    let old = storage.mapping().unwrap();
    let old_writable = storage.writable().unwrap();
    storage.set_len(1 << 20).unwrap();
    storage.write(0, &[IoSlice::new(b"x")]).unwrap();
    let new = storage.mapping().unwrap();
    assert!(!Arc::ptr_eq(&old, &new));
    assert!(old.bytes_at_rest(0, 1 << 16).is_some());
    assert_eq!(old.bytes_at_rest(0, (1 << 16) + 1), None);
    assert_eq!(new.bytes_at_rest(0, 1 << 20).unwrap()[0], b'x');
    assert_eq!(old.bytes_at_rest(0, 1), Some(&b"x"[..]));
    storage.set_len(4096).unwrap();
    assert_eq!(
        (old.bytes_at_rest(4096, 1), new.bytes_at_rest(4096, 1)),
        (None, None)
    );
    storage.set_len(1 << 20).unwrap();
    drop(old);
    storage.set_len(1 << 19).unwrap();
    assert_eq!(lock(&storage.views).mappings.len(), 1);
    if let (Some(old), Some(new)) = (old_writable, storage.writable().unwrap()) {
        let _extent = old.extent_at_rest(0, 4096).unwrap();
        assert!(new.extent_at_rest(4095, 1).is_none());
        assert!(old.extent_at_rest(1 << 17, 1).is_none());
        assert!(new.extent_at_rest(1 << 17, 1).is_some());
    }
}

#[test]
fn extents_write_into_the_file() {
    let (directory, storage) = new_file();
    storage.set_len(8192).unwrap();
    let Some(writable) = storage.writable().unwrap() else {
        return;
    };
    assert!(Arc::ptr_eq(
        &writable,
        &storage.writable().unwrap().unwrap()
    ));
    let mut extent = writable.extent_at_rest(4096, 4096).unwrap();
    extent[..3].copy_from_slice(b"abc");
    storage.mark_written(4096, 3);
    assert_eq!(
        storage.set_len(4096).unwrap_err().kind(),
        io::ErrorKind::ResourceBusy
    );
    assert_eq!(
        storage.mapping().unwrap().bytes_at_rest(4096, 4),
        Some(&b"abc\0"[..])
    );
    storage.flush().unwrap();
    assert_eq!(
        &fs::read(directory.path().join("file")).unwrap()[4096..4099],
        b"abc"
    );
    drop(extent);
    storage.set_len(4096).unwrap();
}

/// A file of `len` bytes that has no blocks at all.
#[cfg(unix)]
fn hole(path: &Path, len: u64) -> FileStorage {
    fs::File::create(path).unwrap().set_len(len).unwrap();
    let opened = FileStorage::open(
        path,
        Access::ReadWrite,
        Create::Never,
        FileSharing::Exclusive,
        FILE_MODE,
    );
    let (storage, _) = opened.unwrap();
    assert_eq!(allocated(&storage), 0);
    storage
}

#[cfg(unix)]
fn allocated(storage: &FileStorage) -> u64 {
    storage.file.metadata().unwrap().blocks() * 512
}

#[cfg(unix)]
#[test]
fn only_pages_to_be_written_get_blocks() {
    let directory = TempDir::new().unwrap();
    let storage = hole(&directory.path().join("file"), 1 << 30);
    assert!(storage.writable().is_ok());
    if !storage.secure(1 << 20, 1 << 16).unwrap() {
        return;
    }
    let before = allocated(&storage);
    assert!((1 << 16..1 << 20).contains(&before), "{before} bytes");
    let writable = storage.writable().unwrap().unwrap();
    writable.extent_at_rest(1 << 20, 1 << 16).unwrap().fill(7);
    storage.flush().unwrap();
    assert_eq!(allocated(&storage), before);
}

#[test]
fn a_file_without_holes_is_queried_once() {
    let (directory, storage) = new_file();
    storage.set_len(8 << 20).unwrap();
    storage
        .write(0, &[IoSlice::new(&vec![7; 8 << 20])])
        .unwrap();
    storage.flush().unwrap();
    drop(storage);
    let storage = reopen(&directory, Access::ReadWrite).unwrap();
    // Elsewhere each range is unshared before it is overwritten.
    let file = fs::File::open(directory.path().join("file")).unwrap();
    let overwrite = sys::file_system(&file).unwrap().overwrite;
    if overwrite == sys::Overwrite::Always && storage.secure(1 << 20, 4096).unwrap() {
        let whole = 1 << 20..8 << 20;
        assert!(lock(&storage.growth).knows(&whole));
        storage.set_len(4 << 20).unwrap();
        assert!(!lock(&storage.growth).knows(&whole));
        storage.refresh(true).unwrap();
        assert!(lock(&storage.growth).knows(&(1 << 20..2 << 20)));
        storage.refresh(false).unwrap();
        assert!(!lock(&storage.growth).knows(&(1 << 20..2 << 20)));
    }
}

/// The pages of a commit restored the length of the file. The lost bytes in between were zeros
/// then, and the commit succeeded.
#[test]
fn a_write_does_not_extend_a_truncated_file() {
    let (directory, storage) = new_file();
    storage.set_len(1 << 20).unwrap();
    let file = directory.path().join("file");
    let file = fs::OpenOptions::new().write(true).open(file).unwrap();
    file.set_len(1 << 18).unwrap();
    let page = [7; 4096];
    let end = (1 << 20) - 4096;
    for result in [
        storage.write(end, &[IoSlice::new(&page)]),
        storage.write_through(end, &page).map(drop),
    ] {
        assert!(
            result
                .unwrap_err()
                .to_string()
                .contains("truncated the file")
        );
    }
    assert!(storage.refuse_cut().is_err());
    storage.write(0, &[IoSlice::new(&page)]).unwrap();
    file.set_len(1 << 20).unwrap();
    storage.write(end, &[IoSlice::new(&page)]).unwrap();
}

#[test]
fn blocks_that_are_not_kept_give_no_extents() {
    let (_directory, storage) = new_file();
    lock(&storage.growth).note_growth(0..0, false);
    assert!(storage.writable().unwrap().is_none());
}

#[cfg(unix)]
#[test]
fn blocks_are_returned_and_allocated_again() {
    let (_directory, storage) = new_file();
    storage.set_len(4 << 20).unwrap();
    storage
        .write(0, &[IoSlice::new(&vec![7; 4 << 20])])
        .unwrap();
    let is_secured = storage.secure(0, 4 << 20).unwrap();
    if !storage.punch(1 << 20, 2 << 20).unwrap() {
        return;
    }
    let mapping = storage.mapping().unwrap();
    let bytes = mapping.bytes_at_rest(0, 4 << 20).unwrap();
    assert!(bytes[1 << 20..3 << 20].iter().all(|byte| *byte == 0));
    assert_eq!((bytes[(1 << 20) - 1], bytes[3 << 20]), (7, 7));
    assert!(allocated(&storage) < 3 << 20);
    assert_eq!(storage.len(), 4 << 20);
    assert_eq!(storage.next_data(1 << 20).unwrap(), 3 << 20);
    assert_eq!(storage.next_data(4 << 20).unwrap(), 4 << 20);
    if is_secured {
        assert!(storage.secure(2 << 20, 1 << 20).unwrap());
        assert!(allocated(&storage) >= 3 << 20);
        assert!(!lock(&storage.growth).knows(&(1 << 20..2 << 20)));
    }
    assert!(storage.punch(3 << 20, 2 << 20).is_err(), "behind the end");
}

#[test]
fn one_writer_or_many_readers() {
    let (directory, writer) = new_file();
    assert!(matches!(
        reopen(&directory, Access::ReadWrite),
        Err(Error::InUse(_))
    ));
    assert!(matches!(
        reopen(&directory, Access::ReadOnly),
        Err(Error::InUse(_))
    ));
    drop(writer);
    let reader = reopen(&directory, Access::ReadOnly).unwrap();
    let _other = reopen(&directory, Access::ReadOnly).unwrap();
    assert!(matches!(
        reopen(&directory, Access::ReadWrite),
        Err(Error::InUse(_))
    ));
    assert!(reader.writable().unwrap().is_none());
    for result in [reader.set_len(1), reader.write(0, &[])] {
        assert_eq!(result.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    }
}

#[test]
fn a_mapping_keeps_the_lock() {
    let (directory, storage) = new_file();
    let mapping = storage.mapping().unwrap();
    drop(storage);
    assert!(matches!(
        reopen(&directory, Access::ReadWrite),
        Err(Error::InUse(_))
    ));
    drop(mapping);
    reopen(&directory, Access::ReadWrite).unwrap();
}

#[cfg(unix)]
#[test]
fn only_regular_files_are_opened() {
    let directory = TempDir::new().unwrap();
    let pipe = directory.path().join("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    for path in [directory.path(), &pipe, Path::new("/dev/null")] {
        for access in [Access::ReadOnly, Access::ReadWrite] {
            let error = FileStorage::open(
                path,
                access,
                Create::IfMissing,
                FileSharing::Exclusive,
                FILE_MODE,
            )
            .unwrap_err();
            assert!(matches!(error, Error::NotADatabase { .. }), "{error}");
        }
    }
}

/// A file system of 1 MiB, where the test may mount one.
struct TinyDisk(TempDir);

impl TinyDisk {
    fn mount() -> Option<Self> {
        let directory = TempDir::new().unwrap();
        let arguments = ["-t", "tmpfs", "-o", "size=1m", "teak-test"];
        let output = Command::new("mount")
            .args(arguments)
            .arg(directory.path())
            .output()
            .ok()?;
        output.status.success().then(|| Self(directory))
    }
}

impl Drop for TinyDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount")
            .arg("--lazy")
            .arg(self.0.path())
            .status();
    }
}

#[test]
fn a_full_disk_is_an_error_of_growing() {
    if !crate::io::can("allocation", |abilities| abilities.allocation) {
        return;
    }
    let Some(disk) = TinyDisk::mount() else {
        return;
    };
    let storage = create(&disk.0.path().join("file"));
    storage.set_len(4096).unwrap();
    assert_eq!(
        storage.set_len(4 << 20).unwrap_err().kind(),
        io::ErrorKind::StorageFull
    );
    assert_eq!(
        (storage.len(), storage.file.metadata().unwrap().len()),
        (4096, 4096)
    );
    storage.set_len(1 << 19).unwrap();
    let writable = storage.writable().unwrap().unwrap();
    writable.extent_at_rest(0, 1 << 19).unwrap().fill(7);
    storage.flush().unwrap();
    assert_eq!(
        storage.mapping().unwrap().bytes_at_rest((1 << 19) - 1, 1),
        Some(&[7][..])
    );
}

/// All remaining blocks of a full disk were treated as holes for future writes, and kept.
#[cfg(unix)]
#[test]
fn a_file_of_holes_does_not_fill_the_disk() {
    if !crate::io::can("allocation", |abilities| abilities.allocation) {
        return;
    }
    let Some(disk) = TinyDisk::mount() else {
        return;
    };
    let storage = hole(&disk.0.path().join("file"), 4 << 20);
    assert!(storage.secure(1 << 20, 1 << 16).unwrap());
    assert_eq!(allocated(&storage), 1 << 16);
    let error = storage.secure(2 << 20, 2 << 20).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    assert!(storage.secure(3 << 20, 1 << 16).unwrap());
    storage
        .writable()
        .unwrap()
        .unwrap()
        .extent_at_rest(3 << 20, 1 << 16)
        .unwrap()
        .fill(7);
    assert_eq!(storage.len(), 4 << 20);
}

/// The system has larger pages: a store needs blocks for a whole one, and returned blocks must not
/// be part of one that is in use.
#[cfg(unix)]
#[test]
fn blocks_are_those_of_whole_pages_of_the_system() {
    const LARGE: u64 = 16 << 10;
    if page_len() < LARGE {
        let name = "io::file::tests::blocks_are_those_of_whole_pages_of_the_system";
        let again = Command::new(std::env::current_exe().unwrap())
            .args([name, "--exact"])
            .env(PRETENDED_PAGE_LEN, LARGE.to_string())
            .output()
            .unwrap();
        assert!(again.status.success(), "{again:?}");
        return;
    }
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("file");
    let storage = hole(&path, 4 * LARGE);
    if !storage.secure(LARGE + 4096, 4096).unwrap() {
        return;
    }
    assert_eq!(allocated(&storage), LARGE);
    assert!(storage.secure(LARGE, LARGE).unwrap() && allocated(&storage) == LARGE);
    assert!(storage.secure(0, 4 * LARGE).unwrap());
    // Only one page of the system's is wholly inside.
    assert!(storage.punch(LARGE - 4096, LARGE + 8192).unwrap());
    assert_eq!(allocated(&storage), 3 * LARGE);
    assert!(!storage.punch(4096, LARGE).unwrap());
    assert!(storage.secure(2 * LARGE - 4096, 8192).unwrap());
    assert_eq!(allocated(&storage), 4 * LARGE);
    // If a file ends inside a system page, the rest of that page gets blocks when the file grows.
    drop(storage);
    let storage = hole(&directory.path().join("short"), LARGE + 4096);
    storage.set_len(2 * LARGE).unwrap();
    assert_eq!(allocated(&storage), LARGE);
}

#[test]
fn a_local_file_is_not_on_the_network() {
    let directory = TempDir::new().unwrap();
    for name in ["there is none", "file"] {
        let path = directory.path().join(name);
        assert!(!is_on_network(&path));
        fs::write(directory.path().join("file"), "").unwrap();
    }
    assert!(!is_on_network(Path::new("file without a directory")));
}
