//! The resources that work uses: processor time, bytes and flushes of the device, memory.
//!
//! All but the device's figures are of this process and its threads. The device's figures are
//! system-wide; nothing else runs at the same time.

use crate::process::{Memory, Traffic};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::{
    fs,
    ops::{AddAssign, Sub},
    os::unix::fs::MetadataExt,
    path::Path,
};

const SECTOR_LEN: u64 = 512;

/// The resources used.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Usage {
    /// The time of all threads, in the program and in the system.
    pub(super) cpu_seconds: f64,
    /// Bytes that the process read from the disk.
    pub(super) read_bytes: u64,
    /// Bytes written to the device.
    pub(super) device_written_bytes: u64,
    /// Requests to flush the device's cache.
    pub(super) device_flushes: u64,
}

impl Usage {
    /// The counts since the process began, with those of the device below `directory`.
    pub(super) fn now(directory: &Path) -> Self {
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        let device = device(directory).unwrap_or_default();
        Self {
            cpu_seconds: cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9,
            read_bytes: Traffic::now().read_bytes(),
            ..device
        }
    }
}

impl Sub for Usage {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            cpu_seconds: self.cpu_seconds - earlier.cpu_seconds,
            read_bytes: self.read_bytes - earlier.read_bytes,
            device_written_bytes: self.device_written_bytes - earlier.device_written_bytes,
            device_flushes: self.device_flushes - earlier.device_flushes,
        }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.cpu_seconds += other.cpu_seconds;
        self.read_bytes += other.read_bytes;
        self.device_written_bytes += other.device_written_bytes;
        self.device_flushes += other.device_flushes;
    }
}

/// The counts of the device below `directory`; `None` if unavailable.
fn device(directory: &Path) -> Option<Usage> {
    let device = fs::metadata(directory).ok()?.dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let text = fs::read_to_string("/proc/diskstats").ok()?;
    text.lines()
        .find_map(|line| of_device(line, &major.to_string(), &minor.to_string()))
}

/// A line of `/proc/diskstats`: numbers of the device, its name, then figures, of which the seventh
/// are sectors written, and the sixteenth requests to flush.
fn of_device(line: &str, major: &str, minor: &str) -> Option<Usage> {
    let words: Vec<&str> = line.split_whitespace().collect();
    if words.get(..2)? != [major, minor] {
        return None;
    }
    let figure = |index: usize| words.get(index)?.parse::<u64>().ok();
    Some(Usage {
        device_written_bytes: figure(9)? * SECTOR_LEN,
        device_flushes: figure(18).unwrap_or_default(),
        ..Usage::default()
    })
}

/// Resets the peak of the memory, if the system allows it.
pub(super) fn forget_most_memory() {
    // If the system refuses, the peak is the higher one since the process began.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// The memory now and its peak.
pub(super) fn memory() -> Memory {
    Memory::now()
}

#[cfg(test)]
mod tests {
    use super::of_device;

    #[test]
    fn a_line_of_the_system_is_understood() {
        let line = " 254       0 vda 1 2 3 4 5 6 700 8 0 10 11 12 13 14 15 99 17";
        let usage = of_device(line, "254", "0").expect("it is the device");
        assert_eq!(usage.device_written_bytes, 700 * 512);
        assert_eq!(usage.device_flushes, 99);
        assert!(of_device(line, "254", "1").is_none());
    }
}
