//! A state of the model: the disk, the system's cache, the engine's memory, and the promises.
//!
//! - A location in the file (a page or a slot) has one content in the cache, and a set of contents,
//!   one of which the disk has. It is undetermined until a power cut, or until a flush leaves only
//!   one.
//! - Contents are numbers. That of a page is unique to its write, so comparing numbers models
//!   comparing checksums; 0 stands for everything that no record refers to. That of a slot is the
//!   index of a record plus one; 0 is unreadable.
//! - The tree of a commit has two pages, a root and a leaf. Each commit writes a new root, and
//!   optionally a new leaf. Recovery does not verify an old leaf below a new root.
//! - A journal slot has an entry or nothing, on the disk and in the cache. The content of an entry
//!   depends on its commit and the one before: see [`journal`](super::journal).

use super::rules::SearchBounds;
use arrayvec::ArrayVec;
use std::hash::{Hash, Hasher};

pub(super) const SLOT_COUNT: usize = 4;
pub(super) const PAGES_MAX: usize = 8;
pub(super) const READERS_MAX: usize = 2;
/// The maximum number of entries that the journal has room for.
pub(super) const ENTRIES_MAX: usize = 3;
/// An upper bound of the entries in the cache and on the disk together.
pub(super) const ALL_ENTRIES_MAX: usize = 12;
/// An upper bound of the commits and records in a feasible search.
pub(super) const COMMITS_MAX: usize = 10;
pub(super) const RECORDS_MAX: usize = 30;

/// A set of contents.
pub(super) type Contents = u32;

pub(super) const fn only(content: u8) -> Contents {
    1 << content
}

/// The members of a set, ascending.
pub(super) fn members(contents: Contents) -> impl Iterator<Item = u8> {
    (0..Contents::BITS as u8).filter(move |&content| contents & only(content) != 0)
}

/// The index of a commit in [`ProtocolState::commits`].
pub(super) type CommitIndex = u8;

/// A page, a slot, or a journal slot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Location {
    pub(super) cache: u8,
    /// The contents that the disk may have, except those of `since`.
    pub(super) disk: Contents,
    /// Whether the next flush writes the content of the cache. Not so after a failed flush.
    pub(super) is_dirty: bool,
    /// The content that a running flush makes durable.
    pub(super) flushing: Option<u8>,
    /// The contents written since that flush began.
    pub(super) since: Contents,
}

impl Location {
    pub(super) const fn certain(content: u8) -> Self {
        Self {
            cache: content,
            disk: only(content),
            is_dirty: false,
            flushing: None,
            since: 0,
        }
    }

    pub(super) const fn possible(&self) -> Contents {
        self.disk | self.since
    }

    pub(super) const fn is_certainly(&self, content: u8) -> bool {
        self.possible() == only(content)
    }

    /// The write may also be torn, unless its content is there already.
    pub(super) fn write(&mut self, content: u8, is_flush_running: bool) {
        let torn = if self.is_certainly(content) {
            0
        } else {
            only(0)
        };
        if is_flush_running {
            self.since |= only(content) | torn;
        } else {
            self.disk |= only(content) | torn;
        }
        self.cache = content;
        self.is_dirty = true;
    }

    /// Everything that was written is on the disk.
    pub(super) fn secure(&mut self) {
        *self = Self::certain(self.cache);
    }

    pub(super) fn begin_flush(&mut self) {
        self.flushing = self.is_dirty.then_some(self.cache);
        self.is_dirty = false;
    }

    pub(super) fn complete_flush(&mut self) {
        self.disk = self.flushing.map_or(self.disk, only) | self.since;
        self.flushing = None;
        self.since = 0;
    }

    /// The knowledge of the disk stays the same, and the system counts everything as written.
    pub(super) fn fail_flush(&mut self) {
        self.disk |= self.since;
        self.flushing = None;
        self.since = 0;
        self.is_dirty = false;
    }
}

/// The location of a page of a commit's tree, and its expected content.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(super) struct PageReference {
    pub(super) page: u8,
    pub(super) birth: u8,
    pub(super) content: u8,
}

/// The ordinal of a commit, for messages. It does not distinguish states.
#[derive(Clone, Copy, Debug)]
pub(super) struct CommitName(pub(super) u8);

