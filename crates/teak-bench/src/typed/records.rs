//! The records of `typed`, and sums over them.

use crate::arguments::TypedArguments;
use anyhow::Result;
use fastrand::Rng;
use std::ops::Range;

/// Records of a range.
pub(super) const RANGE_LEN: usize = 50;
const SEED: u64 = 0x0074_7970_6564;

/// The records of both tables in the order of their keys, with the numbers from zero as values, and
/// the ranges that are read.
pub(super) struct TypedRecords {
    pub(super) texts: Vec<String>,
    pub(super) starts: Vec<usize>,
    pub(super) text_ranges: Vec<Range<String>>,
    pub(super) number_ranges: Vec<Range<u64>>,
}

impl TypedRecords {
    pub(super) fn new(typed: &TypedArguments) -> Self {
        let count = typed.records as usize;
        let mut rng = Rng::with_seed(SEED);
        let starts = (0..typed.ranges).map(|_| rng.usize(..count - RANGE_LEN));
        let starts: Vec<usize> = starts.collect();
        Self {
            texts: (0..count).map(text).collect(),
            text_ranges: ranges(&starts, text),
            number_ranges: ranges(&starts, number),
            starts,
        }
    }

    /// The records with text as keys.
    pub(super) fn text_records(&self) -> impl Iterator<Item = (&str, u64)> {
        self.texts.iter().map(String::as_str).zip(0..)
    }

    /// The records with numbers as keys.
    pub(super) fn number_records(&self) -> impl Iterator<Item = (u64, u64)> {
        (0..self.texts.len()).map(number).zip(0..)
    }

    pub(super) fn add_texts(&self, indexes: Range<usize>, sum: &mut RecordSum) {
        indexes.for_each(|index| sum.add_text(&self.texts[index], index as u64));
    }

    pub(super) fn add_numbers(&self, indexes: Range<usize>, sum: &mut RecordSum) {
        indexes.for_each(|index| sum.add_number(number(index), index as u64));
    }
}

/// A database with both tables, and the loops over them.
pub(super) trait ReadTyped {
    fn scan_texts(&self) -> Result<RecordSum>;

    fn scan_numbers(&self) -> Result<RecordSum>;

    fn range_texts(&self, ranges: &[Range<String>]) -> Result<RecordSum>;

    fn range_numbers(&self, ranges: &[Range<u64>]) -> Result<RecordSum>;
}

/// Ranges that begin at records with these indexes.
fn ranges<K>(starts: &[usize], key: impl Fn(usize) -> K) -> Vec<Range<K>> {
    let starts = starts.iter();
    let ranges = starts.map(|&at| key(at)..key(at + RANGE_LEN));
    ranges.collect()
}

/// A key of 18 bytes.
fn text(index: usize) -> String {
    let scattered = index.wrapping_mul(0x9e37_79b9) & 0xffff;
    format!("user:{:08}:{scattered:04x}", 7 * index)
}

fn number(index: usize) -> u64 {
    7 * index as u64
}

/// A sum over records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RecordSum {
    pub(super) count: u64,
    sum: u64,
}

impl RecordSum {
    /// Adds the length and the last byte of the key, and the value.
    #[inline(always)]
    pub(super) fn add_text(&mut self, key: &str, value: u64) {
        let last = key.as_bytes().last().copied();
        self.add_number(
            key.len() as u64 + u64::from(last.unwrap_or_default()),
            value,
        );
    }

    #[inline(always)]
    pub(super) fn add_number(&mut self, key: u64, value: u64) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(key).wrapping_add(value);
    }
}
