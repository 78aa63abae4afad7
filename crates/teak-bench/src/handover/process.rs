//! The processes that commit, as the one sees them that has started them.

use super::message::{Answer, Begin, Share};
use crate::{arguments::HandoverProcess, children::Process};
use anyhow::{Result, bail};
use std::time::Duration;

/// Between the word to begin and the beginning: enough that every process has heard it.
const LEAD: Duration = Duration::from_millis(20);
/// How much longer than its slice a process may take, to open and to close the database, before it counts as hanging.
const PATIENCE: Duration = Duration::from_secs(60);

/// Has each task done by a process of its own, all at the same time.
pub(super) fn run_together(tasks: &[HandoverProcess]) -> Result<Vec<Share>> {
    let started = tasks
        .iter()
        .map(|task| Process::start(task.to_command_line()));
    let mut processes: Vec<Process<Answer>> = started.collect::<Result<_>>()?;
    for process in &mut processes {
        match answer(process, PATIENCE)? {
            Answer::Ready => {}
            answer => bail!("expected to hear that it is ready, and heard {answer:?}"),
        }
    }
    let begin = Begin::in_time(LEAD);
    for process in &mut processes {
        process.tell(&begin)?;
    }
    let slice = tasks.iter().map(|task| task.slice_ms).max();
    let patience = PATIENCE + LEAD + Duration::from_millis(slice.unwrap_or_default());
    let shares = processes
        .iter_mut()
        .map(|process| match answer(process, patience)? {
            Answer::Done(share) => Ok(share),
            answer => bail!("expected to hear of its commits, and heard {answer:?}"),
        });
    let shares = shares.collect::<Result<Vec<Share>>>()?;
    processes.into_iter().try_for_each(Process::wait)?;
    Ok(shares)
}

/// The next answer of a process; an error if that is that it failed.
fn answer(process: &mut Process<Answer>, patience: Duration) -> Result<Answer> {
    match process.answer(patience)? {
        Answer::Failed(text) => bail!(text),
        answer => Ok(answer),
    }
}
