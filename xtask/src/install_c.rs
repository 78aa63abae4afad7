//! The C interface, installed: header, libraries and `pkg-config` file.

use crate::{Failure, scratch};
use clap::Parser;
use std::{env, fs, os::unix::fs::symlink, path::PathBuf, process::Command};

/// Builds the C interface and installs it
#[derive(Parser)]
pub(crate) struct Arguments {
    /// Where it is to be found: `lib`, `lib/pkgconfig` and `include` are below
    #[arg(long, default_value = "/usr/local")]
    prefix: PathBuf,
    /// Put before the prefix, for packages
    #[arg(long, default_value = "/")]
    destination: PathBuf,
    /// How it is built
    #[arg(long, default_value = "release")]
    profile: String,
}

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The name that programs ask for: another number is another interface.
const SONAME: &str = "libteak.so.0";

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let built = build(&arguments.profile)?;
    let package = scratch::workspace().join("crates/teak-c");
    let below = arguments.prefix.strip_prefix("/");
    let prefix = arguments
        .destination
        .join(below.unwrap_or(&arguments.prefix));
    let (libraries, headers) = (prefix.join("lib"), prefix.join("include"));
    let descriptions = libraries.join("pkgconfig");
    fs::create_dir_all(&headers)?;
    fs::create_dir_all(&descriptions)?;
    fs::copy(package.join("include/teak.h"), headers.join("teak.h"))?;
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
    let description = fs::read_to_string(package.join("teak.pc.in"))?
        .replace("@prefix@", &arguments.prefix.display().to_string())
        .replace("@version@", VERSION);
    fs::write(descriptions.join("teak.pc"), description)?;
    println!("installed in {}", prefix.display());
    Ok(())
}

/// Builds both libraries; says where they are.
fn build(profile: &str) -> Result<PathBuf, Failure> {
    let workspace = scratch::workspace();
    let status = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .current_dir(workspace)
        .args(["build", "--package", "teak-c", "--profile", profile])
        .status()?;
    if !status.success() {
        return Err(Failure("the C interface was not built".to_owned()));
    }
    let target = env::var_os("CARGO_TARGET_DIR").map_or(workspace.join("target"), PathBuf::from);
    Ok(target.join(if profile == "dev" { "debug" } else { profile }))
}
