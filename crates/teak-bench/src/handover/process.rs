//! The processes that commit, from the side of the process that started them.

use super::message::{HandoverAnswer, ProcessShare, StartTime};
use crate::{arguments::HandoverProcess, children::ChildProcess};
use anyhow::{Result, bail};
use std::time::Duration;

/// The time from the message to the start: enough for every process to receive it.
const LEAD: Duration = Duration::from_millis(20);
/// The time that a process may take beyond its slice, to open and close the database, before it
/// counts as hanging.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs each task in a process of its own, all at the same time.
pub(super) fn run_together(tasks: &[HandoverProcess]) -> Result<Vec<ProcessShare>> {
    let started = tasks
        .iter()
        .map(|task| ChildProcess::start(task.to_command_line()));
    let mut processes: Vec<ChildProcess<HandoverAnswer>> = started.collect::<Result<_>>()?;
    for process in &mut processes {
        match answer(process, PATIENCE)? {
            HandoverAnswer::Ready => {}
            answer => bail!("expected to hear that it is ready, and heard {answer:?}"),
        }
    }
    let begin = StartTime::in_time(LEAD);
    for process in &mut processes {
        process.send(&begin)?;
    }
    let slice = tasks.iter().map(|task| task.slice_ms).max();
    let patience = PATIENCE + LEAD + Duration::from_millis(slice.unwrap_or_default());
    let shares = processes
        .iter_mut()
        .map(|process| match answer(process, patience)? {
            HandoverAnswer::Done(share) => Ok(share),
            answer => bail!("expected to hear of its commits, and heard {answer:?}"),
        });
    let shares = shares.collect::<Result<Vec<ProcessShare>>>()?;
    processes.into_iter().try_for_each(ChildProcess::wait)?;
    Ok(shares)
}

/// The next answer of a process, or an error if the process reports a failure.
fn answer(
    process: &mut ChildProcess<HandoverAnswer>,
    patience: Duration,
) -> Result<HandoverAnswer> {
    match process.answer(patience)? {
        HandoverAnswer::Failed(text) => bail!(text),
        answer => Ok(answer),
    }
}
