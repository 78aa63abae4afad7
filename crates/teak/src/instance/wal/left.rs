//! The log that a process left: which of its entries follow a commit in the trees.

use super::{
    Change, HEADER_LEN, MAGIC, Predecessor,
    entry::{changes_of, entry_after, number_at},
    header_of, named_by,
};
use crate::{
    Checksum, Error, Result, TransactionId,
    io::{LogLocation, PageCodec, remove_file},
    record::Record,
    share::names::log_path,
};
use std::{path::Path, sync::Arc};

/// The log that a process left.
#[derive(Default, Debug)]
pub(crate) struct LeftWal {
    pub(super) content: Vec<u8>,
    /// Where each commit that counts begins in it.
    pub(super) entries: Vec<usize>,
    /// Its location, if the file is a log.
    location: Option<Arc<dyn LogLocation>>,
}

impl LeftWal {
    /// Reads the log at `location`. It has commits only if they follow the commit of `record`.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the file cannot be read.
    pub(crate) fn read(
        location: &Arc<dyn LogLocation>,
        record: &Record,
        codec: Option<&dyn PageCodec>,
    ) -> Result<Self> {
        let failed = |error| Error::io("reading the write-ahead log")(error).at(location.path());
        let content = location.read().map_err(failed)?;
        let half_len = location.half_len();
        let Some(mut content) = content.filter(|content| is_log(content, half_len)) else {
            return Ok(Self::default());
        };
        let first_len = half_len.min(content.len());
        let (first, second) = content.split_at_mut(first_len);
        let halves = [(0, first), (half_len, second)];
        let halves = halves.map(|(start, half)| Half::read(half, start, record, codec));
        let [first, second] = &halves;
        let in_order = [(first, second), (second, first)];
        let following = in_order.map(|(half, other)| entries_after(record, half, other));
        let entries = following.into_iter().max_by_key(Vec::len);
        Ok(Self {
            entries: entries.unwrap_or_default(),
            content,
            location: Some(Arc::clone(location)),
        })
    }

    /// Number of commits.
    pub(crate) fn commit_count(&self) -> u64 {
        self.entries.len() as u64
    }

    /// The changes of all commits, in order.
    pub(crate) fn changes(&self) -> impl Iterator<Item = Change<'_>> {
        let starts = self.entries.iter();
        starts.flat_map(|start| changes_of(&self.content[*start..]))
    }

    /// The last commit, if the log follows this one.
    pub(crate) fn last(&self, base: TransactionId) -> TransactionId {
        TransactionId(base.0 + self.commit_count())
    }

    /// Removes the file, if it is a log.
    pub(crate) fn remove(&mut self) {
        if let Some(location) = self.location.take() {
            // After a power cut it must not be there again: entries that were left out, because a
            // commit before them was lost, could follow the same commit made again.
            let _ = location.remove();
        }
    }
}

/// The entries of one half.
struct Half {
    predecessor: Predecessor,
    /// Where each one begins, and its checksum.
    entries: Vec<(usize, Checksum)>,
}

impl Half {
    /// Reads the half that begins at `start`; `None` if it is not of the database of `record`.
    fn read(
        half: &mut [u8],
        start: usize,
        record: &Record,
        codec: Option<&dyn PageCodec>,
    ) -> Option<Self> {
        let header = half.first_chunk::<HEADER_LEN>()?;
        let predecessor = Predecessor {
            transaction: TransactionId(number_at(header, 24)),
            checksum: Checksum(number_at(header, 32)),
            is_entry: number_at(header, 56) == 1,
        };
        let nonce = header[40..48].try_into().expect("eight bytes");
        let begin_count = number_at(header, 48);
        if *header != header_of(&record.database_id, predecessor, nonce, begin_count) {
            return None;
        }
        let mut entries = Vec::new();
        let mut end = HEADER_LEN;
        let mut last = Checksum(number_at(header, HEADER_LEN - 8));
        while let Some((at, checksum, len)) = entry_after(half, end, last, codec) {
            entries.push((start + at, checksum));
            end = at + len;
            last = checksum;
        }
        Some(Self {
            predecessor,
            entries,
        })
    }

    /// The commit of an entry.
    fn transaction(&self, index: usize) -> TransactionId {
        TransactionId(
            self.predecessor
                .transaction
                .0
                .saturating_add(index as u64 + 1),
        )
    }

    /// How the other half names the last entry.
    fn end(&self) -> Option<Predecessor> {
        let (_, checksum) = *self.entries.last()?;
        Some(Predecessor {
            transaction: self.transaction(self.entries.len() - 1),
            checksum,
            is_entry: true,
        })
    }

    /// The index of the first entry after the commit of a record. The commit is in the middle of a
    /// half if a merge stopped there for a reader, or if appending an entry failed, which is there
    /// nevertheless.
    fn first_after(&self, record: &Record) -> Option<usize> {
        let is_merged = |&(index, &(_, checksum)): &(usize, &(usize, Checksum))| {
            checksum == record.log_end && self.transaction(index) == record.transaction
        };
        let merged = Predecessor {
            transaction: record.transaction,
            checksum: record.log_end,
            is_entry: true,
        };
        if [named_by(record), merged].contains(&self.predecessor) {
            return Some(0);
        }
        let found = self.entries.iter().enumerate().find(is_merged);
        found.map(|(index, _)| index + 1)
    }
}

/// Where the entries after the commit of a record begin, if the first one is in `half`, or the last
/// one that it merged.
fn entries_after(record: &Record, half: &Option<Half>, other: &Option<Half>) -> Vec<usize> {
    let Some(half) = half else {
        return Vec::new();
    };
    let Some(first) = half.first_after(record) else {
        return Vec::new();
    };
    let continued = (other.iter()).filter(|other| half.end() == Some(other.predecessor));
    let continued = continued.flat_map(|other| &other.entries);
    let following = half.entries[first..].iter().chain(continued);
    following.map(|(start, _)| *start).collect()
}

/// Whether a file is a log. Of each half the first entry may not have been written, or was lost in
/// a power cut.
fn is_log(content: &[u8], half_len: usize) -> bool {
    let mut halves = content.chunks(half_len);
    halves.all(|half| {
        // Without the version of its layout.
        let head = &half[..half.len().min(MAGIC.len() - 1)];
        head == &MAGIC[..head.len()] || head.iter().all(|byte| *byte == 0)
    })
}

/// Removes the log of a database that was deleted.
pub(crate) fn remove_log_of(path: &Path) {
    if let Some(log) = log_path(path)
        && let Ok(Some(content)) = log.read()
        && is_log(&content, log.half_len())
    {
        // It is ignored if it stays.
        let _ = remove_file(&log);
    }
}
