//! Programs of the repository: those that print what they see must print the same on both
//! libraries, the others must succeed on both.

use super::{bench::LeveldbBench, expected::ExpectedTests};
use crate::{
    Result, built,
    clients::{
        ClientEnd, Side,
        loaded::LoadReports,
        outcomes::{TestOutcome, TestOutcomes},
    },
};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Programs whose output is compared.
const PRINTING: [&str; 2] = ["clients/phases.c", "clients/threads.cc"];
/// Programs that check what they see.
const CHECKING: [&str; 3] = ["c/interface.c", CLASSES, LAYOUT];
/// A program that contains LevelDB: Debian's shared library hides a function of its headers.
const CLASSES: &str = "cpp/classes.cc";
/// A program that only compares sizes, and loads no library.
const LAYOUT: &str = "cpp/layout.cc";
const CHECKS: ExpectedTests = ExpectedTests {
    passed: CHECKING.len(),
    may_fail: &[],
};

/// Compiles and runs the programs.
pub(super) fn run(bench: &LeveldbBench<'_>) -> Result<ClientEnd> {
    for source in PRINTING {
        let [original, teak] = Side::BOTH.map(|side| compile(bench, source, side));
        let (original, teak) = (original?, teak?);
        let name = Path::new(source).file_stem().unwrap_or_default();
        bench.compare(&name.to_string_lossy(), |side, scratch| {
            let mut command = match side {
                Side::Original => Command::new(&original),
                Side::Teak => Command::new(&teak),
            };
            let libraries = bench.prefix(side).libraries();
            command.arg(scratch).env("LD_LIBRARY_PATH", libraries);
            Ok(command)
        })?;
    }
    bench.compare_outcomes("own", CHECKS, |side| check(bench, side))
}

/// Compiles a program with the headers of a library.
fn compile(bench: &LeveldbBench<'_>, source: &str, side: Side) -> Result<PathBuf> {
    let directory = bench.directory("own")?;
    let path = built::workspace()
        .join("crates/teak-leveldb/tests")
        .join(source);
    let name = source.replace(['/', '.'], "-");
    let program = directory.join(format!("{name}-{}", side.name()));
    let mut compiler = match source.ends_with(".c") {
        true => Command::new("cc"),
        false => Command::new("c++"),
    };
    if !source.ends_with(".c") {
        compiler.arg("-std=c++17");
    }
    let prefix = bench.prefix(side);
    compiler
        .args(["-O1", "-w", "-pthread", "-I"])
        .arg(prefix.include())
        .arg(path)
        .arg("-L")
        .arg(prefix.libraries())
        .arg("-o")
        .arg(&program);
    match (side, source) {
        (Side::Original, CLASSES) => compiler.args([
            "-DON_LEVELDB",
            "-l:libleveldb.a",
            "-l:libmemenv.a",
            "-l:libsnappy.so.1",
        ]),
        (Side::Original, _) => compiler.args(["-DON_LEVELDB", "-lleveldb", "-l:libsnappy.so.1"]),
        (Side::Teak, _) => compiler.arg("-lleveldb"),
    };
    bench
        .area
        .succeed(&mut compiler, &program.with_extension("build.log"))?;
    Ok(program)
}

/// Runs the programs that check what they see.
fn check(bench: &LeveldbBench<'_>, side: Side) -> Result<TestOutcomes> {
    let mut outcomes = TestOutcomes::default();
    for source in CHECKING {
        let program = compile(bench, source, side)?;
        let scratch = tempfile::tempdir()?;
        let files = scratch.path().join("files");
        fs::create_dir(&files)?;
        let mut command = Command::new(&program);
        command
            .arg(&files)
            .env("TEST_TMPDIR", scratch.path())
            .env("LD_LIBRARY_PATH", bench.prefix(side).libraries());
        let reports = LoadReports::new()?;
        reports.request(&mut command);
        let log = program.with_extension("log");
        let (ended, _) = bench.area.run(&mut command, &log)?;
        if source != LAYOUT && (side, source) != (Side::Original, CLASSES) {
            bench.expect_library(&reports, side)?;
        }
        let outcome = match ended.is_some_and(|status| status.success()) {
            true => TestOutcome::Passed,
            false => TestOutcome::Failed,
        };
        outcomes.add(source, outcome);
    }
    Ok(outcomes)
}
