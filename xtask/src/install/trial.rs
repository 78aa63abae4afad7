//! A small project that uses the installed files, as other projects would.

use crate::{
    Result, built,
    campaign::scratch,
    commands::{self, output},
};
use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Builds and runs a crate's project with CMake and with `pkg-config`, which knows the library as
/// `package`. Reports a missing tool.
pub(crate) fn run(prefix: &Path, name: &str, package: &str) -> Result {
    let prefix = fs::canonicalize(prefix)?;
    let project = built::workspace()
        .join("crates")
        .join(name)
        .join("tests/project");
    let scratch = scratch::directory(None)?;
    if is_there("cmake") {
        by_cmake(&prefix, &project, &scratch.path().join("cmake"))?;
    }
    if is_there("pkg-config") {
        by_pkg_config(&prefix, package, &project, scratch.path())?;
    }
    Ok(())
}

fn is_there(program: &str) -> bool {
    let is_there = commands::is_there(program, "--version");
    if !is_there {
        println!("NOT RUN: {program} is not installed");
    }
    is_there
}

fn by_cmake(prefix: &Path, project: &Path, build: &Path) -> Result {
    let mut package = PathBuf::from("-DCMAKE_PREFIX_PATH=").into_os_string();
    package.push(prefix);
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(project).arg("-B").arg(build);
    output(configure.arg(package))?;
    output(Command::new("cmake").arg("--build").arg(build))?;
    let mut tests = Command::new("ctest");
    output(tests.current_dir(build).arg("--output-on-failure"))?;
    println!("built and run by CMake");
    Ok(())
}

fn by_pkg_config(prefix: &Path, package: &str, project: &Path, directory: &Path) -> Result {
    let mut tool = Command::new("pkg-config");
    tool.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
    // With a package directory before the prefix, the paths inside the files differ.
    tool.arg(format!("--define-variable=prefix={}", prefix.display()));
    let flags = output(tool.args(["--cflags", "--libs", package]))?;
    let languages = [
        ("cc", "main.c", "-std=c11"),
        ("c++", "main.cpp", "-std=c++17"),
    ];
    for (compiler, source, standard) in languages {
        if !is_there(compiler) {
            continue;
        }
        let program = directory.join(source).with_extension(compiler);
        let mut compile = Command::new(compiler);
        compile.arg(standard).arg(project.join(source));
        compile.args(flags.split_whitespace());
        output(compile.arg("-o").arg(&program))?;
        let mut run = Command::new(&program);
        run.env("LD_LIBRARY_PATH", prefix.join("lib"));
        output(run.arg(directory.join(OsStr::new(compiler)).with_extension("teak")))?;
    }
    println!("built and run by pkg-config");
    Ok(())
}
