//! Removal of a range: whole subtrees are removed at once, only the two paths along its edges are
//! rewritten.
//!
//! A removed subtree is still visited page by page: the death of a page is recorded with its birth,
//! which is stored in the page, and its leaves may own large values.

use super::{
    PageSink, TreeRoot,
    cursor::{is_void, record_at},
    enter,
    mutable_tree::Tree,
    position::Position,
    visit, visit_inner, visit_leaf,
};
use crate::{
    PageNumber, Result,
    page::{
        PageDamage,
        child::Child,
        entries::RecordList,
        inner::{self, children_of},
        leaf::Leaf,
        value::{ValueExtent, ValueKind},
    },
};
use std::ops::{Bound, Range};

/// A range of keys, as bytes.
#[derive(Clone, Copy, Debug)]
struct RemovalRange<'k> {
    low: Bound<&'k [u8]>,
    high: Bound<&'k [u8]>,
}

impl RemovalRange<'_> {
    fn is_full(self) -> bool {
        matches!((self.low, self.high), (Bound::Unbounded, Bound::Unbounded))
    }
}

/// The rest of a page: nothing, or a page with this many records in and below it.
type RemainingPage = Option<(PageNumber, u64)>;

impl<S: PageSink> Tree<'_, S> {
    /// Removes all records between two bounds and returns how many there were.
    pub(crate) fn remove_range(&mut self, low: Bound<&[u8]>, high: Bound<&[u8]>) -> Result<u64> {
        let range = RemovalRange { low, high };
        if self.root.is_empty() || !self.has_record_in(range)? {
            return Ok(0);
        }
        if self.is_huge() && self.is_all(range)? {
            return self.empty_huge();
        }
        let before = self.root.records;
        let page = enter::root(&*self.sink, self.root, "remove range")?;
        let (removed, remains) = self.trim(page, self.root.depth - 1, range)?;
        let Some((page, _)) = remains else {
            *self.root = self.root.emptied();
            self.mark_changed();
            return Ok(removed);
        };
        self.root.page = page;
        self.root.records = before.saturating_sub(removed);
        self.mark_changed();
        self.collapse_root()?;
        for bound in [low, high] {
            if let Bound::Included(key) | Bound::Excluded(key) = bound {
                self.rebalance_path(key)?;
            }
        }
        Ok(removed)
    }

    /// Removes all records, keeping the options the tree was created with.
    pub(crate) fn clear(&mut self) -> Result<u64> {
        self.remove_range(Bound::Unbounded, Bound::Unbounded)
    }

    fn has_record_in(&self, range: RemovalRange<'_>) -> Result<bool> {
        if is_void(self.root, range.low, range.high) {
            return Ok(false);
        }
        let mut low = Position::default();
        low.seek_bound(&*self.sink, self.root, range.low)?;
        let mut key = Vec::new();
        let record = record_at(&*self.sink, &low, &mut key)?;
        Ok(record.is_some() && is_before_end(self.root, &key, range.high))
    }

    /// Whether a range, which contains a record, contains all of them.
    fn is_all(&self, range: RemovalRange<'_>) -> Result<bool> {
        if range.is_full() {
            return Ok(true);
        }
        let mut key = Vec::new();
        let (mut first, mut last) = (Position::default(), Position::default());
        first.first(&*self.sink, self.root)?;
        record_at(&*self.sink, &first, &mut key)?;
        let is_after_start = match range.low {
            Bound::Unbounded => true,
            Bound::Included(low) => self.root.order.stored_to(&key, low).is_ge(),
            Bound::Excluded(low) => self.root.order.stored_to(&key, low).is_gt(),
        };
        last.last(&*self.sink, self.root)?;
        record_at(&*self.sink, &last, &mut key)?;
        Ok(is_after_start && is_before_end(self.root, &key, range.high))
    }

    /// Removes the range from one page and all pages below it.
    fn trim(
        &mut self,
        number: PageNumber,
        level: u8,
        range: RemovalRange<'_>,
    ) -> Result<(u64, RemainingPage)> {
        if range.is_full() {
            return Ok((self.drop_subtree(number, level)?, None));
        }
        match level {
            0 => self.trim_leaf(number, range),
            _ => self.trim_inner(number, level, range),
        }
    }

    fn trim_leaf(
        &mut self,
        number: PageNumber,
        range: RemovalRange<'_>,
    ) -> Result<(u64, RemainingPage)> {
        let damaged = |damage: PageDamage| damage.at(number, "remove range");
        let leaf = visit_leaf(&*self.sink, number, "remove range")?;
        let count = leaf.count();
        let removed_slots = slots_in(&leaf, self.root, range).map_err(damaged)?;
        if removed_slots.is_empty() {
            let weight = self.root.weight(&leaf, 0..count).map_err(damaged)?;
            return Ok((0, Some((number, weight))));
        }
        let references = references_in(&leaf, self.root, removed_slots.clone()).map_err(damaged)?;
        let removed = self
            .root
            .weight(&leaf, removed_slots.clone())
            .map_err(damaged)?;
        let mut kept = RecordList::default();
        kept.append(&leaf, 0..removed_slots.start)
            .map_err(damaged)?;
        kept.append(&leaf, removed_slots.end..count)
            .map_err(damaged)?;
        let weight = self.root.weight_of(&kept, 0..kept.len());
        let weight = weight.map_err(damaged)?;
        for reference in references {
            self.release_reference(reference)?;
        }
        if kept.is_empty() {
            self.release_leaf(number)?;
            return Ok((removed, None));
        }
        let own = self.sink.own(number)?;
        let (format, birth) = (self.root.leaf_format(), self.sink.transaction());
        let page = self.sink.page_mut(own)?;
        kept.build(page, own, birth, format, 0..kept.len())
            .map_err(damaged)?;
        Ok((removed, Some((own, weight))))
    }

    fn trim_inner(
        &mut self,
        number: PageNumber,
        level: u8,
        range: RemovalRange<'_>,
    ) -> Result<(u64, RemainingPage)> {
        let damaged = |damage: PageDamage| damage.at(number, "remove range");
        let inner = visit_inner(&*self.sink, number, level, "remove range")?;
        let edge = |bound| match bound {
            Bound::Included(key) | Bound::Excluded(key) => {
                inner.search(self.root.order, key).map(Some)
            }
            Bound::Unbounded => Ok(None),
        };
        let first = edge(range.low).map_err(damaged)?;
        let last = edge(range.high).map_err(damaged)?;
        let children = children_of(&inner).map_err(damaged)?;
        let span = first.unwrap_or(0)..=last.unwrap_or(children.len() - 1);
        let mut kept = Vec::with_capacity(children.len());
        let (mut removed, mut is_changed) = (0_u64, false);
        for (index, child) in children.into_iter().enumerate() {
            if !span.contains(&index) {
                kept.push(child);
                continue;
            }
            let part = RemovalRange {
                low: if first == Some(index) {
                    range.low
                } else {
                    Bound::Unbounded
                },
                high: if last == Some(index) {
                    range.high
                } else {
                    Bound::Unbounded
                },
            };
            enter::page(&*self.sink, child.page, child.checksum, "remove range")?;
            let (count, remains) = self.trim(child.page, level - 1, part)?;
            removed = removed.saturating_add(count);
            is_changed |= count > 0;
            if let Some((page, records)) = remains {
                kept.push(Child {
                    page,
                    records,
                    ..child
                });
            }
        }
        if kept.is_empty() {
            self.release_inner(number)?;
            return Ok((removed, None));
        }
        let records = (kept.iter()).fold(0_u64, |sum, child| sum.saturating_add(child.records));
        if !is_changed {
            return Ok((0, Some((number, records))));
        }
        let own = self.sink.own(number)?;
        let (format, birth) = (self.root.inner_format(), self.sink.transaction());
        let built = format.build(self.sink.page_mut(own)?, own, birth, level, &kept);
        built.map_err(damaged)?;
        Ok((removed, Some((own, records))))
    }

    /// Removes a page and all pages below it from the tree, and returns how many records they held.
    pub(super) fn drop_subtree(&mut self, number: PageNumber, level: u8) -> Result<u64> {
        if level == 0 {
            return self.drop_leaf(number);
        }
        let inner = visit_inner(&*self.sink, number, level, "remove range")?;
        let children: Result<Vec<_>, PageDamage> = (0..inner.count())
            .map(|index| Ok((inner.child(index)?, inner.checksum(index)?)))
            .collect();
        let mut removed = 0_u64;
        for (child, checksum) in children.map_err(|damage| damage.at(number, "remove range"))? {
            enter::page(&*self.sink, child, checksum, "remove range")?;
            removed = removed.saturating_add(self.drop_subtree(child, level - 1)?);
        }
        self.release_inner(number)?;
        Ok(removed)
    }

    fn drop_leaf(&mut self, number: PageNumber) -> Result<u64> {
        let leaf = visit_leaf(&*self.sink, number, "remove range")?;
        let all = 0..leaf.count();
        let damaged = |damage: PageDamage| damage.at(number, "remove range");
        let removed = self.root.weight(&leaf, all.clone()).map_err(damaged)?;
        if leaf.has_references() {
            for reference in references_in(&leaf, self.root, all).map_err(damaged)? {
                self.release_reference(reference)?;
            }
        }
        self.release_leaf(number)?;
        Ok(removed)
    }

    pub(super) fn release_reference(&mut self, reference: Reference) -> Result<()> {
        match reference {
            Reference::Extent(extent) => self.release_extent(&extent),
            Reference::Tree(nested) => self.release_nested(nested),
        }
    }

    /// While the root has a single child, that child becomes the root.
    pub(super) fn collapse_root(&mut self) -> Result<()> {
        while self.root.depth > 1 {
            let level = self.root.depth - 1;
            let number = enter::root(&*self.sink, self.root, "remove range")?;
            let inner = visit_inner(&*self.sink, number, level, "remove range")?;
            if inner.count() > 1 {
                break;
            }
            let child = inner
                .child(0)
                .and_then(|child| Ok((child, inner.checksum(0)?)));
            let (child, checksum) = child.map_err(|damage| damage.at(number, "remove range"))?;
            self.release_inner(number)?;
            self.root.page = child;
            self.root.checksum = checksum;
            self.root.depth -= 1;
        }
        Ok(())
    }

    /// Merges pages that have become thin along the path of `key`.
    fn rebalance_path(&mut self, key: &[u8]) -> Result<()> {
        let mut position = Position::default();
        position.descend(&*self.sink, self.root, key)?;
        let path = position.path().to_vec();
        if self.sink.is_own(path[path.len() - 1].page) {
            self.rebalance_leaf(&path)?;
        }
        for depth in (1..usize::from(self.root.depth).saturating_sub(1)).rev() {
            if depth + 1 >= usize::from(self.root.depth) {
                continue;
            }
            position.descend(&*self.sink, self.root, key)?;
            let path = position.path().to_vec();
            let number = path[depth].page;
            if self.sink.is_own(number) {
                let (page, header) =
                    visit(&*self.sink, number, self.level_of(depth), "remove range")?;
                let inner = inner::Inner::from_header(page, &header);
                let children = inner.and_then(|inner| children_of(&inner));
                let children = children.map_err(|damage| damage.at(number, "remove range"))?;
                self.write_inner(&path, depth, children)?;
            }
        }
        self.collapse_root()
    }
}

