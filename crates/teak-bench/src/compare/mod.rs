//! Compares Teak with other engines, each in a process of its own, on the same work.
//!
//! This process starts one process per engine and lets them take turns. A workload is divided into
//! parts. Only the process whose turn it is runs; all others are stopped with all of their threads.
//! An engine does its background work in its own time, and the system's counts during its turn are
//! its own: processor time, bytes read, bytes and flushes of the device, memory.
//!
//! Each process makes the records from numbers before the clock starts, and knows the expected
//! results of its reads: see [`keys`] and [`model`]. This process checks that all engines found the
//! same in each part.
//!
//! Parts that write end when everything is on the disk and the engine is at rest. The time for this
//! after the last operation is reported separately.

mod arguments;
mod chain;
mod chart;
mod contender;
mod engine;
mod figure;
mod html;
mod keys;
mod limit;
mod message;
mod meter;
mod model;
mod plan;
mod report;
mod tasks;
mod usage;
mod work;

pub(crate) use arguments::{Compare, CompareEngine};
pub(crate) use engine::run_process;
pub(crate) use html::write as write_html;
pub(crate) use report::{Report, describe_run, table};

use crate::{bench::turn_order, data::Digest, environment::available_memory};
use anyhow::{Context, Result, anyhow, bail};
use contender::CompareContender;
use figure::{CompareFigure, CompareTally, EngineFailure};
use limit::ControlGroup;
use memmap2::{Advice, MmapMut};
use message::{PartResult, Setup, TaskPart};
use plan::PlanStep;
use std::path::Path;
use work::{CompareWorkload, Task};

/// Additional memory for processes while they prepare their databases.
const MEMORY_TO_PREPARE: u64 = 256 << 20;

/// A run: the engines that have not failed, and the figures so far.
struct Comparison {
    contenders: Vec<CompareContender>,
    figures: Vec<CompareFigure>,
    failures: Vec<EngineFailure>,
    seed: u64,
    /// The memory limit of each engine, if there is one.
    memory_bytes: Option<u64>,
    /// Memory to touch before a workload that writes.
    touched_bytes: usize,
}

/// Runs `compare` with databases below `directory`. Reports progress on standard error.
pub(crate) fn run(compare: &Compare, directory: &Path) -> Result<Report> {
    let paths = directory.join("paths");
    if compare.keys == keys::KeyKind::Strings {
        keys::gather_paths(&paths)?;
    }
    if compare.keys == keys::KeyKind::NativeIntegers
        && let Some(other) = compare
            .engines
            .iter()
            .find(|rival| !rival.compares_integers())
    {
        bail!(
            "{other} is used with bytes for keys only here; leave it out, or give --keys integers"
        );
    }
    let mut run = Comparison {
        contenders: Vec::new(),
        figures: Vec::new(),
        failures: Vec::new(),
        seed: 0,
        memory_bytes: None,
        touched_bytes: 0,
    };
    for (index, &rival) in compare.engines.iter().enumerate() {
        if compare.engines[..index].contains(&rival) {
            continue;
        }
        let setup = Setup {
            directory: directory.join(rival.to_string()),
            records: compare.records,
            keys: compare.keys,
            value_len: compare.value as usize,
            paths: paths.clone(),
            coins: compare.coins(),
            coin_flush_bytes: compare.coin_flush_mb * 1_000_000,
            cache_bytes: compare
                .memory_bytes(CompareWorkload::Get)
                .map(|bytes| bytes / 2),
            is_cold: compare.memory_parts.is_some(),
        };
        let group = compare
            .memory_parts
            .map(|_| ControlGroup::new(&rival.to_string()));
        let started = CompareContender::start(rival, setup, group.transpose()?);
        let started = started.with_context(|| format!("cannot start {rival}"))?;
        run.contenders.push(started);
    }
    for step in plan::steps(compare) {
        eprintln!("{}", step.task);
        run.memory_bytes = compare.memory_bytes(step.task.work);
        run.touched_bytes = touched_bytes(compare, step.task.work);
        run.run_step(step, compare.repeat as usize)?;
    }
    for contender in run.contenders {
        contender.end()?;
    }
    Ok(Report::new(compare, directory, run.figures, run.failures))
}

impl Comparison {
    fn run_step(&mut self, step: PlanStep, rounds: usize) -> Result<()> {
        let tallies = self.contenders.iter().map(|_| CompareTally::new());
        let mut tallies: Vec<CompareTally> = tallies.collect::<Result<_>>()?;
        for round in 0..rounds {
            let parts = self.round(step, round, &mut tallies);
            compare_digests(step, &parts)?;
        }
        for (contender, tally) in self.contenders.iter().zip(&tallies) {
            self.figures
                .extend(tally.figure(step.task, contender.rival));
        }
        Ok(())
    }

