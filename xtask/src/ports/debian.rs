//! Debian's packages.

use crate::{Context, Result, commands};
use std::process::Command;

/// The release from which packages are taken that this machine does not have.
pub(super) const RELEASE: &str = "trixie";

/// The archive from which this machine gets its packages of Debian.
pub(super) fn archive() -> Result<String> {
    let mut targets = Command::new("apt-get");
    targets.args(["indextargets", "--format", "$(ORIGIN) $(LABEL) $(REPO_URI)"]);
    let targets = commands::output(targets.arg("Created-By: Packages"))?;
    let mut lines = targets.lines();
    let archive = lines.find_map(|line| line.strip_prefix("Debian Debian "));
    Ok(archive
        .context("this machine has no packages of Debian")?
        .to_owned())
}
