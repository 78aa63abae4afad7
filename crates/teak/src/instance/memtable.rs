//! The memtable: small lazy commits that are not in the trees yet.
//!
//! A small lazy transaction only adds its changes to the memtable, and to its write-ahead log, so
//! that they survive the death of the process. Many such commits are then *merged*: one transaction
//! applies all their changes to the trees, in the order of the keys, and commits. Readers see only
//! what is in the trees, so the memtable is merged before a reader begins, and before anything else
//! that needs the newest state: a transaction that does not fit it, a flush, a close. It is also
//! merged when it is full, and when its oldest commit is [`AGE_MAX`] old.
//!
//! Only a process that has the database open alone uses its memtable: another process would not
//! know of the commits in it. A process that joins waits until the owner of the memtable has merged
//! it (`share/region.rs`).
//!
//! Locks: a small transaction holds the [permit](super::writer_permit) to write from its beginning to
//! its end, but not the writer's state, so that readers can merge meanwhile. A thread that merges
//! holds that state. Order: permit, writer's state, memtable, commit state.

use crate::{
    TransactionId, btree::TreeRoot, io::LockMode, page::key::KeyOrder, planted::planted,
    read::snapshot::Snapshot, record::durability::Durability,
};
use crate::{
    instance::wal::{Change, LeftWal, Wal},
    sync::lock,
};
use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU32, Ordering::Acquire, Ordering::Relaxed, Ordering::Release},
    },
    time::Duration,
};

/// The most changes in the memtable: this many while no reader asks for a merge. With each one that
/// does, the number is halved, down to the other one, so that readers do not wait for long merges.
pub(crate) const CHANGES_MAX: usize = 512;
const CHANGES_MAX_FOR_READERS: usize = 8;
/// The most changes of one transaction, and the most bytes of their keys and values.
pub(crate) const SMALL_CHANGES_MAX: usize = 16;
pub(crate) const SMALL_BYTES_MAX: usize = 8 << 10;
/// How long a commit stays in the memtable.
pub(crate) const AGE_MAX: Duration = Duration::from_millis(10);
/// If readers ask for a merge after fewer commits than this, merging saves little.
const WORTHWHILE: u64 = 4;
/// How many transactions go to the trees at once after that.
const DIRECT: u32 = 64;

/// Whether the memtable may have changes of a table: each key is compared as bytes, and each value
/// that is short enough can be stored.
pub(crate) fn is_plain(root: &TreeRoot) -> bool {
    let is_of_bytes = matches!(root.order, KeyOrder::Bytes | KeyOrder::ReverseBytes);
    is_of_bytes && !root.is_special() && !root.kind.fixed && !root.kind.first_decides
}

/// A change of a small transaction.
#[derive(Clone, Debug)]
pub(crate) struct SmallChange {
    pub(crate) handle: usize,
    pub(crate) table: Arc<[u8]>,
    pub(crate) key: Box<[u8]>,
    /// `None` removes the record.
    pub(crate) value: Option<Box<[u8]>>,
}

impl SmallChange {
    pub(crate) fn as_logged(&self) -> Change<'_> {
        Change {
            table: &self.table,
            key: &self.key,
            value: self.value.as_deref(),
        }
    }
}

/// The memtable of a database.
#[derive(Debug)]
pub(crate) struct Memtable {
    /// Whether it has commits. Changed with the state locked.
    is_filled: AtomicBool,
    /// Whether the next commit is expected to be lazy, like the last one.
    is_lazy_expected: AtomicBool,
    /// How many transactions from now on go to the trees at once.
    direct_count: AtomicU32,
    state: Mutex<MemtableState>,
}

