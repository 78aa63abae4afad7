//! Zig, which links programs for other systems without their files: it has the C libraries of
//! Linux, macOS, FreeBSD and Windows. `cargo zigbuild` has cargo use it.

use super::targets;
use crate::{Failure, Result, built, commands};
use std::{env, ffi::OsString, path::Path, process::Command};

/// The packages of PyPI, with the versions that were tried.
const PACKAGES: [&str; 2] = ["cargo-zigbuild==0.24.1", "ziglang==0.17.1"];

/// The oldest glibc that programs run with, put after a target: the one that Rust's standard
/// library needs. The linker does not find functions that only newer ones have.
const OLDEST_GLIBC: &str = ".2.17";

/// Cargo with Zig as its linker, in an environment of Python.
pub(crate) struct Zig {
    /// `PATH` with the programs of the environment.
    path: OsString,
}

impl Zig {
    /// Gets Zig from PyPI. The error says why it cannot be had.
    pub(crate) fn get() -> Result<Self> {
        let directory = built::target_directory()?.join("zig");
        let programs = directory.join("bin");
        if !programs.join("cargo-zigbuild").exists() {
            install(&directory)
                .map_err(|Failure(why)| failure!("no Zig from PyPI: {}", last_line(&why)))?;
        }
        let before = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths([programs].into_iter().chain(env::split_paths(&before)))?;
        Ok(Self { path })
    }

    /// The command `cargo zigbuild` for a target.
    pub(crate) fn build(&self, target: &str) -> Command {
        let version = match target.ends_with("-linux-gnu") {
            true => OLDEST_GLIBC,
            false => "",
        };
        let mut build = targets::cargo("zigbuild", &format!("{target}{version}"));
        build.env("PATH", &self.path);
        build
    }
}

fn install(directory: &Path) -> Result {
    commands::output(Command::new("python3").args(["-m", "venv"]).arg(directory))?;
    let mut pip = Command::new(directory.join("bin/python"));
    commands::output(pip.args(["-m", "pip", "install", "--quiet"]).args(PACKAGES))?;
    Ok(())
}

fn last_line(text: &str) -> &str {
    text.lines().last().unwrap_or_default()
}
