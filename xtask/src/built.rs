//! Runs cargo, and builds the programs that tasks need.

use crate::{Context, Result, commands};
use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

/// The profile of the campaigns.
pub(crate) const CAMPAIGN: &str = "campaign";

/// The command `cargo`, in the workspace.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(workspace());
    command
}

/// The output of `cargo metadata` for the package in a directory: one line of JSON.
pub(crate) fn metadata(directory: &Path) -> Result<String> {
    let mut command = cargo();
    command.args(["metadata", "--format-version", "1"]);
    commands::output(command.current_dir(directory))
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
pub(crate) fn target_directory() -> Result<PathBuf> {
    let metadata = metadata(workspace())?;
    let target = quoted(&metadata, "\"target_directory\":\"", |_| true);
    let target = target.context("cargo names no target directory")?;
    Ok(target.into())
}

/// The output directory of a profile.
pub(crate) fn directory(profile: &str) -> Result<PathBuf> {
    Ok(target_directory()?.join(directory_name(profile)))
}

/// The name of the output directory of a profile.
pub(crate) fn directory_name(profile: &str) -> &str {
    if profile == "dev" { "debug" } else { profile }
}

/// Cargo arguments that build a package like this program: with the same features of shared
/// dependencies, so that all programs use one build of the engine.
fn command(package: &str) -> Command {
    let mut command = build(package, CAMPAIGN);
    command.args(["--package", "xtask"]);
    command
}

/// Cargo arguments that build a package with a profile.
fn build(package: &str, profile: &str) -> Command {
    let mut command = cargo();
    command
        .args(["build", "--quiet", "--profile", profile])
        .args(["--package", package]);
    command
}

/// The path of a program of the workspace, which is built unless a path is given.
pub(crate) fn program(given: Option<&Path>, package: &str, name: &str) -> Result<PathBuf> {
    if let Some(program) = given {
        return Ok(program.to_owned());
    }
    commands::run(command(package).args(["--bin", name]))?;
    found(name)
}

/// Like [`program`], for a program that cannot be built on every machine. An error has the output
/// of the build.
pub(crate) fn try_program(package: &str, name: &str) -> Result<PathBuf> {
    commands::output(command(package).args(["--bin", name]))?;
    found(name)
}

fn found(name: &str) -> Result<PathBuf> {
    let program = format!("{name}{}", env::consts::EXE_SUFFIX);
    Ok(directory(CAMPAIGN)?.join(program))
}

/// Builds the library of a package; returns its path.
pub(crate) fn library(package: &str, profile: &str, file: &str) -> Result<PathBuf> {
    let mut command = match profile {
        CAMPAIGN => command(package),
        _ => build(package, profile),
    };
    commands::run(command.arg("--lib"))?;
    Ok(directory(profile)?.join(file))
}

/// The root of the workspace.
pub(crate) fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap_or(Path::new("."))
}

/// The standard output of a program that runs in the workspace, if it succeeds.
pub(crate) fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    commands::output(command.args(arguments).current_dir(workspace())).ok()
}
