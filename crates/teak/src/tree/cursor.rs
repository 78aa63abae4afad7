//! The cursor that borrows its source, and what else is read at a [`Position`].

use super::{PageSource, TreeRoot, position::Position, visit, visit_leaf};
use crate::{
    PageNumber, Result,
    page::{
        leaf::{self, Leaf, NodeFormat},
        value::StoredValue,
    },
};
use std::{cmp::Ordering, ops::Bound};

const LINE: usize = 64;

/// A cursor that borrows its source. The leaf and the record that it is on are kept at hand, so
/// that a step within a leaf touches nothing else.
#[derive(Debug)]
pub(crate) struct Cursor<'s, S: ?Sized> {
    source: &'s S,
    root: TreeRoot,
    position: Position,
    leaf: Option<(PageNumber, Leaf<'s>)>,
    format: NodeFormat,
    ahead: Ahead,
    /// The key as a slice of its page, where that holds whole keys.
    whole_key: Option<&'s [u8]>,
    /// The key, put together, in its first `key_len` bytes. It begins with the prefix of `leaf`.
    key: Vec<u8>,
    key_len: usize,
    value: StoredValue<'s>,
}

/// What of the leaf behind the current one is still to be asked for.
#[derive(Clone, Copy, Debug, Default)]
struct Ahead {
    page: PageNumber,
    offset: usize,
    /// Nothing is to be had from here up to the heap.
    gap: usize,
    heap: usize,
    /// Cache lines for each record of the current leaf.
    lines: usize,
}

impl<S: ?Sized> Clone for Cursor<'_, S> {
    fn clone(&self) -> Self {
        let (position, key) = (self.position.clone(), self.key.clone());
        Self {
            position,
            key,
            ..*self
        }
    }
}

impl<'s, S: PageSource + ?Sized> Cursor<'s, S> {
    pub(crate) fn new(source: &'s S, root: TreeRoot) -> Self {
        Self {
            source,
            root,
            position: Position::default(),
            leaf: None,
            format: NodeFormat::default(),
            ahead: Ahead::default(),
            whole_key: None,
            key: Vec::new(),
            key_len: 0,
            value: StoredValue::inline(&[]),
        }
    }

    pub(crate) fn root(&self) -> &TreeRoot {
        &self.root
    }

    pub(crate) fn position(&self) -> &Position {
        &self.position
    }

    pub(crate) fn first(&mut self) -> Result<bool> {
        let moved = self.position.first(self.source, &self.root);
        self.arrive(moved)
    }

    pub(crate) fn last(&mut self) -> Result<bool> {
        let moved = self.position.last(self.source, &self.root);
        self.arrive(moved)
    }

    #[inline]
    pub(crate) fn next(&mut self) -> Result<bool> {
        let Some(index) = self.position.next_in_leaf() else {
            return self.next_leaf();
        };
        self.fetch_ahead();
        self.read(index)
    }

    #[inline(never)]
    fn next_leaf(&mut self) -> Result<bool> {
        let moved = self.position.next(self.source, &self.root);
        let is_found = self.arrive(moved)?;
        self.look_ahead()?;
        Ok(is_found)
    }

    #[inline]
    pub(crate) fn prev(&mut self) -> Result<bool> {
        let moved = self.position.prev(self.source, &self.root);
        self.arrive(moved)
    }

    /// See [`Position::seek`].
    pub(crate) fn seek(&mut self, key: &[u8]) -> Result<Option<bool>> {
        let found = self.position.seek(self.source, &self.root, key);
        let settled = self.settle();
        let found = found?;
        settled?;
        Ok(found)
    }

    /// Reads where a step led to. After an error there is no record to be read.
    #[inline]
    fn arrive(&mut self, moved: Result<bool>) -> Result<bool> {
        let settled = self.settle();
        moved?;
        settled
    }

    /// Reads the record that the position is on, in whatever leaf; `false` if it is on none.
    fn settle(&mut self) -> Result<bool> {
        let Some((number, index)) = self.position.record() else {
            self.key_len = 0;
            self.whole_key = None;
            self.value = StoredValue::inline(&[]);
            return Ok(false);
        };
        if self.leaf.is_none_or(|(at, _)| at != number) {
            self.enter_leaf(number)?;
        }
        self.read(index)
    }

    /// Reads a record of the leaf.
    #[inline]
    fn read(&mut self, index: usize) -> Result<bool> {
        let Some((number, leaf)) = &self.leaf else {
            return Ok(false);
        };
        let node = match leaf.node_as(self.format, index) {
            Ok(node) => node,
            Err(damage) => return Err(damage.at(*number, "scan")),
        };
        if leaf.has_whole_keys() {
            self.whole_key = Some(node.stored_key);
        } else {
            self.key_len = leaf.read_key(index, &node, &mut self.key);
        }
        self.value = node.value;
        Ok(true)
    }

    fn enter_leaf(&mut self, number: PageNumber) -> Result<()> {
        let leaf = visit_leaf(self.source, number, "scan")?;
        self.leaf = Some((number, leaf));
        leaf.read_prefix(&mut self.key);
        self.whole_key = None;
        self.format = leaf.node_format();
        self.ahead = Ahead::default();
        Ok(())
    }

    /// Has the next leaf fetched while the scan goes through this one. What is wrong with it is
    /// seen when the scan gets there.
    fn look_ahead(&mut self) -> Result<()> {
        let [next, behind] = self.position.leaves_ahead(self.source)?;
        if let Some(page) = behind {
            self.source.prefetch(page, 0);
        }
        let (Some(page), Some((_, leaf))) = (next, &self.leaf) else {
            return Ok(());
        };
        let Ok((bytes, header)) = visit(self.source, page, 0, "scan") else {
            return Ok(());
        };
        let (gap, heap) = leaf::gap(bytes, &header);
        let (gap, heap) = (gap.next_multiple_of(LINE), heap / LINE * LINE);
        let lines = (bytes.len() - heap.saturating_sub(gap)) / LINE;
        self.ahead = Ahead {
            page,
            offset: 0,
            gap,
            heap: heap.max(gap),
            lines: lines.div_ceil(leaf.count().max(1)),
        };
        Ok(())
    }

    /// While a scan goes through a leaf it asks for the next one, a part with each record.
    #[inline]
    fn fetch_ahead(&mut self) {
        let ahead = &mut self.ahead;
        for _ in 0..ahead.lines {
            self.source.prefetch(ahead.page, ahead.offset);
            ahead.offset += LINE;
            if ahead.offset == ahead.gap {
                ahead.offset = ahead.heap;
            }
        }
    }

    /// The key of the record that the cursor is on; empty if it is on none.
    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        self.whole_key.unwrap_or(&self.key[..self.key_len])
    }

    /// The value of the record that the cursor is on, as its leaf holds it.
    pub(crate) fn stored_value(&self) -> StoredValue<'s> {
        self.value
    }

    /// The value of the record that the cursor is on; empty if it is on none.
    #[inline]
    pub(crate) fn value(&self) -> Result<&'s [u8]> {
        let number = self.leaf.map_or(PageNumber(0), |(number, _)| number);
        super::lookup::load(self.source, number, self.value)
    }
}

/// The key and the stored value of the record at a position.
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

/// Whether a range with these bounds is empty whatever the table holds.
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

/// The value of the record at a position.
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
