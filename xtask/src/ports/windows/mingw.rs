//! Programs in C and C++ that are compiled for Windows, and what they print under wine.

use super::wine::Wine;
use crate::{Failure, Result, commands, ports::targets::mingw_for_cpp};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The compiler for C, which also links programs of Rust.
pub(super) const FOR_C: &str = "x86_64-w64-mingw32-gcc";
/// Numbers are printed as elsewhere.
const STRICT: &[&str] = &["-D__USE_MINGW_ANSI_STDIO=1", "-Wall", "-Werror"];

/// A program to be compiled. It needs no library of the compiler at run time.
pub(super) struct Program<'a> {
    pub(super) source: PathBuf,
    /// Further sources, libraries and flags, which follow it.
    pub(super) words: Vec<&'a str>,
    /// Directories with headers.
    pub(super) headers: Vec<&'a Path>,
}

impl Program<'_> {
    /// Compiles it into a directory, under a name that ends with `kind`.
    pub(super) fn compile(&self, directory: &Path, kind: &str) -> Result<PathBuf> {
        let is_c = self.source.extension().is_some_and(|suffix| suffix == "c");
        let stem = self.source.file_stem().unwrap_or_default();
        let program = directory.join(format!("{}-{kind}.exe", stem.to_string_lossy()));
        let mut compile = Command::new(if is_c { FOR_C } else { mingw_for_cpp() });
        compile.arg(if is_c { "-std=gnu11" } else { "-std=c++17" });
        compile.args(STRICT).arg("-static");
        for headers in &self.headers {
            compile.arg("-I").arg(headers);
        }
        compile.arg("-o").arg(&program).arg(&self.source);
        commands::output(compile.args(&self.words))?;
        Ok(program)
    }
}

/// Runs a program in a new directory of its own, and returns its output, with the line ends of this
/// system.
pub(super) fn printed(
    wine: &Wine,
    program: &Path,
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> Result<String> {
    let files = program.with_extension("files");
    fs::create_dir(&files)?;
    let mut run = wine.command_with(program, &files, variables);
    let printed = commands::output(run.args(arguments))
        .map_err(|Failure(why)| failure!("{}: {why}", program.display()))?;
    Ok(printed.replace("\r\n", "\n"))
}

/// An empty directory.
pub(super) fn empty(directory: PathBuf) -> Result<PathBuf> {
    if directory.exists() {
        fs::remove_dir_all(&directory)?;
    }
    fs::create_dir_all(&directory)?;
    Ok(directory)
}