/// The commits in a memtable, and its log.
#[derive(Default, Debug)]
pub(crate) struct MemtableState {
    /// The newest commit in the trees, while there are commits here.
    base: Option<Arc<Snapshot>>,
    commit_count: u64,
    tables: BTreeMap<usize, MemtableRecords>,
    change_count: usize,
    /// With this many changes it is full.
    change_limit: usize,
    /// How often it was merged.
    pub(crate) merge_count: u64,
    wal: Option<Wal>,
    /// The log that an earlier process left, until it is merged.
    left: LeftWal,
    /// Where the log is created; `None` if the memtable is not used, or not any more.
    path: Option<PathBuf>,
}

/// The changed records of a table.
#[derive(Debug)]
struct MemtableRecords {
    name: Arc<[u8]>,
    /// `None` for removed ones.
    records: BTreeMap<Box<[u8]>, Option<Box<[u8]>>>,
}

impl Memtable {
    /// A memtable whose log is at `path`; `None` if it is never used. `durability` is that of the
    /// database.
    pub(crate) fn new(path: Option<PathBuf>, durability: Durability) -> Self {
        Self {
            is_filled: AtomicBool::new(false),
            is_lazy_expected: AtomicBool::new(durability == Durability::Lazy),
            direct_count: AtomicU32::new(0),
            state: Mutex::new(MemtableState {
                path,
                change_limit: CHANGES_MAX_FOR_READERS,
                ..MemtableState::default()
            }),
        }
    }

    /// Whether it has commits.
    #[inline]
    pub(crate) fn is_filled(&self) -> bool {
        self.is_filled.load(Acquire)
    }

    /// Whether the next transaction should be a small one. `durability` is that of the transaction,
    /// if it is known.
    pub(crate) fn is_wanted(&self, durability: Option<Durability>) -> bool {
        let is_lazy = match durability {
            Some(durability) => durability == Durability::Lazy,
            None => self.is_lazy_expected.load(Relaxed),
        };
        let is_direct = |count: u32| count.checked_sub(1);
        is_lazy && (self.direct_count.fetch_update(Relaxed, Relaxed, is_direct)).is_err()
    }

    /// Notes the durability of a commit.
    pub(crate) fn note_durability(&self, durability: Durability) {
        self.is_lazy_expected
            .store(durability == Durability::Lazy, Relaxed);
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, MemtableState> {
        lock(&self.state)
    }

    /// Fills it with the commits of a log that an earlier process left.
    pub(crate) fn fill_with(
        &self,
        left: LeftWal,
        base: Arc<Snapshot>,
        number: impl Fn(&[u8]) -> usize,
    ) {
        let mut state = self.lock();
        for change in left.changes() {
            let change = SmallChange {
                handle: number(change.table),
                table: change.table.into(),
                key: change.key.into(),
                value: change.value.map(Into::into),
            };
            state.put(change);
        }
        state.commit_count = left.commit_count();
        state.base = (state.commit_count > 0).then_some(base);
        state.left = left;
        self.is_filled.store(state.commit_count > 0, Release);
        if state.is_empty() {
            state.left.remove();
        }
    }

    /// Adds a commit. Its changes are in the log.
    pub(crate) fn add(&self, state: &mut MemtableState, changes: Vec<SmallChange>) {
        debug_assert!(state.base.is_some(), "a memtable with commits has a base");
        changes.into_iter().for_each(|change| state.put(change));
        state.commit_count += 1;
        self.is_filled.store(true, Release);
    }

    /// Notes that all commits are in the trees. `is_for_reader` says that a reader has asked for
    /// that.
    pub(crate) fn note_merged(&self, state: &mut MemtableState, is_for_reader: bool) {
        if is_for_reader && state.commit_count < WORTHWHILE {
            self.direct_count.store(DIRECT, Relaxed);
        }
        state.change_limit = match is_for_reader {
            true => state.change_limit / 2,
            false => state.change_limit * 2,
        };
        state.change_limit = (state.change_limit).clamp(CHANGES_MAX_FOR_READERS, CHANGES_MAX);
        state.left.remove();
        state.left = LeftWal::default();
        state.base = None;
        state.commit_count = 0;
        state.change_count = 0;
        state.tables.clear();
        state.merge_count += 1;
        self.is_filled.store(false, Release);
    }
}

impl MemtableState {
    pub(crate) fn is_empty(&self) -> bool {
        self.commit_count == 0
    }

