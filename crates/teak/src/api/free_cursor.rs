//! Cursors that are tied to no transaction.
//!
//! The place of such a cursor is a key, or a pair of key and value, and not a way through pages: so it is a place in every state of the table,
//! whatever was done meanwhile to the record, the pages or the transaction, and nobody who changes a table has to know of cursors. The way to
//! the record is kept beside it, with a note of which state it leads through. In any other state the place is searched for.

pub(super) mod bunch;
mod changes;
mod going;
mod moves;
mod pairs;
mod place;
mod quick;
mod state;

use super::{
    MultiTable, Table, Transaction, codec::Bytes, free_cursor::place::Place, sealed::Sealed,
};
use crate::{
    Result, TransactionId,
    tree::{PageSource, RootRef, TreeRoot, reading::reading},
    txn::located::located,
};
use going::{Going, Leads, Path, Way};
use std::{fmt, mem};

/// A cursor over the raw bytes of a table that borrows no transaction: each operation is told which one it is for. So the table can be
/// changed while there are cursors, through them or past them, and a cursor can go from one transaction to another.
///
/// Its place is that of a key, whether there is a record of this key or not:
///
/// - It is *on* a record if the table, as the transaction sees it, has that key now; else it is in the gap where the key was.
/// - [`FreeCursor::next`] goes to the first record with a greater key, [`FreeCursor::prev`] to the last one with a smaller key. From
///   where it begins, nowhere, they go to the first and to the last record. If there is no such record the place is behind the last or
///   before the first one.
/// - [`FreeCursor::current`] stays on the record; in a gap it goes to the first record behind that.
/// - If the table is not there the place stays as it is, as after every error.
///
/// ```
/// # use teak::{Database, FreeCursor, codec::{Str, U64}};
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// let mut txn = database.begin_write()?;
/// let words = txn.create_table::<Str, U64>("words")?;
/// words.insert_many(&mut txn, &[("ash", 1), ("elm", 2), ("fir", 3), ("oak", 4)])?;
/// let mut cursor = FreeCursor::new(&words);
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
/// In a table in which a key has several values each pair of key and value is a record, in the order of keys and then of values, and all of
/// the above holds with "pair" for "key": the place is a pair, and the cursor in a gap where the table does not have that pair now.
///
/// - What concerns the values of a key, such as [`FreeCursor::next_value`], [`FreeCursor::first_value`] or [`FreeCursor::count`], is about the
///   key of the place, also in a gap. Where it leads nowhere the place stays what it was.
/// - What is about keys alone, such as [`FreeCursor::seek`], goes to the first value of a key, or, backwards, to the last one.
/// - In a plain table a key has one value for all of these; only what is told a value of a key is refused there.
///
/// ```
/// # use teak::{Database, FreeCursor, codec::{Str, U32}};
/// # let directory = tempfile::tempdir()?;
/// # let database = Database::open(directory.path().join("x.teak"))?;
/// let mut txn = database.begin_write()?;
/// let lines = txn.create_multi_table::<Str, U32>("lines")?;
/// lines.insert_many(&mut txn, &[("oak", 7), ("teak", 3), ("teak", 5), ("teak", 12)])?;
/// let mut cursor = FreeCursor::for_multi(&lines);
/// assert!(cursor.seek_pair(&txn, b"teak", &5u32.to_be_bytes())?);
/// cursor.remove(&mut txn)?;
/// assert!(cursor.next_value(&txn)?);
/// assert_eq!(*cursor.value(&txn)?, 12u32.to_be_bytes());
/// assert!(!cursor.next_value(&txn)?, "it stays where it is");
/// assert_eq!(cursor.count(&txn)?, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct FreeCursor {
    table: Kind,
    place: Place,
    /// That of the place, if it is one.
    key: Vec<u8>,
    /// The same, where a key has several values.
    value: Vec<u8>,
    /// Takes the next key and value, so that an error leaves the place as it is.
    arriving: (Vec<u8>, Vec<u8>),
    /// The way to the record, or behind one that is gone, where it is known.
    hint: Option<Hint>,
}

/// What a cursor is over.
#[derive(Clone, Debug)]
enum Kind {
    Records(Table<Bytes, Bytes>),
    Pairs(MultiTable<Bytes, Bytes>),
}

