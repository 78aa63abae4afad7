//! The records on one side of a free cursor.

use super::{FreeCursor, place::Place};
use crate::{
    Error, Result,
    api::WriteTxn,
    tree::{
        PageSink, TreeRoot,
        multi::{Pair, seek::PairLandmark},
        mutable_tree::Tree,
        seek::Landmark,
    },
};
use std::ops::Bound;

/// Which records [`FreeCursor::remove_bunch`] removes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bunch {
    /// All before the cursor's place.
    Before,
    /// The one that it is on, and all before.
    ToHere,
    /// The one that it is on, and all behind.
    FromHere,
    /// All behind the cursor's place.
    Behind,
    /// All.
    Whole,
    /// Of the values of its key those before the cursor's place.
    ValuesBefore,
    /// Of the values of its key the one that it is on, and those before.
    ValuesToHere,
    /// Of the values of its key the one that it is on, and those behind.
    ValuesFromHere,
    /// Of the values of its key those behind the cursor's place.
    ValuesBehind,
    /// All values of its key.
    Values,
}

/// On which side of a place records are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Before,
    Behind,
    Both,
}

impl Bunch {
    fn side(self) -> Side {
        match self {
            Self::Before | Self::ToHere | Self::ValuesBefore | Self::ValuesToHere => Side::Before,
            Self::FromHere | Self::Behind | Self::ValuesFromHere | Self::ValuesBehind => {
                Side::Behind
            }
            Self::Whole | Self::Values => Side::Both,
        }
    }

    /// Whether the record that the cursor is on belongs to it.
    fn is_with_here(self) -> bool {
        !matches!(
            self,
            Self::Before | Self::Behind | Self::ValuesBefore | Self::ValuesBehind
        )
    }

    fn is_of_values(self) -> bool {
        matches!(
            self,
            Self::ValuesBefore
                | Self::ValuesToHere
                | Self::ValuesFromHere
                | Self::ValuesBehind
                | Self::Values
        )
    }

    /// The keys on this side of one.
    fn bounds<'k>(self, landmark: &'k Landmark<'_>) -> (Bound<&'k [u8]>, Bound<&'k [u8]>) {
        match self.side() {
            Side::Before => (
                Bound::Unbounded,
                landmark.as_upper_bound(self.is_with_here()),
            ),
            Side::Behind => (
                landmark.as_lower_bound(self.is_with_here()),
                Bound::Unbounded,
            ),
            Side::Both => (Bound::Unbounded, Bound::Unbounded),
        }
    }

    /// Removes what is on this side of a record, which is a pair if the tree is one of pairs.
    fn remove<S: PageSink>(self, tree: &mut Tree<'_, S>, (key, value): Pair<'_>) -> Result<u64> {
        let root: TreeRoot = *tree.root();
        let landmark = PairLandmark::new(&root, (key, value));
        match landmark.key.possible() {
            Some(key) if root.is_multi() => {
                let (low, high) = self.bounds(&landmark.value);
                match (self.is_of_values(), self.side()) {
                    (true, Side::Both) => tree.remove_key(key),
                    (true, _) => tree.remove_values_in(key, low, high),
                    (false, Side::Both) => tree.remove_range(low, high),
                    (false, _) => {
                        let pair = |value| (key, value);
                        tree.remove_pairs_in(low.map(pair), high.map(pair))
                    }
                }
            }
            Some(key) if self.is_of_values() => match self.is_with_here() {
                true => tree.remove(key).map(u64::from),
                false => Ok(0),
            },
            None if self.is_of_values() => Ok(0),
            _ => {
                let (low, high) = self.bounds(&landmark.key);
                tree.remove_range(low, high)
            }
        }
    }
}

impl FreeCursor {
    /// Removes all records on one side of the cursor's place, or all values of its key there, whole subtrees at once; returns how many there
    /// were. The place stays what it was.
    ///
    /// ```
    /// # use teak::{Bunch, Database, FreeCursor, codec::{Str, U64}};
    /// # let directory = tempfile::tempdir()?;
    /// # let database = Database::open(directory.path().join("x.teak"))?;
    /// # let mut txn = database.begin_write()?;
    /// let words = txn.create_table::<Str, U64>("words")?;
    /// words.insert_many(&mut txn, &[("ash", 1), ("elm", 2), ("oak", 3), ("yew", 4)])?;
    /// let mut cursor = FreeCursor::new(&words);
    /// cursor.seek(&txn, b"elm")?;
    /// assert_eq!(cursor.remove_bunch(&mut txn, Bunch::Behind)?, 2);
    /// assert!(cursor.is_last(&txn)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] for a cursor that is nowhere, unless it is all records or values of its key that are to go; those of
    /// [`Table::remove_range`](crate::Table::remove_range).
    pub fn remove_bunch(&mut self, txn: &mut WriteTxn, bunch: Bunch) -> Result<u64> {
        self.table.root(txn)?;
        let is_nothing = match (self.place, bunch.is_of_values()) {
            (Place::At, _) => false,
            (_, true) => true,
            (Place::Nowhere, _) if bunch != Bunch::Whole => {
                let text = "the cursor is nowhere yet, so there is nothing before or behind it; seek first";
                return Err(Error::InvalidArgument(text.into()));
            }
            (Place::BeforeFirst, _) => bunch.side() == Side::Before,
            (Place::BehindLast, _) => bunch.side() == Side::Behind,
            (Place::Nowhere, _) => false,
        };
        if is_nothing {
            return Ok(0);
        }
        let (bunch, pair) = match self.place {
            Place::At => (bunch, (&self.key[..], &self.value[..])),
            _ => (Bunch::Whole, (&[][..], &[][..])),
        };
        let handle = self.table.handle(txn);
        let name = self.table.name();
        txn.inner
            .change(handle, name, |tree| bunch.remove(tree, pair))
    }
}
