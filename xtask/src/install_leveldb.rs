//! Installs the library with LevelDB's interfaces in the places where programs look for LevelDB:
//! headers, libraries, the `pkg-config` file and the CMake package.

use crate::{
    Context, Result, built, commands,
    install::{self, InstallArguments, describe, install_headers},
};
use clap::Parser;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Builds the library with LevelDB's interfaces and installs it in LevelDB's place
#[derive(Parser)]
pub(crate) struct InstallLeveldbArguments {
    #[command(flatten)]
    common: InstallArguments,
}

/// The library, with the `soname` that Debian's has. Programs that were linked elsewhere look for
/// `libleveldb.so.1`.
const SONAME: &str = "libleveldb.so.1d";

/// Builds, links and installs the library.
pub(crate) fn run(InstallLeveldbArguments { common }: &InstallLeveldbArguments) -> Result {
    let prefix = common.directory()?;
    common.build("teak-leveldb")?;
    let scratch = tempfile::tempdir()?;
    let library = link_library(&archive(&common.profile)?, scratch.path())?;
    install(&library, &prefix, &common.prefix)?;
    println!("installed in {}", prefix.display());
    match common.is_tried {
        true => install::trial::run(&prefix, "teak-leveldb", "leveldb"),
        false => Ok(()),
    }
}

/// Installs a linked library to `directory`, for programs that find it at `prefix`.
pub(crate) fn install(library: &Path, directory: &Path, prefix: &Path) -> Result {
    let package = built::workspace().join("crates/teak-leveldb");
    let libraries = directory.join("lib");
    install_headers(&package.join("include"), &directory.join("include"))?;
    describe(
        &package.join("leveldb.pc.in"),
        &libraries.join("pkgconfig"),
        prefix,
    )?;
    let cmake = libraries.join("cmake/leveldb");
    for name in ["leveldbConfig.cmake.in", "leveldbConfigVersion.cmake.in"] {
        describe(&package.join("cmake").join(name), &cmake, prefix)?;
    }
    // A program that has the library open keeps its file.
    let stripped = libraries.join("new");
    let mut strip = Command::new("strip");
    strip.args(["--strip-debug", "-o"]).arg(&stripped);
    commands::run(strip.arg(library))?;
    fs::rename(&stripped, libraries.join(SONAME))?;
    install::link(
        &libraries,
        &[("libleveldb.so.1", SONAME), ("libleveldb.so", SONAME)],
    )
}

/// The linked library: the given one; or the given part in Rust, or else the one that is built with
/// `profile`, linked in `directory`.
pub(crate) fn library(given: Option<&Path>, profile: &str, directory: &Path) -> Result<PathBuf> {
    let archive = match given {
        Some(given) => given.canonicalize().context(given.display())?,
        None => built::library("teak-leveldb", profile, "libteak_leveldb.a")?,
    };
    match archive.extension().is_some_and(|name| name == "a") {
        true => link_library(&archive, directory),
        false => Ok(archive),
    }
}

/// Links the part in Rust with the part in C++, in `directory`.
fn link_library(archive: &Path, directory: &Path) -> Result<PathBuf> {
    let script = built::workspace().join("crates/teak-leveldb/cpp/link.sh");
    commands::run(Command::new(script).arg(archive).arg(directory))?;
    Ok(directory.join(SONAME))
}

/// The part in Rust that a profile's newest build has made. Its name depends on the build if tests
/// have built it.
fn archive(profile: &str) -> Result<PathBuf> {
    let built = built::directory(profile)?;
    let mut newest = None;
    for directory in [built.join("deps"), built] {
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with("libteak_leveldb") && name.ends_with(".a") {
                newest = newest.max(Some((entry.metadata()?.modified()?, entry.path())));
            }
        }
    }
    let (_, archive) = newest.context(format_args!(
        "there is no build of teak-leveldb for the profile {profile}"
    ))?;
    Ok(archive)
}