impl Kind {
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

/// The way to the record of the place, or the one behind it, in one state of its table.
#[derive(Clone)]
struct Hint {
    stamp: Stamp,
    /// That of the whole database, where it was found by a reader: to ask for the root and compare it takes longer.
    committed: Option<(u64, TransactionId)>,
    path: Path,
    leads: Leads,
}

impl Hint {
    /// Whether it is of the state of the table that `txn` sees.
    #[inline]
    fn is_of<T: Transaction>(&self, txn: &T, table: &Kind, root: &TreeRoot) -> bool {
        self.is_of_reader(txn) || self.stamp.is_of(txn, table, root)
    }

    /// The same as far as the state of the whole database tells.
    #[inline]
    fn is_of_reader<T: Transaction>(&self, txn: &T) -> bool {
        let committed = txn.committed();
        committed.is_some() && committed == self.committed
    }
}

/// Which state of a table.
#[derive(Clone, Copy)]
enum Stamp {
    /// Roots of committed trees hold the tag of their page, and so on downwards.
    Committed { engine: u64, root: TreeRoot },
    /// A write transaction, and its last change of the table.
    Changed(u64, u64),
}

impl Stamp {
    /// Whether the table has the same state as this one in `txn`.
    #[inline]
    fn is_of<T: Transaction>(&self, txn: &T, table: &Kind, root: &TreeRoot) -> bool {
        match (self, txn.version_of(table.handle(txn))) {
            (Self::Changed(transaction, version), Some(now)) => (*transaction, *version) == now,
            (
                Self::Committed {
                    engine,
                    root: known,
                },
                None,
            ) => *engine == txn.engine().id() && known == root,
            _ => false,
        }
    }

    fn new<T: Transaction>(txn: &T, table: &Kind, root: &TreeRoot) -> Self {
        match txn.version_of(table.handle(txn)) {
            Some((transaction, version)) => Self::Changed(transaction, version),
            None => Self::Committed {
                engine: txn.engine().id(),
                root: *root,
            },
        }
    }
}

impl FreeCursor {
    /// A cursor over a table, nowhere yet.
    ///
    /// ```
    /// # use teak::{Database, FreeCursor, codec::{Str, U64}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<Str, U64>("words")?;
    /// let mut cursor = FreeCursor::new(&words);
    /// assert!(!cursor.next(&txn)?);
    /// words.insert(&mut txn, "ash", 1)?;
    /// assert!(cursor.prev(&txn)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn new<K, V>(table: &Table<K, V>) -> Self {
        Self::over(Kind::Records(table.retype()))
    }

