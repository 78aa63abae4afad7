//! Tables in which a key has several values, and what else there is beside single insertions and lookups: counted ranges, ranges that are
//! removed, nested transactions.
//!
//! Whole loads, removals and runs of nested transactions are timed one engine after the other, in changing order; reads in short slices in turns. Before
//! each the file system is flushed, outside the clock. Whatever an engine did is compared with what it should have done,
//! whole, and a difference ends the run.

mod contender;
mod figure;
mod nested;
mod pairs;
mod ranges;
mod records;
mod removal;
mod set;

pub(crate) use figure::{describe_run, tables};

use crate::{arguments::Kinds, bench::turn_order, engines::EngineKind, statistics::Samples};
use anyhow::{Context, Result};
use clap::ValueEnum;
use contender::KindsContender;
use figure::KindsFigure;
use set::PairShape;
use std::{path::Path, time::Duration};

/// What can be run by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum KindsPart {
    /// Many values under one key.
    Many,
    /// Ten values under each of many keys.
    Ten,
    /// One value under each of many keys.
    One,
    /// Records of ranges counted.
    Ranges,
    /// A range of records removed.
    Removal,
    /// Nested transactions, of which half are rolled back.
    Nested,
}

/// Runs what `kinds` asks for, with databases below `directory`.
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

/// The engines of a run, none of which has a database yet.
fn contenders(kinds: &Kinds, directory: &Path) -> Vec<KindsContender> {
    let engines = kinds.engines.iter();
    let new = |&kind: &EngineKind| KindsContender::new(kind, directory.join(kind.name()));
    engines.map(new).collect()
}

/// Times `work` by each contender, in an order that changes from turn to turn; `None` of one that has no call for it.
fn in_turn(
    contenders: &mut [KindsContender],
    turn: usize,
    mut work: impl FnMut(&mut KindsContender) -> Result<Option<Duration>>,
) -> Result<Vec<Option<Duration>>> {
    let mut times = vec![None; contenders.len()];
    for index in turn_order(contenders.len(), turn) {
        let contender = &mut contenders[index];
        let kind = contender.kind;
        times[index] = work(contender).with_context(|| format!("{kind} failed"))?;
    }
    Ok(times)
}

/// Adds the times of a round to the samples, as nanoseconds an operation.
fn add_round(samples: &mut [Samples], times: &[Option<Duration>], operations: u64) {
    for (samples, time) in samples.iter_mut().zip(times) {
        if let Some(time) = time {
            samples.push(time.as_secs_f64() * 1e9 / operations.max(1) as f64);
        }
    }
}

/// Adds times of a slice to those of the round.
fn add_slice(round: &mut [Option<Duration>], slice: &[Option<Duration>]) {
    for (sum, time) in round.iter_mut().zip(slice) {
        if let Some(time) = time {
            *sum = Some(sum.unwrap_or_default() + *time);
        }
    }
}
