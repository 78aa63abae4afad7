//! Builds the documentation of the C and C++ interfaces with Doxygen. Warnings are errors.

use crate::{Result, built};
use clap::Parser;
use std::{
    env, fs,
    io::{ErrorKind, Write},
    path::PathBuf,
    process::{Command, Stdio},
};

/// Builds the documentation of the interfaces for C and C++
#[derive(Parser)]
pub(crate) struct DocsCArguments {
    /// The output directory; `doc-c` in the target directory if it is not given
    #[arg(long)]
    directory: Option<PathBuf>,
}

pub(crate) fn run(arguments: &DocsCArguments) -> Result {
    let workspace = built::workspace();
    let directory = match &arguments.directory {
        Some(directory) => directory.clone(),
        None => env::var_os("CARGO_TARGET_DIR")
            .map_or(workspace.join("target"), PathBuf::from)
            .join("doc-c"),
    };
    let begun = Command::new("doxygen")
        .arg("-")
        .current_dir(workspace)
        .stdin(Stdio::piped())
        .spawn();
    let mut doxygen = match begun {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            println!("NOT RUN: doxygen is not installed");
            return Ok(());
        }
        begun => begun?,
    };
    fs::create_dir_all(&directory)?;
    let directory = fs::canonicalize(&directory)?;
    let mut settings = fs::read_to_string(workspace.join("crates/teak-c/Doxyfile"))?;
    settings += &format!("PROJECT_NUMBER = {}\n", env!("CARGO_PKG_VERSION"));
    settings += &format!("OUTPUT_DIRECTORY = \"{}\"\n", directory.display());
    if let Some(mut input) = doxygen.stdin.take() {
        input.write_all(settings.as_bytes())?;
    }
    ensure!(doxygen.wait()?.success(), "the documentation has warnings");
    println!("built: {}", directory.join("html/index.html").display());
    Ok(())
}
