//! The system's counts for this process. Available on Linux; zero elsewhere.

use anyhow::Result;
use rustix::fs::{Advice, fadvise};
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File},
    path::Path,
};

/// The bytes that a process has read and written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Traffic {
    /// Bytes read from the disk, including read-ahead and mapped memory.
    read_bytes: u64,
    /// Bytes of pages that were or will be written to the disk.
    written_bytes: u64,
    /// Bytes that were returned by calls that read.
    read_by_calls_bytes: u64,
    /// Bytes that were given to calls that write.
    written_by_calls_bytes: u64,
}

impl Traffic {
    /// The counts since the process began; zeros if unavailable.
    pub(crate) fn now() -> Self {
        let text = fs::read_to_string("/proc/self/io").unwrap_or_default();
        let field = |name| number_of(&text, name).unwrap_or_default();
        Self {
            read_bytes: field("read_bytes"),
            written_bytes: field("write_bytes"),
            read_by_calls_bytes: field("rchar"),
            written_by_calls_bytes: field("wchar"),
        }
    }

    /// The counts since `earlier`.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            read_bytes: self.read_bytes - earlier.read_bytes,
            written_bytes: self.written_bytes - earlier.written_bytes,
            read_by_calls_bytes: self.read_by_calls_bytes - earlier.read_by_calls_bytes,
            written_by_calls_bytes: self.written_by_calls_bytes - earlier.written_by_calls_bytes,
        }
    }

    /// Bytes that came from the disk.
    pub(crate) fn read_bytes(self) -> u64 {
        self.read_bytes
    }

    /// Bytes that were given to calls that write.
    pub(crate) fn written_by_calls_bytes(self) -> u64 {
        self.written_by_calls_bytes
    }

    /// Bytes that were or will be written to the disk.
    pub(crate) fn written_bytes(self) -> u64 {
        self.written_bytes
    }
}

/// The memory of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Memory {
    /// Memory that is not shared with files.
    pub(crate) own_bytes: u64,
    /// The peak of the memory, including mapped pages of files.
    pub(crate) peak_bytes: u64,
}

impl Memory {
    /// The memory now; zeros if unavailable.
    pub(crate) fn now() -> Self {
        let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let field = |name| number_of(&text, name).unwrap_or_default() * 1024;
        Self {
            own_bytes: field("RssAnon"),
            peak_bytes: field("VmHWM"),
        }
    }
}

/// The number after `name` and a colon, at the beginning of a line.
fn number_of(text: &str, name: &str) -> Option<u64> {
    let values = text.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = values.into_iter().find(|(found, _)| *found == name)?;
    value.split_whitespace().next()?.parse().ok()
}

/// Drops the files in `directory` from the system's memory, except pages that a process has mapped.
pub(crate) fn forget_cached(directory: &Path) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_file() {
            let file = File::open(path)?;
            file.sync_all()?;
            fadvise(&file, 0, None, Advice::DontNeed)?;
        }
    }
    Ok(())
}

/// Returns freed memory to the system, if the allocator does not do that itself.
#[allow(unsafe_code)]
pub(crate) fn give_memory_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it has no preconditions; the allocator has locks of its own.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
#[path = "process_tests.rs"]
mod tests;
