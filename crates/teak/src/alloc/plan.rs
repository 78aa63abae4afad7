//! The plan of a checkpoint, made before anything is changed.
//!
//! The pages that a checkpoint replaces die in it, and these deaths are themselves pending. There
//! is no loop: all of them follow from *which* bitmaps and segments are written, and not from their
//! new page numbers. Only the number of segments depends on the number of deaths in them. It
//! converges at once, because a segment holds far more deaths than writing it causes.
//!
//! Few deaths stay in the log. Only if they take more than half of its room are the largest buckets
//! moved into segments, until the rest fits. So a database without long-lived readers has no
//! segments at all.

use super::{change::SpaceChange, log, map::Space, page_array::NodePlan, pending::UNSORTED};
use crate::{
    page::deaths::Death,
    types::{Extent, PageNumber, TransactionId},
};

/// The pages that are to be written and those that die.
#[derive(Default, Debug)]
pub(super) struct CheckpointPlan {
    /// Bitmap pages to be written, ascending.
    pub(super) bitmaps: Vec<u32>,
    /// The number of elements of the array of bitmaps afterwards.
    pub(super) bitmap_count: usize,
    pub(super) bitmap_nodes: NodePlan,
    /// Buckets whose loose deaths go into segments.
    pub(super) buckets: Vec<BucketPlan>,
    /// Number of segments for fresh deaths, `None` if those stay in the log.
    pub(super) fresh_segments: Option<usize>,
    /// Positions of segments that die, ascending.
    pub(super) removed: Vec<u32>,
    pub(super) segment_nodes: NodePlan,
    /// The pages that the checkpoint replaces, with their births.
    pub(super) dead: Vec<(Extent, TransactionId)>,
}

/// A bucket whose loose deaths go into segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct BucketPlan {
    pub(super) pin: TransactionId,
    pub(super) segment_count: usize,
    /// The last segment of the bucket has so few deaths that it is rewritten with the others.
    pub(super) absorbs_last: bool,
}

/// Loose deaths that go into segments together or not at all.
enum Candidate {
    Fresh,
    Bucket(usize),
}

impl CheckpointPlan {
    pub(super) fn new(space: &Space, change: &SpaceChange<'_>) -> Self {
        let mut plan = Self::default();
        plan.plan_bitmaps(space);
        let budget = change.log_room / 2;
        let costs = costs(space, change);
        let total: usize = costs.iter().map(|(cost, _)| cost).sum();
        let mut left = total + plan.bitmaps.len() * log::DEATH_LEN_TYPICAL;
        for (cost, candidate) in &costs {
            if left <= budget {
                break;
            }
            plan.add(space, candidate);
            left -= cost;
        }
        plan.plan_segments(space, change);
        let dead = plan.dead.iter().map(|(extent, birth)| {
            log::death_len_max(&Death {
                extent: *extent,
                birth: *birth,
                died: change.transaction,
            })
        });
        if plan.fresh_segments.is_none() && left + dead.sum::<usize>() > budget {
            plan.add(space, &Candidate::Fresh);
            plan.plan_segments(space, change);
        }
        assert!(
            plan.dead
                .is_sorted_by(|(a, _), (b, _)| a.end() <= u64::from(b.start.0)),
            "no page of the map is replaced twice"
        );
        plan
    }

    /// The number of pages that the checkpoint writes.
    pub(super) fn page_count(&self) -> usize {
        self.bitmaps.len()
            + self.bitmap_nodes.page_count()
            + self.segment_count()
            + self.segment_nodes.page_count()
    }

    /// The number of segments that the checkpoint writes.
    pub(super) fn segment_count(&self) -> usize {
        let of_buckets: usize = self.buckets.iter().map(|bucket| bucket.segment_count).sum();
        of_buckets + self.fresh_segments.unwrap_or(0)
    }

    fn plan_bitmaps(&mut self, space: &Space) {
        let in_file = space
            .page_count()
            .div_ceil(u64::from(space.pages_per_bitmap)) as usize;
        let changed = space.free.changed_bitmaps().iter().copied();
        self.bitmaps = changed
            .filter(|bitmap| (*bitmap as usize) < in_file)
            .collect();
        self.bitmaps.sort_unstable();
        let needed = self.bitmaps.last().map_or(0, |last| *last as usize + 1);
        self.bitmap_count = needed.max(space.bitmaps.elements().len()).min(in_file);
        assert!(
            self.bitmaps.is_sorted_by(|a, b| a < b) && needed <= self.bitmap_count,
            "each bitmap is written once, and the array afterwards has it"
        );
        self.bitmap_nodes = space.bitmaps.plan(self.bitmap_count, &self.bitmaps);
    }

