//! The work of each process.

use super::{
    COUNTER_KEY, count_of, counter_record,
    message::{HandoverAnswer, ProcessShare, StartTime},
};
use crate::{
    arguments::{CommitOrdering, HandoverProcess},
    children,
    data::{DataSet, Key, RECORD_LEN, Record},
    engines::{Durability, Engine, Insertion, OpenSettings},
    latencies::Latencies,
};
use anyhow::{Context, Result, ensure};
use fastrand::Rng;
use std::{
    iter, thread,
    time::{Duration, Instant},
};

const SEED: u64 = 0x7475_726e;

/// Does `task`, and reports its part on standard output.
pub(crate) fn run_process(task: &HandoverProcess) -> Result<()> {
    children::answer(&match open_and_commit(task) {
        Ok(share) => HandoverAnswer::Done(share),
        Err(error) => HandoverAnswer::Failed(format!("{error:#}")),
    })
}

fn open_and_commit(task: &HandoverProcess) -> Result<ProcessShare> {
    let opening = OpenSettings::usual(Durability::Lazy, task.records * RECORD_LEN as u64);
    let mut own = OwnRecords::new(task)?;
    let mut engine = task.engine.open(&task.directory, &opening)?;
    children::answer(&HandoverAnswer::Ready)?;
    let begin = wait_for_begin()?;
    let slice = Duration::from_millis(task.slice_ms);
    let share = match task.turns {
        CommitOrdering::Free => {
            own.version = begin.micros;
            let share = commit_freely(engine.as_ref(), &mut own, slice)?;
            own.check(engine.as_mut())?;
            share
        }
        CommitOrdering::Strict => commit_strictly(task, engine.as_mut(), slice)?,
    };
    engine.close()?;
    Ok(share)
}

/// Waits for the message with the start time, and then until that time.
fn wait_for_begin() -> Result<StartTime> {
    let begin: StartTime = children::next_order()?.context("got no time to begin at")?;
    thread::sleep(begin.remaining());
    Ok(begin)
}

/// Commits whenever the engine lets it.
fn commit_freely(
    engine: &dyn Engine,
    own: &mut OwnRecords,
    slice: Duration,
) -> Result<ProcessShare> {
    let mut waits = Latencies::new()?;
    let begin = Instant::now();
    let mut records = iter::from_fn(|| (begin.elapsed() < slice).then(|| own.next_record()));
    engine
        .committer()
        .commit_in_turn(&mut records, &mut waits)?;
    Ok(share(begin, &waits))
}

/// Commits each time that the counter says it is this process's turn.
fn commit_strictly(
    task: &HandoverProcess,
    engine: &mut dyn Engine,
    slice: Duration,
) -> Result<ProcessShare> {
    let mut waits = Latencies::new()?;
    let (begin, mut since) = (Instant::now(), Instant::now());
    let mut expected = None;
    let is_over = || begin.elapsed() >= slice;
    while let Some(count) = wait_for_turn(task, engine, is_over)? {
        waits.note(since.elapsed());
        ensure!(
            expected.is_none_or(|expected| expected == count),
            "the counter is {count} instead of {expected:?}: a commit was lost"
        );
        engine.write(&[counter_record(count + 1)], Insertion::Single)?;
        since = Instant::now();
        expected = Some(count + u64::from(task.processes));
    }
    Ok(share(begin, &waits))
}

/// Waits for this process's turn and returns the counter; `None` if the time runs out before.
fn wait_for_turn(
    task: &HandoverProcess,
    engine: &mut dyn Engine,
    is_over: impl Fn() -> bool,
) -> Result<Option<u64>> {
    while !is_over() {
        let value = engine.value(&COUNTER_KEY)?;
        let count = count_of(&value.context("the counter is gone")?)?;
        if count % u64::from(task.processes) == u64::from(task.number) {
            return Ok(Some(count));
        }
        thread::yield_now();
    }
    Ok(None)
}

/// This process's part, from the wait of each commit.
fn share(begin: Instant, waits: &Latencies) -> ProcessShare {
    ProcessShare {
        commits: waits.count(),
        seconds: begin.elapsed().as_secs_f64(),
        wait_max_ns: waits.percentile_ns(100.0),
    }
}

/// The records that one process changes, and no other.
struct OwnRecords {
    keys: Vec<Key>,
    /// The last version of each key.
    versions: Vec<Option<u64>>,
    rng: Rng,
    /// The next version. Slices do not share versions, because each begins at its own time.
    version: u64,
}

impl OwnRecords {
    fn new(task: &HandoverProcess) -> Result<Self> {
        let data = DataSet::new(usize::try_from(task.records)?);
        let (number, processes) = (task.number as usize, task.processes as usize);
        let own = data.keys.iter().skip(number).step_by(processes);
        let keys: Vec<Key> = own.copied().collect();
        ensure!(!keys.is_empty(), "there are more processes than records");
        Ok(Self {
            versions: vec![None; keys.len()],
            keys,
            rng: Rng::with_seed(SEED + u64::from(task.number)),
            version: 0,
        })
    }

    /// A new value for any of the keys.
    fn next_record(&mut self) -> Record {
        let index = self.rng.usize(..self.keys.len());
        self.versions[index] = Some(self.version);
        let record = Record::new(self.keys[index], self.version);
        self.version += 1;
        record
    }

    /// Compares the stored values with the committed ones.
    fn check(&self, engine: &mut dyn Engine) -> Result<()> {
        for (key, version) in self.keys.iter().zip(&self.versions) {
            let Some(version) = version else {
                continue;
            };
            ensure!(
                engine.value(key)?.as_deref() == Some(&Record::new(*key, *version).value[..]),
                "key {key:02x?} does not have the value that was committed last"
            );
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "work_tests.rs"]
mod tests;
