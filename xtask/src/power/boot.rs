//! The boot id that the engine reads. It changes after each cut.

use crate::{Result, commands::call};
use std::{
    fs,
    path::{Path, PathBuf},
};

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// A file that replaces the system's boot id for this program and its children.
pub(super) struct BootIdFile {
    file: PathBuf,
}

impl BootIdFile {
    pub(super) fn begin(directory: &Path) -> Result<Self> {
        let boot = Self {
            file: directory.join("boot_id"),
        };
        boot.renew()?;
        call("mount", &["--bind", &boot.file.to_string_lossy(), BOOT_ID])?;
        let before = fs::read_to_string(BOOT_ID)?;
        boot.renew()?;
        ensure!(
            before != fs::read_to_string(BOOT_ID)?,
            "the boot id did not change"
        );
        Ok(boot)
    }

    /// Simulates a restart of the machine.
    pub(super) fn renew(&self) -> Result {
        let id = fs::read_to_string("/proc/sys/kernel/random/uuid")?;
        Ok(fs::write(&self.file, id)?)
    }
}

impl Drop for BootIdFile {
    fn drop(&mut self) {
        // If this fails, the mount disappears with the mount namespace of the program.
        let _ = call("umount", &[BOOT_ID]);
    }
}
