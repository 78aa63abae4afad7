//! What is measured, and in which order.

mod get;
pub(crate) mod load;
mod scan;
mod transactions;

use crate::{arguments::Quick, bench::Bench, data::DataSet, measurement::Measurement};
use anyhow::{Context, Result};
use clap::{ValueEnum, builder::PossibleValue};
use serde::{Serialize, Serializer};
use std::{fmt, path::Path};

/// A kind of work. The order here is the order in which they run: reads before what changes the data that they check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QuickWorkload {
    LoadRandomLazy,
    LoadPresortedLazy,
    LoadSingleLazy,
    Get,
    GetMany32,
    GetTxn,
    GetTxnRenew,
    Scan,
    TxnLazy,
    TxnDurable,
    LoadSortedLazy,
    LoadSortedAppend,
}

impl QuickWorkload {
    /// All of them, in order.
    pub(crate) const ALL: &[Self] = &[
        Self::LoadRandomLazy,
        Self::LoadPresortedLazy,
        Self::LoadSingleLazy,
        Self::Get,
        Self::GetMany32,
        Self::GetTxn,
        Self::GetTxnRenew,
        Self::Scan,
        Self::TxnLazy,
        Self::TxnDurable,
        Self::LoadSortedLazy,
        Self::LoadSortedAppend,
    ];

    /// Its name on the command line and in results.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::LoadRandomLazy => "load_random_lazy",
            Self::LoadPresortedLazy => "load_presorted_lazy",
            Self::LoadSingleLazy => "load_single_lazy",
            Self::Get => "get",
            Self::GetMany32 => "get_many_32",
            Self::GetTxn => "get_txn",
            Self::GetTxnRenew => "get_txn_renew",
            Self::Scan => "scan",
            Self::TxnLazy => "txn_lazy",
            Self::TxnDurable => "txn_durable",
            Self::LoadSortedLazy => "load_sorted_lazy",
            Self::LoadSortedAppend => "load_sorted_append",
        }
    }

    /// Whether it makes its own databases, and needs none that was loaded before.
    fn loads(self) -> bool {
        matches!(
            self,
            Self::LoadRandomLazy
                | Self::LoadPresortedLazy
                | Self::LoadSingleLazy
                | Self::LoadSortedLazy
                | Self::LoadSortedAppend
        )
    }

    fn run(self, bench: &mut Bench, quick: &Quick) -> Result<Vec<Measurement>> {
        match self {
            Self::LoadRandomLazy
            | Self::LoadPresortedLazy
            | Self::LoadSingleLazy
            | Self::LoadSortedLazy
            | Self::LoadSortedAppend => load::run(bench, self),
            Self::Get | Self::GetMany32 | Self::GetTxn | Self::GetTxnRenew => get::run(bench, self),
            Self::Scan => scan::run(bench),
            Self::TxnLazy => transactions::run(bench, self, quick.lazy_transactions),
            Self::TxnDurable => transactions::run(bench, self, quick.durable_transactions),
        }
    }
}

impl fmt::Display for QuickWorkload {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl Serialize for QuickWorkload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl ValueEnum for QuickWorkload {
    fn value_variants<'a>() -> &'a [Self] {
        Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()))
    }
}

/// Runs what `quick` asks for, with databases below `directory`, and says on standard error where it is.
pub(crate) fn run(quick: &Quick, directory: &Path) -> Result<Vec<Measurement>> {
    let data = DataSet::new(usize::try_from(quick.records)?);
    let repeats = usize::try_from(quick.repeat)?;
    let mut bench = Bench::new(data, &quick.engines, repeats, directory);
    let wanted: Vec<QuickWorkload> = QuickWorkload::ALL
        .iter()
        .copied()
        .filter(|work| quick.wants(*work))
        .collect();
    // Reads and transactions go to databases that were loaded record by record.
    let mut is_loaded = wanted.contains(&QuickWorkload::LoadSingleLazy);
    let mut measurements = Vec::new();
    for work in wanted {
        if !work.loads() && !is_loaded {
            eprintln!("loading, not measured");
            load::prepare(&mut bench)?;
            is_loaded = true;
        }
        eprintln!("{work}");
        let done = work
            .run(&mut bench, quick)
            .with_context(|| format!("{work} failed"))?;
        measurements.extend(done);
    }
    for contender in &mut bench.contenders {
        contender.discard()?;
    }
    Ok(measurements)
}

/// One measurement for each contender.
fn collect(
    bench: &Bench,
    work: QuickWorkload,
    operations: usize,
    samples: &[crate::statistics::Samples],
) -> Vec<Measurement> {
    let records = bench.data.keys.len();
    let pairs = bench.contenders.iter().zip(samples);
    pairs
        .filter_map(|(contender, samples)| {
            Measurement::new(work, contender.kind, records, operations, samples)
        })
        .collect()
}