    /// One round of all remaining engines: the parts of each.
    fn round(
        &mut self,
        step: PlanStep,
        round: usize,
        tallies: &mut Vec<CompareTally>,
    ) -> Vec<Vec<PartResult>> {
        let seed = self.seed;
        self.seed += step.parts;
        let part = |index: u64| TaskPart {
            task: step.task,
            seed: (seed + index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15),
            operations: step.part,
        };
        let (count, memory_bytes) = (self.contenders.len(), self.memory_bytes);
        let touches = |index| {
            let work = step.task.work;
            memory_bytes.is_none() && work.writes() && (index == 0 || work.grows_files())
        };
        let touched_bytes = self.touched_bytes;
        // The first part of the first round is not counted: it fills caches and page tables.
        let is_rehearsed = round == 0 && memory_bytes.is_none() && !step.task.work.writes();
        let mut done: Vec<Result<Vec<PartResult>>> = (0..count).map(|_| Ok(Vec::new())).collect();
        let mut turn = |contenders: &mut [CompareContender], engine_index: usize, index: u64| {
            if let Ok(parts) = &mut done[engine_index] {
                let contender = &mut contenders[engine_index];
                let mut result = match index {
                    0 => prepare(contender, step.task, memory_bytes),
                    _ => Ok(()),
                };
                if touches(index) {
                    result = result.and_then(|()| touch_memory(touched_bytes));
                }
                if is_rehearsed && index == 0 {
                    result = result.and_then(|()| contender.work(part(index)).map(drop));
                }
                match result.and_then(|()| contender.work(part(index))) {
                    Ok(part) => parts.push(part),
                    Err(error) => done[engine_index] = Err(error),
                }
            }
        };
        if step.task.work.is_whole() {
            for engine_index in turn_order(count, round) {
                (0..step.parts).for_each(|index| turn(&mut self.contenders, engine_index, index));
            }
        } else {
            for index in 0..step.parts {
                for engine_index in turn_order(count, round + index as usize) {
                    turn(&mut self.contenders, engine_index, index);
                }
            }
        }
        for ((contender, tally), parts) in
            self.contenders.iter_mut().zip(&mut *tallies).zip(&mut done)
        {
            if let Ok(finished) = parts {
                tally.add_round(step.task, finished);
                if step.task.work.writes() {
                    match contender.measure() {
                        Ok(size) => tally.size = Some(size),
                        Err(error) => *parts = Err(error),
                    }
                }
            }
        }
        self.drop_failed(step, done, tallies)
    }

    /// Removes the engines that have failed.
    fn drop_failed(
        &mut self,
        step: PlanStep,
        done: Vec<Result<Vec<PartResult>>>,
        tallies: &mut Vec<CompareTally>,
    ) -> Vec<Vec<PartResult>> {
        let mut left = Vec::new();
        for (index, parts) in done.into_iter().enumerate().rev() {
            match parts {
                Ok(parts) => left.insert(0, parts),
                Err(error) => {
                    let engine = self.contenders.remove(index).rival;
                    tallies.remove(index);
                    eprintln!("{engine} has failed and is out of it: {error:#}");
                    self.failures.push(EngineFailure {
                        work: step.task.to_string(),
                        engine,
                        reason: format!("{error:#}"),
                    });
                }
            }
        }
        left
    }
}

/// Makes the engine prepare its database, and limits its memory from then on.
fn prepare(contender: &mut CompareContender, task: Task, memory_bytes: Option<u64>) -> Result<()> {
    // The memory for the expected results is not known yet.
    if let Some(bytes) = memory_bytes {
        contender.limit(2 * bytes + MEMORY_TO_PREPARE)?;
    }
    contender.prepare(task)?;
    memory_bytes.map_or(Ok(()), |bytes| contender.limit(bytes))
}

/// The size of the largest engine's files, within reason.
fn touched_bytes(compare: &Compare, work: CompareWorkload) -> usize {
    let data_bytes = match work {
        CompareWorkload::LargePut => tasks::LARGE_VALUES << 20,
        CompareWorkload::Coins => compare.coins() * 80,
        _ => compare.records * (u64::from(compare.value) + 16),
    };
    let wanted = match work {
        CompareWorkload::LargePut => 4 * data_bytes,
        _ => (4 * data_bytes).max(3 << 30).min(32 * data_bytes),
    };
    let wanted = wanted.min(6 << 30);
    wanted.min(available_memory() / 4) as usize
}

/// Touches memory that the files will use next. The host may have to provide memory that a virtual
/// machine has not touched for a while, which takes milliseconds per megabyte. Memory available as
/// huge pages is touched as such, because that is what the host takes back.
fn touch_memory(bytes: usize) -> Result<()> {
    let mut memory = MmapMut::map_anon(bytes)?;
    // Not every system has huge pages.
    let _ = memory.advise(Advice::HugePage);
    memory.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
    Ok(())
}

/// Fails unless all engines returned equal results.
fn compare_digests(step: PlanStep, parts: &[Vec<PartResult>]) -> Result<()> {
    let digests = |parts: &Vec<PartResult>| {
        parts
            .iter()
            .map(|done| done.digest)
            .collect::<Vec<Digest>>()
    };
    let mut all = parts.iter().map(digests);
    let first = all.next().ok_or_else(|| anyhow!("no engine is left"))?;
    if all.any(|other| other != first) {
        bail!("the engines do not find the same in {}", step.task);
    }
    Ok(())
}