/// Whether `key` comes before the upper end of a range.
fn is_before_end(root: &TreeRoot, key: &[u8], high: Bound<&[u8]>) -> bool {
    match high {
        Bound::Unbounded => true,
        Bound::Included(end) => root.order.stored_to(key, end).is_le(),
        Bound::Excluded(end) => root.order.stored_to(key, end).is_lt(),
    }
}

/// The records of a leaf within a range.
fn slots_in(
    leaf: &Leaf<'_>,
    root: &TreeRoot,
    range: RemovalRange<'_>,
) -> Result<Range<usize>, PageDamage> {
    let start = match range.low {
        Bound::Unbounded => 0,
        Bound::Included(key) => leaf.search(root.order, key)?.unwrap_or_else(|slot| slot),
        Bound::Excluded(key) => leaf
            .search(root.order, key)?
            .map_or_else(|slot| slot, |i| i + 1),
    };
    let end = match range.high {
        Bound::Unbounded => leaf.count(),
        Bound::Included(key) => leaf
            .search(root.order, key)?
            .map_or_else(|slot| slot, |i| i + 1),
        Bound::Excluded(key) => leaf.search(root.order, key)?.unwrap_or_else(|slot| slot),
    };
    Ok(start..end.max(start))
}

/// The target of a reference in a record.
pub(super) enum Reference {
    Extent(ValueExtent),
    /// A nested tree.
    Tree(TreeRoot),
}

/// The references in some records of a leaf. The roots in a catalog are not released with it.
pub(super) fn references_in(
    leaf: &Leaf<'_>,
    root: &TreeRoot,
    slots: Range<usize>,
) -> Result<Vec<Reference>, PageDamage> {
    let mut references = Vec::new();
    for index in slots {
        let value = leaf.node(index)?.value;
        match value.kind {
            ValueKind::Extent => {
                references.push(Reference::Extent(ValueExtent::decode(value.bytes)?))
            }
            ValueKind::Tree if root.is_multi() => {
                references.push(Reference::Tree(root.decode_nested(value.bytes)?));
            }
            _ => {}
        }
    }
    Ok(references)
}
