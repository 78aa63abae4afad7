//! The log of the memtable: its entries, and the durable commits among them.

use super::{Memtable, MemtableState, limits::HALF_FULL};
use crate::{
    TransactionId,
    instance::{
        small_changes::{RecordKey, SmallChanges},
        wal::{LeftWal, Wal, WalFlush, WalPosition},
    },
    io::LockMode,
    planted::planted,
    read::snapshot::Snapshot,
};
use std::{
    io,
    sync::{Arc, atomic::Ordering},
};

/// A part of the log, which a flush makes durable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogFlushTarget {
    pub(crate) last: TransactionId,
    position: WalPosition,
}

impl MemtableState {
    /// Begins to add commits after `base`, and creates the log if there is none. The log begins
    /// again if no durable commit after `durable` needs it; otherwise it [goes
    /// on](Self::goes_on_after). Returns `false` if that is impossible; the memtable is not used
    /// any more then.
    pub(crate) fn begin(
        &mut self,
        base: Arc<Snapshot>,
        durable: TransactionId,
        mode: impl FnOnce() -> LockMode,
    ) -> bool {
        debug_assert!(self.is_empty(), "only an empty memtable gets another base");
        let Some(location) = &self.location else {
            return false;
        };
        let goes_on = self.goes_on_after(base.transaction(), durable);
        if self.wal.is_none() {
            // Without a log commits go to the trees.
            match Wal::create(&**location, mode()) {
                Ok(wal) => self.wal = Some(wal),
                Err(_) => {
                    self.location = None;
                    return false;
                }
            }
        }
        if let Some(wal) = &mut self.wal
            && !goes_on
        {
            wal.begin(&base.record, base.mapping.codec());
        }
        (self.visible, self.visible_position) = (base.transaction(), self.position());
        self.base = Some(base);
        true
    }

    /// The part of a half of the log that is used, in hundredths.
    pub(super) fn log_fill(&self) -> usize {
        self.wal.as_ref().map_or(0, Wal::fill)
    }

    /// Whether the entry of the next commit, which is durable or not, stays in memory until the log
    /// is flushed. The commit has to be durable then.
    pub(crate) fn keeps_next(&mut self, is_durable: bool) -> bool {
        let wal = self.wal.as_mut();
        wal.is_some_and(|wal| wal.keeps_next(is_durable))
    }