impl PartialEq for CommitName {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for CommitName {}

impl Hash for CommitName {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// The checker's record of a commit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct ProtocolCommit {
    pub(super) name: CommitName,
    pub(super) transaction: u8,
    /// Its parent: the nearest one that is still referred to.
    pub(super) parent: Option<CommitIndex>,
    pub(super) durability: Durability,
    /// The last transaction known to be flushed when the record was written.
    pub(super) known_durable: u8,
    /// The last one known to be durable then, by a flush or by the journal.
    pub(super) acknowledged: u8,
    /// Whether an opened database has continued from another commit.
    pub(super) is_abandoned: bool,
    /// Root and leaf; `None` once nothing refers to them.
    pub(super) tree: Option<[PageReference; 2]>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Durability {
    Durable,
    /// Lazy and async, which differ only in whether the caller waits.
    Weak,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct CommitRecord {
    pub(super) sequence: u8,
    pub(super) commit: CommitIndex,
    pub(super) known_durable: u8,
    pub(super) acknowledged: u8,
    pub(super) is_clean_close: bool,
    /// A newer record is certainly on the disk, so this one must never count. Its commit has been
    /// forgotten.
    pub(super) is_stale: bool,
}

/// The predecessor of an entry of the journal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum EntryLink {
    /// A record that no longer exists.
    Gone,
    /// The record of the flushed commit, by the content of a slot.
    Record { content: u8, slot: u8 },
    /// The preceding entry, by its index in [`ProtocolState::entries`].
    Entry(u8),
}

/// An entry of the journal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct JournalEntry {
    pub(super) link: EntryLink,
    /// The content of the record of its commit, and its slot.
    pub(super) record: u8,
    pub(super) slot: u8,
    /// Whether root and leaf were copied from pages that had wrong contents when the entry was
    /// made.
    pub(super) is_spoiled: [bool; 2],
}

/// The target of a flush or an entry.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct FlushTarget {
    pub(super) commit: CommitIndex,
    pub(super) slot: u8,
    pub(super) means: SyncMethod,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum SyncMethod {
    Flush,
    /// An entry in this journal slot.
    Entry(u8),
}

/// The entry of a page in the free-space map.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum PageUse {
    Free,
    Live { birth: u8 },
    Dead { birth: u8, death: u8 },
}

/// The memory of an engine.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct EngineMemory {
    pub(super) newest: CommitIndex,
    pub(super) newest_slot: u8,
    /// The last commit that is on the disk, by a flush or by the journal.
    pub(super) durable: CommitIndex,
    /// The last commit with all pages on the disk, and a slot with a record of it on the disk.
    pub(super) flushed: CommitIndex,
    pub(super) flushed_slot: u8,
    /// The number of entries after that record; `None` if there can be none before the next flush.
    pub(super) chain: Option<u8>,
    /// The target of a running flush, or of an entry that is being written.
    pub(super) target: Option<FlushTarget>,
    /// The state that new readers see.
    pub(super) published: CommitIndex,
    pub(super) readers: ArrayVec<CommitIndex, READERS_MAX>,
    pub(super) uses: ArrayVec<PageUse, PAGES_MAX>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum EnginePhase {
    /// No process has the file open.
    Down,
    /// Recovery redoes these pages of the journal, one bit each. Then it decides again, and redoes
    /// the record if necessary.
    Redoing {
        pages: u8,
        is_recorded: bool,
        /// The commit that these pages belong to.
        redone: CommitIndex,
        /// A newer commit that is complete on the disk or with the journal.
        whole: Option<CommitIndex>,
    },
    /// Recovery has chosen a record. Nothing has been written yet except the redo of the journal.
    Decided {
        slot: u8,
        /// The commit whose pages were redone.
        redone: Option<CommitIndex>,
        /// Whether the system has dropped that record since then.
        is_dropped: bool,
    },
    /// Recovery makes its choice permanent.
    Settling {
        slot: u8,
        /// Slots that remain to be erased, one bit each.
        losers: u8,
        /// Whether the chosen record was dropped unnoticed.
        is_dropped: bool,
    },
    Running(EngineMemory),
    /// A record could not be written while a flush was running, which continues.
    Failing(EngineMemory),
    /// A flush or the write of a record failed. Readers may continue.
    Poisoned {
        engine: EngineMemory,
        is_rewritten: bool,
    },
    /// The record of a clean close is written.
    Closing(EngineMemory),
}

impl EnginePhase {
    pub(super) fn engine(&self) -> Option<&EngineMemory> {
        match self {
            Self::Running(engine)
            | Self::Failing(engine)
            | Self::Poisoned { engine, .. }
            | Self::Closing(engine) => Some(engine),
            _ => None,
        }
    }

