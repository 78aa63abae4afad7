//! Common parts of installing libraries: copies, links, filled-in descriptions, and a small project
//! that uses what is installed.

pub(crate) mod trial;

use crate::{Result, built, commands, ports::targets};
use std::{
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Where a library is installed, and how it is built
#[derive(clap::Args)]
pub(crate) struct InstallArguments {
    /// The directory to install to, with the subdirectories `lib` and `include`
    #[arg(long, default_value = "/usr/local")]
    pub(crate) prefix: PathBuf,
    /// A directory put before the prefix, for packages
    #[arg(long, default_value = "/")]
    destination: PathBuf,
    /// The build profile
    #[arg(long, default_value = "release")]
    pub(crate) profile: String,
    /// Install an existing build
    #[arg(long = "no-build")]
    pub(crate) is_built: bool,
    /// Then build and run a small project with CMake and with pkg-config
    #[arg(long = "try")]
    pub(crate) is_tried: bool,
}

impl InstallArguments {
    /// The directory that files are copied to. A relative prefix is refused.
    pub(crate) fn directory(&self) -> Result<PathBuf> {
        if self.prefix.is_relative() {
            bail!(
                "the prefix {} is relative; give an absolute path, because other programs read it",
                self.prefix.display()
            );
        }
        let below = self.prefix.strip_prefix("/").unwrap_or(&self.prefix);
        Ok(self.destination.join(below))
    }

    /// Builds a package for a target, or for this system, unless an existing build is installed.
    /// Returns the directory of the build. Tests that build libraries put them into its `deps`.
    pub(crate) fn build(&self, package: &str, target: Option<&str>) -> Result<PathBuf> {
        if !self.is_built {
            let mut build = match target {
                None => built::cargo(),
                Some(target) => targets::cargo("build", target),
            };
            if target.is_none() {
                build.arg("build");
            }
            build.args(["--package", package, "--profile", &self.profile]);
            commands::run(&mut build)?;
        }
        let directory = built::target_directory()?.join(target.unwrap_or_default());
        Ok(directory.join(built::directory_name(&self.profile)))
    }
}

/// The files of a shared library on a system.
pub(crate) struct SharedLibrary {
    /// The file that is built, and the one that is installed, below the prefix.
    pub(crate) file: [&'static str; 2],
    /// The library with which programs are linked that use the shared one, likewise, where that is
    /// another file.
    pub(crate) imports: Option<[&'static str; 2]>,
    /// Links to the shared library, or to each other.
    pub(crate) links: &'static [(&'static str, &'static str)],
    /// The name that programs have of the shared library, for CMake.
    pub(crate) identity: &'static str,
}

impl SharedLibrary {
    /// Fills in the file and its name in a description.
    pub(crate) fn describe(&self, text: &str) -> String {
        text.replace("@shared@", self.file[1])
            .replace("@identity@", self.identity)
    }
}

/// Copies a library to its place below the prefix.
pub(crate) fn install_library(from: &Path, prefix: &Path, to: &str) -> Result {
    let to = prefix.join(to);
    fs::create_dir_all(to.parent().unwrap_or(prefix))?;
    fs::copy(from, to)?;
    Ok(())
}

/// Makes symbolic links, over those that exist.
pub(crate) fn link(directory: &Path, links: &[(&str, &str)]) -> Result {
    for (name, target) in links {
        let link = directory.join(name);
        if link.is_symlink() {
            fs::remove_file(&link)?;
        }
        symlink(target, link)?;
    }
    Ok(())
}

/// Copies headers and their directories.
pub(crate) fn install_headers(from: &Path, to: &Path) -> Result {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => install_headers(&entry.path(), &to)?,
            false => {
                fs::copy(entry.path(), to)?;
            }
        }
    }
    Ok(())
}

/// Fills in the paths in a template, and removes its `.in`.
pub(crate) fn describe(template: &Path, to: &Path, prefix: &Path) -> Result {
    fs::create_dir_all(to)?;
    let text = fs::read_to_string(template)?
        .replace("@prefix@", &prefix.display().to_string())
        .replace("@version@", VERSION);
    let name = template.file_stem().unwrap_or_default();
    Ok(fs::write(to.join(name), text)?)
}
