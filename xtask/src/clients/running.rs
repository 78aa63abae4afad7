//! Programs that run within a time limit.

use crate::Result;
use rustix::process::{Pid, Signal, kill_process_group};
use std::{
    env,
    fs::{self, File},
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

/// The interval between checks whether a program has ended.
const STEP: Duration = Duration::from_millis(20);

/// The result of a program; `None` if it exceeded its time and was killed with its children.
pub(crate) type ProgramEnd = Option<ExitStatus>;

/// The first of these programs that is not installed.
pub(crate) fn missing_tool<'t>(tools: &[&'t str]) -> Option<&'t str> {
    let path = env::var_os("PATH").unwrap_or_default();
    let is_installed = |tool: &str| env::split_paths(&path).any(|in_it| in_it.join(tool).is_file());
    tools.iter().find(|tool| !is_installed(tool)).copied()
}

/// Runs a program with its output going to `log`. Returns the output, too.
pub(crate) fn run(
    command: &mut Command,
    log: &Path,
    limit: Duration,
) -> Result<(ProgramEnd, String)> {
    let out = File::create(log)?;
    let mut child = command
        .process_group(0)
        .stdin(Stdio::null())
        .stderr(out.try_clone()?)
        .stdout(out)
        .spawn()?;
    let begin = Instant::now();
    let ended = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if begin.elapsed() > limit {
            if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
                kill_process_group(group, Signal::KILL)?;
            }
            child.wait()?;
            break None;
        }
        thread::sleep(STEP);
    };
    let printed = fs::read(log)?;
    Ok((ended, String::from_utf8_lossy(&printed).into_owned()))
}

/// Runs a program that has to succeed.
pub(crate) fn succeed(command: &mut Command, log: &Path, limit: Duration) -> Result {
    let program = command.get_program().to_string_lossy().into_owned();
    match run(command, log, limit)?.0 {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(failure!(
            "{program} has failed ({status}): see {}",
            log.display()
        )),
        None => Err(failure!(
            "{program} had not ended after {} s: see {}",
            limit.as_secs(),
            log.display()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::{missing_tool, run, succeed};
    use std::{process::Command, time::Duration};

    #[test]
    fn a_program_that_is_not_installed_is_found() {
        assert_eq!(missing_tool(&["sh"]), None);
        assert_eq!(missing_tool(&["sh", "no-such-tool"]), Some("no-such-tool"));
    }

    #[test]
    fn printed_text_is_returned() {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("log");
        let mut command = Command::new("sh");
        command.args(["-c", "echo out; echo err >&2"]);
        let (ended, printed) = run(&mut command, &log, Duration::from_secs(60)).unwrap();
        assert!(ended.unwrap().success());
        assert_eq!(printed, "out\nerr\n");
    }

    #[test]
    fn a_program_that_does_not_end_is_killed() {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("log");
        let mut command = Command::new("sleep");
        command.arg("1000");
        let message = succeed(&mut command, &log, Duration::ZERO).unwrap_err().0;
        assert!(message.contains("had not ended"), "{message}");
    }
}
