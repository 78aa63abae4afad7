//! The boot id that the engine reads, another one after each cut.

use super::commands::{call, text};
use crate::Failure;
use std::{
    fs,
    path::{Path, PathBuf},
};

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// A file that replaces the system's boot id, for this program and those it starts.
pub(super) struct BootIdFile {
    file: PathBuf,
}

impl BootIdFile {
    pub(super) fn begin(directory: &Path) -> Result<Self, Failure> {
        let boot = Self {
            file: directory.join("boot_id"),
        };
        boot.renew()?;
        call("mount", &["--bind", text(&boot.file), BOOT_ID])?;
        let before = fs::read_to_string(BOOT_ID)?;
        boot.renew()?;
        if before == fs::read_to_string(BOOT_ID)? {
            return Err(Failure("it stays the same".to_owned()));
        }
        Ok(boot)
    }

    /// The machine has been started again.
    pub(super) fn renew(&self) -> Result<(), Failure> {
        let id = fs::read_to_string("/proc/sys/kernel/random/uuid")?;
        Ok(fs::write(&self.file, id)?)
    }
}

impl Drop for BootIdFile {
    fn drop(&mut self) {
        // Without it the mount goes with the program.
        let _ = call("umount", &[BOOT_ID]);
    }
}