    /// Appends an entry to the log. `is_kept` is the result of [`Self::keeps_next`]. Returns
    /// `false` if there is no room or an error: the memtable must be merged then.
    pub(crate) fn log(&mut self, changes: &SmallChanges, is_kept: bool) -> bool {
        let logged = changes.operations();
        let has_room = self.newer.change_count + changes.len() <= self.capacity;
        let is_usable = self.is_usable();
        let Some(wal) = &mut self.wal else {
            return false;
        };
        if !is_usable || !has_room || !wal.make_room(logged, is_kept) {
            return false;
        }
        planted!(MemtableUnlogged => return true);
        let is_appended = wal.append(logged, is_kept).is_ok();
        if !is_appended {
            self.location = None;
            self.is_closed = true;
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

    pub(super) fn position(&self) -> WalPosition {
        self.wal.as_ref().map(Wal::position).unwrap_or_default()
    }

    /// Whether durable commits in the log need what is there, if the last commit that is durable in
    /// the trees is `durable`.
    pub(crate) fn is_log_needed(&self, durable: TransactionId) -> bool {
        self.last_durable > durable
    }

    /// Whether the log goes on after the newest commit in the trees, which is `newest`: it ends
    /// with that commit, and durable commits need what is there if the last one that is durable in
    /// the trees is `durable`. So the newest commit need not be.
    pub(crate) fn goes_on_after(&self, newest: TransactionId, durable: TransactionId) -> bool {
        self.is_log_needed(durable)
            && self.wal.is_some()
            && self.last_logged == newest
            && !planted!(LogReused)
    }

    /// Whether durable commits in the log need its older half.
    pub(super) fn is_older_half_needed(&self, durable: TransactionId) -> bool {
        self.is_log_needed(durable) && self.log_follows().1 > durable
    }

    /// The commit in the trees that has to be durable before a merge, so that commits can go on in
    /// the older half of the log; `None` if nothing has to.
    pub(crate) fn needed_in_trees(&self, durable: TransactionId) -> Option<TransactionId> {
        let base = self.base.as_ref()?.transaction();
        let is_wanted = !self.is_closed && self.log_fill() >= HALF_FULL;
        (is_wanted && self.is_older_half_needed(durable)).then(|| base.min(self.log_follows().1))
    }

    /// The commits that the older half of the log follows, and the present one.
    pub(crate) fn log_follows(&self) -> (TransactionId, TransactionId) {
        self.wal.as_ref().map(Wal::follows).unwrap_or_default()
    }

    /// Makes the name of the log durable, once. Returns `false` if that fails: the memtable is not
    /// used any more then.
    pub(crate) fn name_log(&mut self) -> bool {
        let is_named = (self.wal.as_ref()).is_some_and(|wal| wal.file().flush_name().is_ok());
        if !is_named {
            self.location = None;
        }
        is_named
    }

    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn log_file(&self) -> Option<Arc<dyn crate::io::LogStorage>> {
        Some(Arc::clone(self.wal.as_ref()?.file()))
    }

    /// The part of the log that a flush makes durable if it begins now.
    pub(crate) fn flush_target(&self) -> LogFlushTarget {
        // Not later lazy ones: the log may follow a commit that a power cut loses.
        LogFlushTarget {
            last: self.last_durable,
            position: self.position(),
        }
    }

    /// The last durable commit, if a killed process would lose it or ones before it.
    pub(crate) fn pending(&self) -> Option<TransactionId> {
        let wal = self.wal.as_ref().filter(|wal| wal.is_pending());
        wal.map(|_| self.last_durable)
    }

    /// Writes all entries of the log into the cache of the system, also later ones until a merge
    /// begins. Some are still [pending](Self::pending) after this while a flush writes past the
    /// cache.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub(crate) fn write_out(&mut self) -> io::Result<()> {
        self.wal.as_mut().map_or(Ok(()), Wal::write_out)
    }

    /// Begins a flush of the log; `None` if there is no log.
    ///
    /// # Errors
    ///
    /// The system's error from writing entries.
    pub(crate) fn begin_flush(&mut self) -> io::Result<Option<WalFlush>> {
        self.wal.as_mut().map(Wal::begin_flush).transpose()
    }

    /// Notes that the log is on the disk.
    pub(crate) fn note_flushed(&mut self, target: LogFlushTarget) {
        self.wal.iter_mut().for_each(Wal::end_flush);
        self.show(target.last, target.position);
    }

    /// Takes no more commits after a failed flush, and erases those that readers do not see.
    pub(crate) fn fail_flush(&mut self) {
        (self.location, self.is_closed) = (None, true);
        if let Some(wal) = &mut self.wal {
            wal.cut(self.visible_position);
        }
    }
}

impl Memtable {
    /// Fills it with the commits of a log that an earlier process left.
    pub(crate) fn fill_with(
        &self,
        left: LeftWal,
        base: Arc<Snapshot>,
        number: impl Fn(&[u8]) -> usize,
    ) {
        let mut state = self.lock();
        let last = left.last(base.transaction());
        let mut changes = SmallChanges::default();
        for change in left.changes() {
            let record = RecordKey::new(number(change.table), change.key);
            changes.put(record, change.table, change.value);
        }
        state.newer.records.put(last, changes);
        state.newer.commit_count = left.commit_count();
        let is_filled = !state.is_empty();
        state.base = is_filled.then_some(base);
        state.is_closed = is_filled;
        state.left = left;
        self.is_filled.store(is_filled, Ordering::Release);
        if !is_filled {
            state.left.remove();
        }
    }
}
