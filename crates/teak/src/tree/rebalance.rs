//! Fill before you split, merge what is thin.
//!
//! A leaf that has no room for a record is first laid out anew, which wins back garbage and finds
//! the longest prefix. If that is not enough it shares with a neighbour, at best with one that this
//! transaction changes anyway; a neighbour is only worth sharing with when both keep some air
//! afterwards, or the next record would share again. Only when the neighbours on both sides are
//! full too are the two or three of them cut into one page more: with random keys the pages are
//! then 3/4 full after a split and about 86 % on average, where halving gives 50 % and 69 %
//! (3 ln 4/3 and ln 2, by Yao's analysis of 2-3 trees, 1978). Records that arrive in ascending
//! order leave full pages behind.
//!
//! An inner page is an array of children that is laid out anew when one of them is replaced by
//! several or by none; if it does not fit any more it is cut in two.

use super::{
    PageSink,
    cursor::{Position, Step},
    insert::Tree,
    visit, visit_inner, visit_leaf,
};
use crate::{
    PageNumber, Result,
    page::{
        Damage,
        entries::{Child, Records, children_of, cut_evenly, cut_greedily},
        header::{HEADER_LEN, Header},
        inner, key,
        leaf::{self, InPlace},
        value::StoredValue,
    },
};
use std::ops::Range;

/// Two leaves may share when they fill at most this much of their pages afterwards.
const SHARED_FILL_MAX: (usize, usize) = (31, 32);
/// If more records than this would have to move, both leaves are laid out anew.
const MOVED_MAX: usize = 16;
/// A leaf thinner than this looks for a neighbour to merge with.
const THIN_LEAF: (usize, usize) = (2, 5);
/// A page thinner than this merges even with a neighbour that has to be copied for it.
const THIN_PAGE: (usize, usize) = (1, 4);
/// Merged pages are filled at most this much, so that the next record does not split them again.
const MERGED_FILL_MAX: (usize, usize) = (9, 10);

fn part(of: usize, (numerator, denominator): (usize, usize)) -> usize {
    of * numerator / denominator
}

/// A neighbour of a leaf.
#[derive(Clone, Copy)]
struct Neighbour {
    /// Its index in the parent.
    index: usize,
    page: PageNumber,
    used_len: usize,
    is_own: bool,
}

/// Inserts a record into a leaf that has no room for it as it is laid out.
pub(super) fn insert_anew<S: PageSink>(
    tree: &mut Tree<'_, S>,
    path: &[Step],
    key: &[u8],
    value: StoredValue<'_>,
) -> Result<()> {
    let depth = path.len() - 1;
    let step = path[depth];
    if tree.win_room(step, key, value)? {
        return tree.recount(path, depth);
    }
    let is_last = is_rightmost(path) && step.index == usize::from(tree.header(step.page)?.count);
    if is_last {
        let records = tree.records_with(step, key, value)?;
        return tree.append_leaf(path, records);
    }
    if depth == 0 {
        return tree.split(path, key, value);
    }
    match tree.share(path, key, value)? {
        Shared::Done => Ok(()),
        Shared::Unchanged => tree.split(path, key, value),
        Shared::InPart => {
            let mut position = Position::default();
            position.descend(&*tree.sink, tree.root, key)?;
            let path = tree.own_path(position.path())?;
            tree.split(&path, key, value)
        }
    }
}

/// What came of an attempt to share with a neighbour.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shared {
    /// The record is in.
    Done,
    /// Nothing changed.
    Unchanged,
    /// Records were moved, but the new one did not fit yet.
    InPart,
}

/// Whether the path leads along the right edge of the tree.
fn is_rightmost(path: &[Step]) -> bool {
    path[..path.len() - 1]
        .iter()
        .all(|step| step.index + 1 == step.count)
}

/// Where the last page of the path stands among its parent's children.
fn place_of(path: &[Step]) -> Range<usize> {
    match path {
        [.., parent, _] => parent.index..parent.index + 1,
        _ => 0..1,
    }
}

/// Two leaves that share: records go from the leaf of the step to its neighbour.
struct Moves {
    step: Step,
    neighbour: Neighbour,
    /// Whether the neighbour is the one before.
    is_left: bool,
}

