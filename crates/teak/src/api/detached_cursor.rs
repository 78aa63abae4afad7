//! Detached cursors, which borrow no transaction.
//!
//! The position of a detached cursor is a key, or a pair of key and value, not a path through
//! pages. It is therefore valid in every state of the table, whatever happened to the record, the
//! pages or the transaction, and code that changes a table need not know of cursors. The path to
//! the record is cached beside it, with the table version it leads through. In any other version
//! the position is searched for.

mod changes;
mod cursor_position;
mod cursor_step;
pub(super) mod delete_scope;
mod in_leaf;
pub(super) mod insert_mode;
mod moves;
mod pairs;
mod state;

use super::{
    Kind, MultiTable, Table, Transaction, codec::Bytes, debug_text::ShortBytes,
    detached_cursor::cursor_position::CursorPosition, sealed::Sealed,
};
use crate::{
    Result, TransactionId,
    btree::{PageSource, RootRef, TreeRoot, reading::reading, seek_target::SeekOp},
    read::{catalog::printable, frame_eviction::Borrower, located::located},
};
use cursor_step::{BorrowedPath, CursorStep, HintTarget, TreePath};
use std::{fmt, mem};

/// A cursor over the raw bytes of a table that borrows no transaction: each operation takes the
/// transaction it reads. So the table can be changed while there are cursors, through them or
/// otherwise, and a cursor can move from one transaction to another.
///
/// Its position is a key, whether or not there is a record with this key:
///
/// - It is *on* a record if the table, as the transaction sees it, has that key now. Otherwise it
///   is in the gap where the key was.
/// - [`DetachedCursor::next`] moves to the first record with a greater key,
///   [`DetachedCursor::prev`] to the last one with a smaller key. An unset cursor moves to the
///   first and to the last record. If there is no such record, the position is after the last
///   record or before the first one.
/// - [`DetachedCursor::current`] stays on the record; in a gap it moves to the first record after
///   it.
/// - If the table does not exist, the position does not change. Nor does it change after any error.
///
/// ```
/// # use teak::{Database, DetachedCursor};
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// let mut txn = database.begin_write()?;
/// let words = txn.create_table::<&str, u64>("words")?;
/// words.insert_many(&mut txn, &[("ash", 1), ("elm", 2), ("fir", 3), ("oak", 4)])?;
/// let mut cursor = DetachedCursor::new(&words);
/// while cursor.next(&txn)? {
///     if cursor.key() != b"fir" {
///         cursor.remove(&mut txn)?;
///     }
/// }
/// txn.commit()?;
/// let txn = database.begin_read()?;
/// assert!(cursor.prev(&txn)?);
/// assert_eq!(cursor.key(), b"fir");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Several values of a key
///
/// In a multi-value table, each pair of key and value is a record, in the order of keys and then of
/// values. All of the above holds with "pair" for "key": the position is
/// a pair, and the cursor is in a gap if the table does not have that pair now.
///
/// - Operations on the values of a key, such as [`KeyStep::NextValue`](crate::KeyStep::NextValue),
///   [`KeyStep::FirstValue`](crate::KeyStep::FirstValue) or
///   [`DetachedCursor::count`], use the key of the position, also in a gap. If they find no record,
///   the position does not change.
/// - Operations on keys alone, such as [`KeyStep::NextKey`](crate::KeyStep::NextKey), move to the
///   first value of a key or,
///   backwards, to the last one.
/// - In a plain table a key has one value for all of these. Only operations that take a value of a
///   key are refused there.
///
/// ```
/// # use teak::{Database, DetachedCursor, KeyStep, SeekOp};
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// let mut txn = database.begin_write()?;
/// let lines = txn.create_multi_table::<&str, u32>("lines")?;
/// lines.insert_many(&mut txn, &[("oak", 7), ("teak", 3), ("teak", 5), ("teak", 12)])?;
/// let mut cursor = DetachedCursor::new(&lines);
/// assert!(cursor.seek(&txn, SeekOp::Equal, (b"teak", &5u32.to_be_bytes()))?);
/// cursor.remove(&mut txn)?;
/// assert!(cursor.step(&txn, KeyStep::NextValue)?);
/// assert_eq!(*cursor.value(&txn)?, 12u32.to_be_bytes());
/// assert!(!cursor.step(&txn, KeyStep::NextValue)?, "it stays where it is");
/// assert_eq!(cursor.count(&txn)?, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct DetachedCursor {
    table: CursorTable,
    position: CursorPosition,
    /// The key of the position, if it has one.
    key: Vec<u8>,
    /// The value of the position, if a key has several values.
    value: Vec<u8>,
    /// Receives the next key and value, so that an error leaves the position unchanged.
    scratch: (Vec<u8>, Vec<u8>),
    /// The path to the record, or to the one after a removed record, if it is known.
    hint: Option<Hint>,
}

