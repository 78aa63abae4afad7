//! levigo, the binding for Go, from the module proxy.

use super::{
    bench::{LeveldbBench, LeveldbClient},
    expected::ExpectedTests,
};
use crate::{
    Result,
    clients::{ClientEnd, Side, loaded::LoadReports, outcomes::TestOutcomes},
};
use std::{fs, path::Path, process::Command};

const MODULE: &str = "github.com/jmhodges/levigo";
const VERSION: &str = "v1.0.0";
const TESTS: ExpectedTests = ExpectedTests {
    passed: 3,
    may_fail: &[],
};

/// Runs its tests on both libraries.
pub(super) fn run(bench: &LeveldbBench<'_>) -> Result<ClientEnd> {
    if bench.is_skipped(LeveldbClient::Levigo, &["go"]) {
        return Ok(ClientEnd::Skipped);
    }
    let directory = bench.directory("levigo")?;
    let manifest = format!("module clients\n\ngo 1.19\n\nrequire {MODULE} {VERSION}\n");
    fs::write(directory.join("go.mod"), manifest)?;
    let mut download = Command::new("go");
    download
        .args(["mod", "download", MODULE])
        .current_dir(&directory);
    bench
        .area
        .succeed(&mut download, &directory.join("download.log"))?;
    let mut sums = Command::new("go");
    sums.args(["get", &format!("{MODULE}@{VERSION}")])
        .current_dir(&directory);
    bench.area.succeed(&mut sums, &directory.join("get.log"))?;
    bench.compare_outcomes("levigo", TESTS, |side| test(bench, side, &directory))
}

fn test(bench: &LeveldbBench<'_>, side: Side, directory: &Path) -> Result<TestOutcomes> {
    let prefix = bench.prefix(side);
    let log = directory.join(side.name()).with_extension("log");
    let mut command = Command::new("go");
    command
        .args(["test", "-count=1", "-v", MODULE])
        .current_dir(directory)
        .env("CGO_ENABLED", "1")
        .env("CGO_CFLAGS", format!("-I{}", prefix.include().display()))
        .env("CGO_LDFLAGS", format!("-L{}", prefix.libraries().display()))
        .env("LD_LIBRARY_PATH", prefix.libraries());
    let reports = LoadReports::new()?;
    reports.request(&mut command);
    let (_, printed) = bench.area.run(&mut command, &log)?;
    bench.expect_library(&reports, side)?;
    let mut outcomes = TestOutcomes::default();
    for line in printed.lines() {
        outcomes.add_line_of_go(line);
    }
    Ok(outcomes)
}
