//! Identifiers of a boot of the machine, of a PID namespace, and of a file.

use std::{fs, io, os::unix::fs::MetadataExt};

/// The id of this boot of the machine. All zeros if the system does not report it; callers must
/// then assume that the machine may have gone down.
pub(crate) fn boot_id() -> [u8; 16] {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .ok()
        .and_then(|text| parse_uuid(text.trim()))
        .unwrap_or_default()
}

/// The PID namespace of this process: process ids are only comparable within one. 0 if the system
/// does not report it.
pub(crate) fn pid_namespace() -> u64 {
    fs::metadata("/proc/self/ns/pid").map_or(0, |found| found.ino())
}

/// 16 random bytes from the system.
pub(crate) fn random_id() -> io::Result<[u8; 16]> {
    let mut id = [0; 16];
    let mut filled = 0;
    while filled < id.len() {
        let flags = rustix::rand::GetRandomFlags::empty();
        match rustix::rand::getrandom(&mut id[filled..], flags) {
            Ok(count) => filled += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(id)
}

fn parse_uuid(text: &str) -> Option<[u8; 16]> {
    let digits: Vec<u8> = text
        .chars()
        .filter(|c| *c != '-')
        .map(|c| c.to_digit(16).map(|digit| digit as u8))
        .collect::<Option<_>>()?;
    let digits: [u8; 32] = digits.try_into().ok()?;
    Some(std::array::from_fn(|i| {
        digits[2 * i] << 4 | digits[2 * i + 1]
    }))
}

#[cfg(test)]
#[path = "boot_tests.rs"]
mod tests;