/// The table of a detached cursor.
#[derive(Clone)]
enum CursorTable {
    Records(Table<Bytes, Bytes>),
    Pairs(MultiTable<Bytes, Bytes>),
}

impl CursorTable {
    fn new<K, V, M: Kind>(table: &Table<K, V, M>) -> Self {
        match M::IS_MULTI {
            true => Self::Pairs(table.with_types()),
            false => Self::Records(table.with_types()),
        }
    }

    fn root<'t, T: Sealed + ?Sized>(&self, txn: &'t T) -> Result<RootRef<'t>> {
        match self {
            Self::Records(table) => table.root(txn),
            Self::Pairs(table) => table.root(txn),
        }
    }

    fn handle<T: Sealed + ?Sized>(&self, txn: &T) -> usize {
        match self {
            Self::Records(table) => table.handle(txn),
            Self::Pairs(table) => table.handle(txn),
        }
    }

    fn name(&self) -> &[u8] {
        match self {
            Self::Records(table) => table.name(),
            Self::Pairs(table) => table.name(),
        }
    }
}

/// The path to the record of the position, or to the next one, in one version of its table.
#[derive(Clone)]
struct Hint {
    version: TableVersion,
    /// The state of the whole database, if a reader of a plain database found it: fetching the root
    /// and comparing it takes longer.
    committed: Option<(u64, TransactionId)>,
    path: TreePath,
    hint_target: HintTarget,
}

impl Hint {
    /// Whether the hint is valid for the version of the table that `txn` sees.
    #[inline]
    fn is_valid_for<T: Transaction>(&self, txn: &T, table: &CursorTable, root: &TreeRoot) -> bool {
        self.is_valid_for_reader(txn) || self.version.is_valid_for(txn, table, root)
    }

    /// Whether the state of the whole database shows that the hint is valid for `txn`.
    #[inline]
    fn is_valid_for_reader<T: Transaction>(&self, txn: &T) -> bool {
        let committed = txn.committed();
        committed.is_some() && (committed == self.committed || self.version.is_held_by(txn))
    }
}

/// Identifies one version of a table.
#[derive(Clone, Copy)]
enum TableVersion {
    /// A committed root. Roots of committed trees hold the checksum of their page, and so on
    /// downwards.
    Committed { engine: u64, root: TreeRoot },
    /// A committed root of a database whose decoded pages may be given back. No other transaction
    /// may use the path: it would read pages without checking them, and they may be gone.
    Held {
        engine: u64,
        root: TreeRoot,
        borrower: Borrower,
    },
    /// A write transaction, and its last change of the table.
    Changed(u64, u64),
}

impl TableVersion {
    /// Whether the table has this version in `txn`.
    #[inline]
    fn is_valid_for<T: Transaction>(&self, txn: &T, table: &CursorTable, root: &TreeRoot) -> bool {
        match (self, txn.version_of(table.handle(txn))) {
            (Self::Changed(transaction, version), Some(now)) => (*transaction, *version) == now,
            (
                Self::Committed {
                    engine,
                    root: known,
                },
                None,
            ) => *engine == txn.engine().id() && known == root,
            (
                Self::Held {
                    engine,
                    root: known,
                    borrower,
                },
                None,
            ) => *engine == txn.engine().id() && known == root && txn.borrower() == Some(*borrower),
            _ => false,
        }
    }

