//! The program `teak` while it loads records.

use crate::{
    Result,
    campaign::child::{ChildProgram, wait_until},
};
use std::{
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

/// The result of a load.
pub(super) struct LoadOutcome {
    /// Records of the commits that the program acknowledged.
    pub(super) acknowledged: usize,
    pub(super) duration: Duration,
    /// Whether the load was interrupted.
    pub(super) was_killed: bool,
}

/// Loads `input` into the database at `path`, and kills the program after `delay`.
pub(super) fn load(
    program: &Path,
    [input, path]: [&Path; 2],
    batch: usize,
    delay: Option<Duration>,
) -> Result<LoadOutcome> {
    let begin = Instant::now();
    let mut command = Command::new(program);
    command.arg("load").args([input, path]);
    command.args(["--batch", &batch.to_string(), "--acknowledge"]);
    let child = ChildProgram::spawn(&mut command)?;
    let ended = match delay {
        Some(delay) => {
            wait_until(begin + delay);
            child.kill()?
        }
        None => child.wait()?,
    };
    let duration = begin.elapsed();
    // Without a code, a signal ended the program.
    let was_killed = ended.status.code().is_none() && delay.is_some();
    ensure!(
        ended.status.success() || was_killed,
        "{} failed without a kill ({}): {}",
        program.display(),
        ended.status,
        ended.errors
    );
    Ok(LoadOutcome {
        acknowledged: acknowledged(&ended.output)?,
        duration,
        was_killed,
    })
}

/// The records of the last complete line `committed TRANSACTION RECORDS`, which counts all so far.
pub(super) fn acknowledged(output: &str) -> Result<usize> {
    let whole = output.rfind('\n').map_or("", |end| &output[..end]);
    let Some(line) = whole.lines().rfind(|line| line.starts_with("committed ")) else {
        return Ok(0);
    };
    match line.split(' ').collect::<Vec<_>>().as_slice() {
        ["committed", _, records] => Ok(records.parse()?),
        _ => Err(failure!("not an acknowledgement: {line}")),
    }
}
