//! A cursor step: one move of a detached cursor in one state of its table.

use super::cursor_position::CursorPosition;
use crate::{
    Result,
    api::{CursorEnds, key_checks::check_probes},
    btree::{
        PageSource, TreeRoot, cursor,
        multi::{cursor::PairCursor, position::PairPosition, seek::PairSearchKey},
        position::{Direction, Position},
        reading::reading,
        seek::SearchKey,
        seek_target::{SeekOp, SeekTarget},
    },
};
use std::borrow::Cow;

type CursorPages<'s> = dyn PageSource + 's;

/// The path to a record, without references.
#[derive(Clone, Debug)]
pub(super) enum TreePath {
    Record(Position),
    Pair(PairPosition),
}

impl TreePath {
    /// The ends that the record is at.
    pub(super) fn ends(&self) -> CursorEnds {
        match self {
            Self::Record(position) => CursorEnds {
                is_first: position.is_first(),
                is_last: position.is_last(),
                is_first_value: true,
                is_last_value: true,
                is_after_last: false,
            },
            Self::Pair(position) => CursorEnds {
                is_first: position.is_first(),
                is_last: position.is_last(),
                is_first_value: position.is_first_value(),
                is_last_value: position.is_last_value(),
                is_after_last: false,
            },
        }
    }

    /// The number of values of the key.
    pub(super) fn count(&self) -> u64 {
        match self {
            Self::Record(_) => 1,
            Self::Pair(position) => position.count(),
        }
    }

    pub(super) fn value<'s>(
        &self,
        source: &'s CursorPages<'_>,
        root: &TreeRoot,
    ) -> Result<Option<Cow<'s, [u8]>>> {
        match self {
            Self::Record(position) => Ok(cursor::value_at(source, position)?.map(Cow::Borrowed)),
            Self::Pair(position) => position.value(source, root),
        }
    }
}

/// A tree path with its pages borrowed. It lives on the stack, and only for one step.
#[allow(clippy::large_enum_variant)]
pub(super) enum BorrowedPath<'s> {
    Record(Position),
    Pair(BorrowedPairs<'s>),
}

type BorrowedPairs<'s> = PairCursor<'s, CursorPages<'s>>;

impl<'s> BorrowedPath<'s> {
    /// Creates an unset path. A path of another state donates its memory.
    pub(super) fn new(
        source: &'s CursorPages<'s>,
        root: &TreeRoot,
        path: Option<TreePath>,
    ) -> Self {
        match (root.is_multi(), path) {
            (true, _) => Self::Pair(PairCursor::new(source, *root)),
            (false, Some(TreePath::Record(position))) => Self::Record(position),
            (false, _) => Self::Record(Position::default()),
        }
    }

    /// Resumes from a path of this state.
    pub(super) fn resume(
        source: &'s CursorPages<'s>,
        root: &TreeRoot,
        path: TreePath,
    ) -> Result<Self> {
        Ok(match path {
            TreePath::Record(position) => Self::Record(position),
            TreePath::Pair(position) => Self::Pair(PairCursor::resume(source, *root, position)?),
        })
    }

    pub(super) fn into_path(self) -> TreePath {
        match self {
            Self::Record(position) => TreePath::Record(position),
            Self::Pair(cursor) => TreePath::Pair(cursor.park()),
        }
    }

    pub(super) fn is_on_record(&self) -> bool {
        match self {
            Self::Record(position) => position.record().is_some(),
            Self::Pair(cursor) => cursor.is_on_pair(),
        }
    }
}

/// One move of a cursor.
pub(super) struct CursorStep<'g, 's> {
    pub(super) source: &'s CursorPages<'s>,
    pub(super) root: &'g TreeRoot,
    /// The name of the table.
    pub(super) name: &'g [u8],
    pub(super) position: CursorPosition,
    /// The key and the value of the position.
    pub(super) key: &'g [u8],
    pub(super) value: &'g [u8],
    pub(super) path: BorrowedPath<'s>,
    pub(super) hint_target: HintTarget,
}

