//! py-lmdb: its tests with the CPython module and with the CFFI module, both built for a system
//! library.

use super::{
    bench::{ClientBench, Side},
    library::Prefix,
    outcomes::{TestOutcome, TestOutcomes},
    running,
};
use crate::Result;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

const VERSION: &str = "3.0.0";
/// The packages needed to build and test it.
const TOOLS: [&str; 4] = ["cffi", "pytest", "setuptools", "wheel"];
/// The exit codes of pytest when a file cannot be loaded, and when there is no test to run.
const INTERRUPTED: i32 = 2;
const NONE_COLLECTED: i32 = 5;

/// One of its modules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PythonModule {
    Cpython,
    Cffi,
}

impl PythonModule {
    fn name(self) -> &'static str {
        match self {
            Self::Cpython => "cpython",
            Self::Cffi => "cffi",
        }
    }

    /// The setting that selects this module for building and testing.
    fn force(self) -> &'static str {
        match self {
            Self::Cpython => "LMDB_FORCE_CPYTHON",
            Self::Cffi => "LMDB_FORCE_CFFI",
        }
    }
}

/// A build of it.
struct Build<'b> {
    bench: &'b ClientBench<'b>,
    prefix: &'b Prefix,
    python: &'b Path,
    module: PythonModule,
    directory: PathBuf,
}

/// Runs all of its tests, with both modules.
pub(super) fn run(bench: &ClientBench<'_>) -> Result<TestOutcomes> {
    let directory = bench.directory.join("py-lmdb");
    let limit = bench.time_limit();
    let (python, sources) = download(&bench.arguments.python, &directory, limit)?;
    let prefix = match bench.arguments.on {
        Side::Teak => bench.prefix.clone(),
        Side::Lmdb => Prefix::of_lmdb(&directory, &sources.join("lib"), &bench.arguments.compiler)?,
    };
    let mut all = TestOutcomes::default();
    for module in [PythonModule::Cpython, PythonModule::Cffi] {
        let side = bench.arguments.on.name().to_lowercase();
        let build = Build {
            bench,
            prefix: &prefix,
            python: &python,
            module,
            directory: directory.join(format!("{}-{side}", module.name())),
        };
        build.build(&sources)?;
        let outcomes = build.test()?;
        println!("py-lmdb, {}: {outcomes}", module.name());
        all.take_over(module.name(), &outcomes);
    }
    Ok(all)
}

/// Makes a Python environment with the packages. Returns its path.
fn make_environment(python: &str, directory: &Path, limit: Duration) -> Result<PathBuf> {
    let base = python;
    let python = directory.join("python/bin/python");
    let log = directory.join("python.log");
    if !python.exists() {
        let mut command = Command::new(base);
        command.args(["-m", "venv"]).arg(directory.join("python"));
        running::succeed(&mut command, &log, limit)?;
    }
    let mut command = Command::new(&python);
    command
        .args(["-m", "pip", "install", "--quiet"])
        .args(TOOLS);
    running::succeed(&mut command, &log, limit)?;
    Ok(python)
}

/// A Python interpreter that can build py-lmdb, and the unpacked sources.
pub(super) fn download(
    python: &str,
    directory: &Path,
    limit: Duration,
) -> Result<(PathBuf, PathBuf)> {
    fs::create_dir_all(directory)?;
    let python = make_environment(python, directory, limit)?;
    let name = format!("lmdb-{VERSION}");
    let archive = directory.join(format!("{name}.tar.gz"));
    let log = directory.join("download.log");
    if !archive.exists() {
        let mut command = Command::new(&python);
        command
            .args(["-m", "pip", "download", "--quiet", "--no-deps"])
            .args(["--no-binary", ":all:", "--no-build-isolation", "--dest"])
            .arg(directory)
            .arg(format!("lmdb=={VERSION}"));
        running::succeed(&mut command, &log, limit)?;
    }
    let sources = directory.join(name);
    if !sources.exists() {
        let mut command = Command::new("tar");
        command.arg("-xf").arg(archive).arg("-C").arg(directory);
        running::succeed(&mut command, &log, limit)?;
    }
    Ok((python, sources))
}

impl Build<'_> {
    /// The Python program, with the library and the module in its environment.
    fn command(&self) -> Command {
        let mut command = Command::new(self.python);
        command
            .current_dir(&self.directory)
            .env("LMDB_FORCE_SYSTEM", "1")
            .env("LMDB_INCLUDEDIR", self.prefix.include())
            .env("LMDB_LIBDIR", self.prefix.libraries())
            .env("LD_LIBRARY_PATH", self.prefix.libraries())
            .env("PYTHONUNBUFFERED", "1")
            .env(self.module.force(), "1");
        command
    }

    fn log(&self, name: &str) -> PathBuf {
        let name = format!("{}-{name}.log", self.directory.display());
        name.into()
    }

    fn build(&self, sources: &Path) -> Result {
        if self.directory.exists() {
            fs::remove_dir_all(&self.directory)?;
        }
        let (log, limit) = (self.log("build"), self.bench.time_limit());
        let mut copy = Command::new("cp");
        copy.arg("-r").arg(sources).arg(&self.directory);
        running::succeed(&mut copy, &log, limit)?;
        let mut command = self.command();
        command.args(["setup.py", "--quiet", "build_ext", "--inplace"]);
        running::succeed(&mut command, &log, limit)
    }

    /// Runs the files of tests, each in a process of its own.
    fn test(&self) -> Result<TestOutcomes> {
        let mut outcomes = TestOutcomes::default();
        let mut files = Vec::new();
        for entry in fs::read_dir(self.directory.join("tests"))? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            files.extend(name.ends_with("_test.py").then_some(name));
        }
        files.sort();
        for file in files {
            self.test_file(&file, &mut outcomes)?;
        }
        Ok(outcomes)
    }

    /// Runs the tests of a file. Tests that ended the process or did not end are left out of
    /// further runs.
    fn test_file(&self, file: &str, outcomes: &mut TestOutcomes) -> Result {
        let log = self.log(file);
        let temporary = self.log(file).with_extension("files");
        let mut fatal = BTreeSet::new();
        loop {
            fs::create_dir_all(&temporary)?;
            let mut command = self.command();
            command
                .args(["-m", "pytest", "-v", "-p", "no:cacheprovider"])
                // All tests, including those that are deselected by default.
                .args(["-o", "addopts=", "--color=no"])
                .arg(Path::new("tests").join(file))
                .args(fatal.iter().map(|name| format!("--deselect={name}")))
                .env("TMPDIR", &temporary);
            let (ended, printed) = running::run(&mut command, &log, self.bench.time_limit())?;
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
                    outcomes.add(&format!("tests/{file}"), TestOutcome::Failed);
                    return Ok(());
                }
                _ if !is_whole => {
                    bail!("{file} does not run: see {}", log.display());
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
}
