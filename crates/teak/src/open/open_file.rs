//! Opening or creating the file of a database.

use crate::{
    Error, Result,
    error::shown,
    io::{Access, Create, Created, FileSharing, FileStorage, Storage, boot_id, read_head},
    record::{
        RecordFault,
        probe::{PROBE_LEN, begins_with_record, find_page_size},
    },
};
use crate::{
    instance::policies::{OpenRequest, Settings},
    io::file_reads,
    open::{inspect::not_a_database, settle::format, shorten::truncate_before_use},
    process::attach::Attach,
    share::names::log_path,
};
use std::{
    path::Path,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

/// The error for a symbolic link whose target does not exist.
pub(crate) fn dangling_link(path: &Path, target: &Path, create: Create) -> Error {
    let target = path.parent().unwrap_or(Path::new("")).join(target);
    if create == Create::Never {
        return Error::NotFound(target);
    }
    Error::InvalidArgument(format!(
        "{} is a symbolic link to {}, which does not exist; name that file to create the database there, or remove the link",
        shown(path),
        shown(&target)
    ))
}

/// Opens and locks the file, or creates it. `attach` maps the shared memory as soon as the file is
/// locked.
pub(crate) fn open_file(
    (path, access, create): (&Path, Access, Create),
    file_sharing: FileSharing,
    settings: Settings,
    mut attach: Option<&mut Attach>,
) -> Result<(Arc<FileStorage>, OpenRequest)> {
    let opened = |create| {
        retry_while_in_use(|| {
            FileStorage::open(path, access, create, file_sharing, settings.file_mode)
        })
    };
    let (mut storage, created) = opened(create)?;
    let boot = boot_id();
    if let Some(attach) = &mut attach {
        attach.map_region(storage.id(), boot)?;
    }
    let may_format = created == Created::No
        && create == Create::IfMissing
        && access == Access::ReadWrite
        && file_sharing == FileSharing::Exclusive;
    if may_format && is_blank(&storage)? {
        // An empty file, as made by `mktemp`.
        format_empty(&storage, path, &settings, boot)?;
    }
    let mut formatted = None;
    if created == Created::Yes {
        formatted = Some(format(&storage, path, &settings, boot)?);
        drop(storage);
        // The system tracks open files by the path that was used to open them, and a new file had
        // none.
        storage = opened(Create::Never)?.0;
        if let Some(attach) = attach {
            // Some file systems assign a new inode number when a file is opened again.
            attach.note_file(storage.id());
        }
    }
    if created == Created::No {
        truncate_before_use(&storage, access, file_sharing)?;
    }
    storage.set_read_ahead(settings.read_ahead);
    let request = OpenRequest {
        path: path.to_path_buf(),
        is_new: false,
        formatted,
        is_read_only: matches!(access, Access::ReadOnly),
        settings,
        boot,
        log_location: log_path(path).map(|path| Arc::new(path) as _),
    };
    Ok((Arc::new(storage), request))
}

/// Checks the database file before its lock file is touched.
pub(crate) fn inspect_before_open(path: &Path, create: Create) -> Result<()> {
    if create == Create::New && path.symlink_metadata().is_ok() {
        return Err(Error::AlreadyExists(path.to_path_buf()));
    }
    let read = |len| match read_head(path, len) {
        Err(Error::NotFound(_)) => Ok(Vec::new()),
        read => read.map(|(head, _)| head),
    };
    let head = read(QUICK_PROBE_LEN)?;
    // An empty or missing file is handled when it is opened.
    if head.is_empty() || begins_with_record(&head) {
        return Ok(());
    }
    let head = read(PROBE_LEN + 1)?;
    if create == Create::IfMissing && is_half_formatted(head.len() as u64, &head) {
        return Ok(());
    }
    match find_page_size(&head) {
        Err(RecordFault::NotARecord) => Err(not_a_database(&RecordFault::NotARecord, path)),
        _ => Ok(()),
    }
}

/// Whether the file is empty, or in the state that a crash in [`format_empty`] leaves.
pub(crate) fn is_blank(storage: &FileStorage) -> Result<bool> {
    let file_len = storage.len();
    if file_len == 0 {
        return Ok(true);
    }
    if !FORMATTED_LENS.contains(&file_len) {
        return Ok(false);
    }
    let mut bytes = vec![0; file_len as usize];
    let mapping = storage.mapping().map_err(Error::io("mapping the file"))?;
    Ok(file_reads::copy(&mapping, 0, &mut bytes)? && is_half_formatted(file_len, &bytes))
}

/// Whether a file of that length, which begins with `bytes`, has the length of an empty database
/// and no record yet.
pub(crate) fn is_half_formatted(file_len: u64, bytes: &[u8]) -> bool {
    FORMATTED_LENS.contains(&file_len)
        && bytes.len() as u64 == file_len
        && bytes.iter().all(|byte| *byte == 0)
}

/// The lengths of empty databases, for each page size.
pub(crate) const FORMATTED_LENS: [u64; 5] = [4 << 12, 4 << 13, 4 << 14, 4 << 15, 4 << 16];

/// Number of bytes that show whether the first slot has a record.
pub(crate) const QUICK_PROBE_LEN: usize = 64;

/// Calls `open`, and retries for a while: a process that was killed may not be gone completely.
pub(crate) fn retry_while_in_use<F>(open: impl Fn() -> Result<F>) -> Result<F> {
    let began = Instant::now();
    loop {
        match open() {
            Err(Error::InUse(_)) if began.elapsed() < EXIT_TIMEOUT => {
                thread::sleep(EXIT_TIMEOUT / 100)
            }
            opened => return opened,
        }
    }
}

/// How long a process may take to exit.
pub(crate) const EXIT_TIMEOUT: Duration = Duration::from_secs(1);

/// Like [`format`], for an existing empty file. If it fails, the file is empty again. A crash
/// leaves it empty, [half formatted](is_half_formatted), or as a database, because the record is
/// one sector.
pub(crate) fn format_empty(
    storage: &dyn Storage,
    path: &Path,
    settings: &Settings,
    boot: [u8; 16],
) -> Result<()> {
    let formatted = format(storage, path, settings, boot).inspect_err(|_| {
        // If that fails too, the file is in one of these states nevertheless, unless the record was
        // written partially.
        let _ = storage.set_len(0);
    });
    formatted.map(drop)
}
