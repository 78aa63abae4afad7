//! Checks the crates for other targets with the compiler, some of them with Clippy, without linking
//! or running them.

use super::{end::PortEnd, targets};
use crate::{Result, commands};
use std::time::SystemTime;

/// The targets for which the crates have no warnings of the compiler and of Clippy.
const LINTED: &[&str] = &[WINDOWS, "aarch64-apple-darwin", "x86_64-unknown-freebsd"];
/// The target for which the tests have none, too.
const WINDOWS: &str = "x86_64-pc-windows-gnu";

/// The crates that compile for each target.
const CHECKS: &[(&str, &[&str])] = &[
    ("aarch64-unknown-linux-gnu", ALL),
    ("aarch64-apple-darwin", ALL),
    ("x86_64-unknown-freebsd", ALL),
    ("x86_64-unknown-linux-musl", ALL),
    ("aarch64-linux-android", ALL),
    ("aarch64-unknown-linux-musl", ALL),
    ("wasm32-wasip1", &["teak", "teak-web"]),
    (WINDOWS, ALL),
    ("x86_64-apple-darwin", ALL),
];

/// The engine, the program, and the libraries for C, C++ and clients of LMDB and LevelDB.
pub(super) const ALL: &[&str] = &[
    "teak",
    "teak-cli",
    "teak-c",
    "teak-foreign",
    "teak-leveldb",
    "teak-lmdb",
];
/// The number of targets of a short run. Other days have others.
const SHORT: usize = 2;

pub(super) fn run(is_short: bool) -> Result<PortEnd> {
    let (mut checked, mut missing) = (Vec::new(), Vec::new());
    let (first, count) = match is_short {
        true => (today() * SHORT % CHECKS.len(), SHORT),
        false => (0, CHECKS.len()),
    };
    for (target, crates) in CHECKS.iter().cycle().skip(first).take(count) {
        if let Some(reason) = targets::missing(target) {
            println!("ports: check {target}: NOT RUN: {reason}");
            missing.push(reason);
            continue;
        }
        println!("ports: check {target}: {}", crates.join(", "));
        let is_linted = LINTED.contains(target);
        let mut check = targets::cargo(if is_linted { "clippy" } else { "check" }, target);
        for name in *crates {
            check.args(["--package", name]);
        }
        if *target == WINDOWS {
            check.arg("--all-targets");
        }
        if is_linted {
            check.args(["--", "--deny", "warnings"]);
        }
        commands::run(&mut check)?;
        let kind = if is_linted { ", without warnings" } else { "" };
        checked.push(format!("{target} ({} crates{kind})", crates.len()));
    }
    Ok(match checked.is_empty() {
        true => PortEnd::Skipped(missing.join("; ")),
        false => PortEnd::Passed(format!(
            "{}; {} targets not run",
            checked.join(", "),
            missing.len()
        )),
    })
}

/// Days since 1970.
pub(super) fn today() -> usize {
    const SECONDS: u64 = 86_400;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    (now.unwrap_or_default().as_secs() / SECONDS) as usize
}
