//! The workloads of a run, and their parts.

use super::{
    arguments::Compare,
    tasks::LARGE_VALUES,
    work::{CompareWorkload, Task},
};
use clap::ValueEnum;

/// A task and its parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlanStep {
    pub(super) task: Task,
    /// Operations of a part: few enough that all engines share fast and slow phases of the machine,
    /// many enough that a cold start is negligible.
    pub(super) part: u64,
    /// Parts of a round.
    pub(super) parts: u64,
}

/// All steps, in order.
pub(super) fn steps(compare: &Compare) -> Vec<PlanStep> {
    let all = CompareWorkload::value_variants().iter().copied();
    let wanted = all.filter(|work| compare.wants(*work));
    wanted.flat_map(|work| of_work(compare, work)).collect()
}

fn of_work(compare: &Compare, work: CompareWorkload) -> Vec<PlanStep> {
    let rounds = u64::from(compare.repeat);
    let step = |threads, operations: u64, part: u64| {
        let of_round = (operations / rounds).max(1);
        let part = part.min(of_round);
        PlanStep {
            task: Task { work, threads },
            part,
            parts: of_round.div_ceil(part),
        }
    };
    let whole = |operations| vec![step(1, operations * rounds, u64::MAX)];
    match work {
        CompareWorkload::LargePut => whole(LARGE_VALUES),
        CompareWorkload::LargeGet => vec![step(1, 6 * LARGE_VALUES, LARGE_VALUES)],
        CompareWorkload::LoadSorted | CompareWorkload::LoadBulk | CompareWorkload::LoadRandom => {
            whole(compare.records)
        }
        CompareWorkload::Coins => vec![step(1, compare.coin_blocks, 10)],
        CompareWorkload::Get
        | CompareWorkload::GetMiss
        | CompareWorkload::GetZipf
        | CompareWorkload::GetMany
        | CompareWorkload::GetBegin => {
            vec![step(1, compare.lookups(), 50_000)]
        }
        CompareWorkload::Scan | CompareWorkload::ScanBack => {
            vec![step(1, compare.lookups(), compare.records)]
        }
        CompareWorkload::Range10 => vec![step(1, compare.ranges, 10_000)],
        CompareWorkload::Range100 => vec![step(1, compare.ranges / 5, 2000)],
        CompareWorkload::UpdateLazy => vec![step(1, compare.updates, 10_000)],
        CompareWorkload::UpdateBatches => vec![step(1, compare.batch_updates, 100_000)],
        CompareWorkload::UpdateDurable => vec![step(1, compare.durable_updates, 100)],
        CompareWorkload::CrudDurable => vec![step(1, compare.crud_durable, 250)],
        CompareWorkload::CrudLazy => vec![step(1, compare.crud_lazy, 10_000)],
        CompareWorkload::CrudAsync => vec![step(1, compare.crud_async, 50_000)],
        CompareWorkload::Commits => {
            let steps = compare.threads.iter().map(|&threads| {
                let part = u64::from(threads).max(4) * 64;
                step(threads, compare.commits.max(part * rounds), part)
            });
            steps.collect()
        }
        CompareWorkload::Mixed => {
            let readers = u64::from(compare.readers);
            vec![step(
                compare.readers,
                compare.lookups() * readers,
                100_000 * readers,
            )]
        }
        CompareWorkload::Delete => vec![step(1, compare.records / 2, 100_000)],
    }
}
