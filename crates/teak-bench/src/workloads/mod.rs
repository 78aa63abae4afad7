//! The workloads of `quick`, and the order in which they run.

mod get;
pub(crate) mod load;
mod rounds;
mod scan;
mod transactions;
mod workload;

pub(crate) use workload::QuickWorkload;

use crate::{arguments::Quick, bench::Bench, data::DataSet, measurement::Measurement};
use anyhow::{Context, Result};
use std::path::Path;

/// Runs the workloads that `quick` asks for, with databases below `directory`. Reports progress on
/// standard error.
pub(crate) fn run(quick: &Quick, directory: &Path) -> Result<Vec<Measurement>> {
    let data = DataSet::new(usize::try_from(quick.records)?);
    let repeats = usize::try_from(quick.repeat)?;
    let mut bench = Bench::new(data, &quick.engines, repeats, directory);
    let wanted: Vec<QuickWorkload> = QuickWorkload::ALL
        .iter()
        .copied()
        .filter(|work| quick.wants(*work))
        .collect();
    // Reads and transactions use databases that were loaded record by record.
    let mut is_loaded = wanted.contains(&QuickWorkload::LoadSingleLazy);
    let mut measurements = Vec::new();
    for work in wanted {
        if !work.loads() && !is_loaded {
            eprintln!("loading, not measured");
            load::prepare(&mut bench)?;
            is_loaded = true;
        }
        eprintln!("{work}");
        let done = run_work(work, &mut bench, quick);
        measurements.extend(done.with_context(|| format!("{work} failed"))?);
    }
    for contender in &mut bench.contenders {
        contender.discard()?;
    }
    Ok(measurements)
}

fn run_work(work: QuickWorkload, bench: &mut Bench, quick: &Quick) -> Result<Vec<Measurement>> {
    match work {
        QuickWorkload::LoadRandomLazy
        | QuickWorkload::LoadPresortedLazy
        | QuickWorkload::LoadSingleLazy
        | QuickWorkload::LoadSortedLazy
        | QuickWorkload::LoadSortedAppend => load::run(bench, work),
        QuickWorkload::Get
        | QuickWorkload::GetMany32
        | QuickWorkload::GetTxn
        | QuickWorkload::GetTxnRenew => get::run(bench, work),
        QuickWorkload::Scan => scan::run(bench),
        QuickWorkload::TxnLazy => transactions::run(bench, work, quick.lazy_transactions),
        QuickWorkload::TxnDurable => transactions::run(bench, work, quick.durable_transactions),
    }
}
