//! Truncating the file of a closed database before it is mapped, on systems that truncate no mapped
//! file.
//!
//! On these systems the file keeps its length while a database is in use, and when it is closed:
//! the mappings live until the last reader ends, and another process may have opened the database
//! and committed by then. The next process that opens it for writing makes the file as short as the
//! last commit says. That is safe for these reasons:
//!
//! 1. The process holds the exclusive lock on the file. Each process that has the database open,
//!    even a reader without a lock file, holds a shared one. So nobody else reads or writes the
//!    file, and nobody can commit until the lock becomes a shared one, which is after recovery.
//! 2. The two newest records are those of one clean close, and no record is damaged. So no commit
//!    was made since, and recovery chooses the same state as before.
//! 3. Both records are on the disk when the file becomes shorter: they are written again and
//!    flushed. Without that they might be in the system's cache only, because a flush failed or the
//!    process ended before it. After a power cut an older record would count then, which may need
//!    the end of the file. If writing or flushing fails, the file is not truncated.
//! 4. Nothing is mapped yet. If other code has mapped the file nevertheless, the system refuses,
//!    and the file keeps its length.

use crate::{
    Error, Result,
    io::{Access, FileSharing, FileStorage, Storage, TRUNCATES_MAPPED},
    open::{settle::refuse_unknown, slots::SlotRecords},
    record::{Record, probe::PROBE_LEN},
};
use std::io::{self, IoSlice};

/// Truncates the file if this system could not do it when the database was closed, and nobody else
/// has it open. A failure leaves the file longer than necessary, and the next opening tries again.
///
/// # Errors
///
/// The system's error from reading the file.
pub(crate) fn truncate_before_use(
    storage: &FileStorage,
    access: Access,
    file_sharing: FileSharing,
) -> Result<()> {
    if TRUNCATES_MAPPED || access == Access::ReadOnly || file_sharing == FileSharing::Shared {
        return Ok(());
    }
    let head = storage.read_head(PROBE_LEN);
    let head = head.map_err(Error::io("reading the beginning of the database file"))?;
    let _ = truncate_closed(storage, &head);
    Ok(())
}

/// Truncates the file, which begins with `head`, if the database was closed cleanly and the file is
/// longer than its last commit. The caller is alone. Returns whether it did.
///
/// # Errors
///
/// The system's error. The file has its length and its content.
fn truncate_closed(storage: &dyn Storage, head: &[u8]) -> io::Result<bool> {
    let Ok(slots) = SlotRecords::decode(head) else {
        return Ok(false);
    };
    let Some((closes, bytes)) = clean_close(&slots) else {
        return Ok(false);
    };
    if storage.len() <= bytes {
        return Ok(false);
    }
    for record in closes {
        let page_size = record.page_size as usize;
        let offset = usize::from(record.slot) * page_size;
        let image = &head[offset..][..page_size];
        storage.write(offset as u64, &[IoSlice::new(image)])?;
    }
    storage.flush()?;
    storage.set_len(bytes)?;
    Ok(true)
}

/// The two records of the clean close with which the file ends, and the bytes that its commit
/// needs. `None` if there was another end, or only a newer version may write.
fn clean_close(slots: &SlotRecords) -> Option<([&Record; 2], u64)> {
    let [newest, other, ..] = &slots.records[..] else {
        return None;
    };
    let is_of_same_close = newest.clean_close
        && other.clean_close
        && other.transaction == newest.transaction
        && other.page_count == newest.page_count;
    let is_writable = refuse_unknown(newest, false).is_ok();
    if !is_of_same_close || !slots.unreadable.is_empty() || !is_writable {
        return None;
    }
    let bytes = newest.page_count.checked_mul(newest.page_size.into())?;
    Some(([newest, other], bytes))
}

#[cfg(test)]
#[path = "shorten_tests.rs"]
mod tests;
