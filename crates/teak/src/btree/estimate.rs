//! Estimates the number of records in a range, for trees that are not counted.
//!
//! The paths to both ends of the range are exact. The pages between them are known level by level,
//! from the top down: the children of pages that lie entirely between, and those beside the two
//! paths. Of each level at most [`SEEN_MAX`] pages are read, evenly spread, and their average is
//! assumed for all. As long as all pages of a level were read, the number of pages below them is
//! exact, so a range of few leaves is counted.
//!
//! The bounds hold whatever the unread pages contain. An inner page has at least one child, a leaf
//! at least one record, and neither has more than fit. The root stores the total number of leaves
//! and records.

use super::{
    PageSource, TreeRoot,
    count::{self, Ends},
    enter,
    position::PathStep,
    visit_inner, visit_leaf,
};
use crate::{
    PageNumber, Result,
    page::{header::HEADER_LEN, leaf::LeafFormat, max_key_len},
};
use std::ops::{Add, Bound, Range};

/// Pages of a level that are read.
const SEEN_MAX: u64 = 64;

/// The estimated number of records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RecordEstimate {
    pub(crate) records: u64,
    /// Standard deviation of the estimate, according to the variation between the pages that were
    /// read.
    pub(crate) deviation: u64,
    pub(crate) at_least: u64,
    pub(crate) at_most: u64,
}

impl RecordEstimate {
    /// An exact number.
    pub(crate) fn exactly(records: u64) -> Self {
        PartialEstimate::exactly(records).into()
    }
}

/// The sum for two disjoint ranges.
impl Add for RecordEstimate {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let deviation = (self.deviation as f64).hypot(other.deviation as f64);
        Self {
            records: self.records.saturating_add(other.records),
            deviation: deviation as u64,
            at_least: self.at_least.saturating_add(other.at_least),
            at_most: self.at_most.saturating_add(other.at_most),
        }
    }
}

/// A number of pages or records between the ends.
#[derive(Clone, Copy, Debug)]
struct PartialEstimate {
    value: f64,
    variance: f64,
    at_least: u64,
    at_most: u64,
}

impl PartialEstimate {
    fn exactly(number: u64) -> Self {
        Self {
            value: number as f64,
            variance: 0.0,
            at_least: number,
            at_most: number,
        }
    }

    fn plus(self, number: u64) -> Self {
        Self {
            value: self.value + number as f64,
            variance: self.variance,
            at_least: self.at_least.saturating_add(number),
            at_most: self.at_most.saturating_add(number),
        }
    }

    /// The total number of entries of these pages, given the entries of the pages that were read,
    /// and none with more than `most`.
    fn entries(self, seen: &[u64], most: u64) -> Self {
        let (pages, sum) = (seen.len() as u64, seen.iter().sum::<u64>());
        if pages >= self.at_most {
            return Self::exactly(sum);
        }
        let mean = sum as f64 / pages as f64;
        let squares = seen.iter().map(|&entries| (entries as f64 - mean).powi(2));
        let variance_of_one = squares.sum::<f64>() / (pages as f64 - 1.0).max(1.0);
        let unseen = (1.0 - pages as f64 / self.value).max(0.0);
        let variance_of_mean = variance_of_one / pages as f64 * unseen;
        let rest = |all: u64, each: u64| all.saturating_sub(pages).saturating_mul(each);
        Self {
            value: self.value * mean,
            variance: self.variance * mean.powi(2) + self.value.powi(2) * variance_of_mean,
            at_least: sum.saturating_add(rest(self.at_least, 1)),
            at_most: sum.saturating_add(rest(self.at_most, most)),
        }
    }

    /// Tightens the bounds by other known bounds.
    fn within(self, at_least: u64, at_most: u64) -> Self {
        let at_most = self.at_most.min(at_most).max(self.at_least);
        let at_least = self.at_least.max(at_least).min(at_most);
        Self {
            value: self.value.clamp(at_least as f64, at_most as f64),
            variance: self.variance,
            at_least,
            at_most,
        }
    }
}

impl From<PartialEstimate> for RecordEstimate {
    fn from(guess: PartialEstimate) -> Self {
        let reach = guess.at_most - guess.at_least;
        Self {
            records: (guess.value.round() as u64).clamp(guess.at_least, guess.at_most),
            deviation: (guess.variance.sqrt().ceil() as u64).min(reach),
            at_least: guess.at_least,
            at_most: guess.at_most,
        }
    }
}

/// Some children of a page, each of which represents a number of pages.
struct Children {
    page: PageNumber,
    range: Range<usize>,
    weight: f64,
}

/// Estimates the number of records between two bounds.
pub(crate) fn estimate<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    low: Bound<&[u8]>,
    high: Bound<&[u8]>,
) -> Result<RecordEstimate> {
    if let (Bound::Unbounded, Bound::Unbounded) = (low, high) {
        return Ok(PartialEstimate::exactly(root.records).into());
    }
    let Some(ends) = count::ends(source, root, low, high)? else {
        return Ok(PartialEstimate::exactly(0).into());
    };
    if root.counted {
        return Ok(PartialEstimate::exactly(count::between(source, root, &ends)?).into());
    }
    Ok(between(source, root, &ends)?.into())
}

