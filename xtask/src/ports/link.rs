//! Links the program and the libraries for other systems, without running them.

use super::{check::ALL, end::PortEnd, targets, zig::Zig};
use crate::{Failure, Result, commands};

/// The targets, whose C libraries Zig has.
const TARGETS: &[&str] = &[
    "aarch64-apple-darwin",
    "aarch64-unknown-linux-gnu",
    "x86_64-unknown-freebsd",
    "x86_64-apple-darwin",
];
/// The number of targets of a short run.
const SHORT: usize = 1;

pub(super) fn run(is_short: bool) -> Result<PortEnd> {
    let zig = match Zig::get() {
        Ok(zig) => zig,
        Err(Failure(reason)) => return Ok(PortEnd::Skipped(reason)),
    };
    let count = if is_short { SHORT } else { TARGETS.len() };
    let (mut linked, mut missing) = (Vec::new(), Vec::new());
    for target in &TARGETS[..count] {
        if let Some(reason) = targets::missing(target) {
            println!("ports: link {target}: NOT RUN: {reason}");
            missing.push(reason);
            continue;
        }
        let mut build = zig.build(target);
        for name in ALL {
            build.args(["--package", name]);
        }
        commands::run(&mut build)?;
        linked.push(*target);
    }
    Ok(match linked.is_empty() {
        true => PortEnd::Skipped(missing.join("; ")),
        false => PortEnd::Passed(format!(
            "{} crates for each of {}",
            ALL.len(),
            linked.join(", ")
        )),
    })
}
