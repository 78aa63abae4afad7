//! The handle of an open database file: its length, its mappings, and its writes.

use super::{
    access::Lifetime,
    ahead::Ahead,
    blocks::{self, FileBlocks},
    copied_up::CopyUp,
    creation::Unnamed,
    folios::SmallWrites,
    name::{LostName, Name},
    vectored,
};
use crate::io::{
    address_range::AddressRange,
    advice::{Advisor, ReadAhead},
    locked::{LockedFile, system_len},
    mapping::Mapping,
    mutex::lock,
    storage::{Fill, Storage, end_within},
    sys::{self, Access, DurableWriter, FileAt, FileId, FileSystem, FlushExtent, Limit},
    system::{file_len_max, refuse_file_len},
    writable::{Claims, WritableMapping},
};
use std::{
    fs::Metadata,
    io::{self, IoSlice},
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// Address space reserved for a file, unless the file is so large that it needs more.
const RESERVE_LEN: u64 = if usize::BITS >= 64 {
    256 << 30
} else {
    512 << 20
};

const _: () = assert!(
    RESERVE_LEN.is_multiple_of(64 << 10),
    "whole system pages are reserved, whatever their size"
);

/// A file gets more address space than [`RESERVE_LEN`] if this many times its length is more.
const RESERVE_FACTOR: u64 = 8;

/// At most this part of the process's allowed address space is reserved for one mapping. Each
/// database has several mappings, and the process needs the rest for its memory.
const RESERVED_PART: u64 = 16;

/// A database file, open and locked.
#[derive(Debug)]
pub(crate) struct FileStorage {
    file: Arc<LockedFile>,
    name: Name,
    access: Access,
    lifetime: Lifetime,
    len: AtomicU64,
    /// Held while the file's length changes. Contains what is known about its blocks.
    growth: Mutex<FileBlocks>,
    pub(super) ahead: Arc<Ahead>,
    views: Mutex<FileMappings>,
    claims: Arc<Claims>,
    /// The things that a new file still needs to get its name.
    pub(super) unnamed: Mutex<Option<Unnamed>>,
    /// `None` if the size of the folios that small writes go to does not matter.
    small_writes: Option<Mutex<SmallWrites>>,
    advisor: Advisor,
    copy_up: CopyUp,
    reserve_len: u64,
    durable_writer: DurableWriter,
    /// The longest file that this process may write, when last queried. A system call for each
    /// write would take a notable part of a commit's time.
    len_max: AtomicU64,
}

#[derive(Debug, Default)]
struct FileMappings {
    current: Option<Arc<Mapping>>,
    writable: Option<Arc<WritableMapping>>,
    /// All mappings that may still be in use, including `current`.
    mappings: Vec<Weak<Mapping>>,
}

impl FileStorage {
    /// `file` is locked as `access` requires.
    pub(super) fn new(
        file: LockedFile,
        name: Name,
        access: Access,
        unnamed: Option<Unnamed>,
        lifetime: Lifetime,
    ) -> io::Result<Self> {
        let len = file.metadata()?.len();
        let claims = Arc::new(Claims::default());
        claims.set_file_len(len)?;
        let is_flushed = lifetime == Lifetime::Kept;
        // A sandbox may forbid the query. Writers ask again, and report that.
        let file_system = sys::file_system(&file).unwrap_or(FileSystem::UNKNOWN);
        let small_writes = (is_flushed && file_system.walks_folios).then(Mutex::default);
        let copy_up = CopyUp::new(access == Access::ReadOnly && file_system.is_overlay);
        Ok(Self {
            small_writes,
            file: Arc::new(file),
            name,
            access,
            lifetime,
            len: AtomicU64::new(len),
            growth: Mutex::default(),
            ahead: Ahead::new(),
            views: Mutex::default(),
            claims,
            unnamed: Mutex::new(unnamed),
            advisor: Advisor::new(),
            copy_up,
            reserve_len: RESERVE_LEN,
            durable_writer: DurableWriter::default(),
            len_max: AtomicU64::new(file_len_max()),
        })
    }

    /// Sets the read-ahead policy, before the file is mapped.
    pub(crate) fn set_read_ahead(&self, read_ahead: ReadAhead) {
        self.advisor.set(read_ahead);
    }

    /// Lets other processes open the file as well. It is in order.
    pub(crate) fn admit_others(&self) -> io::Result<()> {
        self.file.share()
    }

    /// The first `len` bytes, or fewer if the file is shorter. Nothing is mapped for that.
    pub(crate) fn read_head(&self, len: usize) -> io::Result<Vec<u8>> {
        let mut head = vec![0; self.len().min(len as u64) as usize];
        self.file.read_exact_at(&mut head, 0)?;
        Ok(head)
    }

    /// The identity of the file.
    pub(crate) fn id(&self) -> FileId {
        self.file.held().id()
    }

    /// Grows the file, unless it is long enough already: another process may have grown it for an
    /// aborted transaction.
    fn extend(&self, blocks: &mut FileBlocks, new_len: u64, fill: Fill) -> io::Result<()> {
        let made_ahead = self.ahead.wait_for(new_len);
        let old_len = self.len().max(self.uncut_len()?);
        if old_len >= new_len {
            // Bytes that were allocated ahead have no owner yet.
            let is_own = old_len <= made_ahead;
            return self.publish_len(if is_own { new_len } else { old_len });
        }
        if self.lifetime == Lifetime::Ephemeral || fill == Fill::Hole {
            blocks.extend_without_blocks(&self.file, old_len..new_len)?;
            return self.publish_len(new_len);
        }
        let is_allocated = blocks::extend(&self.file, old_len, new_len)?;
        blocks.note_growth(old_len..new_len, is_allocated);
        if fill == Fill::HugePages {
            blocks::fill_huge_pages(&self.file, old_len, new_len);
        }
        self.publish_len(new_len)
    }

    fn shrink(&self, old_len: u64, new_len: u64) -> io::Result<()> {
        self.refuse_cut()?;
        assert!(
            new_len <= old_len,
            "a file that shrinks does not become longer"
        );
        self.publish_len(new_len)?;
        // If the system cannot do it now, the file is longer than is known, as after an aborted
        // transaction.
        let truncated = sys::truncate(&self.file, new_len).inspect_err(|_| {
            // Growing the claims' length is never refused: only a live extent after its end could
            // be a reason.
            let _ = self.publish_len(old_len);
        });
        truncated.map(drop)
    }

    /// The length of the file, which is more than the known length if another process has grown it.
    ///
    /// # Errors
    ///
    /// `UnexpectedEof` if another program has truncated the file.
    fn uncut_len(&self) -> io::Result<u64> {
        let found = self.file.held().attributes()?;
        self.name.note_links(found.links);
        match found.len < self.len() {
            true => Err(self.cut_to(found.len)),
            false => Ok(found.len),
        }
    }

    /// Fails if the file ends before `end`, or if the descriptor no longer refers to it. A write
    /// would make a truncated file look complete again, with zeros in place of the lost bytes.
    fn refuse_outside(&self, end: u64) -> io::Result<()> {
        match system_len(&self.file)? {
            is if is < end => Err(self.cut_to(is)),
            _ => Ok(()),
        }
    }

    #[cold]
    fn cut_to(&self, is: u64) -> io::Error {
        let was = self.len();
        let text = format!(
            "another program has truncated the file from {was} to {is} bytes; restore a backup"
        );
        io::Error::new(io::ErrorKind::UnexpectedEof, text)
    }

    fn publish_len(&self, len: u64) -> io::Result<()> {
        self.claims.set_file_len(len)?;
        let mut views = lock(&self.views);
        self.len.store(len, Relaxed);
        views.mappings.retain(|mapping| match mapping.upgrade() {
            Some(mapping) => {
                mapping.set_file_len(len);
                true
            }
            None => false,
        });
        if let Some(mapping) = &views.current {
            debug_assert!(
                !mapping.contains(len, 1),
                "no mapping gives access to bytes beyond the end of the file"
            );
            self.advisor.note_growth(len, mapping);
        }
        Ok(())
    }

    fn map(&self, file_len: u64, access: Access) -> io::Result<Arc<AddressRange>> {
        let wanted = file_len
            .saturating_mul(RESERVE_FACTOR)
            .max(self.reserve_len)
            .min(address_limit() / RESERVED_PART);
        let address_range = AddressRange::map(&self.file, file_len, wanted, access)?;
        address_range.advise(0, address_range.len(), self.advisor.advice(file_len));
        Ok(Arc::new(address_range))
    }

    /// Splits folios that small writes went to. They have just been flushed, so they can be split.
    fn split_folios(&self) {
        let Some(small_writes) = &self.small_writes else {
            return;
        };
        let due = lock(small_writes).end_flush();
        if due.is_empty() {
            return;
        }
        let mapping = lock(&self.views).current.clone();
        if let Some(mapping) = mapping {
            due.iter().for_each(|offset| mapping.split_folio(*offset));
        }
    }

    /// Fails if the system would end the process for writing there.
    fn refuse_len(&self, end: u64) -> io::Result<()> {
        if end > self.len_max.load(Relaxed) {
            self.len_max.store(file_len_max(), Relaxed);
            refuse_file_len(end)?;
        }
        Ok(())
    }

    fn check_writable(&self) -> io::Result<()> {
        match self.access {
            Access::ReadWrite => Ok(()),
            Access::ReadOnly => Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "the file is open for reading only; open it for writing",
            )),
        }
    }
}