/// Where the path of a hint leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum HintTarget {
    /// To the record of the position.
    Current,
    /// To the next record; that of the position was removed.
    Next,
    /// Unknown; the path is meaningless.
    Unknown,
}

impl HintTarget {
    pub(super) fn is_here(self) -> bool {
        self == Self::Current
    }
}

impl<'s> CursorStep<'_, 's> {
    /// Makes a step, and fails if an unreadable page was read on the way. A cursor over pairs
    /// checks this itself, because it reads ahead pages that it may never need.
    pub(super) fn check_faults(
        &mut self,
        step: impl FnOnce(&mut Self) -> Result<bool>,
    ) -> Result<bool> {
        let source = self.source;
        match self.path {
            BorrowedPath::Record(_) => reading(source, || step(self)),
            BorrowedPath::Pair(_) => step(self),
        }
    }

    pub(super) fn first(&mut self) -> Result<bool> {
        match &mut self.path {
            BorrowedPath::Record(position) => position.first(self.source, self.root),
            BorrowedPath::Pair(cursor) => cursor.first(),
        }
    }

    pub(super) fn last(&mut self) -> Result<bool> {
        match &mut self.path {
            BorrowedPath::Record(position) => position.last(self.source, self.root),
            BorrowedPath::Pair(cursor) => cursor.last(),
        }
    }

    pub(super) fn next(&mut self) -> Result<bool> {
        match self.position {
            CursorPosition::Unset | CursorPosition::BeforeFirst => self.first(),
            CursorPosition::At => self.seek_position(SeekOp::Greater),
            CursorPosition::AfterLast => Ok(false),
        }
    }

    pub(super) fn prev(&mut self) -> Result<bool> {
        match self.position {
            CursorPosition::Unset | CursorPosition::AfterLast => self.last(),
            CursorPosition::At => self.seek_position(SeekOp::Less),
            CursorPosition::BeforeFirst => Ok(false),
        }
    }

    /// Moves where a seek for the position leads: on from its record if the path is known.
    pub(super) fn seek_position(&mut self, op: SeekOp) -> Result<bool> {
        let (source, root) = (self.source, self.root);
        match (&mut self.path, self.hint_target, op) {
            (BorrowedPath::Record(position), HintTarget::Current, SeekOp::Greater) => {
                position.next(source, root)
            }
            (BorrowedPath::Record(position), HintTarget::Current, SeekOp::Less) => {
                position.prev(source, root)
            }
            (BorrowedPath::Pair(cursor), HintTarget::Current, SeekOp::Greater) => cursor.next(),
            (BorrowedPath::Pair(cursor), HintTarget::Current, SeekOp::Less) => cursor.prev(),
            (_, HintTarget::Current, _) => Ok(true),
            (
                BorrowedPath::Record(_),
                HintTarget::Next,
                SeekOp::Greater | SeekOp::GreaterOrEqual,
            ) => Ok(true),
            (BorrowedPath::Record(position), _, op) => {
                SearchKey::new(root, self.key).seek(position, source, root, op)
            }
            (BorrowedPath::Pair(cursor), _, op) => {
                cursor.seek_search_pair(op, &PairSearchKey::new(root, (self.key, self.value)))
            }
        }
    }

    /// Moves where a seek for a target leads. Only multi-value tables have pairs.
    pub(super) fn seek(&mut self, op: SeekOp, target: SeekTarget<'_>) -> Result<bool> {
        check_probes(self.root, self.name, target.parts())?;
        self.hint_target = HintTarget::Unknown;
        match &mut self.path {
            BorrowedPath::Record(position) => {
                position.seek_op(self.source, self.root, op, target.parts().0)
            }
            BorrowedPath::Pair(cursor) => cursor.seek(op, target),
        }
    }

    /// Moves to the first value of the next key.
    pub(super) fn next_key(&mut self) -> Result<bool> {
        let search = |cursor: &mut BorrowedPairs<'s>, pair: &PairSearchKey<'_>| {
            cursor.seek_search_key(SeekOp::Greater, pair)
        };
        let moved = self.move_pair(PairCursor::next_key, search);
        moved.unwrap_or_else(|| self.next())
    }

    /// Moves to the last value of the previous key.
    pub(super) fn prev_key(&mut self) -> Result<bool> {
        let search = |cursor: &mut BorrowedPairs<'s>, pair: &PairSearchKey<'_>| {
            cursor.seek_search_key(SeekOp::Less, pair)
        };
        let moved = self.move_pair(PairCursor::prev_key, search);
        moved.unwrap_or_else(|| self.prev())
    }

    /// Moves to the next value of the key; if there is none, the path stays valid.
    pub(super) fn next_value(&mut self) -> Result<bool> {
        let search = |cursor: &mut BorrowedPairs<'s>, pair: &PairSearchKey<'_>| {
            cursor.seek_search_value(SeekOp::Greater, pair)
        };
        let moved = self.move_pair(PairCursor::next_value, search);
        moved.unwrap_or(Ok(false))
    }

    /// Moves to the previous value of the key; if there is none, the path stays valid.
    pub(super) fn prev_value(&mut self) -> Result<bool> {
        let search = |cursor: &mut BorrowedPairs<'s>, pair: &PairSearchKey<'_>| {
            cursor.seek_search_value(SeekOp::Less, pair)
        };
        let moved = self.move_pair(PairCursor::prev_value, search);
        moved.unwrap_or(Ok(false))
    }

    /// Moves to the value of the key at which it is entered in a direction.
    pub(super) fn end_value(&mut self, direction: Direction) -> Result<bool> {
        let to_end = |cursor: &mut BorrowedPairs<'s>| match direction {
            Direction::Forward => cursor.first_value(),
            Direction::Backward => cursor.last_value(),
        };
        let search = |cursor: &mut BorrowedPairs<'s>, pair: &PairSearchKey<'_>| {
            Ok(cursor.seek_search_key(SeekOp::Equal, pair)? && to_end(cursor)?)
        };
        let moved = self.move_pair(to_end, search);
        moved.unwrap_or_else(|| self.only_value())
    }

    /// Moves from a pair: with `step` if the path leads to it, and otherwise with a search. `None`
    /// if the cursor is on no pair.
    fn move_pair(
        &mut self,
        step: impl FnOnce(&mut BorrowedPairs<'s>) -> Result<bool>,
        search: impl FnOnce(&mut BorrowedPairs<'s>, &PairSearchKey<'_>) -> Result<bool>,
    ) -> Option<Result<bool>> {
        match (&mut self.path, self.position) {
            (BorrowedPath::Pair(cursor), CursorPosition::At) if self.hint_target.is_here() => {
                Some(step(cursor))
            }
            (BorrowedPath::Pair(cursor), CursorPosition::At) => {
                let pair = PairSearchKey::new(self.root, (self.key, self.value));
                Some(search(cursor, &pair))
            }
            _ => None,
        }
    }

    /// Moves to the only value of a key in a table with one value per key.
    fn only_value(&mut self) -> Result<bool> {
        match self.position {
            CursorPosition::At => self.seek_position(SeekOp::Equal),
            _ => Ok(false),
        }
    }

    /// The cursor over pairs, if it is one.
    pub(super) fn as_pairs(&mut self) -> Option<&mut BorrowedPairs<'s>> {
        match &mut self.path {
            BorrowedPath::Pair(cursor) => Some(cursor),
            BorrowedPath::Record(_) => None,
        }
    }

    /// Reads key and value of the new position; in a plain table only the key.
    pub(super) fn read(&self, key: &mut Vec<u8>, value: &mut Vec<u8>) -> Result<()> {
        match &self.path {
            BorrowedPath::Record(position) => {
                cursor::record_at(self.source, position, key).map(drop)
            }
            BorrowedPath::Pair(cursor) => {
                key.clear();
                key.extend_from_slice(cursor.key());
                value.clear();
                value.extend_from_slice(cursor.value());
                Ok(())
            }
        }
    }
}
