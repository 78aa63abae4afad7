//! Redistribution: a full leaf moves a few records to a neighbour that has room.

use super::{
    PageSink,
    mutable_tree::Tree,
    neighbours::{Neighbour, part},
    position::PathStep,
    visit_leaf,
};
use crate::{
    Result,
    page::{
        PageDamage,
        child::Child,
        entries::RecordList,
        header::{HEADER_LEN, Header},
        inner,
        leaf::{self, Leaf, LeafEnd, LocalChange},
        value::StoredValue,
    },
};

/// Two leaves redistribute records only if both are filled at most this much afterwards.
const SHARED_FILL_MAX: (usize, usize) = (31, 32);
/// If more records than this would have to move, both leaves are laid out again.
const MOVED_MAX: usize = 16;
/// In fixed leaves this many bytes may move in any case, because their records are small and moved
/// together.
const MOVED_LEN_MAX: usize = 1024;

/// The outcome of an attempt to redistribute.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Redistribution {
    /// The record was inserted.
    Done,
    /// Nothing changed.
    Unchanged,
    /// Records were moved, but the new one did not fit yet.
    InPart,
}

/// Two leaves that redistribute: records move from the leaf of the step to its neighbour.
struct RecordMove {
    step: PathStep,
    neighbour: Neighbour,
    /// Whether the neighbour is the one before.
    is_left: bool,
}

impl<S: PageSink> Tree<'_, S> {
    /// Redistributes to a neighbour that has room: moves a few records to it, so that both are
    /// equally full, and inserts the new one. Returns what that achieved.
    pub(super) fn redistribute(
        &mut self,
        path: &[PathStep],
        key: &[u8],
        value: StoredValue<'_>,
    ) -> Result<Redistribution> {
        let depth = path.len() - 1;
        let (step, parent) = (path[depth], path[depth - 1]);
        let page_size = self.sink.page_size();
        let added = self
            .root
            .leaf_format()
            .record_len(0, key.len(), value.bytes.len());
        let used = leaf::used_len(&self.header(step.page)?);
        let most = 2 * part(page_size, SHARED_FILL_MAX);
        let neighbour_with_room = self
            .neighbours(parent, 0)?
            .into_iter()
            .filter(|n| n.used_len + used + added - HEADER_LEN <= most)
            .min_by_key(|n| (!n.is_own, n.used_len));
        let Some(neighbour) = neighbour_with_room else {
            return Ok(Redistribution::Unchanged);
        };
        let Some(moved) = self.records_to_move(step, neighbour, parent, used + added)? else {
            return Ok(Redistribution::Unchanged);
        };
        let target = self.sink.own(neighbour.page)?;
        if target != neighbour.page {
            inner::set_child(self.sink.page_mut(parent.page)?, neighbour.index, target);
        }
        let neighbour = Neighbour {
            page: target,
            ..neighbour
        };
        let moves = RecordMove {
            step,
            neighbour,
            is_left: neighbour.index < parent.index,
        };
        let shared = self.move_records(&moves, moved, key, value)?;
        if shared != Redistribution::Unchanged {
            self.update_separator(path, &moves)?;
        }
        Ok(shared)
    }

    /// How many records to move so that both leaves are equally full; `None` if they are so many
    /// that laying out both again is better.
    fn records_to_move(
        &self,
        step: PathStep,
        neighbour: Neighbour,
        parent: PathStep,
        full_len: usize,
    ) -> Result<Option<usize>> {
        let leaf = visit_leaf(&*self.sink, step.page, "rebalance")?;
        let moved_max = match self.root.leaf_format().fixed_len {
            0 => MOVED_MAX,
            len => MOVED_MAX.max(MOVED_LEN_MAX / usize::from(len)),
        };
        let mut surplus_len = full_len.saturating_sub(neighbour.used_len) / 2;
        let is_left = neighbour.index < parent.index;
        let mut moved = 0;
        while moved + 1 < leaf.count() && moved < moved_max {
            let index = if is_left {
                moved
            } else {
                leaf.count() - 1 - moved
            };
            let node = leaf
                .node(index)
                .map_err(|damage| damage.at(step.page, "rebalance"))?;
            let len = leaf.record_len(&node);
            if len > 2 * surplus_len {
                break;
            }
            surplus_len = surplus_len.saturating_sub(len);
            moved += 1;
        }
        Ok((moved > 0 && moved < moved_max).then_some(moved))
    }

    /// Moves records, and inserts the new one where it belongs.
    fn move_records(
        &mut self,
        moves: &RecordMove,
        count: usize,
        key: &[u8],
        value: StoredValue<'_>,
    ) -> Result<Redistribution> {
        let (from, to) = (moves.step.page, moves.neighbour.page);
        let order = self.root.order;
        let damaged = |damage: PageDamage| damage.at(from, "rebalance");
        let leaf = visit_leaf(&*self.sink, from, "rebalance")?;
        let stay = leaf.count() - count;
        let (range, end) = if moves.is_left {
            (0..count, LeafEnd::After)
        } else {
            (stay..leaf.count(), LeafEnd::Before)
        };
        let mut records = RecordList::with_capacity(1, self.sink.page_size());
        records.append(&leaf, range.clone()).map_err(damaged)?;
        let records = (0..count).map(|index| records.record(index));
        let target = self.sink.page_mut(to)?;
        let there = usize::from(Header::read(target).count);
        let moved = leaf::insert_many(target, order, end, records);
        if moved.map_err(|damage| damage.at(to, "rebalance"))? == LocalChange::Rebuild {
            return Ok(Redistribution::Unchanged);
        }
        leaf::remove_range(self.sink.page_mut(from)?, range).map_err(damaged)?;
        let slot = moves.step.index;
        let (number, slot) = match end {
            LeafEnd::After if slot < count => (to, there + slot),
            LeafEnd::After => (from, slot - count),
            LeafEnd::Before if slot > stay => (to, slot - stay),
            LeafEnd::Before => (from, slot),
        };
        let page = self.sink.page_mut(number)?;
        let damaged = |damage: PageDamage| damage.at(number, "rebalance");
        if leaf::insert(page, order, slot, key, value).map_err(damaged)? == LocalChange::Done {
            return Ok(Redistribution::Done);
        }
        if Header::read(page).garbage_len > 0 {
            leaf::compact(page, &mut Vec::new()).map_err(damaged)?;
        }
        let done = leaf::insert(page, order, slot, key, value).map_err(damaged)?;
        Ok(match done {
            LocalChange::Done => Redistribution::Done,
            LocalChange::Rebuild => Redistribution::InPart,
        })
    }

    /// Writes the separator between the two leaves to their parent.
    fn update_separator(&mut self, path: &[PathStep], moves: &RecordMove) -> Result<()> {
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
        let weight = |leaf: &Leaf<'_>| self.root.weight(leaf, 0..leaf.count());
        let counts = (
            weight(&left_leaf).map_err(|damage| damage.at(left, "rebalance"))?,
            weight(&right_leaf).map_err(|damage| damage.at(right, "rebalance"))?,
        );
        let separator = self.separator(&last, &first);
        let children = vec![
            Child::unsealed(Vec::new(), left, counts.0),
            Child::unsealed(separator, right, counts.1),
        ];
        let first = moves.neighbour.index.min(path[path.len() - 2].index);
        self.replace_children(path, path.len() - 1, first..first + 2, children)
    }
}
