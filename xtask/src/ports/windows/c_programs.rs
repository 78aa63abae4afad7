//! Programs in C and C++ that use the library for Windows: as a DLL, and held within.

use super::{
    mingw::{FOR_C, Program},
    target::TARGET,
    wine::Wine,
};
use crate::{Context, Result, built, commands};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The DLL, its import library, and the static library, as installed.
const SHARED: &str = "bin/teak_c.dll";
pub(super) const IMPORTS: &str = "lib/libteak.dll.a";
const STATIC: &str = "lib/libteak.a";
/// The tests of the library that need nothing of Unix.
const PROGRAMS: &[&str] = &[
    "records", "orders", "cursors", "pairs", "flat", "loading", "misuse",
];

/// The tests of the headers for C++ that need nothing of Unix, each with its flags. They use the
/// DLL.
const CPP_PROGRAMS: &[(&str, &[&str])] = &[
    ("records", &[]),
    ("walks", &[]),
    ("results", &["-DTEAK_RESULTS", "-fno-exceptions"]),
];

/// Where the libraries are installed, in the directory of the step.
pub(super) fn prefix(directory: &Path) -> PathBuf {
    directory.join("c/installed")
}

/// Puts the DLL beside programs, which look for it in their own directory.
pub(super) fn copy_library(prefix: &Path, to: &Path) -> Result {
    let shared = prefix.join(SHARED);
    let name = shared.file_name().context("the DLL has no name")?;
    fs::copy(&shared, to.join(name))?;
    Ok(())
}

/// Installs the libraries, builds all programs with each, and runs them. Returns how many ran.
pub(super) fn run(wine: &Wine, directory: &Path) -> Result<usize> {
    let installed = prefix(directory);
    let directory = directory.join("c");
    if directory.exists() {
        fs::remove_dir_all(&directory)?;
    }
    let mut install = Command::new(env::current_exe()?);
    install.args([
        "install-c",
        "--target",
        TARGET,
        "--profile",
        "dev",
        "--prefix",
    ]);
    commands::output(install.arg(&installed))?;
    copy_library(&installed, &directory)?;
    let mut count = 0;
    for name in PROGRAMS {
        for library in [IMPORTS, STATIC] {
            let program = compile(name, library, [&installed, &directory])?;
            let files = program.with_extension("files");
            fs::create_dir(&files)?;
            commands::output(wine.command(&program, &directory).arg(&files))?;
            count += 1;
        }
    }
    for (name, flags) in CPP_PROGRAMS {
        let program = compile_cpp(name, flags, [&installed, &directory])?;
        let files = program.with_extension("files");
        fs::create_dir(&files)?;
        commands::output(wine.command(&program, &directory).arg(&files))?;
        count += 1;
    }
    Ok(count)
}

/// Compiles a program of the tests in C++.
fn compile_cpp(name: &str, flags: &[&str], [installed, directory]: [&Path; 2]) -> Result<PathBuf> {
    let tests = built::workspace().join("crates/teak-c/tests/cpp");
    let headers = installed.join("include");
    let imports = installed.join(IMPORTS).to_string_lossy().into_owned();
    let program = Program {
        source: tests.join(format!("{name}.cpp")),
        words: flags.iter().copied().chain([&*imports]).collect(),
        headers: vec![&headers],
    };
    program.compile(directory, "cpp")
}

/// Compiles a program of the tests and links it with an installed library.
fn compile(name: &str, library: &str, [installed, directory]: [&Path; 2]) -> Result<PathBuf> {
    let tests = built::workspace().join("crates/teak-c/tests/c");
    let (kind, needs) = match library {
        STATIC => ("static", needs(installed)?),
        _ => ("shared", Vec::new()),
    };
    let program = directory.join(format!("{name}-{kind}.exe"));
    let mut compile = Command::new(FOR_C);
    compile.args([
        "-std=c11",
        "-D__USE_MINGW_ANSI_STDIO=1",
        "-Wall",
        "-Wextra",
        "-Werror",
    ]);
    for headers in [&installed.join("include"), &tests] {
        compile.arg("-I").arg(headers);
    }
    compile.arg("-o").arg(&program);
    compile.arg(tests.join(format!("{name}.c")));
    commands::output(compile.arg(installed.join(library)).args(needs))?;
    Ok(program)
}

/// The libraries that the static one needs, as installed for `pkg-config`.
fn needs(installed: &Path) -> Result<Vec<String>> {
    let text = fs::read_to_string(installed.join("lib/pkgconfig/teak.pc"))?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("Libs.private:"));
    let needs = line.context("teak.pc has no line Libs.private")?;
    Ok(needs.split_whitespace().map(str::to_owned).collect())
}