/// Children of a parent whose records are to be spread over a number of pages.
struct Window {
    children: Range<usize>,
    pages: usize,
}

impl<S: PageSink> Tree<'_, S> {
    /// The records of a leaf and one more among them.
    fn records_with(&self, step: Step, key: &[u8], value: StoredValue<'_>) -> Result<Records> {
        let leaf = visit_leaf(&*self.sink, step.page, "insert")?;
        let mut records = Records::default();
        let damaged = |damage: Damage| damage.at(step.page, "insert");
        records.append(&leaf, 0..step.index).map_err(damaged)?;
        records.push(key, value);
        records
            .append(&leaf, step.index..leaf.count())
            .map_err(damaged)?;
        Ok(records)
    }

    fn build_leaf(
        &mut self,
        number: PageNumber,
        records: &Records,
        range: Range<usize>,
    ) -> Result<()> {
        let (format, birth) = (self.root.leaf_format(), self.sink.transaction());
        let page = self.sink.page_mut(number)?;
        let built = records.build(page, number, birth, format, range);
        built.map_err(|damage| damage.at(number, "rebalance"))
    }

    /// The last record of all did not fit in the last leaf: it begins a new one.
    fn append_leaf(&mut self, path: &[Step], records: Records) -> Result<()> {
        let last = records.len() - 1;
        let number = self.new_leaf()?;
        self.build_leaf(number, &records, last..last + 1)?;
        let separator = self.separator(records.key(last - 1), records.key(last));
        let left = Child::unsealed(Vec::new(), path[path.len() - 1].page, last as u64);
        let right = Child::unsealed(separator, number, 1);
        self.put_children(path, path.len() - 1, place_of(path), vec![left, right])
    }

    fn separator(&self, left: &[u8], right: &[u8]) -> Vec<u8> {
        if self.root.order == key::KeyOrder::Bytes {
            key::shortest_separator(left, right).to_vec()
        } else {
            right.to_vec()
        }
    }

    /// The neighbours of child `index`: the one before it and the one behind it.
    fn neighbours(&self, parent: Step, level: u8) -> Result<Vec<Neighbour>> {
        let inner = visit_inner(&*self.sink, parent.page, level + 1, "rebalance")?;
        let mut neighbours = Vec::with_capacity(2);
        for index in [parent.index.checked_sub(1), Some(parent.index + 1)]
            .into_iter()
            .flatten()
        {
            if index >= inner.count() {
                continue;
            }
            let page = inner
                .child(index)
                .map_err(|damage| damage.at(parent.page, "rebalance"))?;
            let (_, header) = visit(&*self.sink, page, level, "rebalance")?;
            let used_len = if level == 0 {
                leaf::used_len(&header)
            } else {
                inner::used_len(&header)
            };
            neighbours.push(Neighbour {
                index,
                page,
                used_len,
                is_own: self.sink.is_own(page),
            });
        }
        Ok(neighbours)
    }

    /// Lays the leaf out anew if that makes room for a record; says whether the record is in.
    fn win_room(&mut self, step: Step, key: &[u8], value: StoredValue<'_>) -> Result<bool> {
        let damaged = |damage: Damage| damage.at(step.page, "rebalance");
        let format = self.root.leaf_format();
        let leaf = visit_leaf(&*self.sink, step.page, "rebalance")?;
        let (garbage, prefix) = (self.header(step.page)?.garbage_len, leaf.prefix());
        let has_prefix = key.starts_with(prefix);
        let grows = match leaf.count() {
            0 => false,
            count => {
                let (first, last) = (
                    leaf.key(0).map_err(damaged)?,
                    leaf.key(count - 1).map_err(damaged)?,
                );
                let shared = format.prefix_len(&first, &last);
                shared > prefix.len() && format.prefix_len(&first[..shared], key) > prefix.len()
            }
        };
        if has_prefix && !grows {
            if garbage == 0 {
                return Ok(false);
            }
            let mut scratch = Vec::new();
            let page = self.sink.page_mut(step.page)?;
            leaf::compact(page, &mut scratch).map_err(damaged)?;
            let done = leaf::insert(page, format.order, step.index, key, value);
            return Ok(done.map_err(damaged)? == InPlace::Done);
        }
        let records = self.records_with(step, key, value)?;
        let all = 0..records.len();
        if records.page_len(format, all.clone()) > self.sink.page_size() {
            return Ok(false);
        }
        self.build_leaf(step.page, &records, all)?;
        Ok(true)
    }

    /// Shares with a neighbour that has room: moves a few records over to it, so that both are
    /// equally full, and inserts the new one. Says whether that was possible.
    fn share(&mut self, path: &[Step], key: &[u8], value: StoredValue<'_>) -> Result<Shared> {
        let depth = path.len() - 1;
        let (step, parent) = (path[depth], path[depth - 1]);
        let page_size = self.sink.page_size();
        let added = self
            .root
            .leaf_format()
            .record_len(0, key.len(), value.bytes.len());
        let used = leaf::used_len(&self.header(step.page)?);
        let most = 2 * part(page_size, SHARED_FILL_MAX);
        let willing = self
            .neighbours(parent, 0)?
            .into_iter()
            .filter(|n| n.used_len + used + added - HEADER_LEN <= most)
            .min_by_key(|n| (!n.is_own, n.used_len));
        let Some(neighbour) = willing else {
            return Ok(Shared::Unchanged);
        };
        let Some(moved) = self.records_to_move(step, neighbour, parent, used + added)? else {
            return Ok(Shared::Unchanged);
        };
        let target = self.sink.own(neighbour.page)?;
        if target != neighbour.page {
            inner::set_child(self.sink.page_mut(parent.page)?, neighbour.index, target);
        }
        let neighbour = Neighbour {
            page: target,
            ..neighbour
        };
        let moves = Moves {
            step,
            neighbour,
            is_left: neighbour.index < parent.index,
        };
        let shared = self.move_records(&moves, moved, key, value)?;
        if shared != Shared::Unchanged {
            self.part_anew(path, &moves)?;
        }
        Ok(shared)
    }

    /// How many records to move so that both leaves are equally full; `None` if they are so many
    /// that laying both out anew is better.
    fn records_to_move(
        &self,
        step: Step,
        neighbour: Neighbour,
        parent: Step,
        full_len: usize,
    ) -> Result<Option<usize>> {
        let leaf = visit_leaf(&*self.sink, step.page, "rebalance")?;
        let mut surplus = full_len.saturating_sub(neighbour.used_len) / 2;
        let is_left = neighbour.index < parent.index;
        let mut moved = 0;
        while moved + 1 < leaf.count() && moved < MOVED_MAX {
            let index = if is_left {
                moved
            } else {
                leaf.count() - 1 - moved
            };
            let node = leaf
                .node(index)
                .map_err(|damage| damage.at(step.page, "rebalance"))?;
            let len = node.len();
            if len > 2 * surplus {
                break;
            }
            surplus = surplus.saturating_sub(len);
            moved += 1;
        }
        Ok((moved > 0 && moved < MOVED_MAX).then_some(moved))
    }

    /// Moves records one by one, and inserts the new one where it belongs.
    fn move_records(
        &mut self,
        moves: &Moves,
        count: usize,
        key: &[u8],
        value: StoredValue<'_>,
    ) -> Result<Shared> {
        let (from, to) = (moves.step.page, moves.neighbour.page);
        let damaged = |damage: Damage| damage.at(from, "rebalance");
        let mut slot = moves.step.index;
        let mut is_inserted = false;
        let mut shared = Shared::Unchanged;
        let mut scratch = Vec::new();
        for _ in 0..count {
            let leaf = visit_leaf(&*self.sink, from, "rebalance")?;
            let index = if moves.is_left { 0 } else { leaf.count() - 1 };
            let moved_key = leaf.key(index).map_err(damaged)?;
            let stored = leaf.node(index).map_err(damaged)?.value;
            let (kind, bytes) = (stored.kind, stored.bytes.to_vec());
            // The new record goes over before a record that lies behind it on the way.
            let is_next = if moves.is_left {
                slot == 0
            } else {
                slot > index
            };
            if is_next && !is_inserted {
                if !self.push(to, moves.is_left, key, value, &mut scratch)? {
                    return Ok(shared);
                }
                (is_inserted, shared) = (true, Shared::Done);
            }
            let moved = StoredValue {
                kind,
                bytes: &bytes,
            };
            if !self.push(to, moves.is_left, &moved_key, moved, &mut scratch)? {
                return Ok(shared);
            }
            leaf::remove(self.sink.page_mut(from)?, index).map_err(damaged)?;
            if !is_inserted {
                shared = Shared::InPart;
                slot -= usize::from(moves.is_left);
            }
        }
        if !is_inserted {
            let page = self.sink.page_mut(from)?;
            leaf::compact(page, &mut scratch).map_err(damaged)?;
            let done = leaf::insert(page, self.root.order, slot, key, value).map_err(damaged)?;
            shared = if done == InPlace::Done {
                Shared::Done
            } else {
                Shared::InPart
            };
        }
        Ok(shared)
    }

    /// Adds a record at one end of a leaf.
    fn push(
        &mut self,
        number: PageNumber,
        is_behind: bool,
        key: &[u8],
        value: StoredValue<'_>,
        scratch: &mut Vec<u8>,
    ) -> Result<bool> {
        let order = self.root.order;
        let damaged = |damage: Damage| damage.at(number, "rebalance");
        let page = self.sink.page_mut(number)?;
        let header = Header::read(page);
        let slot = if is_behind {
            usize::from(header.count)
        } else {
            0
        };
        if leaf::insert(page, order, slot, key, value).map_err(damaged)? == InPlace::Done {
            return Ok(true);
        }
        if header.garbage_len == 0 {
            return Ok(false);
        }
        leaf::compact(page, scratch).map_err(damaged)?;
        Ok(leaf::insert(page, order, slot, key, value).map_err(damaged)? == InPlace::Done)
    }

    /// Puts the separator between the two leaves that shared in their parent.
    fn part_anew(&mut self, path: &[Step], moves: &Moves) -> Result<()> {
        let (own, other) = (moves.step.page, moves.neighbour.page);
        let (left, right) = if moves.is_left {
            (other, own)
        } else {
            (own, other)
        };
        let left_leaf = visit_leaf(&*self.sink, left, "rebalance")?;
        let right_leaf = visit_leaf(&*self.sink, right, "rebalance")?;
        let last = left_leaf.key(left_leaf.count().saturating_sub(1));
        let last = last.map_err(|damage| damage.at(left, "rebalance"))?;
        let first = right_leaf
            .key(0)
            .map_err(|damage| damage.at(right, "rebalance"))?;
        let counts = (left_leaf.count() as u64, right_leaf.count() as u64);
        let separator = self.separator(&last, &first);
        let children = vec![
            Child::unsealed(Vec::new(), left, counts.0),
            Child::unsealed(separator, right, counts.1),
        ];
        let first = moves.neighbour.index.min(path[path.len() - 2].index);
        self.put_children(path, path.len() - 1, first..first + 2, children)
    }

    /// All leaves beside one that is full, to be cut into one page more.
    fn all_neighbours(&self, parent: Step) -> Result<Window> {
        let neighbours = self.neighbours(parent, 0)?;
        let first = neighbours
            .first()
            .map_or(parent.index, |n| n.index.min(parent.index));
        let last = neighbours
            .last()
            .map_or(parent.index, |n| n.index.max(parent.index));
        Ok(Window {
            children: first..last + 1,
            pages: last - first + 2,
        })
    }

    /// Cuts a leaf that is too full, and its neighbours, into one page more.
    fn split(&mut self, path: &[Step], key: &[u8], value: StoredValue<'_>) -> Result<()> {
        let records = self.records_with(path[path.len() - 1], key, value)?;
        let window = match path {
            [.., parent, _] => self.all_neighbours(*parent)?,
            _ => Window {
                children: 0..1,
                pages: 2,
            },
        };
        self.spread(path, window, records)
    }

    /// Spreads the records of all leaves in the window evenly over its pages.
    fn spread(&mut self, path: &[Step], window: Window, changed: Records) -> Result<()> {
        let depth = path.len() - 1;
        let format = self.root.leaf_format();
        let (pages, records) = self.gather(path, &window, changed)?;
        let weights = records.weights(format);
        let page_size = self.sink.page_size();
        let mut fits = |range: Range<usize>| records.page_len(format, range) <= page_size;
        let cuts = cut_evenly(&weights, window.pages, &mut fits)
            .or_else(|| cut_evenly(&weights, window.pages + 1, &mut fits))
            .unwrap_or_else(|| cut_greedily(records.len(), &mut fits));
        let mut pages = pages.into_iter();
        let mut children = Vec::with_capacity(cuts.len());
        for cut in cuts {
            let number = match pages.next() {
                Some(page) => page,
                None => self.new_leaf()?,
            };
            self.build_leaf(number, &records, cut.clone())?;
            let separator = match cut.start.checked_sub(1) {
                Some(before) => self.separator(records.key(before), records.key(cut.start)),
                None => Vec::new(),
            };
            children.push(Child::unsealed(separator, number, cut.len() as u64));
        }
        for unused in pages {
            self.release_leaf(unused)?;
        }
        self.put_children(path, depth, window.children, children)
    }

    /// The changeable pages and all records of a window, in order. A neighbour that is to be
    /// laid out anew is not copied first: a new page takes its place.
    fn gather(
        &mut self,
        path: &[Step],
        window: &Window,
        changed: Records,
    ) -> Result<(Vec<PageNumber>, Records)> {
        let [.., parent, leaf] = path else {
            return Ok((vec![path[0].page], changed));
        };
        if window.children.len() == 1 {
            return Ok((vec![leaf.page], changed));
        }
        let mut pages = Vec::with_capacity(window.children.len());
        let mut records = Records::default();
        for index in window.children.clone() {
            if index == parent.index {
                records.append_all(&changed);
                pages.push(leaf.page);
                continue;
            }
            let inner = visit_inner(&*self.sink, parent.page, 1, "rebalance")?;
            let page = inner
                .child(index)
                .map_err(|damage| damage.at(parent.page, "rebalance"))?;
            let neighbour = visit_leaf(&*self.sink, page, "rebalance")?;
            let all = 0..neighbour.count();
            records
                .append(&neighbour, all)
                .map_err(|damage| damage.at(page, "rebalance"))?;
            pages.push(self.replaceable(page)?);
        }
        Ok((pages, records))
    }

    /// A changeable page in the place of `page`, whose bytes are not needed any more.
    fn replaceable(&mut self, page: PageNumber) -> Result<PageNumber> {
        if self.sink.is_own(page) {
            return Ok(page);
        }
        let new = self.sink.allocate()?;
        self.sink.release(page)?;
        Ok(new)
    }

    /// Puts `children` in the place of others in the parent of `path[depth]`; if that page is the
    /// root, the children get a new one above them. The first one keeps the separator that the
    /// first of the others had.
    fn put_children(
        &mut self,
        path: &[Step],
        depth: usize,
        range: Range<usize>,
        mut children: Vec<Child>,
    ) -> Result<()> {
        let Some(above) = depth.checked_sub(1) else {
            return self.grow_root(children);
        };
        let parent = path[above];
        let format = self.root.inner_format();
        let page = self.sink.page_mut(parent.page)?;
        let spliced = inner::splice(page, format, range.clone(), &children);
        if spliced.map_err(|damage| damage.at(parent.page, "rebalance"))? {
            return self.recount(path, above);
        }
        let inner = visit_inner(&*self.sink, parent.page, self.level_of(above), "rebalance")?;
        let mut all = children_of(&inner).map_err(|d| d.at(parent.page, "rebalance"))?;
        if let (Some(first), Some(old)) = (children.first_mut(), all.get_mut(range.start)) {
            first.separator = std::mem::take(&mut old.separator);
        }
        all.splice(range, children);
        self.write_inner(path, above, all)
    }

    /// A new root above `children`; the old root is one of them. Long separators may ask for more
    /// than one level.
    fn grow_root(&mut self, children: Vec<Child>) -> Result<()> {
        let level = self.root.depth;
        self.root.depth += 1;
        let cuts = self.cut_children(&children);
        if cuts.len() == 1 {
            let number = self.new_inner()?;
            self.root.page = number;
            return self.build_inner(number, level, &children);
        }
        if cuts.len() == children.len() {
            let detail = "its separators are longer than keys can be";
            return Err(crate::Error::corrupted(
                children[0].page,
                "rebalance",
                detail,
            ));
        }
        let mut parts = Vec::with_capacity(cuts.len());
        for cut in cuts {
            let number = self.new_inner()?;
            parts.push(self.build_part(number, level, &children[cut])?);
        }
        self.grow_root(parts)
    }

    /// As few pages as hold these children, in order.
    fn cut_children(&self, children: &[Child]) -> Vec<Range<usize>> {
        let format = self.root.inner_format();
        let page_size = self.sink.page_size();
        cut_greedily(children.len(), |range| {
            format.page_len(&children[range]) <= page_size
        })
    }

    /// Lays out one page of several and returns it as a child of the level above.
    fn build_part(&mut self, number: PageNumber, level: u8, part: &[Child]) -> Result<Child> {
        self.build_inner(number, level, part)?;
        let records = part.iter().map(|child| child.records).sum();
        Ok(Child::unsealed(part[0].separator.clone(), number, records))
    }

    fn build_inner(&mut self, number: PageNumber, level: u8, children: &[Child]) -> Result<()> {
        let (format, birth) = (self.root.inner_format(), self.sink.transaction());
        format.build(self.sink.page_mut(number)?, number, birth, level, children);
        Ok(())
    }

    /// Lays the inner page `path[depth]` out with these children, whatever that takes.
    pub(super) fn write_inner(
        &mut self,
        path: &[Step],
        depth: usize,
        children: Vec<Child>,
    ) -> Result<()> {
        let number = path[depth].page;
        let level = self.level_of(depth);
        if children.is_empty() {
            self.release_inner(number)?;
            return self.remove_child(path, depth);
        }
        if depth == 0 && children.len() == 1 {
            self.release_inner(number)?;
            self.root.page = children[0].page;
            self.root.tag = children[0].tag;
            self.root.depth -= 1;
            return Ok(());
        }
        let len = self.root.inner_format().page_len(&children);
        let page_size = self.sink.page_size();
        if len > page_size {
            return self.split_inner(path, depth, children);
        }
        if depth > 0
            && len < part(page_size, THIN_PAGE)
            && self.merge_inner(path, depth, &children, len)?
        {
            return Ok(());
        }
        self.build_inner(number, level, &children)?;
        self.recount(path, depth)
    }

    /// Cuts children that do not fit in one page into two pages, or more where separators are long.
    fn split_inner(&mut self, path: &[Step], depth: usize, children: Vec<Child>) -> Result<()> {
        let format = self.root.inner_format();
        let page_size = self.sink.page_size();
        let level = self.level_of(depth);
        let fits = |range: Range<usize>| format.page_len(&children[range]) <= page_size;
        let halves = match is_rightmost(&path[..=depth]) {
            true => None,
            false => cut_evenly(&format.weights(&children), 2, fits),
        };
        let cuts = halves.unwrap_or_else(|| self.cut_children(&children));
        let mut parts = Vec::with_capacity(cuts.len());
        for cut in cuts {
            let number = if cut.start == 0 {
                path[depth].page
            } else {
                self.new_inner()?
            };
            parts.push(self.build_part(number, level, &children[cut])?);
        }
        self.put_children(path, depth, place_of(&path[..=depth]), parts)
    }

    /// Merges a thin inner page with a neighbour if one has room; says whether it did.
    fn merge_inner(
        &mut self,
        path: &[Step],
        depth: usize,
        children: &[Child],
        len: usize,
    ) -> Result<bool> {
        let parent = path[depth - 1];
        let level = self.level_of(depth);
        let format = self.root.inner_format();
        let max_len = part(self.sink.page_size(), MERGED_FILL_MAX);
        for neighbour in self.neighbours(parent, level)? {
            if neighbour.used_len + len > max_len {
                continue;
            }
            let first = neighbour.index.min(parent.index);
            let merged = self.joined(parent, level, neighbour, children)?;
            if format.page_len(&merged) > max_len {
                continue;
            }
            let number = path[depth].page;
            self.release_inner(neighbour.page)?;
            self.build_inner(number, level, &merged)?;
            let records = merged.iter().map(|child| child.records).sum();
            let child = Child::unsealed(Vec::new(), number, records);
            self.put_children(path, depth, first..first + 2, vec![child])?;
            return Ok(true);
        }
        Ok(false)
    }

    /// The children of a page and of its neighbour in order; the separator between the two pages
    /// comes down from their parent.
    fn joined(
        &self,
        parent: Step,
        level: u8,
        neighbour: Neighbour,
        children: &[Child],
    ) -> Result<Vec<Child>> {
        let damaged = |damage: Damage| damage.at(neighbour.page, "rebalance");
        let above = visit_inner(&*self.sink, parent.page, level + 1, "rebalance")?;
        let beside = visit_inner(&*self.sink, neighbour.page, level, "rebalance")?;
        let beside = children_of(&beside).map_err(damaged)?;
        let between = above
            .separator(neighbour.index.max(parent.index))
            .map_err(damaged)?;
        let (mut left, mut right) = if neighbour.index < parent.index {
            (beside, children.to_vec())
        } else {
            (children.to_vec(), beside)
        };
        right[0].separator = between;
        left.append(&mut right);
        Ok(left)
    }

    /// Takes the page `path[depth]`, released already, out of its parent.
    pub(super) fn remove_child(&mut self, path: &[Step], depth: usize) -> Result<()> {
        let Some(above) = depth.checked_sub(1) else {
            *self.root = self.root.emptied();
            self.touch();
            return Ok(());
        };
        let index = path[above].index;
        self.put_children(path, depth, index..index + 1, Vec::new())
    }

    /// Merges a leaf that has become thin with a neighbour, or removes it if it is empty.
    pub(super) fn mend_leaf(&mut self, path: &[Step]) -> Result<()> {
        let depth = path.len() - 1;
        let number = path[depth].page;
        let header = self.header(number)?;
        if header.count == 0 {
            self.release_leaf(number)?;
            return self.remove_child(path, depth);
        }
        let page_size = self.sink.page_size();
        let used_len = leaf::used_len(&header);
        if depth == 0 || used_len >= part(page_size, THIN_LEAF) {
            return self.recount(path, depth);
        }
        let max_len = part(page_size, MERGED_FILL_MAX);
        let may_copy = used_len < part(page_size, THIN_PAGE);
        let partner = self
            .neighbours(path[depth - 1], 0)?
            .into_iter()
            .filter(|n| n.used_len + used_len - HEADER_LEN <= max_len && (n.is_own || may_copy))
            .min_by_key(|n| (!n.is_own, n.used_len));
        match partner {
            Some(neighbour) => self.merge_leaf(path, neighbour),
            None => self.recount(path, depth),
        }
    }

    fn merge_leaf(&mut self, path: &[Step], neighbour: Neighbour) -> Result<()> {
        let depth = path.len() - 1;
        let (parent, number) = (path[depth - 1], path[depth].page);
        let first = neighbour.index.min(parent.index);
        let pair = if neighbour.index < parent.index {
            [neighbour.page, number]
        } else {
            [number, neighbour.page]
        };
        let mut records = Records::default();
        for page in pair {
            let leaf = visit_leaf(&*self.sink, page, "rebalance")?;
            let all = 0..leaf.count();
            records
                .append(&leaf, all)
                .map_err(|damage| damage.at(page, "rebalance"))?;
        }
        let count = records.len();
        if records.page_len(self.root.leaf_format(), 0..count) > self.sink.page_size() {
            return self.recount(path, depth);
        }
        self.build_leaf(number, &records, 0..count)?;
        self.release_leaf(neighbour.page)?;
        let child = Child::unsealed(Vec::new(), number, count as u64);
        self.put_children(path, depth, first..first + 2, vec![child])
    }
}
