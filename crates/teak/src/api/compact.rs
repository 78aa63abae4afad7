//! Compaction on request.

use super::Database;
#[cfg(doc)]
use crate::Error;
use crate::{
    Result,
    maintain::{
        compact,
        compact_options::{CompactOptions, CompactProgress},
    },
    observe::trace::TraceSpan,
};
use std::ops::ControlFlow;

impl Database {
    /// Makes the file as short as is possible now. It moves pages from the end of the file to
    /// earlier free pages, some thousand in each of a series of durable commits, and truncates the
    /// end. Readers and writers of all processes continue meanwhile; pages at the end that readers
    /// of older states see stay. Ordinary commits do this gradually; this method does it at once.
    /// It ends when nothing is left to move, or when `progress` breaks. `options` make it stop at a
    /// sufficient length or free share, limit the bytes moved, or slow it down. If there is nothing
    /// to do, it makes no commit.
    ///
    /// A large value moves to the lowest free extent that holds it. If there is none, and the file
    /// is longer than its used pages by more than a thirty-second part, some values are copied past
    /// the end and everything after them moves down. The file is temporarily longer, by the largest
    /// value plus as much as one commit moves (4,096 pages). This is not done while there are
    /// readers or named snapshots, which would keep the pages. [`CompactProgress::obstacle`]
    /// reports the obstacle.
    ///
    /// ```
    /// # use teak::{CompactOptions, Database, codec::Bytes};
    /// # use std::{ops::ControlFlow, time::Duration};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// # let numbers = txn.create_table::<u64, Bytes>("numbers")?;
    /// # for number in 0..1000 { numbers.insert(&mut txn, number, &[7; 500])?; }
    /// # txn.commit()?;
    /// # let mut txn = database.begin_write()?;
    /// # for number in 100..1000 { numbers.remove(&mut txn, number)?; }
    /// # txn.commit()?;
    /// let before = database.stat()?.file_bytes;
    /// let slowly = CompactOptions::new()
    ///     .until_free_percent(20)
    ///     .max_commit_bytes(1 << 20)
    ///     .pause(Duration::from_millis(1));
    /// let done = database.compact(&slowly, &mut |_| ControlFlow::Continue(()))?;
    /// assert!(done.file_bytes < before);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Corrupted`] if a page to be moved is damaged; [`Error::ReadOnly`];
    /// [`Error::Poisoned`] after a failed write or flush; [`Error::Io`] if releasing dropped pages
    /// fails for another reason than lack of space; [`Error::InvalidArgument`] if the database has
    /// been closed. [`Error::Io`] or [`Error::Full`] if the commit fails;
    /// [`Error::TransactionBroken`] if an earlier error left the transaction unfinished. A database
    /// that is full to its size limit is no error: pages that do not fit stay where they are.
    pub fn compact(
        &self,
        options: &CompactOptions,
        progress: &mut dyn FnMut(CompactProgress) -> ControlFlow<()>,
    ) -> Result<CompactProgress> {
        let span = TraceSpan::compact(self.path());
        let _entered = span.enter();
        let done = compact::compact(self.opening.writable()?, options, progress)?;
        span.note_compacted(done.moved_pages, done.file_bytes);
        Ok(done)
    }
}
