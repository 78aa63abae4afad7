//! Packages of PyPI: their sources, and their tests, which `pytest` runs.

use super::{
    WorkArea,
    outcomes::{TestOutcome, TestOutcomes},
};
use crate::Result;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The exit codes of pytest when a file cannot be loaded, and when there is no test to run.
const INTERRUPTED: i32 = 2;
const NONE_COLLECTED: i32 = 5;

/// A package on PyPI, and the packages needed to build and test it.
#[derive(Debug)]
pub(crate) struct PythonPackage {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    pub(crate) tools: &'static [&'static str],
}

/// Makes a Python environment with the packages. Returns its path.
fn make_environment(
    area: &WorkArea,
    base: &str,
    directory: &Path,
    tools: &[&str],
) -> Result<PathBuf> {
    let python = directory.join("python/bin/python");
    let log = directory.join("python.log");
    if !python.exists() {
        let mut command = Command::new(base);
        command.args(["-m", "venv"]).arg(directory.join("python"));
        area.succeed(&mut command, &log)?;
    }
    let mut command = Command::new(&python);
    command
        .args(["-m", "pip", "install", "--quiet"])
        .args(tools);
    area.succeed(&mut command, &log)?;
    Ok(python)
}

impl PythonPackage {
    /// A Python interpreter that can build the package, and the unpacked sources, below
    /// `directory`.
    pub(crate) fn download(
        &self,
        area: &WorkArea,
        base: &str,
        directory: &Path,
    ) -> Result<(PathBuf, PathBuf)> {
        fs::create_dir_all(directory)?;
        let python = make_environment(area, base, directory, self.tools)?;
        let name = format!("{}-{}", self.name, self.version);
        let archive = directory.join(format!("{name}.tar.gz"));
        let log = directory.join("download.log");
        if !archive.exists() {
            let mut command = Command::new(&python);
            command
                .args(["-m", "pip", "download", "--quiet", "--no-deps"])
                .args(["--no-binary", ":all:", "--no-build-isolation", "--dest"])
                .arg(directory)
                .arg(format!("{}=={}", self.name, self.version));
            area.succeed(&mut command, &log)?;
        }
        let sources = directory.join(name);
        if !sources.exists() {
            let mut command = Command::new("tar");
            command.arg("-xf").arg(archive).arg("-C").arg(directory);
            area.succeed(&mut command, &log)?;
        }
        Ok((python, sources))
    }
}

/// Runs the tests of a file with the Python program that `python` returns. Tests that ended the
/// process or did not end are left out of further runs. Temporary files are beside `log`.
pub(crate) fn test_file(
    area: &WorkArea,
    python: impl Fn() -> Command,
    file: &Path,
    log: &Path,
    outcomes: &mut TestOutcomes,
) -> Result {
    let temporary = log.with_extension("files");
    let mut fatal = BTreeSet::new();
    loop {
        fs::create_dir_all(&temporary)?;
        let mut command = python();
        command
            .args(["-m", "pytest", "-v", "-p", "no:cacheprovider"])
            // All tests, including those that are deselected by default.
            .args(["-o", "addopts=", "--color=no"])
            .arg(file)
            .args(fatal.iter().map(|name| format!("--deselect={name}")))
            .env("TMPDIR", &temporary);
        let (ended, printed) = area.run(&mut command, log)?;
        fs::remove_dir_all(&temporary)?;
        let mut here = TestOutcomes::default();
        let mut running = None;
        for line in printed.lines() {
            if let Some(begun) = here.add_line_of_pytest(line) {
                running = Some(begun);
            }
        }
        let code = ended.and_then(|status| status.code());
        let is_whole = code.is_some_and(|code| matches!(code, 0 | 1 | NONE_COLLECTED));
        match running.filter(|_| !is_whole) {
            Some(name) if fatal.insert(name.to_owned()) => {}
            None if code == Some(INTERRUPTED) => {
                // Not even the tests of the file could be listed.
                outcomes.add(&file.to_string_lossy(), TestOutcome::Failed);
                return Ok(());
            }
            _ if !is_whole => {
                bail!("{} does not run: see {}", file.display(), log.display());
            }
            _ => {
                outcomes.take_over_all(&here);
                for name in &fatal {
                    outcomes.add(name, TestOutcome::Failed);
                }
                return Ok(());
            }
        }
    }
}
