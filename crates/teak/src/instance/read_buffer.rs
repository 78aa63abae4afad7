//! Readers of commits that are in the memtable and not in the trees.

use crate::{
    Error, Result, TransactionId,
    btree::{PageSource, RootRef},
};
use crate::{
    instance::{
        engine::Engine, memtable::MemtableState, memtable_records::MemtableView,
        read_target::ReadTarget, small_changes::RecordKey,
    },
    read::{
        located::find_located,
        reader::{Reader, Reset},
    },
};
use std::sync::Arc;

/// The commits that a reader sees besides the trees of the state that it holds: those after it that
/// were in the memtable. Clones of the reader share it.
#[derive(Debug)]
pub(crate) struct ReadBuffer {
    view: MemtableView,
    target: Arc<ReadTarget>,
}

impl ReadBuffer {
    /// The state that the reader sees.
    pub(crate) fn transaction(&self) -> TransactionId {
        self.view.last()
    }

    /// Whether the trees of its state are there, so that all pages are read in them.
    pub(crate) fn has_trees(&self) -> bool {
        self.merged().is_some()
    }

    /// The value of a record, read without the trees of its state; `None` if the table has several
    /// values for a key, or there is no such table. `held` is the reader.
    pub(crate) fn get<'t>(
        &'t self,
        held: &'t Reader,
        handle: usize,
        name: &[u8],
        key: &[u8],
    ) -> Result<Option<Option<&'t [u8]>>> {
        held.engine().refuse_forked()?;
        let root = held.root_of(handle, name)?;
        let Some(root) = root.filter(|root| !root.is_multi()) else {
            return Ok(None);
        };
        if let Some(found) = self.view.get(RecordKey::new(handle, key)) {
            return Ok(Some(found));
        }
        let found = find_located(held.hold(), &root, name, key);
        held.engine().named(found).map(Some)
    }

    /// The root of a table in the trees of its state. From then on all pages are read there.
    #[cold]
    pub(crate) fn root_of<'t>(
        &'t self,
        held: &'t Reader,
        handle: usize,
        name: &[u8],
    ) -> Result<Option<RootRef<'t>>> {
        held.engine().refuse_forked()?;
        self.trees(held)?.root_of(handle, name)
    }

    /// The reader whose trees have the roots that [`Self::root_of`] has returned.
    #[cold]
    pub(crate) fn known_trees<'t>(&'t self, held: &'t Reader) -> &'t Reader {
        self.merged().unwrap_or(held)
    }

    /// A reader of the same state in the trees, into which it is merged if it is not there.
    pub(crate) fn trees<'t>(&'t self, held: &Reader) -> Result<&'t Reader> {
        if let Some(merged) = self.target.reader()? {
            return Ok(merged);
        }
        held.engine().show_memtable()?;
        self.target.reader()?.ok_or(Error::SnapshotLost)
    }

    fn merged(&self) -> Option<&Reader> {
        self.target.reader().ok().flatten()
    }

    /// Fails if the reader was cancelled, by either of its states.
    pub(crate) fn refuse_cancelled(&self) -> Result<()> {
        match self.merged() {
            Some(merged) => merged.hold().refuse_cancelled(),
            None => Ok(()),
        }
    }

    /// Counts the reads that failed in the trees of its state.
    pub(crate) fn read_faults(&self) -> u64 {
        self.merged().map_or(0, |merged| merged.read_faults())
    }

    /// Like [`Self::trees`], for the only owner; `None` if there are clones.
    pub(crate) fn into_trees(self: Arc<Self>, held: &Reader) -> Result<Option<Reader>> {
        self.trees(held)?;
        // The thread that merged has let go of the target when it unlocks the memtable.
        drop(held.engine().memtable.lock());
        let target = Arc::into_inner(self).map(|buffer| buffer.target);
        let target = target.and_then(Arc::into_inner);
        let reader = target.and_then(ReadTarget::into_reader::<Reader>);
        Ok(reader.map(|reader| *reader))
    }
}

/// Begins again like [`Engine::begin_read_buffered`].
pub(crate) fn begin_again(reset: Reset) -> Result<(Reader, Option<Arc<ReadBuffer>>)> {
    reset.engine().refuse_closed()?;
    if !reset.engine().memtable.is_filled() {
        return Ok((reset.begin()?, None));
    }
    let engine = Arc::clone(reset.engine());
    reset.release();
    engine.begin_read_buffered()
}

/// Gives the readers that end with this commit its state, which is the newest one in the trees.
pub(crate) fn give_trees(
    engine: &Arc<Engine>,
    memtable: &mut MemtableState,
    merged: TransactionId,
) {
    for target in memtable.take_targets(merged) {
        let reader = Reader::begin(engine);
        debug_assert!(
            (reader.as_ref()).is_ok_and(|reader| reader.transaction() == merged) || reader.is_err(),
            "the thread that merges has the writer's state"
        );
        target.give(reader);
    }
}

impl Engine {
    /// Begins to read the newest commit, which may be in the memtable only.
    #[inline]
    pub(crate) fn begin_read_buffered(
        self: &Arc<Self>,
    ) -> Result<(Reader, Option<Arc<ReadBuffer>>)> {
        self.refuse_closed()?;
        match self.memtable.is_filled() {
            true => self.begin_filled(),
            false => Ok((Reader::begin(self)?, None)),
        }
    }

    #[cold]
    fn begin_filled(self: &Arc<Self>) -> Result<(Reader, Option<Arc<ReadBuffer>>)> {
        match self.begin_buffered()? {
            Some(begun) => Ok(begun),
            None => Ok((self.begin_read()?, None)),
        }
    }

    /// Begins with the commits in the memtable that readers see; `None` if they have to be merged
    /// instead.
    fn begin_buffered(self: &Arc<Self>) -> Result<Option<(Reader, Option<Arc<ReadBuffer>>)>> {
        self.refuse_forked()?;
        let mut memtable = self.memtable.lock();
        let Some(base) = memtable.base().map(|base| base.transaction()) else {
            return Ok(None);
        };
        // After a failed flush nothing is merged any more, and readers go on.
        if !memtable.is_usable() && self.refuse_poisoned().is_ok() {
            return Ok(None);
        }
        if memtable.visible() == Some(base) {
            let reader = Reader::begin(self)?;
            return Ok((reader.transaction() == base).then_some((reader, None)));
        }
        let Some(target) = memtable.target() else {
            return Ok(None);
        };
        let reader = Reader::begin(self)?;
        // A merge ends now.
        if reader.transaction() != base {
            return Ok(None);
        }
        let view = memtable.view(target.transaction);
        let buffer = Arc::new(ReadBuffer { view, target });
        Ok(Some((reader, Some(buffer))))
    }
}
