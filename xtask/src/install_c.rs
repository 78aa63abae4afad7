//! Installs the interfaces for C and C++: headers, libraries, the `pkg-config` file and the CMake
//! package.

mod trial;

use crate::{Result, built, commands};
use clap::Parser;
use std::{
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

/// Builds the interfaces for C and C++ and installs them
#[derive(Parser)]
pub(crate) struct InstallCArguments {
    /// The directory to install to, with the subdirectories `lib` and `include`
    #[arg(long, default_value = "/usr/local")]
    prefix: PathBuf,
    /// A directory put before the prefix, for packages
    #[arg(long, default_value = "/")]
    destination: PathBuf,
    /// The build profile
    #[arg(long, default_value = "release")]
    profile: String,
    /// Install an existing build
    #[arg(long = "no-build")]
    is_built: bool,
    /// Then build and run a small project with CMake and with pkg-config
    #[arg(long = "try")]
    is_tried: bool,
}

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The library's `soname`. Another number is an incompatible interface.
const SONAME: &str = "libteak.so.0";

pub(crate) fn run(arguments: &InstallCArguments) -> Result {
    if arguments.prefix.is_relative() {
        bail!(
            "the prefix {} is relative; give an absolute path, because other programs read it",
            arguments.prefix.display()
        );
    }
    if !arguments.is_built {
        build(&arguments.profile)?;
    }
    // Tests that build the libraries put them there.
    let built = built::directory(&arguments.profile)?.join("deps");
    let package = built::workspace().join("crates/teak-c");
    let below = arguments.prefix.strip_prefix("/");
    let prefix = arguments
        .destination
        .join(below.unwrap_or(&arguments.prefix));
    let (libraries, headers) = (prefix.join("lib"), prefix.join("include"));
    let descriptions = libraries.join("pkgconfig");
    fs::create_dir_all(&headers)?;
    fs::create_dir_all(&descriptions)?;
    install_headers(&package.join("include"), &headers)?;
    fs::copy(built.join("libteak_c.a"), libraries.join("libteak.a"))?;
    let library = format!("libteak.so.{VERSION}");
    fs::copy(built.join("libteak_c.so"), libraries.join(&library))?;
    for (name, target) in [(SONAME, library.as_str()), ("libteak.so", SONAME)] {
        let link = libraries.join(name);
        if link.is_symlink() {
            fs::remove_file(&link)?;
        }
        symlink(target, link)?;
    }
    describe(&package.join("teak.pc.in"), &descriptions, arguments)?;
    let cmake = libraries.join("cmake/Teak");
    fs::create_dir_all(&cmake)?;
    for name in ["TeakConfig.cmake.in", "TeakConfigVersion.cmake.in"] {
        describe(&package.join("cmake").join(name), &cmake, arguments)?;
    }
    println!("installed in {}", prefix.display());
    match arguments.is_tried {
        true => trial::run(&prefix),
        false => Ok(()),
    }
}

fn install_headers(from: &Path, to: &Path) -> Result {
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
fn describe(template: &Path, to: &Path, arguments: &InstallCArguments) -> Result {
    let text = fs::read_to_string(template)?
        .replace("@prefix@", &arguments.prefix.display().to_string())
        .replace("@version@", VERSION);
    let name = template.file_stem().unwrap_or_default();
    Ok(fs::write(to.join(name), text)?)
}

/// Builds both libraries.
fn build(profile: &str) -> Result {
    let mut build = built::cargo();
    commands::run(build.args(["build", "--package", "teak-c", "--profile", profile]))
}
