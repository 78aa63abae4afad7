//! The upper bound of the machine and its disk: threads that only share flushes.
//!
//! A commit here has the parts that no store can avoid: some work that one thread at a time does,
//! some pages of 4 KiB to write, one record for all commits that share a flush, and the flush.
//! There is no tree, no space map, no reader. The thread that begins a flush writes everything that
//! has arrived. Threads that arrive during the flush wait for the next one, which one of them
//! leads.

use crate::{
    arguments::Flushes,
    report::plain_table,
    statistics::{Samples, Spread},
};
use anyhow::{Context, Result, anyhow};
use comfy_table::Table;
use fastrand::Rng;
use serde::Serialize;
use std::{
    fs::File,
    hint,
    os::unix::fs::FileExt,
    path::Path,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread::{self, Thread},
    time::{Duration, Instant},
};

const PAGE_LEN: usize = 4096;
const RECORD_LEN: usize = 1024;
/// Consecutive pages for the records, which are written in turn.
const RECORD_PAGES: u64 = 4;

/// The figures for one number of threads.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct FlushesFigure {
    work: &'static str,
    threads: u32,
    /// The median over the rounds.
    commits_per_second: f64,
    spread: Spread,
    commits_per_flush: f64,
}

/// The file, and its last flushed commit.
struct SharedFile {
    file: File,
    pages: u64,
    /// Held by the thread that does its work.
    turn: Mutex<()>,
    state: Mutex<FlushState>,
    flushed: AtomicU64,
}

#[derive(Default)]
struct FlushState {
    committed: u64,
    is_flushing: bool,
    flushes: u64,
    waiting: Vec<(u64, Thread)>,
}

/// Runs `flushes` with a file in `directory`.
pub(crate) fn run(flushes: &Flushes, directory: &Path) -> Result<Vec<FlushesFigure>> {
    let file = File::create_new(directory.join("flushes"))?;
    let pages = flushes.file_mib * (1 << 20) / PAGE_LEN as u64;
    // One by one, so that the system keeps them as small as an engine's pages.
    for page in 0..pages {
        file.write_all_at(&[1; PAGE_LEN], page * PAGE_LEN as u64)
            .context("cannot write the file")?;
    }
    file.sync_all()?;
    let shared = SharedFile {
        file,
        pages,
        turn: Mutex::default(),
        state: Mutex::default(),
        flushed: AtomicU64::new(0),
    };
    let figure = |&threads| figure(&shared, flushes, threads);
    flushes.threads.iter().map(figure).collect()
}

fn figure(shared: &SharedFile, flushes: &Flushes, threads: u32) -> Result<FlushesFigure> {
    let mut samples = Samples::default();
    let before = shared.lock().flushes;
    for _ in 0..flushes.repeat {
        let begin = Instant::now();
        thread::scope(|scope| {
            let running: Vec<_> = (0..threads)
                .map(|_| scope.spawn(|| shared.commit_each(flushes, flushes.commits / threads)))
                .collect();
            let ended = running.into_iter().map(|thread| {
                let panicked = |_| Err(anyhow!("a thread panicked"));
                thread.join().unwrap_or_else(panicked)
            });
            ended.collect::<Result<()>>()
        })?;
        let commits = f64::from(flushes.commits / threads * threads);
        samples.push(commits / begin.elapsed().as_secs_f64());
    }
    let commits = f64::from(flushes.commits / threads * threads * flushes.repeat);
    let nothing = || anyhow!("there was no round");
    Ok(FlushesFigure {
        work: "flushes",
        threads,
        commits_per_second: samples.median().ok_or_else(nothing)?,
        spread: samples.spread().ok_or_else(nothing)?,
        commits_per_flush: commits / (shared.lock().flushes - before) as f64,
    })
}

impl SharedFile {
    fn lock(&self) -> MutexGuard<'_, FlushState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn commit_each(&self, flushes: &Flushes, commits: u32) -> Result<()> {
        let work = Duration::from_micros(flushes.work_us);
        let mut rng = Rng::new();
        for _ in 0..commits {
            let commit = self.commit(work);
            self.wait(commit, flushes.pages, &mut rng)?;
        }
        Ok(())
    }

    /// Works, and returns the number of the commit.
    fn commit(&self, work: Duration) -> u64 {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let begin = Instant::now();
        while begin.elapsed() < work {
            hint::spin_loop();
        }
        let mut state = self.lock();
        state.committed += 1;
        state.committed
    }

    /// Returns when the commit is flushed.
    fn wait(&self, commit: u64, pages: u32, rng: &mut Rng) -> Result<()> {
        while self.flushed.load(Ordering::Acquire) < commit {
            let mut state = self.lock();
            if !state.is_flushing {
                state.is_flushing = true;
                drop(state);
                self.flush(pages, rng)?;
            } else if self.flushed.load(Ordering::Acquire) < commit {
                state.waiting.push((commit, thread::current()));
                drop(state);
                thread::park();
            }
        }
        Ok(())
    }

    fn flush(&self, pages: u32, rng: &mut Rng) -> Result<()> {
        let (target, flushes) = {
            let state = self.lock();
            (state.committed, state.flushes)
        };
        let commits = target - self.flushed.load(Ordering::Relaxed);
        for _ in 0..commits * u64::from(pages) {
            let page = rng.u64(RECORD_PAGES..self.pages);
            self.file
                .write_all_at(&[2; PAGE_LEN], page * PAGE_LEN as u64)?;
        }
        let record = flushes % RECORD_PAGES * PAGE_LEN as u64;
        self.file.write_all_at(&[3; RECORD_LEN], record)?;
        self.file.sync_data()?;

        let mut state = self.lock();
        state.flushes += 1;
        state.is_flushing = false;
        self.flushed.store(target, Ordering::Release);
        let mut woken: Vec<_> = state
            .waiting
            .extract_if(.., |(commit, _)| *commit <= target)
            .collect();
        if !state.waiting.is_empty() {
            woken.insert(0, state.waiting.swap_remove(0));
        }
        drop(state);
        woken.iter().for_each(|(_, thread)| thread.unpark());
        Ok(())
    }
}

/// A line that describes the run.
pub(crate) fn describe_run(flushes: &Flushes) -> String {
    format!(
        "{} rounds of {} commits: {} us of work, {} pages of {PAGE_LEN} bytes anywhere in {} MiB\n",
        flushes.repeat, flushes.commits, flushes.work_us, flushes.pages, flushes.file_mib
    )
}

/// A line for each number of threads.
pub(crate) fn table(figures: &[FlushesFigure]) -> Table {
    let header = ["threads", "commits/s (min..max)", "commits a flush"];
    let mut table = plain_table(header.map(str::to_owned).to_vec());
    for figure in figures {
        let Spread { min, max } = figure.spread;
        table.add_row([
            figure.threads.to_string(),
            format!("{:.0} ({min:.0}..{max:.0})", figure.commits_per_second),
            format!("{:.1}", figure.commits_per_flush),
        ]);
    }
    table
}
