//! Runs programs of the system.

use crate::Failure;
use std::{
    path::Path,
    process::{Command, Stdio},
};

/// Runs a program to its end. Fails with its standard error.
pub(super) fn call(program: &str, arguments: &[&str]) -> Result<(), Failure> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()?;
    if output.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(failure!(
        "{program} {} failed ({}): {}",
        arguments.join(" "),
        output.status,
        errors.trim()
    ))
}

/// A path as an argument. All paths made here are valid text.
pub(super) fn text(path: &Path) -> &str {
    path.to_str().unwrap_or_default()
}
