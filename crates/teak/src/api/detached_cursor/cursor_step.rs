//! A cursor step: one move of a detached cursor in one state of its table.

use super::cursor_position::CursorPosition;
use crate::{
    Result,
    api::key_checks::{check_probe, check_value_probe},
    btree::{
        PageSource, TreeRoot, cursor,
        multi::{PairRef, cursor::PairCursor, position::PairPosition, seek::PairSearchKey},
        position::Position,
        reading::reading,
        seek::SearchKey,
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
    pub(super) fn is_first(&self) -> bool {
        match self {
            Self::Record(position) => position.is_first(),
            Self::Pair(position) => position.is_first(),
        }
    }

    pub(super) fn is_last(&self) -> bool {
        match self {
            Self::Record(position) => position.is_last(),
            Self::Pair(position) => position.is_last(),
        }
    }

    pub(super) fn is_first_value(&self) -> bool {
        match self {
            Self::Record(_) => true,
            Self::Pair(position) => position.is_first_value(),
        }
    }

    pub(super) fn is_last_value(&self) -> bool {
        match self {
            Self::Record(_) => true,
            Self::Pair(position) => position.is_last_value(),
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
    Pair(PairCursor<'s, CursorPages<'s>>),
}

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
}

/// One move of a cursor.
pub(super) struct CursorStep<'g, 's> {
    pub(super) source: &'s CursorPages<'s>,
    pub(super) root: &'g TreeRoot,
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
            CursorPosition::At => self.next_record(),
            CursorPosition::AfterLast => Ok(false),
        }
    }

    pub(super) fn prev(&mut self) -> Result<bool> {
        match self.position {
            CursorPosition::Unset | CursorPosition::AfterLast => self.last(),
            CursorPosition::At => self.previous_record(),
            CursorPosition::BeforeFirst => Ok(false),
        }
    }

    /// Moves to the first record after the current one, or after the position.
    pub(super) fn next_record(&mut self) -> Result<bool> {
        let (source, root) = (self.source, self.root);
        match &mut self.path {
            BorrowedPath::Record(position) if self.hint_target.is_here() => {
                position.next(source, root)
            }
            BorrowedPath::Record(_) if self.hint_target == HintTarget::Next => Ok(true),
            BorrowedPath::Record(position) => {
                SearchKey::new(root, self.key).seek_after(position, source, root)
            }
            BorrowedPath::Pair(cursor) if self.hint_target.is_here() => cursor.next(),
            BorrowedPath::Pair(cursor) => {
                cursor.seek_after(&PairSearchKey::new(root, (self.key, self.value)))
            }
        }
    }

    /// Moves to the last record before the current one, or before the position.
    pub(super) fn previous_record(&mut self) -> Result<bool> {
        let (source, root) = (self.source, self.root);
        match &mut self.path {
            BorrowedPath::Record(position) if self.hint_target.is_here() => {
                position.prev(source, root)
            }
            BorrowedPath::Record(position) => {
                SearchKey::new(root, self.key).seek_before(position, source, root)
            }
            BorrowedPath::Pair(cursor) if self.hint_target.is_here() => cursor.prev(),
            BorrowedPath::Pair(cursor) => {
                cursor.seek_before(&PairSearchKey::new(root, (self.key, self.value)))
            }
        }
    }

    /// Moves to the record of the position; `false` if there is none.
    pub(super) fn current_record(&mut self) -> Result<bool> {
        if self.hint_target.is_here() {
            return Ok(true);
        }
        let (source, root) = (self.source, self.root);
        match &mut self.path {
            BorrowedPath::Record(position) => {
                SearchKey::new(root, self.key).find(position, source, root)
            }
            BorrowedPath::Pair(cursor) => {
                cursor.find(&PairSearchKey::new(root, (self.key, self.value)))
            }
        }
    }

    /// Moves to the record of the position, or the first one after it.
    pub(super) fn current_or_next_record(&mut self) -> Result<bool> {
        if self.hint_target.is_here() {
            return Ok(true);
        }
        let (source, root) = (self.source, self.root);
        match &mut self.path {
            BorrowedPath::Record(_) if self.hint_target == HintTarget::Next => Ok(true),
            BorrowedPath::Record(position) => {
                let search_key = SearchKey::new(root, self.key);
                match search_key.possible() {
                    Some(key) => Ok(position.seek(source, root, key)?.is_some()),
                    None => search_key.seek_after(position, source, root),
                }
            }
            BorrowedPath::Pair(cursor) => {
                cursor.seek_at_or_after(&PairSearchKey::new(root, (self.key, self.value)))
            }
        }
    }

    /// Moves to the record of the position, or the last one before it.
    pub(super) fn current_or_previous_record(&mut self) -> Result<bool> {
        if self.hint_target.is_here() {
            return Ok(true);
        }
        let (source, root) = (self.source, self.root);
        match &mut self.path {
            BorrowedPath::Record(position) => {
                let search_key = SearchKey::new(root, self.key);
                match search_key.possible() {
                    Some(key) => position.seek_less_or_equal(source, root, key),
                    None => search_key.seek_before(position, source, root),
                }
            }
            BorrowedPath::Pair(cursor) => {
                cursor.seek_at_or_before(&PairSearchKey::new(root, (self.key, self.value)))
            }
        }
    }

    /// Moves to the first record whose key is not smaller; returns whether it is equal.
    pub(super) fn seek(&mut self, key: &[u8]) -> Result<Option<bool>> {
        check_probe(self.root, key)?;
        match &mut self.path {
            BorrowedPath::Record(position) => position.seek(self.source, self.root, key),
            BorrowedPath::Pair(cursor) => cursor.seek_key(key),
        }
    }

    pub(super) fn seek_greater(&mut self, key: &[u8]) -> Result<bool> {
        check_probe(self.root, key)?;
        match &mut self.path {
            BorrowedPath::Record(position) => position.seek_greater(self.source, self.root, key),
            BorrowedPath::Pair(cursor) => cursor.seek_key_greater(key),
        }
    }

    pub(super) fn seek_less(&mut self, key: &[u8]) -> Result<bool> {
        check_probe(self.root, key)?;
        match &mut self.path {
            BorrowedPath::Record(position) => position.seek_less(self.source, self.root, key),
            BorrowedPath::Pair(cursor) => cursor.seek_key_less(key),
        }
    }

    pub(super) fn seek_less_or_equal(&mut self, key: &[u8]) -> Result<bool> {
        check_probe(self.root, key)?;
        match &mut self.path {
            BorrowedPath::Record(position) => {
                position.seek_less_or_equal(self.source, self.root, key)
            }
            BorrowedPath::Pair(cursor) => cursor.seek_key_less_or_equal(key),
        }
    }

    /// Moves to the first value of the next key.
    pub(super) fn next_key(&mut self) -> Result<bool> {
        let moved = self.move_pair(PairCursor::next_key, PairCursor::seek_next_key);
        moved.unwrap_or_else(|| self.next())
    }

    /// Moves to the last value of the previous key.
    pub(super) fn prev_key(&mut self) -> Result<bool> {
        let moved = self.move_pair(PairCursor::prev_key, PairCursor::seek_previous_key);
        moved.unwrap_or_else(|| self.prev())
    }

    /// Moves to the next value of the key; if there is none, the path stays valid.
    pub(super) fn next_value(&mut self) -> Result<bool> {
        let moved = self.move_pair(PairCursor::next_value, PairCursor::seek_next_value);
        moved.unwrap_or(Ok(false))
    }

    /// Moves to the previous value of the key; if there is none, the path stays valid.
    pub(super) fn prev_value(&mut self) -> Result<bool> {
        let moved = self.move_pair(PairCursor::prev_value, PairCursor::seek_previous_value);
        moved.unwrap_or(Ok(false))
    }

    /// Moves to the first value of the key.
    pub(super) fn first_value(&mut self) -> Result<bool> {
        let moved = self.move_pair(PairCursor::first_value, PairCursor::seek_first_value);
        moved.unwrap_or_else(|| self.only_value())
    }

    /// Moves to the last value of the key.
    pub(super) fn last_value(&mut self) -> Result<bool> {
        let moved = self.move_pair(PairCursor::last_value, PairCursor::seek_last_value);
        moved.unwrap_or_else(|| self.only_value())
    }

    /// Moves from a pair: with `step` if the path leads to it, and otherwise with a search. `None`
    /// if the cursor is on no pair.
    fn move_pair(
        &mut self,
        step: impl FnOnce(&mut PairCursor<'s, CursorPages<'s>>) -> Result<bool>,
        search: impl FnOnce(&mut PairCursor<'s, CursorPages<'s>>, &PairSearchKey<'_>) -> Result<bool>,
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
            CursorPosition::At => self.current_record(),
            _ => Ok(false),
        }
    }

    /// Moves where a search for a pair leads. Only multi-value tables have pairs.
    pub(super) fn seek_pair(
        &mut self,
        (key, value): PairRef<'_>,
        seek: impl FnOnce(&mut PairCursor<'s, CursorPages<'s>>) -> Result<bool>,
    ) -> Result<bool> {
        check_probe(self.root, key)?;
        check_value_probe(self.root, value)?;
        self.hint_target = HintTarget::Unknown;
        self.as_pairs().map_or(Ok(false), seek)
    }

    /// The cursor over pairs, if it is one.
    pub(super) fn as_pairs(&mut self) -> Option<&mut PairCursor<'s, CursorPages<'s>>> {
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
