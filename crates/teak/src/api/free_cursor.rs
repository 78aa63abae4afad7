//! Cursors that are tied to no transaction.
//!
//! The place of such a cursor is a key, and not a way through pages: so it is a place in every state of the table, whatever was
//! done meanwhile to the record, the pages or the transaction, and nobody who changes a table has to know of cursors. The way to the
//! record is kept beside it, with a note of which state it leads through. In any other state the key is searched for.

mod changes;
mod moves;

pub use changes::Bunch;

use super::{Table, Transaction, codec::Bytes};
use crate::{
    Result,
    tree::{PageSource, TreeRoot, cursor, position::Position, reading::reading, seek::Landmark},
    txn::located::located,
};
use std::{borrow::Cow, cmp::Ordering, fmt, mem};

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
#[derive(Clone)]
pub struct FreeCursor {
    table: Table<Bytes, Bytes>,
    place: Place,
    /// That of the place, if it is one.
    key: Vec<u8>,
    /// Takes the next key, so that an error leaves the place as it is.
    arriving: Vec<u8>,
    /// The way to the record, where it is known.
    hint: Option<Hint>,
}

/// Where a cursor is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
enum Place {
    #[default]
    Nowhere,
    BeforeFirst,
    /// At its key.
    At,
    BehindLast,
}

/// The way to a record, in one state of its table.
#[derive(Clone)]
struct Hint {
    stamp: Stamp,
    position: Position,
}

/// Which state of a table: two equal stamps are of one state.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stamp {
    /// Roots of committed trees hold the tag of their page, and so on downwards.
    Committed { engine: u64, root: TreeRoot },
    /// A write transaction, and its last change of the table.
    Changed(u64, u64),
}

impl Stamp {
    fn new<T: Transaction>(txn: &T, table: &Table<Bytes, Bytes>, root: &TreeRoot) -> Self {
        match txn.version_of(table.handle(txn)) {
            Some((transaction, version)) => Self::Changed(transaction, version),
            None => Self::Committed {
                engine: txn.engine().id(),
                root: *root,
            },
        }
    }
}

/// A cursor on its way.
struct Going<'g> {
    source: &'g dyn PageSource,
    root: &'g TreeRoot,
    place: Place,
    key: &'g [u8],
    position: Position,
    /// Whether the position is that of the record of `key`. Else it is of another state, and means nothing.
    is_known: bool,
}

