//! Which works are run, in which parts.

use super::{
    arguments::Compare,
    tasks::LARGE_VALUES,
    work::{Task, Work},
};
use clap::ValueEnum;

/// A task, and how it is cut up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) task: Task,
    /// Operations of a part: few enough that the engines share good and bad moments, many enough that a cold start is lost in them.
    pub(super) part: u64,
    /// Parts of a round.
    pub(super) parts: u64,
}

/// All that is to be run, in order.
pub(super) fn steps(compare: &Compare) -> Vec<Step> {
    let all = Work::value_variants().iter().copied();
    let wanted = all.filter(|work| compare.wants(*work));
    wanted.flat_map(|work| of_work(compare, work)).collect()
}

fn of_work(compare: &Compare, work: Work) -> Vec<Step> {
    let rounds = u64::from(compare.repeat);
    let step = |threads, operations: u64, part: u64| {
        let of_round = (operations / rounds).max(1);
        let part = part.min(of_round);
        Step {
            task: Task { work, threads },
            part,
            parts: of_round.div_ceil(part),
        }
    };
    let whole = |operations| vec![step(1, operations * rounds, u64::MAX)];
    match work {
        Work::LargePut => whole(LARGE_VALUES),
        Work::LargeGet => vec![step(1, 6 * LARGE_VALUES, LARGE_VALUES)],
        Work::LoadSorted | Work::LoadBulk | Work::LoadRandom => whole(compare.records),
        Work::Coins => vec![step(1, compare.coin_blocks, 10)],
        Work::Get | Work::GetMiss | Work::GetZipf | Work::GetMany | Work::GetBegin => {
            vec![step(1, compare.lookups(), 50_000)]
        }
        Work::Scan | Work::ScanBack => vec![step(1, compare.lookups(), compare.records)],
        Work::Range10 => vec![step(1, compare.ranges, 10_000)],
        Work::Range100 => vec![step(1, compare.ranges / 5, 2000)],
        Work::UpdateLazy => vec![step(1, compare.updates, 10_000)],
        Work::UpdateDurable => vec![step(1, compare.durable_updates, 100)],
        Work::CrudDurable => vec![step(1, compare.crud_durable, 250)],
        Work::CrudLazy => vec![step(1, compare.crud_lazy, 10_000)],
        Work::CrudAsync => vec![step(1, compare.crud_async, 50_000)],
        Work::Commits => {
            let steps = compare.threads.iter().map(|&threads| {
                let part = u64::from(threads).max(4) * 64;
                step(threads, compare.commits.max(part * rounds), part)
            });
            steps.collect()
        }
        Work::Mixed => {
            let readers = u64::from(compare.readers);
            vec![step(
                compare.readers,
                compare.lookups() * readers,
                100_000 * readers,
            )]
        }
        Work::Delete => vec![step(1, compare.records / 2, 100_000)],
    }
}
