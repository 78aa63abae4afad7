//! A state of the model: the trees, the log, the engine's memory, and the promises.
//!
//! - A commit is a bit. Commits are numbered in the order of their creation, so a set of commits is
//!   a state of the database, and its size is the transaction.
//! - The trees are a list of records, from the one that is certainly on the disk to the newest one.
//!   After a power cut any of them counts. Why that is so, the model of the trees shows.
//! - The log has two halves, each with a header and places for entries. A place has one content in
//!   the cache, and a set of contents, one of which the disk has. Contents are numbered: 0 is
//!   unreadable, and the others are indexes of a table, plus one. A number stands for a checksum.

use super::rules::LogBounds;
use crate::protocol::state::Location;
use arrayvec::ArrayVec;
use std::hash::Hash;

/// A state of the database: one bit for each commit.
pub(super) type CommitSet = u8;

/// The first commits of a state.
pub(super) fn first_commits(state: CommitSet, count: u8) -> CommitSet {
    let mut rest = state;
    for _ in 0..count {
        rest &= rest.wrapping_sub(1);
    }
    state & !rest
}

/// The transaction of a state.
pub(super) fn transaction_of(state: CommitSet) -> u8 {
    state.count_ones() as u8
}

/// An index of [`LogModel::contents`] plus one; 0 is no content that counts.
pub(super) type ContentNumber = u8;

/// The commit or entry that a header names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Followed {
    /// A commit in the trees, by the content of its catalog.
    Trees(CommitSet),
    Entry(ContentNumber),
}

/// The content of a place in the log.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum LogContent {
    Header {
        transaction: u8,
        follows: Followed,
    },
    Entry {
        commit: CommitSet,
        /// The state to which the commit was added.
        before: CommitSet,
        /// The entry or header that its checksum covers.
        chained_to: ContentNumber,
    },
}

pub(super) const ROOM_MAX: usize = 3;

/// A half of a log. The first place is that of the header.
pub(super) type ModelHalf = ArrayVec<Location, { ROOM_MAX + 1 }>;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct ModelLog {
    pub(super) halves: [ModelHalf; 2],
    /// Whether its name is certainly on the disk.
    pub(super) is_named: bool,
}

impl ModelLog {
    pub(super) fn new(room: u8) -> Self {
        let half: ModelHalf = (0..=room).map(|_| Location::certain(0)).collect();
        Self {
            halves: [half.clone(), half],
            is_named: false,
        }
    }

    pub(super) fn locations_mut(&mut self) -> impl Iterator<Item = &mut Location> {
        self.halves.iter_mut().flatten()
    }

    pub(super) fn at(&mut self, position: LogPosition) -> &mut Location {
        &mut self.halves[usize::from(position.half)][usize::from(position.index)]
    }
}

/// A place in the log.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct LogPosition {
    pub(super) half: u8,
    pub(super) index: u8,
}

/// A record in the trees.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct TreeRecord {
    pub(super) state: CommitSet,
    /// The last entry that it merged; 0 if it names none.
    pub(super) log_end: ContentNumber,
    /// Whether a close may leave it in the cache.
    pub(super) is_lazy: bool,
}

/// The end of the log in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct LogEnd {
    /// Where the next entry goes.
    pub(super) next: LogPosition,
    /// The header, until the first entry after it is written.
    pub(super) header: Option<ContentNumber>,
    /// The header or entry that the next entry is chained to.
    pub(super) last: ContentNumber,
    pub(super) last_entry: ContentNumber,
    /// The transactions that the older half in use follows, and the present one.
    pub(super) follows: (u8, u8),
}

/// A position that readers see up to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct SeenEnd {
    pub(super) state: CommitSet,
    pub(super) position: LogPosition,
    pub(super) last_entry: ContentNumber,
}

/// A content for a place that the process has in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct PendingWrite {
    pub(super) position: LogPosition,
    pub(super) content: ContentNumber,
    /// The transaction of the entry, or of that after the header.
    pub(super) transaction: u8,
}

pub(super) const PENDING_MAX: usize = 12;
pub(super) type PendingWrites = ArrayVec<PendingWrite, PENDING_MAX>;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct LogFlushInProgress {
    /// The last durable commit that it covers.
    pub(super) last: u8,
    /// The end of the commits that readers see when it is over.
    pub(super) seen: SeenEnd,
    /// The entries that it writes to the disk itself.
    pub(super) writes: PendingWrites,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct MergeInProgress {
    /// Its end, and where later commits went on.
    pub(super) end: SeenEnd,
    /// The state of a reader, for which it stops first.
    pub(super) part: Option<(CommitSet, ContentNumber)>,
    pub(super) has_durable: bool,
}

/// The memory of a process.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct LogEngine {
    /// All commits.
    pub(super) newest: CommitSet,
    /// The state in the trees that readers see.
    pub(super) published: CommitSet,
    /// The last transaction that is known to be durable in the trees.
    pub(super) durable: u8,
    /// The index of the record that a flush of the trees makes durable.
    pub(super) tree_flush: Option<u8>,
    /// Whether the memtable has commits.
    pub(super) is_filled: bool,
    pub(super) merging: Option<MergeInProgress>,
    pub(super) seen: SeenEnd,
    /// The last durable transaction in the log, and the last one that is known to be on the disk.
    pub(super) last_durable: u8,
    pub(super) flushed: u8,
    pub(super) log_flush: Option<LogFlushInProgress>,
    /// Durable commits in the log that are not acknowledged.
    pub(super) waiting: CommitSet,
    /// Whether it takes no commits until it is merged; or none at all.
    pub(super) is_closed: bool,
    pub(super) is_abandoned: bool,
    pub(super) log: Option<LogEnd>,
    /// Entries that are in memory only.
    pub(super) unwritten: PendingWrites,
    /// The state of a reader that needs trees with it.
    pub(super) reader: Option<(CommitSet, ContentNumber)>,
    /// Whether another process has the database open.
    pub(super) is_shared: bool,
    /// Whether a flush has failed.
    pub(super) is_poisoned: bool,
    /// The commits that a power cut may take though readers saw them: lazy ones, those of merges,
    /// and those before.
    pub(super) exposed: CommitSet,
}

