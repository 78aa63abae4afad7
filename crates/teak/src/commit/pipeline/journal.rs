//! The part of a commit that concerns the journal: taking and releasing its pages, and deciding
//! which commits fit it.

use crate::{
    Extent, Result,
    commit::journal::changes::NewPages,
    planted::planted,
    record::{JournalPages, durability::Durability},
    write::transaction::WriteTransaction,
};

/// The length of a journal is this fraction of the file, at most `JOURNAL_BYTES_MAX`. If no journal
/// was configured, a file takes one when it has `JOURNALED_FILE_MIN` bytes and `JOURNAL_WANTED`
/// flushes could have been entries.
const JOURNAL_PART: u64 = 64;
const JOURNAL_BYTES_MAX: u64 = 4 << 20;
const JOURNALED_FILE_MIN: u64 = 32 << 20;
const JOURNAL_WANTED: u32 = 16;
/// A commit that writes or frees more pages is flushed, which makes the freed pages usable again.
const JOURNALED_PAGES_MAX: u64 = 128;

/// Takes pages for the journal if small commits would have profited from one. Releases them if
/// they keep the file from being truncated.
pub(super) fn change_journal(txn: &mut WriteTransaction) -> Result<()> {
    let (page_size, asked) = (
        txn.engine.file.page_size as u64,
        txn.engine.policies.journal_bytes,
    );
    let page_count = txn.pages.writer.space.page_count();
    let boundary = match txn.status.is_compacting {
        true => Some(0),
        false => txn.pages.writer.shrink.tail.boundary(),
    };
    if let Some(journal) = txn.journal {
        if boundary.is_some_and(|boundary| journal.extent.end() > boundary) {
            txn.pages.bury(journal.extent, journal.since)?;
            txn.journal = None;
        }
        return Ok(());
    }
    let bytes = match asked {
        None if page_count * page_size < JOURNALED_FILE_MIN => 0,
        None => (page_count * page_size / JOURNAL_PART).min(JOURNAL_BYTES_MAX),
        Some(bytes) => bytes,
    };
    debug_assert!(
        txn.journal.is_none() || txn.base.record.reserved_per_page == 0,
        "an encrypted database has no journal"
    );
    // Entries would have parts of pages in clear.
    let bytes = match txn.base.record.reserved_per_page {
        0 => bytes,
        _ => 0,
    };
    let wanted = if asked.is_some() { 1 } else { JOURNAL_WANTED };
    let pages = (bytes / page_size).min(u64::from(u16::MAX)) as u32;
    if pages > 0
        && boundary.is_none()
        && txn.pages.limits.durability != Durability::Lazy
        && txn.engine.committer.wants_journal(wanted)
    {
        let since = txn.id();
        let extent = txn.pages.take_journal(pages)?;
        txn.journal = extent.map(|extent| JournalPages { extent, since });
    }
    Ok(())
}

/// The pages that this commit wrote, for a journal entry. `None` if the commit cannot be an
/// entry: an entry cannot describe named snapshots or another file length.
pub(super) fn new_pages(
    txn: &WriteTransaction,
    taken: &[Extent],
    page_count: u64,
) -> Option<NewPages> {
    let count: u64 = taken.iter().map(|extent| u64::from(extent.len)).sum();
    let is_fit = count.max(txn.pages.dead_count()) <= JOURNALED_PAGES_MAX
        && (txn.named.pins.is_none() || planted!(EntryOfNamed))
        && txn.named.revived.is_none()
        && !txn.status.is_compacting
        && page_count == txn.base.record.page_count
        && txn.journal == txn.base.record.journal
        && txn.engine.policies.journal_bytes != Some(0);
    // Changes that are not listed here are flushed with the commit that takes a journal, before
    // the first entry.
    let noted = if txn.journal.is_some() { taken } else { &[] };
    let numbers = noted.iter().flat_map(|extent| extent.pages());
    is_fit.then(|| {
        numbers
            .map(|number| (number, txn.pages.sources.of(number)))
            .collect()
    })
}
