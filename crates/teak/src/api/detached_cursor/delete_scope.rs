//! Delete scopes: the records on one side of a detached cursor.

use super::{DetachedCursor, cursor_position::CursorPosition};
use crate::{
    Error, Result,
    api::WriteTxn,
    btree::{
        PageSink, TreeRoot,
        multi::{PairRef, seek::PairSearchKey},
        mutable_tree::Tree,
        seek::SearchKey,
    },
};
use std::ops::Bound;

/// Which records [`DetachedCursor::remove_scope`] removes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeleteScope {
    /// All records before the cursor's position.
    Before,
    /// The current record and all before it.
    UpToCurrent,
    /// The current record and all after it.
    FromCurrent,
    /// All records after the cursor's position.
    After,
    /// All records.
    All,
    /// The values of its key before the cursor's position.
    ValuesBefore,
    /// The current value of its key and those before it.
    ValuesUpToCurrent,
    /// The current value of its key and those after it.
    ValuesFromCurrent,
    /// The values of its key after the cursor's position.
    ValuesAfter,
    /// All values of its key.
    AllValues,
}

/// The side of a position.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ScopeSide {
    Before,
    After,
    Both,
}

impl DeleteScope {
    fn side(self) -> ScopeSide {
        match self {
            Self::Before | Self::UpToCurrent | Self::ValuesBefore | Self::ValuesUpToCurrent => {
                ScopeSide::Before
            }
            Self::FromCurrent | Self::After | Self::ValuesFromCurrent | Self::ValuesAfter => {
                ScopeSide::After
            }
            Self::All | Self::AllValues => ScopeSide::Both,
        }
    }

    /// Whether the scope includes the current record.
    fn includes_current(self) -> bool {
        !matches!(
            self,
            Self::Before | Self::After | Self::ValuesBefore | Self::ValuesAfter
        )
    }

    fn is_of_values(self) -> bool {
        matches!(
            self,
            Self::ValuesBefore
                | Self::ValuesUpToCurrent
                | Self::ValuesFromCurrent
                | Self::ValuesAfter
                | Self::AllValues
        )
    }

    /// The range of keys on this side of a key.
    fn bounds<'k>(self, search_key: &'k SearchKey<'_>) -> (Bound<&'k [u8]>, Bound<&'k [u8]>) {
        match self.side() {
            ScopeSide::Before => (
                Bound::Unbounded,
                search_key.as_upper_bound(self.includes_current()),
            ),
            ScopeSide::After => (
                search_key.as_lower_bound(self.includes_current()),
                Bound::Unbounded,
            ),
            ScopeSide::Both => (Bound::Unbounded, Bound::Unbounded),
        }
    }

    /// Removes the records on this side of a record, which is a pair in a multi-value tree.
    fn remove<S: PageSink>(self, tree: &mut Tree<'_, S>, (key, value): PairRef<'_>) -> Result<u64> {
        let root: TreeRoot = *tree.root();
        let search_key = PairSearchKey::new(&root, (key, value));
        match search_key.key.possible() {
            Some(key) if root.is_multi() => {
                let (low, high) = self.bounds(&search_key.value);
                match (self.is_of_values(), self.side()) {
                    (true, ScopeSide::Both) => tree.remove_key(key),
                    (true, _) => tree.remove_values_in(key, low, high),
                    (false, ScopeSide::Both) => tree.remove_range(low, high),
                    (false, _) => {
                        let pair = |value| (key, Some(value));
                        tree.remove_pairs_in(low.map(pair), high.map(pair))
                    }
                }
            }
            Some(key) if self.is_of_values() => match self.includes_current() {
                true => tree.remove(key).map(u64::from),
                false => Ok(0),
            },
            None if self.is_of_values() => Ok(0),
            _ => {
                let (low, high) = self.bounds(&search_key.key);
                tree.remove_range(low, high)
            }
        }
    }
}

impl DetachedCursor {
    /// Removes all records on one side of the cursor's position, or all values of its key there,
    /// whole subtrees at a time; returns how many there were. The position does not change.
    ///
    /// ```
    /// # use teak::{Database, DeleteScope, DetachedCursor, SeekOp};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<&str, u64>("words")?;
    /// words.insert_many(&mut txn, &[("ash", 1), ("elm", 2), ("oak", 3), ("yew", 4)])?;
    /// let mut cursor = DetachedCursor::new(&words);
    /// cursor.seek(&txn, SeekOp::Equal, b"elm")?;
    /// assert_eq!(cursor.remove_scope(&mut txn, DeleteScope::After)?, 2);
    /// assert!(cursor.ends(&txn)?.is_last);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// [`DeleteScope::AllValues`] removes a key with all its values:
    ///
    /// ```
    /// # use teak::{Database, DeleteScope, DetachedCursor};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_multi_table::<&str, &str>("words")?;
    /// words.insert_many(&mut txn, &[("ash", "1"), ("ash", "2"), ("oak", "3")])?;
    /// let mut cursor = DetachedCursor::new(&words);
    /// cursor.next(&txn)?;
    /// assert_eq!(cursor.remove_scope(&mut txn, DeleteScope::AllValues)?, 2);
    /// assert!(cursor.next(&txn)?);
    /// assert_eq!(cursor.key(), b"oak");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the cursor is unset, unless the scope is all records or all
    /// values of its key; [`Error::TableNotFound`] or [`Error::Corrupted`]; [`Error::Io`] or
    /// [`Error::Full`] if there is no space for the changed pages.
    pub fn remove_scope(&mut self, txn: &mut WriteTxn, scope: DeleteScope) -> Result<u64> {
        self.table.root(txn)?;
        let is_nothing = match (self.position, scope.is_of_values()) {
            (CursorPosition::At, _) => false,
            (_, true) => true,
            (CursorPosition::Unset, _) if scope != DeleteScope::All => {
                let text =
                    "the cursor has no position yet, so nothing is before or after it; seek first";
                return Err(Error::InvalidArgument(text.into()));
            }
            (CursorPosition::BeforeFirst, _) => scope.side() == ScopeSide::Before,
            (CursorPosition::AfterLast, _) => scope.side() == ScopeSide::After,
            (CursorPosition::Unset, _) => false,
        };
        if is_nothing {
            return Ok(0);
        }
        let (scope, pair) = match self.position {
            CursorPosition::At => (scope, (&self.key[..], &self.value[..])),
            _ => (DeleteScope::All, (&[][..], &[][..])),
        };
        let handle = self.table.handle(txn);
        let name = self.table.name();
        txn.whole_mut()?
            .change(handle, name, |tree| scope.remove(tree, pair))
    }
}
