//! The cursor that borrows its source, and other reads at a [`Position`].

mod decode;
mod in_leaf;
pub(crate) mod parked;
mod prefetch;

use super::{
    PageSource, TreeRoot,
    position::{Direction, EnteredLeaf, Position},
    reading::{Faults, fault_in},
    seek_target::SeekOp,
    visit_leaf,
};
use crate::{
    Error, PageNumber, Result,
    page::{
        PageDamage,
        fixed::FixedKeys,
        leaf::{CursorKey, KeyBuffer, Leaf},
        value::{StoredValue, ValueKind},
    },
};
use std::{cmp::Ordering, ops::Bound};

/// A cursor that borrows its source. The leaf and the current record are cached, so that a step
/// within a leaf reads nothing else.
#[derive(Debug)]
pub(crate) struct TreeCursor<'s, S: ?Sized> {
    source: &'s S,
    /// The fault counter of the source, and its value when the leaf was entered.
    faults: &'static Faults,
    fault_count: u64,
    root: TreeRoot,
    position: Position,
    number: PageNumber,
    /// The leaf `number`, or an empty one.
    leaf: Leaf<'s>,
    /// Its keys, if it is a fixed leaf.
    fixed_keys: Option<FixedKeys<'s>>,
    /// The part of the next leaf that is still to be prefetched, and how much of it at each record,
    /// in steps.
    ahead: &'s [u8],
    ahead_steps: usize,
    /// The prefetch state of the leaf itself, if it was not prefetched.
    cold: Option<ColdLeaf>,
    /// The key as a slice of its page, if the page holds full keys.
    whole_key: Option<&'s [u8]>,
    /// The assembled key. It begins with the prefix of `leaf`.
    key: KeyBuffer,
    value: StoredValue<'s>,
}

/// A leaf that was not entered from the one before it.
#[derive(Clone, Copy, Debug, Default)]
struct ColdLeaf {
    /// Nodes before this one were prefetched.
    asked: usize,
    /// Steps forward from the record that the search found.
    steps: usize,
}

impl<S: ?Sized> Clone for TreeCursor<'_, S> {
    fn clone(&self) -> Self {
        let (position, key) = (self.position.clone(), self.key.clone());
        Self {
            position,
            key,
            ..*self
        }
    }
}

impl<'s, S: PageSource + ?Sized> TreeCursor<'s, S> {
    pub(crate) fn new(source: &'s S, root: TreeRoot) -> Self {
        Self {
            source,
            faults: source.faults(),
            fault_count: source.faults().count(),
            root,
            position: Position::default(),
            number: PageNumber(0),
            leaf: Leaf::default(),
            fixed_keys: None,
            ahead: &[],
            ahead_steps: 0,
            cold: None,
            whole_key: None,
            key: KeyBuffer::default(),
            value: StoredValue::inline(&[]),
        }
    }

