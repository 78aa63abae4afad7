//! Prefetching for a cursor that moves forward: the nodes of a leaf, and the next leaf.

use super::{ColdLeaf, TreeCursor};
use crate::{
    PageNumber,
    btree::{PageSource, visit},
    io,
    page::leaf,
};

/// Bytes of the next leaf that are prefetched at a time: two cache lines.
const AHEAD_LEN: usize = 128;
/// How many nodes ahead are prefetched in a leaf that was not prefetched itself.
const NODES_AHEAD: usize = 6;
/// Cache lines that are prefetched of each node.
const NODE_LINES: usize = 2;
/// The first step in such a leaf prefetches the first line of the next leaf, and this step begins
/// to prefetch the rest.
const STEPS_TO_NEXT_LEAF: usize = 3;

impl<S: PageSource + ?Sized> TreeCursor<'_, S> {
    /// Prefetches the next leaf while the scan passes through this one. Damage in it is reported
    /// when the scan gets there.
    pub(super) fn prefetch_next_leaf(&mut self, [next, after]: [Option<PageNumber>; 2]) {
        if let Some(page) = after {
            self.source.prefetch(page, 0, 1);
        }
        // A page whose checksum has not been verified yet is not read, not even its header.
        let Some(page) = next.filter(|page| !self.source.needs_check(*page)) else {
            return;
        };
        let Ok((bytes, header)) = visit(self.source, page, 0, "scan") else {
            return;
        };
        let (gap, heap) = leaf::gap(bytes, &header);
        io::prefetch(&bytes[..gap]);
        self.ahead = &bytes[heap / AHEAD_LEN * AHEAD_LEN..];
        let steps = self.ahead.len().div_ceil(AHEAD_LEN);
        self.ahead_steps = steps.div_ceil(self.leaf.count().max(1));
    }

    /// Prefetches data after the record that a step forward led to.
    #[inline]
    pub(super) fn fetch_ahead(&mut self, index: usize) {
        match self.cold {
            Some(cold) => self.fetch_cold(cold, index),
            None => self.fetch_leaf_ahead(),
        }
    }

    /// Prefetches in a leaf that was not prefetched itself. A range may end soon, so only a few
    /// nodes are prefetched, and the next leaf only after some steps.
    #[inline(never)]
    fn fetch_cold(&mut self, cold: ColdLeaf, index: usize) {
        self.fetch_leaf_ahead();
        let end = (index + NODES_AHEAD).min(self.leaf.count());
        for node in cold.asked.max(index)..end {
            io::prefetch_lines(self.leaf.page_from_node(node), NODE_LINES);
        }
        let steps = cold.steps + 1;
        self.cold = Some(ColdLeaf { asked: end, steps });
        match steps {
            1 => self.prefetch_next_leaf([None, self.position.following_leaves(self.source)[0]]),
            STEPS_TO_NEXT_LEAF => {
                self.prefetch_next_leaf(self.position.following_leaves(self.source))
            }
            _ => {}
        }
    }

    /// Prefetches a part of the next leaf with each record of this one.
    #[inline]
    pub(super) fn fetch_leaf_ahead(&mut self) {
        for _ in 0..self.ahead_steps {
            let Some((now, later)) = self.ahead.split_first_chunk::<AHEAD_LEN>() else {
                return;
            };
            io::prefetch(now);
            self.ahead = later;
        }
    }
}
