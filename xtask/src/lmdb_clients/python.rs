//! py-lmdb: its tests with the CPython module and with the CFFI module, both built for a system
//! library.

use super::{bench::ClientBench, library};
use crate::{
    Result,
    clients::{
        Prefix, Side, WorkArea,
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
    name: "lmdb",
    version: "3.0.0",
    tools: &["cffi", "pytest", "setuptools", "wheel"],
};

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
    let directory = bench.area.directory.join("py-lmdb");
    let (python, sources) = download(&bench.area, &bench.arguments.python, &directory)?;
    let prefix = match bench.arguments.on {
        Side::Teak => bench.prefix.clone(),
        Side::Original => {
            library::of_lmdb(&directory, &sources.join("lib"), &bench.arguments.compiler)?
        }
    };
    let mut all = TestOutcomes::default();
    for module in [PythonModule::Cpython, PythonModule::Cffi] {
        let side = bench.arguments.on.name();
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

/// A Python interpreter that can build py-lmdb, and the unpacked sources.
pub(super) fn download(
    area: &WorkArea,
    python: &str,
    directory: &Path,
) -> Result<(PathBuf, PathBuf)> {
    PACKAGE.download(area, python, directory)
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
        let (area, log) = (&self.bench.area, self.log("build"));
        let mut copy = Command::new("cp");
        copy.arg("-r").arg(sources).arg(&self.directory);
        area.succeed(&mut copy, &log)?;
        let mut command = self.command();
        command.args(["setup.py", "--quiet", "build_ext", "--inplace"]);
        area.succeed(&mut command, &log)
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
            let (area, log) = (&self.bench.area, self.log(&file));
            let file = Path::new("tests").join(&file);
            python::test_file(area, || self.command(), &file, &log, &mut outcomes)?;
        }
        Ok(outcomes)
    }
}
