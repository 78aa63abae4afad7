//! The program `teak`, while it loads records.

use crate::Failure;
use std::{
    io::Read,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// The program `teak`.
pub(super) struct Loader {
    program: PathBuf,
}

/// How a load went.
pub(super) struct LoadRun {
    /// Records of the commits that the program said were done.
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
    ) -> Result<LoadRun, Failure> {
        let begin = Instant::now();
        let mut child = Command::new(&self.program)
            .arg("load")
            .args([input, path])
            .args(["--batch", &batch.to_string(), "--acknowledge"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let output = thread::spawn(move || read_text(stdout));
        let errors = thread::spawn(move || read_text(stderr));
        if let Some(delay) = delay {
            wait_until(begin + delay);
            child.kill()?;
        }
        let status = child.wait()?;
        let duration = begin.elapsed();
        let [output, errors] = [output, errors].map(|thread| thread.join().unwrap_or_default());
        // No code means that a signal ended it.
        let was_killed = status.code().is_none() && delay.is_some();
        if !status.success() && !was_killed {
            return Err(Failure(format!(
                "{} failed by itself ({status}): {errors}",
                self.program.display()
            )));
        }
        Ok(LoadRun {
            acknowledged: acknowledged(&output)?,
            duration,
            was_killed,
        })
    }
}

/// Sleeps for the most part, and is exact about the end.
pub(crate) fn wait_until(end: Instant) {
    const EXACT: Duration = Duration::from_micros(200);
    let rest = end.saturating_duration_since(Instant::now());
    thread::sleep(rest.saturating_sub(EXACT));
    while Instant::now() < end {
        std::hint::spin_loop();
    }
}

fn read_text(source: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut source) = source {
        // What was read before an error still counts.
        let _ = source.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
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
