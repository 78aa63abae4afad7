//! Tables with several values per key, and operations beyond single insertions and lookups:
//! counting and removing ranges, and nested transactions.
//!
//! Whole loads, removals and runs of nested transactions are timed one engine after the other, in
//! changing order; reads in short slices in turns. Before each the file system is flushed, outside
//! the clock. All results are compared with the expected ones, and a difference ends the run.

mod bench;
mod contender;
mod figure;
mod nested;
mod pairs;
mod part;
mod ranges;
mod records;
mod removal;
mod set;

pub(crate) use figure::{describe_run, tables};
pub(crate) use part::KindsPart;

use crate::arguments::Kinds;
use anyhow::Result;
use clap::ValueEnum;
use figure::KindsFigure;
use set::PairShape;
use std::path::Path;

/// Runs `kinds` with databases below `directory`.
pub(crate) fn run(kinds: &Kinds, directory: &Path) -> Result<Vec<KindsFigure>> {
    let mut figures = Vec::new();
    for &part in KindsPart::value_variants() {
        if !kinds.wants(part) {
            continue;
        }
        figures.extend(match part {
            KindsPart::Many => pairs::run(kinds, PairShape::Many(kinds.many), directory)?,
            KindsPart::Ten => pairs::run(kinds, PairShape::Ten(kinds.tens), directory)?,
            KindsPart::One => pairs::run(kinds, PairShape::One(kinds.ones), directory)?,
            KindsPart::Ranges => ranges::run(kinds, directory)?,
            KindsPart::Removal => removal::run(kinds, directory)?,
            KindsPart::Nested => nested::run(kinds, directory)?,
        });
    }
    Ok(figures)
}
