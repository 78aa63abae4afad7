//! classic-level, the binding for Node.js: its addon, compiled for each library, and the tests that
//! abstract-level has for all stores. (Its own tests are not on the registry.)

use super::{
    bench::{LeveldbBench, LeveldbClient},
    expected::ExpectedTests,
};
use crate::{
    Failure, Result, built,
    clients::{ClientEnd, Side, loaded::LoadReports, npm, outcomes::TestOutcomes},
};
use std::{collections::BTreeMap, fs, path::Path, process::Command};

const ASSERTIONS: ExpectedTests = ExpectedTests {
    passed: 4084,
    may_fail: &[],
};

/// Installs the package, and runs the tests on both libraries.
pub(super) fn run(bench: &LeveldbBench<'_>) -> Result<ClientEnd> {
    if bench.is_skipped(LeveldbClient::ClassicLevel, &["node", "npm", "c++"]) {
        return Ok(ClientEnd::Skipped);
    }
    let directory = bench.directory("classic-level")?;
    let own = built::workspace().join("crates/teak-leveldb/tests/clients/js");
    if let Err(Failure(why)) = npm::install(&bench.area, &directory, &own.join("package.json")) {
        println!("classic-level: SKIPPED, since npm cannot download it: {why}");
        return Ok(ClientEnd::Skipped);
    }
    fs::copy(own.join("kit.js"), directory.join("kit.js"))?;
    bench.compare_outcomes("classic-level", ASSERTIONS, |side| {
        test(bench, side, &directory)
    })
}

fn test(bench: &LeveldbBench<'_>, side: Side, directory: &Path) -> Result<TestOutcomes> {
    compile(bench, side, directory)?;
    let scratch = tempfile::tempdir()?;
    let mut node = Command::new("node");
    node.arg("kit.js")
        .current_dir(directory)
        .env("TMPDIR", scratch.path())
        .env("LD_LIBRARY_PATH", bench.prefix(side).libraries());
    let reports = LoadReports::new()?;
    reports.request(&mut node);
    let log = directory.join(side.name()).with_extension("log");
    let (ended, printed) = bench.area.run(&mut node, &log)?;
    ensure!(ended.is_some(), "it does not end: see {}", log.display());
    bench.expect_library(&reports, side)?;
    let (mut outcomes, mut numbered) = (TestOutcomes::default(), BTreeMap::new());
    let mut part = "";
    for line in printed.lines() {
        match line.strip_prefix("# ") {
            Some(name) => part = name,
            None => outcomes.add_line_of_tap(part, line, &mut numbered),
        }
    }
    Ok(outcomes)
}

/// Compiles the addon, to where the package looks for it.
fn compile(bench: &LeveldbBench<'_>, side: Side, directory: &Path) -> Result {
    let modules = directory.join("node_modules");
    let package = modules.join("classic-level");
    let release = package.join("build/Release");
    fs::create_dir_all(&release)?;
    let prefix = bench.prefix(side);
    let mut compiler = Command::new("c++");
    compiler.args(["-O1", "-w", "-std=c++17", "-fPIC", "-shared", "-pthread"]);
    for headers in [
        prefix.include(),
        modules.join("node-api-headers/include"),
        modules.join("napi-macros"),
    ] {
        compiler.arg("-I").arg(headers);
    }
    compiler
        .arg(package.join("binding.cc"))
        .arg("-L")
        .arg(prefix.libraries())
        .args(["-lleveldb", "-o"])
        .arg(release.join("classic_level.node"));
    if side == Side::Original {
        compiler.arg("-l:libsnappy.so.1");
    }
    let log = directory.join(format!("{}-compiler.log", side.name()));
    bench.area.succeed(&mut compiler, &log)
}