    pub(crate) fn source(&self) -> &'s S {
        self.source
    }

    pub(crate) fn root(&self) -> &TreeRoot {
        &self.root
    }

    pub(crate) fn position(&self) -> &Position {
        &self.position
    }

    /// Moves the cursor, and fails if an unreadable page was read on the way.
    #[inline]
    fn moved<T>(&mut self, move_cursor: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let before = self.faults.count();
        self.fault_count = before;
        let moved = move_cursor(self);
        match self.faults.are_more_than(before) {
            false => moved,
            true => Err(self.invalidate()),
        }
    }

    pub(crate) fn first(&mut self) -> Result<bool> {
        self.moved(|cursor| {
            let moved = cursor.position.first(cursor.source, &cursor.root);
            cursor.arrive(moved)
        })
    }

    pub(crate) fn last(&mut self) -> Result<bool> {
        self.moved(|cursor| {
            let moved = cursor.position.last(cursor.source, &cursor.root);
            cursor.arrive(moved)
        })
    }

    // The steps of scans, which have several callers.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Result<bool> {
        let Some(index) = self.position.next_in_leaf() else {
            let moved = self.step_to_leaf(Position::next_leaf);
            return self.arrive(moved);
        };
        self.fetch_ahead(index);
        self.read_record(index)
    }

    /// Moves to the next record without reading it: [`TreeCursor::read_here`] does that.
    #[inline]
    pub(crate) fn step(&mut self) -> Result<bool> {
        let Some(index) = self.position.next_in_leaf() else {
            return self.step_to_leaf(Position::next_leaf);
        };
        self.fetch_ahead(index);
        Ok(true)
    }

    /// Moves to the next leaf in a direction.
    #[inline(never)]
    fn step_to_leaf(
        &mut self,
        move_cursor: impl FnOnce(&mut Position, &'s S, &TreeRoot) -> Result<Option<EnteredLeaf<'s>>>,
    ) -> Result<bool> {
        let after = self.moved(|cursor| {
            let Some(entered) = move_cursor(&mut cursor.position, cursor.source, &cursor.root)?
            else {
                return Ok(None);
            };
            cursor.enter_leaf(entered.number, entered.leaf);
            cursor.cold = None;
            Ok(Some(entered.after))
        })?;
        // A fault there is not a fault of this leaf.
        after
            .into_iter()
            .for_each(|after| self.prefetch_next_leaf(after));
        Ok(after.is_some())
    }

    /// Moves to the previous record without reading it.
    #[inline]
    pub(crate) fn step_back(&mut self) -> Result<bool> {
        if self.position.prev_in_leaf().is_none() {
            return self.step_to_leaf(Position::prev_leaf);
        }
        self.fetch_leaf_ahead();
        Ok(true)
    }

    #[inline]
    pub(crate) fn prev(&mut self) -> Result<bool> {
        let Some(index) = self.position.prev_in_leaf() else {
            let moved = self.step_to_leaf(Position::prev_leaf);
            return self.arrive(moved);
        };
        self.fetch_leaf_ahead();
        self.read_record(index)
    }

    /// See [`Position::set_direction`].
    pub(super) fn set_direction(&mut self, direction: Direction) {
        self.position.set_direction(direction);
    }

    /// See [`Position::pass_nested`].
    pub(super) fn pass_nested(&mut self, nested: &TreeRoot, direction: Direction) -> Result<()> {
        let passed = (self.position).pass_nested(self.source, &self.root, nested, direction);
        passed.inspect_err(|_| self.leave_leaf())
    }

    /// See [`Position::seek`].
    pub(crate) fn seek(&mut self, key: &[u8]) -> Result<Option<bool>> {
        self.moved(|cursor| {
            let found = cursor.position.seek(cursor.source, &cursor.root, key);
            cursor.settle(found)
        })
    }

    /// See [`Position::seek_op`].
    pub(crate) fn seek_op(&mut self, op: SeekOp, key: &[u8]) -> Result<bool> {
        self.moved(|cursor| {
            let found = (cursor.position).seek_op(cursor.source, &cursor.root, op, key);
            cursor.settle(found)
        })
    }

    /// See [`Position::seek_bound`]. Does not read the record.
    pub(crate) fn seek_bound(&mut self, bound: Bound<&[u8]>) -> Result<()> {
        self.moved(|cursor| (cursor.position).seek_bound(cursor.source, &cursor.root, bound))
    }

    /// See [`Position::seek_end`]. Does not read the record.
    pub(crate) fn seek_end(&mut self, bound: Bound<&[u8]>) -> Result<()> {
        self.moved(|cursor| (cursor.position).seek_end(cursor.source, &cursor.root, bound))
    }

    /// See [`Position::seek_nth`].
    pub(crate) fn seek_nth(&mut self, number: u64) -> Result<bool> {
        self.moved(|cursor| {
            let moved = (cursor.position).seek_nth(cursor.source, &cursor.root, number);
            cursor.arrive(moved)
        })
    }

    /// See [`Position::skip`].
    pub(crate) fn skip(&mut self, steps: i64) -> Result<bool> {
        self.moved(|cursor| {
            let moved = cursor.position.skip(cursor.source, &cursor.root, steps);
            cursor.arrive(moved)
        })
    }

    /// Reads the record that a search led to, if there is one, and returns what was found.
    fn settle<T>(&mut self, found: Result<T>) -> Result<T> {
        let settled = self.read_here();
        let found = found?;
        settled?;
        Ok(found)
    }

    /// Reads the record that a move led to. After an error there is no current record.
    #[inline]
    fn arrive(&mut self, moved: Result<bool>) -> Result<bool> {
        let settled = self.read_here();
        moved?;
        settled
    }

    /// Reads the record at the position, in any leaf; `false` if there is none.
    #[inline]
    pub(crate) fn read_here(&mut self) -> Result<bool> {
        let Some((number, index)) = self.position.record() else {
            self.forget_record();
            return Ok(false);
        };
        if self.number != number {
            return self.moved(|cursor| {
                cursor.leave_leaf();
                cursor.enter_leaf(number, visit_leaf(cursor.source, number, "scan")?);
                cursor.read_record(index)
            });
        }
        self.read_record(index)
    }

    /// Reads a record of the leaf, or clears the current record.
    #[inline(always)]
    fn read_record(&mut self, index: usize) -> Result<bool> {
        let read = self.read(index, false);
        if self.faults.are_more_than(self.fault_count) {
            return self.reread_record(index);
        }
        match read {
            Ok(()) => Ok(true),
            Err(damage) => Err(self.damaged(damage)),
        }
    }

    /// Reads a record again after a fault, which may have been elsewhere.
    #[cold]
    fn reread_record(&mut self, index: usize) -> Result<bool> {
        self.fault_count = self.faults.count();
        let read = self.read(index, false);
        if self.faults.are_more_than(self.fault_count) {
            return Err(self.invalidate());
        }
        read.map(|()| true).map_err(|damage| self.damaged(damage))
    }

    /// Invalidates the cursor, because something could not be read.
    #[cold]
    fn invalidate(&mut self) -> Error {
        self.position.invalidate();
        self.leave_leaf();
        *self.fault()
    }

    fn leave_leaf(&mut self) {
        self.enter_leaf(PageNumber(0), Leaf::default());
        self.forget_record();
    }

    /// Clears the current record; the position stays.
    pub(super) fn forget_record(&mut self) {
        self.key.clear();
        self.whole_key = None;
        self.value = StoredValue::inline(&[]);
    }

    /// Clears the current record, because it is damaged.
    #[cold]
    fn damaged(&mut self, damage: PageDamage) -> Error {
        self.forget_record();
        damage.at(self.number, "scan")
    }

    /// Reads a record of the leaf, and asks whether its key is ASCII if it `is_text`: see
    /// [`KeyBuffer`].
    #[inline(always)]
    fn read(&mut self, index: usize, is_text: bool) -> Result<(), PageDamage> {
        let node = if self.leaf.is_plain() {
            let node = self.leaf.plain_node(index)?;
            (self.leaf).read_key(index, &node, &mut self.key, is_text);
            node
        } else if self.leaf.is_plain_but_whole() {
            let node = self.leaf.plain_whole_node(index)?;
            fault_in(node.stored_key);
            self.whole_key = Some(node.stored_key);
            node
        } else {
            return self.read_otherwise(index);
        };
        self.value = node.value;
        Ok(())
    }

    /// Reads a record of a leaf that is not plain.
    fn read_otherwise(&mut self, index: usize) -> Result<(), PageDamage> {
        if let Some(key) = self.fixed_keys.and_then(|keys| keys.get(index)) {
            fault_in(key);
            self.whole_key = Some(key);
            return Ok(());
        }
        let node = self.leaf.node(index)?;
        if self.leaf.has_whole_keys() {
            fault_in(node.stored_key);
            self.whole_key = Some(node.stored_key);
        } else {
            (self.leaf).read_key(index, &node, &mut self.key, false);
        }
        self.value = node.value;
        Ok(())
    }

    fn enter_leaf(&mut self, number: PageNumber, leaf: Leaf<'s>) {
        leaf.read_prefix(&mut self.key);
        (self.number, self.leaf) = (number, leaf);
        self.fixed_keys = leaf.fixed_keys();
        self.whole_key = None;
        self.value = StoredValue::inline(&[]);
        self.ahead = &[];
        self.cold = Some(ColdLeaf::default());
    }

    /// The key of the current record; empty if there is none.
    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        match self.whole_key {
            Some(key) => key,
            None => self.key.bytes(),
        }
    }

    /// The key of the current record, which may be known to be text.
    #[inline(always)]
    pub(crate) fn known_key(&self) -> CursorKey<'_> {
        match self.whole_key {
            Some(key) => CursorKey::in_page(key),
            None => CursorKey::in_buffer(&self.key),
        }
    }

    /// The key of the current record as a slice of its page, if it is stored there in one piece.
    pub(crate) fn key_in_page(&self) -> Option<&'s [u8]> {
        self.whole_key
    }

    /// The keys from here to the end of the page in a direction, concatenated in their order, if it
    /// is a fixed leaf.
    pub(crate) fn packed_keys(&self, direction: Direction) -> Option<&'s [u8]> {
        let (number, index) = self.position.record()?;
        match direction {
            _ if number != self.number => None,
            Direction::Forward => self.leaf.packed_from(index),
            Direction::Backward => self.leaf.packed_to(index),
        }
    }

    /// The value of the current record, as its leaf holds it.
    pub(crate) fn stored_value(&self) -> StoredValue<'s> {
        self.value
    }

    /// The value of the current record; empty if there is none.
    #[inline]
    pub(crate) fn value(&self) -> Result<&'s [u8]> {
        match self.value.kind {
            // Checked here, where the fields are in registers. The call for other kinds copies them
            // in other pieces than they were stored in, and the processor waits for that.
            ValueKind::Inline => Ok(self.value.bytes),
            _ => super::lookup::load(self.source, self.number, self.value),
        }
    }
}