/// Bytes of address space that the process may have.
fn address_limit() -> u64 {
    sys::limit(Limit::AddressSpace).unwrap_or(u64::MAX)
}

impl Drop for FileStorage {
    fn drop(&mut self) {
        // The thread keeps the file locked until it ends.
        self.ahead.end();
    }
}

impl Storage for FileStorage {
    fn len(&self) -> u64 {
        self.len.load(Relaxed)
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.check_writable()?;
        let mut blocks = lock(&self.growth);
        let old_len = self.len();
        if bytes > old_len {
            return self.extend(&mut blocks, bytes, Fill::HugePages);
        }
        let has_blocks_after_end = self.ahead.end();
        if bytes < old_len.max(system_len(&self.file)?) || has_blocks_after_end {
            blocks.forget(bytes..u64::MAX);
            self.shrink(old_len, bytes)?;
        }
        Ok(())
    }

    fn grow(&self, bytes: u64, fill: Fill) -> io::Result<()> {
        self.check_writable()?;
        let mut blocks = lock(&self.growth);
        match bytes > self.len() {
            true => self.extend(&mut blocks, bytes, fill),
            false => Ok(()),
        }
    }

    fn grow_ahead(&self, bytes: u64) {
        if bytes <= self.len() {
            self.ahead.end();
        } else if self.access == Access::ReadWrite
            && matches!(lock(&self.growth).can_overwrite(&self.file), Ok(true))
        {
            self.ahead.begin(&self.file, self.len(), bytes);
        }
    }

