//! Filling leaves before splitting, and merging thin ones.
//!
//! A leaf that has no room for a record is first laid out again, which reclaims garbage and finds
//! the longest prefix. If that is not enough, it redistributes records to a neighbour
//! (`redistribute.rs`), preferably to one that this transaction changes anyway. Only if the
//! neighbours on both sides are full too are the two or three of them split into one more page.
//! With random keys the pages are then 3/4 full after a split and about 86 % on average; halving
//! gives 50 % and 69 % (3 ln 4/3 and ln 2, by Yao's analysis of 2-3 trees, 1978). Records that
//! arrive in ascending order leave full pages.
//!
//! The effect on inner pages is in `restructure.rs`.

use super::{
    PageSink, enter,
    mutable_tree::Tree,
    neighbours::{MERGED_FILL_MAX, Neighbour, THIN_PAGE, is_rightmost, part, slots_in_parent},
    position::{PathStep, Position},
    redistribute::Redistribution,
    visit_inner, visit_leaf,
};
use crate::{
    PageNumber, Result,
    page::{
        PageDamage,
        child::Child,
        entries::{RecordList, cut_evenly, cut_greedily},
        header::HEADER_LEN,
        leaf::{self, LocalChange},
        value::StoredValue,
    },
};
use std::ops::Range;

/// A leaf thinner than this looks for a neighbour to merge with.
const THIN_LEAF: (usize, usize) = (2, 5);

/// Inserts a record into a leaf whose present layout has no room for it.
pub(super) fn rebuild_and_insert<S: PageSink>(
    tree: &mut Tree<'_, S>,
    path: &[PathStep],
    key: &[u8],
    value: StoredValue<'_>,
) -> Result<()> {
    let depth = path.len() - 1;
    let step = path[depth];
    if tree.repack_and_insert(step, key, value)? {
        return tree.recount(path, depth);
    }
    let count = usize::from(tree.header(step.page)?.count);
    if count == 0 {
        // Any record fits into an empty, well-formed leaf.
        return Err(PageDamage("a leaf of a tree is empty").at(step.page, "insert"));
    }
    if is_rightmost(path) && step.index == count {
        return tree.append_leaf(path, key, value);
    }
    if depth == 0 {
        return tree.split(path, key, value);
    }
    match tree.redistribute(path, key, value)? {
        Redistribution::Done => Ok(()),
        Redistribution::Unchanged => tree.split(path, key, value),
        Redistribution::InPart => {
            let mut position = Position::default();
            position.descend(&*tree.sink, tree.root, key)?;
            let path = tree.own_path(position.into_path())?;
            tree.split(&path, key, value)
        }
    }
}

/// Children of a parent whose records are to be spread over a number of pages.
struct Window {
    children: Range<usize>,
    pages: usize,
}

