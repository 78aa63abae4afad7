//! One of the programs that work on the database: `cargo xtask storm-worker`.
//!
//! It reports a violation on its standard error, and ends. It also ends when its standard input is
//! closed.

use super::{
    arguments::Role,
    context::WorkerContext,
    inspect,
    progress::{self, ProgressReporter},
    work::WorkerThread,
};
use crate::{Failure, Result};
use fastrand::Rng;
use std::{
    io::{self, Read, Write},
    panic::{AssertUnwindSafe, catch_unwind},
    process, thread,
};

pub(crate) use super::arguments::WorkerArguments;

/// Works, or inspects.
pub(crate) fn run(arguments: &WorkerArguments) -> Result {
    end_with_parent()?;
    let progress = progress::path(&arguments.directory, arguments.number);
    let mut reporter = ProgressReporter::open(&progress, 0)?;
    if arguments.role != Role::Work {
        return inspect::run(arguments, &mut reporter);
    }
    let mut rng = Rng::with_seed(arguments.seed);
    let thread_count = [1, 1, 2, 4][rng.usize(0..4)];
    let mut reporters = vec![reporter];
    for index in 1..thread_count {
        let mut reporter = ProgressReporter::open(&progress, index)?;
        reporter.begin("starting")?;
        reporters.push(reporter);
    }
    reporters[0].begin("opening")?;
    let worker = WorkerContext::open(arguments, &mut rng)?;
    run_threads(&worker, reporters, &mut rng);
    let database = worker.database.into_inner()?;
    match database {
        Some(opened) if rng.bool() => Ok(opened.database.close()?),
        _ => Ok(()),
    }
}

/// Has this process killed when its parent ends. Elsewhere the end of the standard input ends it.
#[cfg(target_os = "linux")]
fn end_with_parent() -> Result {
    let signal = rustix::process::Signal::KILL;
    Ok(rustix::process::set_parent_process_death_signal(Some(
        signal,
    ))?)
}

#[cfg(not(target_os = "linux"))]
fn end_with_parent() -> Result {
    Ok(())
}

/// Runs a thread for each reporter until the parent closes the standard input.
fn run_threads(worker: &WorkerContext<'_>, reporters: Vec<ProgressReporter>, rng: &mut Rng) {
    thread::scope(|scope| {
        for (index, reporter) in reporters.into_iter().enumerate() {
            let thread = WorkerThread::new(worker, index, reporter, rng.fork());
            scope.spawn(move || watched(index, thread));
        }
        // Any end of the input ends the worker.
        let _ = io::stdin().read_to_end(&mut Vec::new());
        worker.end();
    });
}

/// One violation ends the worker.
fn watched(index: usize, mut thread: WorkerThread<'_, '_>) {
    // A panic has been printed.
    let outcome = catch_unwind(AssertUnwindSafe(|| thread.run()));
    match outcome {
        Ok(Ok(())) => {}
        Ok(Err(Failure(text))) => {
            // Written by one call, so that a kill leaves all of it or nothing.
            let line = format!("thread {index}: {text}\n");
            let _ = io::stderr().write_all(line.as_bytes());
            process::exit(1);
        }
        Err(_) => process::exit(2),
    }
}