    pub(super) fn engine_mut(&mut self) -> Option<&mut EngineMemory> {
        match self {
            Self::Running(engine)
            | Self::Failing(engine)
            | Self::Poisoned { engine, .. }
            | Self::Closing(engine) => Some(engine),
            _ => None,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct ProtocolState {
    pub(super) pages: ArrayVec<Location, PAGES_MAX>,
    pub(super) slots: [Location; SLOT_COUNT],
    pub(super) journal: ArrayVec<Location, ENTRIES_MAX>,
    pub(super) commits: ArrayVec<ProtocolCommit, COMMITS_MAX>,
    pub(super) records: ArrayVec<CommitRecord, RECORDS_MAX>,
    /// The entries that journal slots may hold. Their contents are the index plus one.
    pub(super) entries: ArrayVec<JournalEntry, ALL_ENTRIES_MAX>,
    pub(super) phase: EnginePhase,
    /// The newest commit that must not be lost, whatever happens.
    pub(super) promised: CommitIndex,
    /// The newest commit that must not be lost without a power cut.
    pub(super) kept: Option<CommitIndex>,
    pub(super) commits_left: u8,
    pub(super) mishaps_left: u8,
}

impl ProtocolState {
    /// A closed database with one commit.
    pub(super) fn first(bounds: &SearchBounds) -> Self {
        let reference = |page| PageReference {
            page,
            birth: 0,
            content: 1,
        };
        let first = ProtocolCommit {
            name: CommitName(0),
            transaction: 0,
            parent: None,
            durability: Durability::Durable,
            known_durable: 0,
            acknowledged: 0,
            is_abandoned: false,
            tree: Some([reference(0), reference(1)]),
        };
        let record = CommitRecord {
            sequence: 1,
            commit: 0,
            known_durable: 0,
            acknowledged: 0,
            is_clean_close: true,
            is_stale: false,
        };
        let mut slots = [Location::certain(0); SLOT_COUNT];
        slots[0] = Location::certain(1);
        Self {
            pages: (0..bounds.pages)
                .map(|page| Location::certain(u8::from(page < 2)))
                .collect(),
            slots,
            journal: (0..bounds.entries).map(|_| Location::certain(0)).collect(),
            commits: ArrayVec::from_iter([first]),
            records: ArrayVec::from_iter([record]),
            entries: ArrayVec::new(),
            phase: EnginePhase::Down,
            promised: 0,
            kept: None,
            commits_left: bounds.commits,
            mishaps_left: bounds.mishaps,
        }
    }

    pub(super) fn commit(&self, index: CommitIndex) -> &ProtocolCommit {
        &self.commits[usize::from(index)]
    }

    pub(super) fn transaction(&self, index: CommitIndex) -> u8 {
        self.commit(index).transaction
    }

    pub(super) fn name(&self, index: CommitIndex) -> u8 {
        self.commit(index).name.0
    }

    /// The record for a content of a slot.
    pub(super) fn record(&self, content: u8) -> Option<&CommitRecord> {
        self.records.get(usize::from(content).checked_sub(1)?)
    }

    /// The record that a slot has in the cache.
    pub(super) fn cached_record(&self, slot: u8) -> Option<&CommitRecord> {
        self.record(self.slots[usize::from(slot)].cache)
    }

    /// The entry for a content of a journal slot.
    pub(super) fn entry(&self, content: u8) -> Option<&JournalEntry> {
        self.entries.get(usize::from(content).checked_sub(1)?)
    }

    /// Pages, slots, and journal slots.
    pub(super) fn locations(&self) -> impl Iterator<Item = &Location> {
        self.pages.iter().chain(&self.slots).chain(&self.journal)
    }

    pub(super) fn locations_mut(&mut self) -> impl Iterator<Item = &mut Location> {
        let locations = self.pages.iter_mut().chain(&mut self.slots);
        locations.chain(&mut self.journal)
    }

    /// Flushes everything, while nothing else happens.
    pub(super) fn flush(&mut self) {
        for location in self.locations_mut() {
            location.begin_flush();
            location.complete_flush();
        }
    }

    /// Whether `commit` is `ancestor`, or is based on it.
    pub(super) fn contains(&self, commit: CommitIndex, ancestor: CommitIndex) -> bool {
        let mut at = Some(commit);
        while let Some(index) = at {
            if index == ancestor {
                return true;
            }
            at = self.commit(index).parent;
        }
        false
    }

    fn is_flush_running(&self) -> bool {
        let target = self.phase.engine().and_then(|engine| engine.target);
        target.is_some_and(|target| target.means == SyncMethod::Flush)
    }

    pub(super) fn write_page(&mut self, page: u8, content: u8) {
        let is_flush_running = self.is_flush_running();
        self.pages[usize::from(page)].write(content, is_flush_running);
    }

    pub(super) fn write_slot(&mut self, slot: u8, content: u8) {
        let is_flush_running = self.is_flush_running();
        self.slots[usize::from(slot)].write(content, is_flush_running);
    }

    pub(super) fn write_record(&mut self, slot: u8, record: CommitRecord) {
        self.records.push(record);
        self.write_slot(slot, self.records.len() as u8);
    }

    /// The sequence of the next record.
    pub(super) fn next_sequence(&self) -> u8 {
        let cached = (0..SLOT_COUNT as u8).filter_map(|slot| self.cached_record(slot));
        cached.map(|record| record.sequence).max().unwrap_or(0) + 1
    }

    /// A content that no page has and no commit expects.
    pub(super) fn new_content(&self, page: u8) -> u8 {
        let location = &self.pages[usize::from(page)];
        let there = Contents::BITS - location.possible().leading_zeros();
        let expected = self.commits.iter().filter_map(|commit| commit.tree);
        let expected = expected
            .flatten()
            .filter(|reference| reference.page == page);
        expected
            .map(|reference| reference.content + 1)
            .chain([there as u8, 1])
            .max()
            .unwrap_or(1)
    }

    /// The first page of a commit with a wrong content in the cache.
    pub(super) fn wrong_page(&self, commit: CommitIndex) -> Option<u8> {
        let tree = self.commit(commit).tree.iter().flatten();
        tree.filter(|reference| self.pages[usize::from(reference.page)].cache != reference.content)
            .map(|reference| reference.page)
            .next()
    }
}
