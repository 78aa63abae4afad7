//! Linux on ARM64 with pages of 16 KiB, on an emulated machine: Debian's kernel, and a root in
//! memory with busybox, the makers of file systems, the program `teak`, and the engine's tests.
//!
//! The machine runs `pages16k/init.sh`, and then `pages16k/steps.sh`. Each line that it prints for
//! this program begins with `PORT`.

mod machine;
mod packages;
mod root;

use super::{
    arm64::TARGET,
    end::{PortEnd, require},
    main_job::SAMPLE,
    targets,
};
use crate::{Result, built};
use std::{fmt::Write as _, fs};

/// Programs of this machine that start the emulated one.
const PROGRAMS: &[&str] = &["qemu-system-aarch64", "apt-get", "dpkg-deb", "cpio", "xz"];

pub(super) fn run(is_short: bool) -> Result<PortEnd> {
    require!(targets::missing(TARGET));
    for program in PROGRAMS {
        require!(targets::missing_program(program));
    }
    let directory = built::target_directory()?.join("ports/pages16k");
    let packages = directory.join("packages");
    require!(packages::missing(&packages)?);
    let root = root::make(&packages, &directory.join("root"))?;
    let [unit, integration] = targets::engine_tests(targets::cargo("test", TARGET))?;
    for (from, to) in [
        (targets::program(TARGET)?, "usr/bin/teak"),
        (unit, "tests/unit"),
        (integration, "tests/integration"),
        (built::workspace().join(SAMPLE), "coins.dump"),
    ] {
        fs::copy(from, root.join(to))?;
    }
    let report = machine::run(&packages, &root, is_short)?;
    ensure!(
        report.failures.is_empty(),
        "{} of {} steps failed: {}",
        report.failures.len(),
        report.passed + report.failures.len(),
        report.failures.join("; ")
    );
    let mut text = format!("{} steps in the machine", report.passed);
    for (unit, number) in report.counts {
        let _ = write!(text, ", {number} {unit}");
    }
    Ok(PortEnd::Passed(text))
}