    pub(crate) fn commit_count(&self) -> u64 {
        self.commit_count
    }

    /// Whether its commits come from the log of an earlier process.
    pub(crate) fn is_left(&self) -> bool {
        self.left.commit_count() > 0
    }

    /// Takes no more commits. Those that it has stay in the log.
    pub(crate) fn abandon(&mut self) {
        self.path = None;
    }

    /// Whether it should be merged.
    pub(crate) fn is_full(&self) -> bool {
        self.change_count >= self.change_limit
    }

    /// The newest commit in the trees, if there are commits here.
    pub(crate) fn base(&self) -> Option<&Arc<Snapshot>> {
        self.base.as_ref()
    }

    /// The last commit; `None` if it is empty.
    pub(crate) fn last(&self) -> Option<TransactionId> {
        let base = self.base.as_ref()?;
        Some(TransactionId(base.transaction().0 + self.commit_count))
    }

    /// The change of a record: its new value, or a removal.
    pub(crate) fn get(&self, handle: usize, key: &[u8]) -> Option<Option<&[u8]>> {
        let found = self.tables.get(&handle)?.records.get(key)?;
        Some(found.as_deref())
    }

    /// Whether records of the table are changed.
    pub(crate) fn changes(&self, handle: usize) -> bool {
        self.tables.contains_key(&handle)
    }

    /// All changes, by table and key.
    pub(crate) fn records(&self) -> impl Iterator<Item = (usize, &[u8], &[u8], Option<&[u8]>)> {
        self.tables.iter().flat_map(|(handle, table)| {
            (table.records.iter())
                .map(|(key, value)| (*handle, &*table.name, &**key, value.as_deref()))
        })
    }

    /// Begins to add commits after `base`, and creates the log if there is none. Returns `false` if
    /// that is impossible; the memtable is not used any more then.
    pub(crate) fn begin(&mut self, base: Arc<Snapshot>, mode: impl FnOnce() -> LockMode) -> bool {
        debug_assert!(self.is_empty(), "only an empty memtable gets another base");
        let Some(path) = &self.path else {
            return false;
        };
        if self.wal.is_none() {
            // Without a log commits go to the trees.
            match Wal::create(path, mode()) {
                Ok(wal) => self.wal = Some(wal),
                Err(_) => {
                    self.path = None;
                    return false;
                }
            }
        }
        if let Some(wal) = &mut self.wal {
            wal.begin(&base.record);
        }
        self.base = Some(base);
        true
    }

    /// Whether the memtable can be used, as far as is known.
    pub(crate) fn is_usable(&self) -> bool {
        self.path.is_some()
    }

    /// Appends an entry to the log. Returns `false` if there is no room or an error: the memtable
    /// must be merged then.
    pub(crate) fn log(&mut self, changes: &[SmallChange]) -> bool {
        let logged = || changes.iter().map(SmallChange::as_logged);
        let Some(wal) = &mut self.wal else {
            return false;
        };
        if !wal.has_room(logged()) {
            return false;
        }
        planted!(MemtableUnlogged => return true);
        let is_appended = wal.append(logged()).is_ok();
        if !is_appended {
            self.path = None;
        }
        is_appended
    }

    /// Removes the log, unless commits are in it only.
    pub(crate) fn remove_log(&mut self) {
        if self.is_empty()
            && let Some(wal) = self.wal.take()
        {
            wal.remove();
        }
    }

    fn put(&mut self, change: SmallChange) {
        let table = self.tables.entry(change.handle);
        let table = table.or_insert_with(|| MemtableRecords {
            name: change.table,
            records: BTreeMap::new(),
        });
        table.records.insert(change.key, change.value);
        self.change_count += 1;
    }
}