impl Going<'_> {
    fn first(&mut self) -> Result<bool> {
        self.position.first(self.source, self.root)
    }

    fn last(&mut self) -> Result<bool> {
        self.position.last(self.source, self.root)
    }

    /// To the record of the key, or the first one behind it.
    fn here_or_behind(&mut self) -> Result<bool> {
        if self.is_known {
            return Ok(true);
        }
        let landmark = Landmark::new(self.root, self.key);
        match landmark.possible() {
            Some(key) => Ok((self.position.seek(self.source, self.root, key)?).is_some()),
            None => landmark.seek_behind(&mut self.position, self.source, self.root),
        }
    }

    /// To the record of the key, or the last one before it.
    fn here_or_before(&mut self) -> Result<bool> {
        if self.is_known {
            return Ok(true);
        }
        let landmark = Landmark::new(self.root, self.key);
        match landmark.possible() {
            Some(key) => (self.position).seek_less_or_equal(self.source, self.root, key),
            None => landmark.seek_before(&mut self.position, self.source, self.root),
        }
    }

    fn next(&mut self) -> Result<bool> {
        match self.place {
            Place::Nowhere | Place::BeforeFirst => self.first(),
            Place::BehindLast => Ok(false),
            Place::At if self.is_known => self.position.next(self.source, self.root),
            Place::At => Landmark::new(self.root, self.key).seek_behind(
                &mut self.position,
                self.source,
                self.root,
            ),
        }
    }

    fn prev(&mut self) -> Result<bool> {
        match self.place {
            Place::Nowhere | Place::BehindLast => self.last(),
            Place::BeforeFirst => Ok(false),
            Place::At if self.is_known => self.position.prev(self.source, self.root),
            Place::At => Landmark::new(self.root, self.key).seek_before(
                &mut self.position,
                self.source,
                self.root,
            ),
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
        Self {
            table: table.retype(),
            place: Place::Nowhere,
            key: Vec::new(),
            arriving: Vec::new(),
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

    /// Is nowhere again, as in the beginning.
    pub fn reset(&mut self) {
        self.stay(Place::Nowhere);
    }

    /// Is at a place that is none of a key.
    fn stay(&mut self, place: Place) {
        self.place = place;
        self.key.clear();
        self.hint = None;
    }

    /// Goes where `step` leads, or, if there is no record, to `otherwise`. After an error the place is what it was.
    fn go<T: Transaction>(
        &mut self,
        txn: &T,
        otherwise: Place,
        step: impl FnOnce(&mut Going<'_>) -> Result<bool>,
    ) -> Result<bool> {
        let root = self.table.root(txn)?;
        let source = txn.source();
        let stamp = Stamp::new(txn, &self.table, &root);
        let (position, is_known) = match self.hint.take() {
            Some(hint) => (hint.position, hint.stamp == stamp),
            None => (Position::default(), false),
        };
        let mut going = Going {
            source,
            root: &root,
            place: self.place,
            key: &self.key,
            position,
            is_known,
        };
        let arriving = &mut self.arriving;
        let went = reading(source, || {
            let is_found = step(&mut going)?;
            if is_found {
                cursor::record_at(source, &going.position, arriving)?;
            }
            Ok(is_found)
        });
        let position = going.position;
        match went {
            Ok(true) => {
                mem::swap(&mut self.key, &mut self.arriving);
                self.place = Place::At;
                self.hint = Some(Hint { stamp, position });
                Ok(true)
            }
            Ok(false) => {
                self.stay(otherwise);
                Ok(false)
            }
            Err(error) => Err(located(
                error,
                source,
                &root,
                self.table.name(),
                Some(&self.key),
            )),
        }
    }

    /// Has `look` see the record that the cursor is on, if it is on one.
    fn look<'t, T: Transaction, R>(
        &self,
        txn: &'t T,
        look: impl FnOnce(&'t dyn PageSource, &Position) -> Result<R>,
    ) -> Result<Option<R>> {
        let root = self.table.root(txn)?;
        if self.place != Place::At {
            return Ok(None);
        }
        let source = txn.source();
        let stamp = Stamp::new(txn, &self.table, &root);
        let hint = self.hint.as_ref().filter(|hint| hint.stamp == stamp);
        let looked = reading(source, || {
            if let Some(hint) = hint {
                return look(source, &hint.position).map(Some);
            }
            let mut position = Position::default();
            match Landmark::new(&root, &self.key).find(&mut position, source, &root)? {
                true => look(source, &position).map(Some),
                false => Ok(None),
            }
        });
        looked.map_err(|error| located(error, source, &root, self.table.name(), Some(&self.key)))
    }

    /// The value of the record that the cursor is on; empty if it is on none, which [`FreeCursor::is_on_record`] tells from an empty
    /// value.
    ///
    /// ```
    /// # use teak::{Database, FreeCursor, codec::{Bytes, Str}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<Str, Bytes>("words")?;
    /// words.insert(&mut txn, "ash", b"a tree")?;
    /// let mut cursor = FreeCursor::new(&words);
    /// cursor.first(&txn)?;
    /// assert_eq!(*cursor.value(&txn)?, *b"a tree");
    /// words.insert(&mut txn, "ash", b"what a fire leaves")?;
    /// assert_eq!(*cursor.value(&txn)?, *b"what a fire leaves");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`FreeCursor::next`].
    pub fn value<'t, T: Transaction>(&self, txn: &'t T) -> Result<Cow<'t, [u8]>> {
        let value = self.look(txn, cursor::value_at)?;
        Ok(value.flatten().unwrap_or_default().into())
    }

    /// Whether the cursor is on a record: whether the table has its key now.
    ///
    /// ```
    /// # use teak::{Database, FreeCursor, codec::{Str, U64}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<Str, U64>("words")?;
    /// words.insert(&mut txn, "ash", 1)?;
    /// let mut cursor = FreeCursor::new(&words);
    /// cursor.first(&txn)?;
    /// assert!(cursor.is_on_record(&txn)?);
    /// words.remove(&mut txn, "ash")?;
    /// assert!(!cursor.is_on_record(&txn)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`FreeCursor::next`].
    pub fn is_on_record<T: Transaction>(&self, txn: &T) -> Result<bool> {
        Ok(self.look(txn, |_, _| Ok(()))?.is_some())
    }

    /// Whether the cursor is on the first record of the table.
    ///
    /// # Errors
    ///
    /// Those of [`FreeCursor::next`].
    pub fn is_first<T: Transaction>(&self, txn: &T) -> Result<bool> {
        let is_first = self.look(txn, |_, position| Ok(position.is_first()))?;
        Ok(is_first == Some(true))
    }

    /// Whether the cursor is on the last record of the table.
    ///
    /// ```
    /// # use teak::{Database, FreeCursor, codec::{Str, U64}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<Str, U64>("words")?;
    /// words.insert(&mut txn, "ash", 1)?;
    /// let mut cursor = FreeCursor::new(&words);
    /// cursor.first(&txn)?;
    /// assert!(cursor.is_first(&txn)? && cursor.is_last(&txn)?);
    /// words.insert(&mut txn, "oak", 1)?;
    /// assert!(cursor.is_first(&txn)? && !cursor.is_last(&txn)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`FreeCursor::next`].
    pub fn is_last<T: Transaction>(&self, txn: &T) -> Result<bool> {
        let is_last = self.look(txn, |_, position| Ok(position.is_last()))?;
        Ok(is_last == Some(true))
    }

    /// Whether the cursor is on no record and there is none behind it either. A cursor that is nowhere yet is not.
    ///
    /// # Errors
    ///
    /// Those of [`FreeCursor::next`].
    pub fn is_behind_last<T: Transaction>(&self, txn: &T) -> Result<bool> {
        self.table.root(txn)?;
        match self.place {
            Place::Nowhere | Place::BeforeFirst => Ok(false),
            Place::BehindLast => Ok(true),
            Place::At => Ok(!self.clone().current(txn)?),
        }
    }

    /// How the places of two cursors follow each other, in the order of the table; `None` if they are of different tables, or one
    /// of them is nowhere.
    ///
    /// ```
    /// # use std::cmp::Ordering;
    /// # use teak::{Database, FreeCursor, codec::{Str, U64}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<Str, U64>("words")?;
    /// words.insert_many(&mut txn, &[("ash", 1), ("elm", 2)])?;
    /// let (mut one, mut other) = (FreeCursor::new(&words), FreeCursor::new(&words));
    /// assert_eq!(one.compare(&other, &txn)?, None);
    /// one.first(&txn)?;
    /// other.last(&txn)?;
    /// assert_eq!(one.compare(&other, &txn)?, Some(Ordering::Less));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`FreeCursor::next`].
    pub fn compare<T: Transaction>(&self, other: &Self, txn: &T) -> Result<Option<Ordering>> {
        let root = self.table.root(txn)?;
        let has_no_place = self.place == Place::Nowhere || other.place == Place::Nowhere;
        if self.table.name() != other.table.name() || has_no_place {
            return Ok(None);
        }
        Ok(Some(match (self.place, other.place) {
            (Place::At, Place::At) => root.order.compare(&self.key, &other.key),
            (one, other) => one.cmp(&other),
        }))
    }
}

impl fmt::Debug for FreeCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FreeCursor")
            .field("table", &self.table)
            .field("place", &self.place)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "free_cursor/stamp_tests.rs"]
mod stamp_tests;
