//! Packages of npm.

use super::WorkArea;
use crate::Result;
use std::{fs, path::Path, process::Command};

/// Has npm install the packages that the file `wanted` names, without compiled addons, unless they
/// are there already.
pub(crate) fn install(area: &WorkArea, directory: &Path, wanted: &Path) -> Result {
    let installed = directory.join("package.json");
    let wanted = fs::read(wanted)?;
    let is_installed = fs::read(&installed).is_ok_and(|installed| installed == wanted);
    if is_installed && directory.join("node_modules").is_dir() {
        return Ok(());
    }
    fs::write(&installed, &wanted)?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--ignore-scripts", "--omit=optional"])
        .args(["--no-audit", "--no-fund", "--no-package-lock"])
        .current_dir(directory);
    let installation = area.succeed(&mut npm, &directory.join("npm.log"));
    if installation.is_err() {
        fs::remove_file(&installed)?;
    }
    installation
}