/// Reads the key and the stored value of the record at a position.
pub(crate) fn record_at<'s, S: PageSource + ?Sized>(
    source: &'s S,
    position: &Position,
    key: &mut Vec<u8>,
) -> Result<Option<(PageNumber, StoredValue<'s>)>> {
    let Some((number, index)) = position.record() else {
        return Ok(None);
    };
    let leaf = visit_leaf(source, number, "scan")?;
    let node = leaf
        .node(index)
        .map_err(|damage| damage.at(number, "scan"))?;
    key.clear();
    leaf.append_key(index, &node, key);
    Ok(Some((number, node.value)))
}

/// Whether a range with these bounds is empty, whatever the table holds.
pub(crate) fn is_void(root: &TreeRoot, low: Bound<&[u8]>, high: Bound<&[u8]>) -> bool {
    let (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) =
        (low, high)
    else {
        return false;
    };
    match root.order.compare(a, b) {
        Ordering::Less => false,
        Ordering::Greater => true,
        Ordering::Equal => !matches!((low, high), (Bound::Included(_), Bound::Included(_))),
    }
}

/// Reads the value of the record at a position.
pub(crate) fn value_at<'s, S: PageSource + ?Sized>(
    source: &'s S,
    position: &Position,
) -> Result<Option<&'s [u8]>> {
    let Some((number, index)) = position.record() else {
        return Ok(None);
    };
    let leaf = visit_leaf(source, number, "lookup")?;
    let node = leaf
        .node(index)
        .map_err(|damage| damage.at(number, "lookup"))?;
    super::lookup::load(source, number, node.value).map(Some)
}
