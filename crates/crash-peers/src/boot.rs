//! A machine that seems to have been started again for each process: libmdbx trusts what was not
//! synced as long as the boot id is the same, and takes it from a file of the kernel's only.
//!
//! In a mount namespace of this program's own the boot id is covered by another file of the kernel's,
//! which has a new id each time it is read.

use anyhow::{Context, Result, bail, ensure};
use std::{
    env, fs,
    process::{Command, ExitStatus, Stdio},
};

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
const FRESH_ID: &str = "/proc/sys/kernel/random/uuid";

/// What starts a program with mounts of its own.
const UNSHARE: [&str; 4] = ["unshare", "--mount", "--propagation", "private"];

/// Whether a program can be started with mounts of its own.
pub(crate) fn can_unshare() -> bool {
    let status = Command::new(UNSHARE[0])
        .args(&UNSHARE[1..])
        .arg("true")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

/// Runs this program once more, with mounts of its own.
pub(crate) fn run_inside() -> Result<ExitStatus> {
    Ok(Command::new(UNSHARE[0])
        .args(&UNSHARE[1..])
        .arg(env::current_exe()?)
        .args(env::args_os().skip(1))
        .arg("--inside")
        .status()?)
}

/// From here on each process started sees a boot id of its own.
pub(crate) fn cover() -> Result<()> {
    let output = Command::new("mount")
        .args(["--bind", FRESH_ID, BOOT_ID])
        .output()
        .context("mount cannot be started")?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
    }
    ensure!(
        fs::read(BOOT_ID)? != fs::read(BOOT_ID)?,
        "the boot id stays the same"
    );
    Ok(())
}
