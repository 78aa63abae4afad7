//! Runs cargo, and builds the programs that tasks need.

use crate::Failure;
use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// The command `cargo`, in the workspace.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(workspace());
    command
}

/// The output of `cargo metadata` for the package in a directory: one line of JSON.
pub(crate) fn metadata(directory: &Path) -> Result<String, Failure> {
    let output = cargo()
        .args(["metadata", "--format-version", "1"])
        .current_dir(directory)
        .stderr(Stdio::inherit())
        .output()?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(failure!("cargo metadata has failed ({})", output.status)),
    }
}

/// The first text between `mark` and the next quote for which `is_wanted` holds.
pub(crate) fn quoted<'m>(
    metadata: &'m str,
    mark: &str,
    is_wanted: impl Fn(&str) -> bool,
) -> Option<&'m str> {
    let values = metadata.split(mark).skip(1);
    let mut texts = values.filter_map(|value| value.split('"').next());
    texts.find(|text| is_wanted(text))
}

/// The target directory of cargo.
pub(crate) fn target_directory() -> Result<PathBuf, Failure> {
    let metadata = metadata(workspace())?;
    let target = quoted(&metadata, "\"target_directory\":\"", |_| true);
    let target = target.ok_or_else(|| failure!("cargo names no target directory"))?;
    Ok(target.into())
}

/// The output directory of a profile.
pub(crate) fn directory(profile: &str) -> Result<PathBuf, Failure> {
    let name = if profile == "dev" { "debug" } else { profile };
    Ok(target_directory()?.join(name))
}

/// Cargo arguments that build a package like this program: with the same features of shared
/// dependencies, so that all programs use one build of the engine.
fn command(package: &str) -> Command {
    let mut command = cargo();
    command
        .args(["build", "--quiet", "--profile", "campaign"])
        .args(["--package", package, "--package", "xtask"]);
    command
}

/// The path of a program of the workspace, which is built unless a path is given.
pub(crate) fn program(given: Option<&Path>, package: &str, name: &str) -> Result<PathBuf, Failure> {
    if let Some(program) = given {
        return Ok(program.to_owned());
    }
    let status = command(package).args(["--bin", name]).status()?;
    ensure!(status.success(), "{name} cannot be built ({status})");
    found(name)
}

/// Like [`program`], for a program that cannot be built on every machine. Returns the output of a
/// failed build.
pub(crate) fn try_program(package: &str, name: &str) -> Result<Result<PathBuf, Output>, Failure> {
    let output = command(package)
        .args(["--bin", name])
        .stdin(Stdio::null())
        .output()?;
    match output.status.success() {
        true => Ok(Ok(found(name)?)),
        false => Ok(Err(output)),
    }
}

fn found(name: &str) -> Result<PathBuf, Failure> {
    let program = format!("{name}{}", env::consts::EXE_SUFFIX);
    Ok(directory("campaign")?.join(program))
}

/// Builds the library of a package; returns its path.
pub(crate) fn library(package: &str, file: &str) -> Result<PathBuf, Failure> {
    let status = command(package).arg("--lib").status()?;
    ensure!(status.success(), "{file} cannot be built ({status})");
    Ok(directory("campaign")?.join(file))
}

/// The root of the workspace.
pub(crate) fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap_or(Path::new("."))
}

/// The standard output of a program that runs in the workspace, if it succeeds.
pub(crate) fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(workspace())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