impl LogEngine {
    /// A process that has opened a database with this state.
    pub(super) fn opened(state: CommitSet, durable: CommitSet) -> Self {
        Self {
            newest: state,
            published: state,
            durable: transaction_of(durable),
            tree_flush: None,
            is_filled: false,
            merging: None,
            seen: SeenEnd {
                state,
                position: LogPosition::default(),
                last_entry: 0,
            },
            last_durable: 0,
            flushed: 0,
            log_flush: None,
            waiting: 0,
            is_closed: false,
            is_abandoned: false,
            log: None,
            unwritten: ArrayVec::new(),
            reader: None,
            is_shared: false,
            is_poisoned: false,
            exposed: state,
        }
    }

    /// The commits that readers see if they begin now.
    pub(super) fn visible(&self) -> CommitSet {
        match self.is_filled {
            true => self.seen.state | self.published,
            false => self.published,
        }
    }

    /// Shows commits to readers.
    pub(super) fn show(&mut self, seen: SeenEnd) {
        if transaction_of(seen.state) > transaction_of(self.seen.state) {
            self.seen = seen;
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum LogPhase {
    /// No process has it open.
    Down,
    /// Recovery merges the log that a process left.
    Left {
        state: CommitSet,
        is_written: bool,
    },
    Running(LogEngine),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct LogModel {
    /// From the record that is certainly on the disk.
    pub(super) records: ArrayVec<TreeRecord, 8>,
    /// The newest one in the cache.
    pub(super) newest_record: u8,
    pub(super) log: Option<ModelLog>,
    /// Logs that were removed, and that a power cut may bring back.
    pub(super) removed: ArrayVec<ModelLog, 2>,
    pub(super) contents: ArrayVec<LogContent, 31>,
    pub(super) phase: LogPhase,
    /// The commits that must survive a power cut, and a kill.
    pub(super) promised: CommitSet,
    pub(super) kept: CommitSet,
    /// The commits that an opened database did not have, and that must never be there again.
    pub(super) gone: CommitSet,
    /// The commits of which an error was reported. They are not there unless power failed.
    pub(super) failed: CommitSet,
    pub(super) commits_left: u8,
    pub(super) mishaps_left: u8,
    pub(super) events_left: u8,
    pub(super) readers_left: u8,
}

impl LogModel {
    /// A new database.
    pub(super) fn first(bounds: &LogBounds) -> Self {
        let record = TreeRecord {
            state: 0,
            log_end: 0,
            is_lazy: false,
        };
        Self {
            records: ArrayVec::from_iter([record]),
            newest_record: 0,
            log: None,
            removed: ArrayVec::new(),
            contents: ArrayVec::new(),
            phase: LogPhase::Running(LogEngine::opened(0, 0)),
            promised: 0,
            kept: 0,
            gone: 0,
            failed: 0,
            commits_left: bounds.commits,
            mishaps_left: bounds.mishaps,
            events_left: bounds.events,
            readers_left: bounds.readers,
        }
    }

    pub(super) fn engine(&self) -> Option<&LogEngine> {
        match &self.phase {
            LogPhase::Running(engine) => Some(engine),
            _ => None,
        }
    }

    /// The newest record in the cache.
    pub(super) fn newest(&self) -> &TreeRecord {
        &self.records[usize::from(self.newest_record)]
    }

    pub(super) fn write_record(&mut self, record: TreeRecord) {
        self.records.push(record);
        self.newest_record = self.records.len() as u8 - 1;
    }

    /// A record, and thus the later ones only, is certainly on the disk.
    pub(super) fn secure_record(&mut self, index: u8) {
        self.records.drain(..usize::from(index));
        self.newest_record -= index;
    }

    pub(super) fn content(&self, number: ContentNumber) -> Option<&LogContent> {
        self.contents.get(usize::from(number).checked_sub(1)?)
    }

    pub(super) fn new_content(&mut self, content: LogContent) -> ContentNumber {
        self.contents.push(content);
        self.contents.len() as ContentNumber
    }

    /// Removes the log's name.
    pub(super) fn remove_log(&mut self, may_return: bool) {
        if let Some(log) = self.log.take() {
            match may_return {
                true => self.removed.push(log),
                false => self.removed.clear(),
            }
        }
    }
}