fn between<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    ends: &Ends,
) -> Result<PartialEstimate> {
    let (mut pages, mut seen) = (PartialEstimate::exactly(0), Vec::new());
    let mut has_diverged = false;
    let steps = ends.low.iter().zip(&ends.high);
    for ((low, high), level) in steps.zip((1..root.depth).rev()) {
        let (left, right) = match has_diverged {
            true => (low.index + 1..low.count, 0..high.index),
            false => (low.index + 1..high.index, 0..0),
        };
        has_diverged |= low.index != high.index;
        let mut counts = Vec::with_capacity(seen.len());
        for &page in &seen {
            counts.push(visit_inner(source, page, level, "estimate")?.count() as u64);
        }
        let weight = pages.value / seen.len() as f64;
        let between = seen.iter().zip(&counts).map(|(&page, &count)| Children {
            page,
            range: 0..count as usize,
            weight,
        });
        let edge = |page, range| Children {
            page,
            range,
            weight: 1.0,
        };
        let children: Vec<_> = [edge(low.page, left.clone())]
            .into_iter()
            .chain(between)
            .chain([edge(high.page, right.clone())])
            .collect();
        let most = (source.page_size() - HEADER_LEN) / root.inner_format().slot_len();
        pages = pages
            .entries(&counts, most as u64)
            .plus((left.len() + right.len()) as u64);
        seen = pick(source, level, &children, pages.value)?;
    }
    records(source, root, ends, pages, &seen)
}

/// Enters some of these children, evenly spread, or all if there are few.
fn pick<S: PageSource + ?Sized>(
    source: &S,
    level: u8,
    children: &[Children],
    pages: f64,
) -> Result<Vec<PageNumber>> {
    let mut seen = Vec::new();
    if pages < 1.0 {
        return Ok(seen);
    }
    let step = pages / pages.ceil().min(SEEN_MAX as f64);
    let (mut begin, mut next) = (0.0, step / 2.0);
    for some in children {
        let end = begin + some.range.len() as f64 * some.weight;
        if next < end {
            let inner = visit_inner(source, some.page, level, "estimate")?;
            while next < end {
                let index = some.range.start + ((next - begin) / some.weight) as usize;
                let index = index.min(some.range.end - 1);
                seen.push(enter::child(source, &inner, some.page, index, "estimate")?);
                next += step;
            }
        }
        begin = end;
    }
    Ok(seen)
}

/// The records between the ends, given the leaves between them, of which some were picked.
fn records<S: PageSource + ?Sized>(
    source: &S,
    root: &TreeRoot,
    ends: &Ends,
    leaves: PartialEstimate,
    seen: &[PageNumber],
) -> Result<PartialEstimate> {
    let (Some(low), Some(high)) = (ends.low.last(), ends.high.last()) else {
        return Ok(PartialEstimate::exactly(0));
    };
    if low.page == high.page {
        let records = count::weight(source, root, low.page, low.index..high.index)?;
        return Ok(PartialEstimate::exactly(records));
    }
    let others = u64::from(root.leaf_pages).saturating_sub(2);
    let leaves = leaves.within(0, others);
    let mut counts = Vec::with_capacity(seen.len());
    for &page in seen {
        let count = visit_leaf(source, page, "estimate")?.count();
        counts.push(count::weight(source, root, page, 0..count)?);
    }
    let (least, most) = match root.is_multi() {
        false => (1, records_max(root, source.page_size())),
        // Leaves of nested trees are included in the count, and the number of values of a key is
        // unbounded.
        true => (0, u64::MAX),
    };
    let weight = |step: &PathStep, entries| count::weight(source, root, step.page, entries);
    let edge = weight(low, low.index..low.count)?.saturating_add(weight(high, 0..high.index)?);
    let records = leaves.entries(&counts, most).plus(edge);
    let after = weight(high, high.index..high.count)?;
    let outside = weight(low, 0..low.index)?.saturating_add(after);
    let outside_at = |leaves: u64, each: u64| {
        let elsewhere = others.saturating_sub(leaves).saturating_mul(each);
        root.records
            .saturating_sub(elsewhere.saturating_add(outside))
    };
    Ok(records.within(
        outside_at(leaves.at_least, most),
        outside_at(leaves.at_most, least),
    ))
}

/// The maximum number of records in a leaf: with empty values, and the shortest possible keys.
fn records_max(root: &TreeRoot, page_size: usize) -> u64 {
    let unaligned = LeafFormat {
        value_align_log2: 0,
        ..root.leaf_format()
    };
    let key_len = usize::from(root.key_len);
    let least = unaligned.record_len(max_key_len(page_size), key_len, 0);
    ((page_size - HEADER_LEN) / least) as u64
}

#[cfg(test)]
#[path = "estimate_tests.rs"]
mod tests;