impl<S: PageSink> Tree<'_, S> {
    /// The records of a leaf, with one more among them.
    fn records_with(
        &self,
        step: PathStep,
        key: &[u8],
        value: StoredValue<'_>,
    ) -> Result<RecordList> {
        let mut records = RecordList::with_capacity(1, self.sink.page_size());
        self.append_with(&mut records, step, key, value)?;
        Ok(records)
    }

    /// Appends the records of a leaf, with one more among them.
    fn append_with(
        &self,
        records: &mut RecordList,
        step: PathStep,
        key: &[u8],
        value: StoredValue<'_>,
    ) -> Result<()> {
        let leaf = visit_leaf(&*self.sink, step.page, "insert")?;
        let damaged = |damage: PageDamage| damage.at(step.page, "insert");
        records.append(&leaf, 0..step.index).map_err(damaged)?;
        records.push(key, value);
        records
            .append(&leaf, step.index..leaf.count())
            .map_err(damaged)
    }

    fn build_leaf(
        &mut self,
        number: PageNumber,
        records: &RecordList,
        range: Range<usize>,
    ) -> Result<()> {
        let (format, birth) = (self.root.leaf_format(), self.sink.transaction());
        let page = self.sink.page_mut(number)?;
        let built = records.build(page, number, birth, format, range);
        built.map_err(|damage| damage.at(number, "rebalance"))
    }

    /// The last record of all did not fit into the last leaf: it begins a new one.
    fn append_leaf(&mut self, path: &[PathStep], key: &[u8], value: StoredValue<'_>) -> Result<()> {
        let full = path[path.len() - 1].page;
        let leaf = visit_leaf(&*self.sink, full, "insert")?;
        let damaged = |damage: PageDamage| damage.at(full, "insert");
        let last_key = leaf.key(leaf.count() - 1).map_err(damaged)?;
        let weight = self.root.weight(&leaf, 0..leaf.count());
        let left = Child::unsealed(Vec::new(), full, weight.map_err(damaged)?);
        let mut records = RecordList::default();
        records.push(key, value);
        let weight = self.root.weight_of(&records, 0..1).map_err(damaged)?;
        let number = self.new_leaf()?;
        self.sink.note_split();
        self.build_leaf(number, &records, 0..1)?;
        let right = Child::unsealed(self.separator(&last_key, key), number, weight);
        self.replace_children(
            path,
            path.len() - 1,
            slots_in_parent(path),
            vec![left, right],
        )
    }

    /// Lays out the leaf again if that makes room for a record; returns whether the record was
    /// inserted.
    pub(super) fn repack_and_insert(
        &mut self,
        step: PathStep,
        key: &[u8],
        value: StoredValue<'_>,
    ) -> Result<bool> {
        let damaged = |damage: PageDamage| damage.at(step.page, "rebalance");
        let format = self.root.leaf_format();
        let leaf = visit_leaf(&*self.sink, step.page, "rebalance")?;
        let (garbage, prefix) = (self.header(step.page)?.garbage_len, leaf.prefix());
        let has_prefix = key.starts_with(prefix);
        let grows = match leaf.may_share_more() {
            false => false,
            true => {
                let (first, last) = (
                    leaf.key(0).map_err(damaged)?,
                    leaf.key(leaf.count() - 1).map_err(damaged)?,
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
            if !leaf::compact(page, &mut scratch).map_err(damaged)? {
                return Ok(false);
            }
            let done = leaf::insert(page, format.order, step.index, key, value);
            return Ok(done.map_err(damaged)? == LocalChange::Done);
        }
        let records = self.records_with(step, key, value)?;
        let all = 0..records.len();
        if records.page_len(format, all.clone()) > self.sink.page_size() {
            return Ok(false);
        }
        self.build_leaf(step.page, &records, all)?;
        Ok(true)
    }

    /// All leaves next to a full one, to be split into one more page.
    fn all_neighbours(&self, parent: PathStep) -> Result<Window> {
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

    /// Splits a leaf that is too full, and its neighbours, into one more page.
    fn split(&mut self, path: &[PathStep], key: &[u8], value: StoredValue<'_>) -> Result<()> {
        let window = match path {
            [.., parent, _] => self.all_neighbours(*parent)?,
            _ => Window {
                children: 0..1,
                pages: 2,
            },
        };
        self.spread(path, window, key, value)
    }

    /// Spreads the records of all leaves in the window evenly over its pages.
    fn spread(
        &mut self,
        path: &[PathStep],
        window: Window,
        key: &[u8],
        value: StoredValue<'_>,
    ) -> Result<()> {
        let format = self.root.leaf_format();
        let (pages, records) = self.gather(path, &window, key, value)?;
        let weights = records.weights(format);
        let page_size = self.sink.page_size();
        let mut fits = |range: Range<usize>| records.page_len(format, range) <= page_size;
        let cuts = cut_evenly(&weights, window.pages, &mut fits)
            .or_else(|| cut_evenly(&weights, window.pages + 1, &mut fits))
            .unwrap_or_else(|| cut_greedily(records.len(), &mut fits));
        self.lay_out(path, window.children, (pages, records), cuts)
    }

    /// Lays out records in the leaves `pages`, which are changeable and as many as needed, in place
    /// of children of the same parent.
    pub(super) fn lay_out(
        &mut self,
        path: &[PathStep],
        replaced: Range<usize>,
        (pages, records): (Vec<PageNumber>, RecordList),
        cuts: Vec<Range<usize>>,
    ) -> Result<()> {
        let mut pages = pages.into_iter();
        let mut children = Vec::with_capacity(cuts.len());
        for cut in cuts {
            let number = match pages.next() {
                Some(page) => page,
                None => {
                    self.sink.note_split();
                    self.new_leaf()?
                }
            };
            self.build_leaf(number, &records, cut.clone())?;
            let separator = match cut.start.checked_sub(1) {
                Some(before) => self.separator(records.key(before), records.key(cut.start)),
                None => Vec::new(),
            };
            let weight = self.root.weight_of(&records, cut);
            let weight = weight.map_err(|damage| damage.at(number, "rebalance"))?;
            children.push(Child::unsealed(separator, number, weight));
        }
        for unused in pages {
            self.sink.note_merge();
            self.release_leaf(unused)?;
        }
        self.replace_children(path, path.len() - 1, replaced, children)
    }

    /// The changeable pages and all records of a window, in order. A neighbour that will be laid
    /// out again is not copied first: a new page replaces it.
    fn gather(
        &mut self,
        path: &[PathStep],
        window: &Window,
        key: &[u8],
        value: StoredValue<'_>,
    ) -> Result<(Vec<PageNumber>, RecordList)> {
        let [.., parent, leaf] = path else {
            return Ok((vec![path[0].page], self.records_with(path[0], key, value)?));
        };
        let mut pages = Vec::with_capacity(window.children.len());
        let mut records = RecordList::with_capacity(window.pages, self.sink.page_size());
        for index in window.children.clone() {
            if index == parent.index {
                self.append_with(&mut records, *leaf, key, value)?;
                pages.push(leaf.page);
                continue;
            }
            let inner = visit_inner(&*self.sink, parent.page, 1, "rebalance")?;
            let page = enter::child(&*self.sink, &inner, parent.page, index, "rebalance")?;
            let neighbour = visit_leaf(&*self.sink, page, "rebalance")?;
            let all = 0..neighbour.count();
            records
                .append(&neighbour, all)
                .map_err(|damage| damage.at(page, "rebalance"))?;
            pages.push(self.replaceable(page)?);
        }
        Ok((pages, records))
    }

    /// Returns a changeable page in place of `page`, whose bytes are no longer needed.
    fn replaceable(&mut self, page: PageNumber) -> Result<PageNumber> {
        if self.sink.is_own(page) {
            return Ok(page);
        }
        let new = self.sink.allocate()?;
        self.sink.release(page)?;
        Ok(new)
    }

    /// Merges a leaf that has become thin with a neighbour, or removes it if it is empty. The
    /// counts above it are right.
    ///
    /// Returns `Done` if the path still leads to the leaf.
    pub(super) fn rebalance_leaf(&mut self, path: &[PathStep]) -> Result<LocalChange> {
        let depth = path.len() - 1;
        let number = path[depth].page;
        let header = self.header(number)?;
        if header.count == 0 {
            self.release_leaf(number)?;
            self.remove_child(path, depth)?;
            return Ok(LocalChange::Rebuild);
        }
        let page_size = self.sink.page_size();
        let used_len = leaf::used_len(&header);
        if depth == 0 || used_len >= part(page_size, THIN_LEAF) {
            return Ok(LocalChange::Done);
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
            None => Ok(LocalChange::Done),
        }
    }

    fn merge_leaf(&mut self, path: &[PathStep], neighbour: Neighbour) -> Result<LocalChange> {
        let depth = path.len() - 1;
        let (parent, number) = (path[depth - 1], path[depth].page);
        let first = neighbour.index.min(parent.index);
        let pair = if neighbour.index < parent.index {
            [neighbour.page, number]
        } else {
            [number, neighbour.page]
        };
        let mut records = RecordList::default();
        for page in pair {
            let leaf = visit_leaf(&*self.sink, page, "rebalance")?;
            let all = 0..leaf.count();
            records
                .append(&leaf, all)
                .map_err(|damage| damage.at(page, "rebalance"))?;
        }
        let count = records.len();
        if records.page_len(self.root.leaf_format(), 0..count) > self.sink.page_size() {
            return Ok(LocalChange::Done);
        }
        self.build_leaf(number, &records, 0..count)?;
        self.release_leaf(neighbour.page)?;
        self.sink.note_merge();
        let weight = self.root.weight_of(&records, 0..count);
        let weight = weight.map_err(|damage| damage.at(number, "rebalance"))?;
        let child = Child::unsealed(Vec::new(), number, weight);
        self.replace_children(path, depth, first..first + 2, vec![child])?;
        Ok(LocalChange::Rebuild)
    }
}
