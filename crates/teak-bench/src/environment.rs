//! The environment of the measurement. Known on Linux; elsewhere "unknown".

use std::{fs, path::Path};

/// Processor, memory, kernel, file system and compiler, each on a line.
pub(crate) fn describe(directory: &Path) -> String {
    let lines = facts(directory).into_iter();
    let lines = lines.map(|(name, fact)| match name {
        "file system" => format!("{name:<12} {fact}, for {}\n", directory.display()),
        _ => format!("{name:<12} {fact}\n"),
    });
    lines.collect()
}

/// The facts, each with its name.
pub(crate) fn facts(directory: &Path) -> Vec<(&'static str, String)> {
    let processor = field("/proc/cpuinfo", "model name");
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease");
    let kernel = kernel.map_or_else(|_| unknown(), |text| text.trim().to_owned());
    vec![
        ("processor", format!("{processor}, {processors} available")),
        ("memory", field("/proc/meminfo", "MemTotal")),
        ("kernel", kernel),
        (
            "file system",
            file_system(directory).unwrap_or_else(unknown),
        ),
        ("compiler", env!("TEAK_BENCH_COMPILER").to_owned()),
    ]
}

/// Bytes of available memory, if known.
pub(crate) fn available_memory() -> u64 {
    let field = field("/proc/meminfo", "MemAvailable");
    let kilobytes = field
        .split(' ')
        .next()
        .and_then(|digits| digits.parse().ok());
    kilobytes.unwrap_or(0u64) * 1024
}

fn unknown() -> String {
    "unknown".to_owned()
}

/// The first `name : value` of a file under `/proc`.
fn field(path: &str, name: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == name)
        .map_or_else(unknown, |(_, value)| value.trim().to_owned())
}

/// Type and device of the file system that `directory` is on.
fn file_system(directory: &Path) -> Option<String> {
    let directory = directory.canonicalize().ok()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let (_, kind) = mounts
        .lines()
        .filter_map(parse_mount)
        .filter(|(mount_point, _)| directory.starts_with(mount_point))
        .max_by_key(|(mount_point, _)| mount_point.len())?;
    Some(kind)
}

/// Mount point, and type with device, of a line of `mountinfo`: optional fields end with a lone
/// dash.
fn parse_mount(line: &str) -> Option<(&str, String)> {
    let (before, after) = line.split_once(" - ")?;
    let mount_point = before.split(' ').nth(4)?;
    let mut after = after.split(' ');
    let (kind, device) = (after.next()?, after.next()?);
    Some((mount_point, format!("{kind} on {device}")))
}

#[cfg(test)]
#[path = "environment_tests.rs"]
mod tests;