    /// A cursor over the pairs of a table in which a key has several values, nowhere yet.
    ///
    /// ```
    /// # use teak::{Database, FreeCursor, codec::Str};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_multi_table::<Str, Str>("words")?;
    /// let mut cursor = FreeCursor::for_multi(&words);
    /// words.insert(&mut txn, "ash", "a tree")?;
    /// words.insert(&mut txn, "ash", "what a fire leaves")?;
    /// assert!(cursor.next(&txn)? && cursor.next(&txn)?);
    /// assert_eq!(*cursor.value(&txn)?, *b"what a fire leaves");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn for_multi<K, V>(table: &MultiTable<K, V>) -> Self {
        Self::over(Kind::Pairs(table.retype()))
    }

    fn over(table: Kind) -> Self {
        Self {
            table,
            place: Place::Nowhere,
            key: Vec::new(),
            value: Vec::new(),
            arriving: (Vec::new(), Vec::new()),
            hint: None,
        }
    }

    /// The name of the table.
    #[must_use]
    pub fn table_name(&self) -> &[u8] {
        self.table.name()
    }

    /// The key of the place, also in a gap; empty if the place is none of a key.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Whether it is nowhere, as in the beginning and after [`FreeCursor::reset`].
    #[must_use]
    pub fn is_nowhere(&self) -> bool {
        self.place == Place::Nowhere
    }

    /// Is nowhere again, as in the beginning.
    pub fn reset(&mut self) {
        self.stay(Place::Nowhere);
    }

    /// Is at a place that is none of a key.
    fn stay(&mut self, place: Place) {
        self.place = place;
        self.key.clear();
        self.value.clear();
        self.hint = None;
    }

    /// Goes where `step` leads, or, if there is no record, to `otherwise`, without which the place stays what it is. So it does after an error.
    fn go<'t, T: Transaction>(
        &mut self,
        txn: &'t T,
        otherwise: Option<Place>,
        step: impl FnOnce(&mut Going<'_, 't>) -> Result<bool>,
    ) -> Result<bool> {
        self.go_far(txn, otherwise, |going| going.judge(step))
    }

    /// The same for a step that itself tells whether what it read was there: it may look at pages that it does not need.
    fn go_far<'t, T: Transaction>(
        &mut self,
        txn: &'t T,
        otherwise: Option<Place>,
        step: impl FnOnce(&mut Going<'_, 't>) -> Result<bool>,
    ) -> Result<bool> {
        let root = self.table.root(txn)?;
        let source: &(dyn PageSource + 't) = txn.source();
        let hint = self.hint.take();
        let known = hint.as_ref();
        let known = known.filter(|hint| hint.is_of(txn, &self.table, &root));
        let (leads, stamp) = match known {
            Some(hint) => (hint.leads, hint.stamp),
            None => (Leads::Elsewhere, Stamp::new(txn, &self.table, &root)),
        };
        let path = hint.map(|hint| hint.path);
        let went = || {
            let way = match path {
                Some(path) if leads != Leads::Elsewhere => {
                    reading(source, || Way::resume(source, &root, path))?
                }
                path => Way::new(source, &root, path),
            };
            let mut going = Going {
                source,
                root: &root,
                place: self.place,
                key: &self.key,
                value: &self.value,
                way,
                leads,
            };
            let is_found = step(&mut going);
            source.refuse_lost()?;
            let is_found = is_found?;
            if is_found {
                let (key, value) = &mut self.arriving;
                reading(source, || going.read(key, value))?;
            }
            let is_known = is_found || going.leads.is_here();
            Ok((is_found, is_known.then(|| going.way.into_path())))
        };
        let (is_found, path) = went()
            .map_err(|error| located(error, source, &root, self.table.name(), Some(&self.key)))?;
        if is_found {
            mem::swap(&mut self.key, &mut self.arriving.0);
            mem::swap(&mut self.value, &mut self.arriving.1);
            self.place = Place::At;
        } else if let Some(place) = otherwise {
            self.stay(place);
            return Ok(false);
        }
        let leads = Leads::Here;
        let committed = txn.committed();
        self.hint = path.map(|path| Hint {
            stamp,
            committed,
            path,
            leads,
        });
        Ok(is_found)
    }

    /// Has `look` see the way to the record that the cursor is on, if it is on one.
    fn look<'t, T: Transaction, R>(
        &self,
        txn: &'t T,
        look: impl FnOnce(&'t (dyn PageSource + 't), &TreeRoot, &Path) -> Result<R>,
    ) -> Result<Option<R>> {
        let root = self.table.root(txn)?;
        if self.place != Place::At {
            return Ok(None);
        }
        let source: &(dyn PageSource + 't) = txn.source();
        let hint = self.hint.as_ref().filter(|hint| hint.leads.is_here());
        let hint = hint.filter(|hint| hint.is_of(txn, &self.table, &root));
        let looked = reading(source, || {
            if let Some(hint) = hint {
                return look(source, &root, &hint.path).map(Some);
            }
            let mut going = Going {
                source,
                root: &root,
                place: self.place,
                key: &self.key,
                value: &self.value,
                way: Way::new(source, &root, None),
                leads: Leads::Elsewhere,
            };
            match going.here()? {
                true => look(source, &root, &going.way.into_path()).map(Some),
                false => Ok(None),
            }
        });
        looked.map_err(|error| located(error, source, &root, self.table.name(), Some(&self.key)))
    }
}

impl fmt::Debug for FreeCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FreeCursor")
            .field("table", &self.table)
            .field("place", &self.place)
            .field("key", &self.key)
            .field("value", &self.value)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "free_cursor/quick_tests.rs"]
mod quick_tests;
#[cfg(test)]
#[path = "free_cursor/stamp_tests.rs"]
mod stamp_tests;
