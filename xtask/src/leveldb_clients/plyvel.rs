//! plyvel: the tests of its source distribution, built for each library.

use super::{bench::LeveldbBench, expected::ExpectedTests};
use crate::{
    Result,
    clients::{
        ClientEnd, Side,
        loaded::LoadReports,
        outcomes::TestOutcomes,
        python::{self, PythonPackage},
    },
};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

const PACKAGE: PythonPackage = PythonPackage {
    name: "plyvel",
    version: "1.5.1",
    tools: &["pytest", "setuptools", "wheel"],
};

const TESTS: ExpectedTests = ExpectedTests {
    passed: 53,
    // It expects an error where root may write.
    may_fail: &["test/test_plyvel.py::test_open_read_only_dir"],
};

/// Runs its tests on both libraries.
pub(super) fn run(bench: &LeveldbBench<'_>) -> Result<ClientEnd> {
    let directory = bench.directory("plyvel")?;
    let (python, sources) = PACKAGE.download(&bench.area, &bench.arguments.python, &directory)?;
    bench.compare_outcomes("plyvel", TESTS, |side| test(bench, side, &python, &sources))
}

fn test(
    bench: &LeveldbBench<'_>,
    side: Side,
    python: &Path,
    sources: &Path,
) -> Result<TestOutcomes> {
    let directory = sources.with_file_name(side.name());
    let log = |name: &str| -> PathBuf { directory.with_extension(name).with_extension("log") };
    if directory.exists() {
        fs::remove_dir_all(&directory)?;
    }
    let mut copy = Command::new("cp");
    copy.arg("-r").arg(sources).arg(&directory);
    bench.area.succeed(&mut copy, &log("copy"))?;
    let prefix = bench.prefix(side);
    let command = || {
        let mut command = Command::new(python);
        command
            .current_dir(&directory)
            .env("CPATH", prefix.include())
            .env("LIBRARY_PATH", prefix.libraries())
            .env("LD_LIBRARY_PATH", prefix.libraries())
            .env("PYTHONUNBUFFERED", "1");
        command
    };
    let mut build = command();
    build.args(["setup.py", "--quiet", "build_ext", "--inplace", "--force"]);
    bench.area.succeed(&mut build, &log("build"))?;
    let reports = LoadReports::new()?;
    let pytest = || {
        let mut pytest = command();
        reports.request(&mut pytest);
        pytest
    };
    let mut outcomes = TestOutcomes::default();
    let file = Path::new("test/test_plyvel.py");
    python::test_file(&bench.area, pytest, file, &log("tests"), &mut outcomes)?;
    bench.expect_library(&reports, side)?;
    Ok(outcomes)
}
