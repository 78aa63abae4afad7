//! Groups of processes with a memory limit of the system: Linux's control groups, of the first and
//! the second version.
//!
//! The page cache of a file counts for the group whose process loaded it. An engine's process makes
//! and reads its files itself, so that all of them count for its own group.

use anyhow::{Context, Result, bail};
use std::{
    fs,
    path::{Path, PathBuf},
    process,
};

const ROOT: &str = "/sys/fs/cgroup";

/// A group. It is removed when this is dropped, after its processes have ended.
pub(super) struct ControlGroup {
    directory: PathBuf,
    version: ControlGroupVersion,
}

#[derive(Clone, Copy)]
enum ControlGroupVersion {
    First,
    Second,
}

impl ControlGroup {
    /// An empty group without a limit.
    pub(super) fn new(name: &str) -> Result<Self> {
        let (parent, version) = parent()?;
        let directory = parent.join(format!("teak-bench-{}-{name}", process::id()));
        fs::create_dir(&directory)
            .with_context(|| format!("cannot make the control group {}", directory.display()))?;
        let group = Self { directory, version };
        // Without swap, memory can only be written back to files.
        if let ControlGroupVersion::Second = version {
            let _ = fs::write(group.directory.join("memory.swap.max"), "0");
        }
        Ok(group)
    }

    /// Adds a process.
    pub(super) fn add(&self, process: u32) -> Result<()> {
        self.write("cgroup.procs", &process.to_string())
    }

    /// Limits the memory of its processes to `bytes`.
    pub(super) fn limit(&self, bytes: u64) -> Result<()> {
        let name = match self.version {
            ControlGroupVersion::First => "memory.limit_in_bytes",
            ControlGroupVersion::Second => "memory.max",
        };
        self.write(name, &bytes.to_string())
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.directory.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {text} to {}", path.display()))
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir(&self.directory) {
            eprintln!("cannot remove {}: {error}", self.directory.display());
        }
    }
}

/// The directory for groups that limit memory.
fn parent() -> Result<(PathBuf, ControlGroupVersion)> {
    let first = Path::new(ROOT).join("memory");
    if first.join("memory.limit_in_bytes").exists() {
        return Ok((first, ControlGroupVersion::First));
    }
    let second = PathBuf::from(ROOT);
    let controllers = fs::read_to_string(second.join("cgroup.controllers")).unwrap_or_default();
    if controllers.split_whitespace().any(|name| name == "memory") {
        // Fails if it is set already and must not be changed, which is fine.
        let _ = fs::write(second.join("cgroup.subtree_control"), "+memory");
        return Ok((second, ControlGroupVersion::Second));
    }
    bail!("there is no control group that limits memory below {ROOT}")
}
