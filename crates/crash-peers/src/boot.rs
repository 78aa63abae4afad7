//! A new boot id for each process: libmdbx trusts unflushed data as long as the boot id is
//! unchanged, and reads that only from a file of the kernel.
//!
//! In a mount namespace, another file of the kernel is mounted over the boot id. It has a new id
//! each time it is read.

use anyhow::{Context, Result, bail, ensure};
use std::{
    env, fs,
    process::{Command, ExitStatus, Stdio},
};

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
const FRESH_ID: &str = "/proc/sys/kernel/random/uuid";

/// The command that starts a program in a mount namespace.
const UNSHARE: [&str; 4] = ["unshare", "--mount", "--propagation", "private"];

/// Whether a program can be started in a mount namespace.
pub(crate) fn can_unshare() -> bool {
    let status = Command::new(UNSHARE[0])
        .args(&UNSHARE[1..])
        .arg("true")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

/// Runs this program again in a mount namespace.
pub(crate) fn run_inside() -> Result<ExitStatus> {
    Ok(Command::new(UNSHARE[0])
        .args(&UNSHARE[1..])
        .arg(env::current_exe()?)
        .args(env::args_os().skip(1))
        .arg("--inside")
        .status()?)
}

/// From here on each started process sees its own boot id.
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
        "the boot id did not change"
    );
    Ok(())
}
