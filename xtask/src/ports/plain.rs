//! The engine's tests on Linux without anything that only Linux has: `--cfg teak_plain` selects the
//! module of `io` that has none of it.

use super::{
    end::{PortEnd, require},
    engine::EngineTests,
    targets,
};
use crate::{Result, built};

/// The module for systems about which nothing is known.
const MODULE: &str = "crates/teak/src/io/sys/plain.rs";
/// Tests that need most of the system.
const SHORT: &[&str] = &["io::", "holes::", "limits::", "locks::", "processes::"];

pub(super) fn run(is_short: bool) -> Result<PortEnd> {
    let module = built::workspace().join(MODULE);
    require!((!module.exists()).then(|| format!("there is no {MODULE}")));
    let mut build = built::cargo();
    build
        .args(["test", "--quiet"])
        .env("CARGO_INCREMENTAL", "0")
        // Other flags would build everything else of the target directory again.
        .env("CARGO_TARGET_DIR", built::target_directory()?.join("plain"))
        .env("RUSTFLAGS", "--cfg teak_plain");
    let [unit, integration] = targets::engine_tests(build)?;
    let tests = EngineTests {
        step: "plain",
        programs: vec![("unit", unit), ("integration", integration)],
        runner: &[],
        filters: if is_short { SHORT } else { &[] },
        skipped: &[],
    };
    Ok(PortEnd::Passed(tests.run()?))
}