    fn add(&mut self, space: &Space, candidate: &Candidate) {
        match candidate {
            Candidate::Fresh => self.fresh_segments = Some(0),
            Candidate::Bucket(index) => {
                let capacity = space.deaths_per_segment;
                let bucket = &space.pending.buckets[*index];
                let last = bucket.segments.last();
                let last_len =
                    last.map_or(0, |slot| space.pending.segments.get(*slot).entries.len());
                let absorbs_last = last.is_some() && last_len < capacity / 2;
                let count = bucket.loose.len() + if absorbs_last { last_len } else { 0 };
                self.buckets.push(BucketPlan {
                    pin: bucket.pin,
                    segment_count: count.div_ceil(capacity),
                    absorbs_last,
                });
            }
        }
    }

    fn plan_segments(&mut self, space: &Space, change: &SpaceChange<'_>) {
        let segments = &space.pending.segments;
        let absorbed = self
            .buckets
            .iter()
            .filter(|bucket| bucket.absorbs_last)
            .map(|plan| {
                let bucket = space
                    .pending
                    .buckets
                    .iter()
                    .find(|bucket| bucket.pin == plan.pin);
                *bucket
                    .and_then(|bucket| bucket.segments.last())
                    .expect("planned from what is there")
            });
        let slots = segments.dissolved().iter().copied().chain(absorbed);
        self.removed = slots.map(|slot| segments.position(slot)).collect();
        self.removed.sort_unstable();
        assert!(
            self.removed.is_sorted_by(|a, b| a < b) && self.removed.len() <= segments.len(),
            "segments that die are on the disk, and die once"
        );
        loop {
            let count = segments.len() - self.removed.len() + self.segment_count();
            let replaced = self
                .removed
                .iter()
                .copied()
                .filter(|at| (*at as usize) < count);
            let changed: Vec<u32> = replaced
                .chain(segments.len() as u32..count as u32)
                .collect();
            self.segment_nodes = space.segments.plan(count, &changed);
            self.dead = self.dead_pages(space);
            let Some(planned) = self.fresh_segments else {
                break;
            };
            let fresh = space.pending.fresh.len() + change.deaths.len() + self.dead.len();
            let needed = fresh.div_ceil(space.deaths_per_segment);
            if needed <= planned {
                break;
            }
            self.fresh_segments = Some(needed);
        }
    }

    /// The pages that are replaced, neighbours of the same birth joined to one extent.
    fn dead_pages(&self, space: &Space) -> Vec<(Extent, TransactionId)> {
        let bitmaps = space.bitmaps.elements();
        let replaced = self
            .bitmaps
            .iter()
            .filter_map(|index| bitmaps.get(*index as usize));
        let cut_off = bitmaps.iter().skip(self.bitmap_count);
        let segments = space.segments.elements();
        let removed = self
            .removed
            .iter()
            .map(|position| &segments[*position as usize]);
        let slots = replaced.chain(cut_off).chain(removed);
        let mut pages: Vec<(PageNumber, TransactionId)> =
            slots.filter_map(|slot| slot.page()).collect();
        pages.extend(&self.bitmap_nodes.dead);
        pages.extend(&self.segment_nodes.dead);
        pages.sort_unstable();
        let mut extents: Vec<(Extent, TransactionId)> = Vec::new();
        for (page, birth) in pages {
            match extents.last_mut() {
                Some((extent, born)) if *born == birth && extent.end() == u64::from(page.0) => {
                    extent.len += 1;
                }
                _ => extents.push((
                    Extent {
                        start: page,
                        len: 1,
                    },
                    birth,
                )),
            }
        }
        extents
    }
}

/// The candidates for segments, with the maximum bytes of each in the log, largest first.
fn costs(space: &Space, change: &SpaceChange<'_>) -> Vec<(usize, Candidate)> {
    let cost = |deaths: &[Death]| deaths.iter().map(log::death_len_max).sum::<usize>();
    let new = change
        .deaths()
        .map(|death| log::death_len_max(&death))
        .sum::<usize>();
    let mut costs = vec![(cost(&space.pending.fresh) + new, Candidate::Fresh)];
    let buckets = space.pending.buckets.iter().enumerate();
    let with_loose =
        buckets.filter(|(_, bucket)| !bucket.loose.is_empty() && bucket.pin != UNSORTED);
    costs.extend(with_loose.map(|(index, bucket)| (cost(&bucket.loose), Candidate::Bucket(index))));
    costs.sort_by_key(|(cost, _)| std::cmp::Reverse(*cost));
    costs
}