    /// Whether it was found by this reader, whose state does not change.
    #[inline]
    fn is_held_by<T: Transaction>(&self, txn: &T) -> bool {
        let Self::Held {
            engine,
            borrower: borrower @ Borrower::Reader(_),
            ..
        } = self
        else {
            return false;
        };
        *engine == txn.engine().id() && txn.borrower() == Some(*borrower)
    }

    fn new<T: Transaction>(txn: &T, table: &CursorTable, root: &TreeRoot) -> Self {
        let (engine, root) = (txn.engine().id(), *root);
        match (txn.version_of(table.handle(txn)), txn.borrower()) {
            (Some((transaction, version)), _) => Self::Changed(transaction, version),
            (None, None) => Self::Committed { engine, root },
            (None, Some(borrower)) => Self::Held {
                engine,
                root,
                borrower,
            },
        }
    }
}

impl DetachedCursor {
    /// Creates an unset cursor over a table of either kind.
    ///
    /// ```
    /// # use teak::{Database, DetachedCursor};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<&str, u64>("words")?;
    /// let mut cursor = DetachedCursor::new(&words);
    /// assert!(!cursor.next(&txn)?);
    /// words.insert(&mut txn, "ash", 1)?;
    /// assert!(cursor.prev(&txn)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn new<K, V, M: Kind>(table: &Table<K, V, M>) -> Self {
        Self {
            table: CursorTable::new(table),
            position: CursorPosition::Unset,
            key: Vec::new(),
            value: Vec::new(),
            scratch: (Vec::new(), Vec::new()),
            hint: None,
        }
    }

    /// The name of the table.
    #[must_use]
    pub fn table_name(&self) -> &[u8] {
        self.table.name()
    }

    /// The key of the position, also in a gap; empty if the position has no key.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Whether the cursor is unset, as in the beginning and after [`DetachedCursor::reset`].
    #[must_use]
    pub fn is_unset(&self) -> bool {
        self.position == CursorPosition::Unset
    }

    /// Makes the cursor unset again.
    pub fn reset(&mut self) {
        self.reset_to(CursorPosition::Unset);
    }

    /// Sets a position that has no key.
    fn reset_to(&mut self, position: CursorPosition) {
        self.position = position;
        self.key.clear();
        self.value.clear();
        self.hint = None;
    }

    /// Moves where `step` leads. If there is no record, moves to `otherwise`, or does not move if
    /// that is `None`. After an error the position does not change either.
    fn move_to<'t, T: Transaction>(
        &mut self,
        txn: &'t T,
        otherwise: Option<CursorPosition>,
        step: impl FnOnce(&mut CursorStep<'_, 't>) -> Result<bool>,
    ) -> Result<bool> {
        self.move_to_unchecked(txn, otherwise, |cursor| cursor.check_faults(step))
    }

    /// Moves forwards. Without a record there, the cursor is after the last one.
    fn move_forward<'t, T: Transaction>(
        &mut self,
        txn: &'t T,
        step: impl FnOnce(&mut CursorStep<'_, 't>) -> Result<bool>,
    ) -> Result<bool> {
        self.move_to(txn, Some(CursorPosition::AfterLast), step)
    }

    /// Moves backwards. Without a record there, the cursor is before the first one.
    fn move_back<'t, T: Transaction>(
        &mut self,
        txn: &'t T,
        step: impl FnOnce(&mut CursorStep<'_, 't>) -> Result<bool>,
    ) -> Result<bool> {
        self.move_to(txn, Some(CursorPosition::BeforeFirst), step)
    }

    /// Like [`DetachedCursor::move_to`], for a step that itself checks whether the pages it read
    /// were intact: it may read pages that it does not need.
    fn move_to_unchecked<'t, T: Transaction>(
        &mut self,
        txn: &'t T,
        otherwise: Option<CursorPosition>,
        step: impl FnOnce(&mut CursorStep<'_, 't>) -> Result<bool>,
    ) -> Result<bool> {
        let root = self.table.root(txn)?;
        let source: &(dyn PageSource + 't) = txn.source();
        let hint = self.hint.take();
        let known = hint.as_ref();
        let known = known.filter(|hint| hint.is_valid_for(txn, &self.table, &root));
        let (hint_target, version) = match known {
            Some(hint) => (hint.hint_target, hint.version),
            None => (
                HintTarget::Unknown,
                TableVersion::new(txn, &self.table, &root),
            ),
        };
        let path = hint.map(|hint| hint.path);
        let moved = || {
            let path = match path {
                Some(path) if hint_target != HintTarget::Unknown => {
                    reading(source, || BorrowedPath::resume(source, &root, path))?
                }
                path => BorrowedPath::new(source, &root, path),
            };
            let mut cursor = CursorStep {
                source,
                root: &root,
                name: self.table.name(),
                position: self.position,
                key: &self.key,
                value: &self.value,
                path,
                hint_target,
            };
            let is_found = step(&mut cursor);
            source.refuse_lost()?;
            let is_found = is_found?;
            if is_found {
                let (key, value) = &mut self.scratch;
                reading(source, || cursor.read(key, value))?;
            }
            let is_known = is_found || cursor.hint_target.is_here();
            Ok((is_found, is_known.then(|| cursor.path.into_path())))
        };
        let (is_found, path) = moved()
            .map_err(|error| located(error, source, &root, self.table.name(), Some(&self.key)))?;
        if is_found {
            mem::swap(&mut self.key, &mut self.scratch.0);
            mem::swap(&mut self.value, &mut self.scratch.1);
            self.position = CursorPosition::At;
        } else if let Some(position) = otherwise {
            self.reset_to(position);
            return Ok(false);
        }
        let hint_target = HintTarget::Current;
        let committed = match version {
            TableVersion::Committed { .. } => txn.committed(),
            _ => None,
        };
        self.hint = path.map(|path| Hint {
            version,
            committed,
            path,
            hint_target,
        });
        Ok(is_found)
    }

    /// Passes the path of the current record to `inspect`, if the cursor is on a record.
    fn inspect<'t, T: Transaction, R>(
        &self,
        txn: &'t T,
        inspect: impl FnOnce(&'t (dyn PageSource + 't), &TreeRoot, &TreePath) -> Result<R>,
    ) -> Result<Option<R>> {
        let root = self.table.root(txn)?;
        if self.position != CursorPosition::At {
            return Ok(None);
        }
        let source: &(dyn PageSource + 't) = txn.source();
        let hint = self.hint.as_ref().filter(|hint| hint.hint_target.is_here());
        let hint = hint.filter(|hint| hint.is_valid_for(txn, &self.table, &root));
        let outcome = reading(source, || {
            if let Some(hint) = hint {
                return inspect(source, &root, &hint.path).map(Some);
            }
            let mut cursor = CursorStep {
                source,
                root: &root,
                name: self.table.name(),
                position: self.position,
                key: &self.key,
                value: &self.value,
                path: BorrowedPath::new(source, &root, None),
                hint_target: HintTarget::Unknown,
            };
            match cursor.seek_position(SeekOp::Equal)? {
                true => inspect(source, &root, &cursor.path.into_path()).map(Some),
                false => Ok(None),
            }
        });
        outcome.map_err(|error| located(error, source, &root, self.table.name(), Some(&self.key)))
    }
}

impl fmt::Debug for DetachedCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DetachedCursor")
            .field("table", &printable(self.table.name()))
            .field("position", &self.position)
            .field("key", &ShortBytes(&self.key))
            .field("value", &ShortBytes(&self.value))
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "detached_cursor/in_leaf_tests.rs"]
mod in_leaf_tests;
#[cfg(test)]
#[path = "detached_cursor/table_version_tests.rs"]
mod table_version_tests;
