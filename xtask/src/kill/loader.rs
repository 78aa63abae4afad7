//! The program `teak`, while it loads records.

use crate::{
    Failure,
    campaign::child::{ChildProgram, wait_until},
};
use std::{
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

/// The program `teak`.
pub(super) struct Loader {
    program: PathBuf,
}

/// How a load went.
pub(super) struct LoadOutcome {
    /// Records of the commits that the program acknowledged.
    pub(super) acknowledged: usize,
    pub(super) duration: Duration,
    /// Whether it was cut short.
    pub(super) was_killed: bool,
}

impl Loader {
    pub(super) fn new(program: PathBuf) -> Self {
        Self { program }
    }

    /// Loads `input` into the database at `path`, and kills the program after `delay`.
    pub(super) fn load(
        &self,
        input: &Path,
        path: &Path,
        batch: usize,
        delay: Option<Duration>,
    ) -> Result<LoadOutcome, Failure> {
        let begin = Instant::now();
        let mut command = Command::new(&self.program);
        command.arg("load").args([input, path]).args([
            "--batch",
            &batch.to_string(),
            "--acknowledge",
        ]);
        let child = ChildProgram::spawn(&mut command)?;
        let ended = match delay {
            Some(delay) => {
                wait_until(begin + delay);
                child.kill()?
            }
            None => child.wait()?,
        };
        let duration = begin.elapsed();
        // No code means that a signal ended it.
        let was_killed = ended.status.code().is_none() && delay.is_some();
        if !ended.status.success() && !was_killed {
            return Err(Failure(format!(
                "{} failed by itself ({}): {}",
                self.program.display(),
                ended.status,
                ended.errors
            )));
        }
        Ok(LoadOutcome {
            acknowledged: acknowledged(&ended.output)?,
            duration,
            was_killed,
        })
    }
}

/// The records of the last whole line `committed TRANSACTION RECORDS`, which counts all so far.
pub(super) fn acknowledged(output: &str) -> Result<usize, Failure> {
    let whole = output.rfind('\n').map_or("", |end| &output[..end]);
    let Some(line) = whole.lines().rfind(|line| line.starts_with("committed ")) else {
        return Ok(0);
    };
    match line.split(' ').collect::<Vec<_>>().as_slice() {
        ["committed", _, records] => Ok(records.parse()?),
        _ => Err(Failure(format!("not an acknowledgement: {line}"))),
    }
}
