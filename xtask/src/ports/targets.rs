//! The compiler's targets: whether their standard libraries are here, and builds for them.

use crate::{Context, Failure, Result, built, commands};
use serde_json::Value;
use std::{fs, path::PathBuf, process::Command};

/// The linker of Rust, for targets whose C library comes with Rust: no other tool is needed.
const LINKER: &str = "rust-lld";

/// Why there is no standard library for a target, if `rustup` cannot get it.
pub(crate) fn missing(target: &str) -> Option<String> {
    if has_library(target) {
        return None;
    }
    let mut add = Command::new("rustup");
    let added = commands::output(add.args(["target", "add", target]));
    match added {
        Ok(_) if has_library(target) => None,
        Ok(_) => Some(format!(
            "this compiler has no standard library for {target}"
        )),
        Err(Failure(why)) => {
            let why = why.lines().last().unwrap_or_default();
            Some(format!("no standard library for {target}: {why}"))
        }
    }
}

/// Whether the compiler has a standard library for a target.
fn has_library(target: &str) -> bool {
    let arguments = ["--print", "target-libdir", "--target", target];
    let directory = built::output("rustc", &arguments);
    let Some(files) = directory.and_then(|directory| fs::read_dir(directory).ok()) else {
        return false;
    };
    let mut names = files.flatten().map(|file| file.file_name());
    names.any(|name| name.to_string_lossy().starts_with("libstd-"))
}

/// Why a program is missing, if it is.
pub(crate) fn missing_program(program: &str) -> Option<String> {
    let is_there = commands::is_there(program, "--version");
    (!is_there).then(|| format!("there is no {program} here"))
}

/// The compiler for C++ of MinGW-w64. Debian has two variants, and the default one lacks
/// `std::mutex`.
pub(crate) fn mingw_for_cpp() -> &'static str {
    const VARIANT: &str = "x86_64-w64-mingw32-g++-posix";
    match commands::is_there(VARIANT, "--version") {
        true => VARIANT,
        false => "x86_64-w64-mingw32-g++",
    }
}

/// The command `cargo TASK` for a target, in the dev profile.
pub(crate) fn cargo(task: &str, target: &str) -> Command {
    let mut command = built::cargo();
    command
        .args([task, "--quiet", "--target", target])
        // Zstandard is in C, for which there may be no compiler for this target.
        .arg("--no-default-features")
        .env("CARGO_INCREMENTAL", "0");
    if target.ends_with("-linux-musl") {
        command.env(variable(target, "LINKER"), LINKER);
    }
    command
}

/// Has a build make release programs without symbols.
pub(crate) fn release(build: &mut Command) -> &mut Command {
    build
        .arg("--release")
        .env("CARGO_PROFILE_RELEASE_DEBUG", "none")
        .env("CARGO_PROFILE_RELEASE_STRIP", "symbols")
}

/// The environment variable of cargo with a setting of a target.
pub(crate) fn variable(target: &str, setting: &str) -> String {
    let target = target.replace('-', "_").to_uppercase();
    format!("CARGO_TARGET_{target}_{setting}")
}

/// Builds the program `teak` for a target. Returns its path.
pub(crate) fn program(target: &str) -> Result<PathBuf> {
    let mut build = cargo("build", target);
    commands::run(build.args(["--package", "teak-cli", "--bin", "teak"]))?;
    let suffix = if target.contains("-windows-") {
        ".exe"
    } else {
        ""
    };
    let directory = built::target_directory()?.join(target).join("debug");
    Ok(directory.join(format!("teak{suffix}")))
}

/// Builds the engine's tests with a command of cargo. Returns the programs of the unit tests and of
/// the integration tests.
pub(crate) fn engine_tests(mut build: Command) -> Result<[PathBuf; 2]> {
    build.args(["--package", "teak", "--lib", "--test", "main"]);
    let printed = commands::output(build.args(["--no-run", "--message-format", "json"]))?;
    let find = |name: &str| {
        let messages = printed.lines().map(serde_json::from_str::<Value>);
        let mut programs = messages.filter_map(|message| {
            let message = message.ok()?;
            let is_wanted = message["target"]["name"] == name && message["profile"]["test"] == true;
            let program = message["executable"].as_str()?;
            is_wanted.then(|| PathBuf::from(program))
        });
        programs.next()
    };
    let no_program = "cargo names no program of the engine's tests";
    Ok([
        find("teak").context(no_program)?,
        find("main").context(no_program)?,
    ])
}
