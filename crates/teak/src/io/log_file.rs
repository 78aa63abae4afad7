//! The file of a write-ahead log. It is mapped, or written by calls of the system, so it stays if
//! the process dies, and flushed for commits that have to survive a power cut. Where the system
//! can, entries that only have to survive a power cut are written straight to the disk
//! ([`LogStorage::write_durably`]): a block instead of a page.

use super::{
    file::{directory_of, flush_directory},
    held_file::HeldFile,
    lock_header::{LockMode, set_permissions},
    log_storage::{BLOCK_LEN, HALF_LEN, LogLocation, LogPart, LogStorage},
    mapped_log::MappedLog,
    sys::{self, Access, FileAt, FlushExtent, Links},
    system::refuse_file_len,
};
use crate::sync::lock;
use std::{
    fs::{self, File},
    io::{self, ErrorKind, Read},
    ops::Range,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

/// A log that this process writes.
#[derive(Debug)]
struct LogFile {
    file: HeldFile,
    path: PathBuf,
    /// For [`LogStorage::write`]; `None` if that calls the system.
    mapped: Option<Mutex<MappedLog>>,
    /// Whether its name is on the disk. Its length is when it is flushed.
    is_named: AtomicBool,
    flush_count: AtomicU64,
    /// The file for writes that do not go through the cache of the system, from the first one on.
    direct: OnceLock<Option<HeldFile>>,
    /// Whether such writes may be possible.
    is_direct: AtomicBool,
    /// For what is written so.
    buffer: Mutex<Vec<u8>>,
    #[cfg(test)]
    failures: super::log_storage::LogFailures,
}

const PIECE_LEN: usize = 4096;

/// Whether a failed direct write says that there are none: where blocks are larger, in sandboxes.
fn is_unsupported(kind: ErrorKind) -> bool {
    let kinds = [
        ErrorKind::InvalidInput,
        ErrorKind::Unsupported,
        ErrorKind::PermissionDenied,
    ];
    kinds.contains(&kind)
}

impl LogFile {
    fn create(path: &Path, mode: LockMode) -> io::Result<Self> {
        let file = sys::create_new(path, mode.bits() & 0o777)?;
        let made =
            set_permissions(&file, mode).and_then(|()| HeldFile::new(file, Access::ReadWrite));
        if made.is_err() {
            let _ = sys::remove_file(path);
        }
        let file = made?;
        Ok(Self {
            mapped: MappedLog::new(&file, 2 * HALF_LEN).map(Mutex::new),
            file,
            path: path.to_path_buf(),
            is_named: AtomicBool::new(false),
            flush_count: AtomicU64::new(0),
            direct: OnceLock::new(),
            is_direct: AtomicBool::new(true),
            buffer: Mutex::default(),
            #[cfg(test)]
            failures: Default::default(),
        })
    }

    fn write_by_call(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.refuse_stranger()?;
        let file: &File = &self.file;
        file.write_all_at(bytes, offset)
    }
}

impl LogStorage for LogFile {
    fn fill(&self, part: Range<usize>) -> io::Result<()> {
        refuse_file_len(part.end as u64)?;
        #[cfg(test)]
        if self.failures.has_no_room.load(Ordering::Relaxed) {
            return Err(io::Error::from_raw_os_error(28));
        }
        debug_assert!(
            part.start.is_multiple_of(PIECE_LEN),
            "a part begins with a page of the system"
        );
        debug_assert!(part.end <= 2 * HALF_LEN, "the log has two halves");
        // One large write makes Linux cache the file in large folios, and file systems with buffer
        // heads (ext4) walk all of those of a folio at each later write into it.
        let zeros = [0; PIECE_LEN];
        for start in part.clone().step_by(PIECE_LEN) {
            self.write_by_call(&zeros[..PIECE_LEN.min(part.end - start)], start as u64)?;
        }
        Ok(())
    }

    fn write(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        match &self.mapped {
            Some(mapped) => lock(mapped).store(bytes, offset),
            None => self.write_by_call(bytes, offset),
        }
    }

    fn write_anyway(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let written = self.write(bytes, offset);
        written.or_else(|_| self.write_by_call(bytes, offset))
    }

    fn flush(&self) -> io::Result<()> {
        self.file.refuse_stranger()?;
        debug_assert!(
            self.is_named.load(Ordering::Acquire),
            "a file without a name that is on the disk is lost"
        );
        #[cfg(test)]
        if self.failures.fails.load(Ordering::Relaxed) {
            return Err(io::Error::from_raw_os_error(5));
        }
        sys::flush(&self.file, FlushExtent::Data)?;
        self.flush_count.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn is_direct(&self) -> bool {
        self.is_direct.load(Ordering::Relaxed)
    }

    fn write_durably(&self, part: &LogPart) -> io::Result<bool> {
        debug_assert!(
            part.start.is_multiple_of(BLOCK_LEN),
            "a part begins with a block"
        );
        debug_assert!(
            !part.bytes.is_empty() && self.is_named.load(Ordering::Acquire),
            "a flush writes entries, and to a file whose name is on the disk"
        );
        let direct = self.direct.get_or_init(|| self.file.for_direct_writes());
        let Some(direct) = direct.as_ref().filter(|_| self.is_direct()) else {
            self.is_direct.store(false, Ordering::Relaxed);
            return Ok(false);
        };
        #[cfg(test)]
        if self.failures.fails.load(Ordering::Relaxed) {
            return Err(io::Error::from_raw_os_error(5));
        }
        direct.refuse_stranger()?;
        let mut buffer = lock(&self.buffer);
        let len = part.bytes.len().next_multiple_of(BLOCK_LEN);
        buffer.clear();
        buffer.resize(len + BLOCK_LEN, 0);
        let skipped = buffer.as_ptr().align_offset(BLOCK_LEN).min(BLOCK_LEN);
        buffer[skipped..][..part.bytes.len()].copy_from_slice(&part.bytes);
        let file: &File = direct;
        match file.write_all_at(&buffer[skipped..][..len], part.start as u64) {
            Err(error) if is_unsupported(error.kind()) => {
                self.is_direct.store(false, Ordering::Relaxed);
                return Ok(false);
            }
            written => written?,
        }
        self.flush_count.fetch_add(1, Ordering::Relaxed);
        Ok(true)
    }

    #[cfg(any(test, feature = "testing"))]
    fn flush_count(&self) -> u64 {
        self.flush_count.load(Ordering::Relaxed)
    }

    fn flush_name(&self) -> io::Result<()> {
        if self.is_named.load(Ordering::Acquire) {
            return Ok(());
        }
        sys::flush(&self.file, FlushExtent::All)?;
        flush_directory(directory_of(&self.path))?;
        self.is_named.store(true, Ordering::Release);
        Ok(())
    }

    fn remove(&self) {
        if sys::id_of(&self.path, Links::Refuse).is_ok_and(|id| id == self.file.id()) {
            // A log that stays is ignored: it does not follow the newest commit.
            let _ = sys::remove_file(&self.path);
        }
    }

    #[cfg(test)]
    fn failures(&self) -> Option<&super::log_storage::LogFailures> {
        Some(&self.failures)
    }
}

impl LogLocation for PathBuf {
    fn path(&self) -> &Path {
        self
    }

    fn half_len(&self) -> usize {
        HALF_LEN
    }

    fn create(&self, mode: LockMode) -> io::Result<Arc<dyn LogStorage>> {
        Ok(Arc::new(LogFile::create(self, mode)?))
    }

    fn read(&self) -> io::Result<Option<Vec<u8>>> {
        match fs::symlink_metadata(self) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
            Ok(found) if !found.is_file() => return Ok(None),
            Ok(_) => {}
        }
        let file = match sys::open(self, Access::ReadOnly, Links::Refuse) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let mut content = Vec::new();
        file.take(2 * HALF_LEN as u64).read_to_end(&mut content)?;
        Ok(Some(content))
    }

    fn remove(&self) -> io::Result<()> {
        sys::remove_file(self)?;
        flush_directory(directory_of(self))
    }
}