    fn refresh(&self, has_same_blocks: bool) -> io::Result<()> {
        let mut blocks = lock(&self.growth);
        if !has_same_blocks {
            blocks.forget(0..u64::MAX);
        }
        let len = system_len(&self.file)?;
        if len == self.len() {
            return Ok(());
        }
        self.publish_len(len)
    }

    fn refuse_cut(&self) -> io::Result<()> {
        self.uncut_len().map(drop)
    }

    fn metadata(&self) -> io::Result<Option<Metadata>> {
        match self.lifetime {
            Lifetime::Kept => self.file.metadata().map(Some),
            // Nobody has chosen the attributes that the system gives it.
            Lifetime::Ephemeral => Ok(None),
        }
    }

    fn lost_name(&self) -> Option<LostName> {
        self.name.find_name(&self.file)
    }

    fn write(&self, offset: u64, parts: &[IoSlice<'_>]) -> io::Result<()> {
        self.check_writable()?;
        let len = parts.iter().map(|part| part.len() as u64).sum();
        debug_assert!(len > 0, "a write has bytes");
        let end = end_within(offset, len, self.len())?;
        self.refuse_len(end)?;
        if let Some(small_writes) = &self.small_writes {
            lock(small_writes).note(offset, len);
        }
        self.refuse_outside(end)?;
        vectored::write_all(offset, parts, |offset, parts| {
            sys::write_at(&self.file, parts, offset)
        })
    }

    fn write_through(&self, offset: u64, bytes: &[u8]) -> io::Result<bool> {
        self.check_writable()?;
        let end = end_within(offset, bytes.len() as u64, self.len())?;
        self.refuse_len(end)?;
        if let Some(small_writes) = &self.small_writes {
            lock(small_writes).note(offset, bytes.len() as u64);
        }
        self.refuse_outside(end)?;
        let (mut is_begun, mut is_possible) = (false, true);
        let written = vectored::write_all(offset, &[IoSlice::new(bytes)], |offset, parts| {
            let len = self.durable_writer.write(&self.file, parts, offset)?;
            (is_begun, is_possible) = (is_begun || len.is_some(), len.is_some());
            len.ok_or(io::ErrorKind::Unsupported.into())
        });
        match written {
            Ok(()) => Ok(true),
            Err(_) if !is_begun && !is_possible => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn begin_write_back(&self) {
        sys::begin_write_back(&self.file);
    }

    /// For a newly created file, the first successful flush also gives the file its name. A crash
    /// leaves either no file, or one with everything written before.
    fn flush(&self) -> io::Result<()> {
        if self.lifetime == Lifetime::Ephemeral {
            return Ok(());
        }
        self.file.held().refuse_stranger()?;
        self.len_max.store(file_len_max(), Relaxed);
        let mut unnamed = lock(&self.unnamed);
        if let Some(name) = unnamed.as_mut() {
            sys::flush(&self.file, FlushExtent::All)?;
            name.publish(&self.file)?;
            *unnamed = None;
            return Ok(());
        }
        drop(unnamed);
        sys::flush(&self.file, FlushExtent::Data)?;
        self.split_folios();
        Ok(())
    }

    fn mapping(&self) -> io::Result<Arc<Mapping>> {
        let mut views = lock(&self.views);
        let len = self.len();
        if let Some(mapping) = &views.current
            && mapping.contains(0, len as usize)
            && !self.copy_up.is_outdated(&self.file, mapping, len)?
        {
            return Ok(Arc::clone(mapping));
        }
        let mapping = Arc::new(Mapping::new(self.map(len, Access::ReadOnly)?, len));
        assert!(
            mapping.contains(0, len as usize) && !mapping.contains(len, 1),
            "a new mapping gives access to the file, and to nothing beyond it"
        );
        views.mappings.push(Arc::downgrade(&mapping));
        views.current = Some(Arc::clone(&mapping));
        Ok(mapping)
    }

    fn secure(&self, offset: u64, len: u64) -> io::Result<bool> {
        self.check_writable()?;
        let mut blocks = lock(&self.growth);
        let end = end_within(offset, len, self.len())?;
        blocks.secure(&self.file, offset..end)
    }

    fn punch(&self, offset: u64, len: u64) -> io::Result<bool> {
        self.check_writable()?;
        let mut blocks = lock(&self.growth);
        let end = end_within(offset, len, self.len())?;
        self.file.held().refuse_stranger()?;
        blocks.punch(&self.file, offset..end)
    }

    fn next_data(&self, offset: u64) -> io::Result<u64> {
        let (data, len) = (sys::next_data(&self.file, offset)?, self.len());
        // Bytes that were allocated ahead are data too.
        Ok(data.map_or(len, |data| data.min(len)))
    }

    fn writable(&self) -> io::Result<Option<Arc<WritableMapping>>> {
        let mut blocks = lock(&self.growth);
        if self.access == Access::ReadOnly || !blocks.can_overwrite(&self.file)? {
            return Ok(None);
        }
        let len = self.len();
        let mut views = lock(&self.views);
        if let Some(mapping) = &views.writable
            && mapping.address_range_len() >= len
        {
            return Ok(Some(Arc::clone(mapping)));
        }
        let address_range = self.map(len, Access::ReadWrite)?;
        assert!(
            address_range.len() >= len,
            "every page of the file can be built in a new writable mapping"
        );
        let mapping = Arc::new(WritableMapping::new(
            address_range,
            Arc::clone(&self.claims),
        ));
        views.writable = Some(Arc::clone(&mapping));
        Ok(Some(mapping))
    }

    fn mark_written(&self, _offset: u64, _len: u64) {}
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
