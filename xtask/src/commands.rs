//! Runs other programs.

use crate::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

/// Runs a program to its end. Returns its standard output. An error has its standard error.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output();
    let output = output.context(format_args!("{program} cannot be started"))?;
    let [printed, errors] = [output.stdout, output.stderr].map(|bytes| {
        let text = String::from_utf8_lossy(&bytes);
        text.trim_end().to_owned()
    });
    let status = output.status;
    ensure!(
        status.success(),
        "{command:?} failed ({status}): {printed}{errors}"
    );
    Ok(printed)
}

/// Runs a program to its end. It prints to the output of this program.
pub(crate) fn run(command: &mut Command) -> Result {
    let status = command.status()?;
    ensure!(status.success(), "{command:?} failed ({status})");
    Ok(())
}

/// Whether a program can be started and understands this argument.
pub(crate) fn is_there(program: &str, argument: &str) -> bool {
    output(Command::new(program).arg(argument)).is_ok()
}

/// Sends a signal to a process that has not been waited for, so that its number cannot have been
/// reused.
pub(crate) fn signal(process: &Child, signal: Signal) -> Result {
    match i32::try_from(process.id()).ok().and_then(Pid::from_raw) {
        Some(id) => Ok(kill_process(id, signal)?),
        None => Ok(()),
    }
}

/// Unmounts a file system. The system may need some time until the last file of a killed program is
/// closed.
pub(crate) fn unmount(mount_point: &Path) -> Result {
    const ATTEMPTS: u32 = 50;
    let mut outcome = Ok(());
    for _ in 0..ATTEMPTS {
        outcome = output(Command::new("umount").arg(mount_point)).map(drop);
        if outcome.is_ok() {
            break;
        }
        thread::sleep(Duration::from_millis(20));
    }
    outcome
}

/// Runs a program of the system with these arguments.
pub(crate) fn call(program: &str, arguments: &[&str]) -> Result {
    output(Command::new(program).args(arguments)).map(drop)
}
