//! The directory from which Maven builds the jars with native libraries.

use crate::{
    Result, built, commands,
    ports::{targets, zig::Zig},
};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The file name of the library.
pub(crate) const LIBRARY: &str = "libteak_java.so";

/// The systems for which there is a library: their names in the jar, and the compiler's targets.
const SYSTEMS: [(&str, &str); 2] = [
    ("linux-x86_64", "x86_64-unknown-linux-gnu"),
    ("linux-aarch64", "aarch64-unknown-linux-gnu"),
];

/// Puts the library of this machine into an empty directory; returns the directory.
pub(super) fn of_this_machine(library: &Path) -> Result<PathBuf> {
    let directory = empty_directory()?;
    let copy = copy_library(&directory, &format!("linux-{}", env::consts::ARCH), library)?;
    // Most of a library for tests is debug information.
    let stripped = Command::new("strip").arg(&copy).status();
    if !stripped.is_ok_and(|status| status.success()) {
        println!("java: the library in the jar keeps its debug information: strip failed");
    }
    write_sum(&copy)?;
    Ok(directory)
}

/// Builds the library for each system, for old versions of glibc too; returns the directory.
pub(super) fn of_all_systems() -> Result<PathBuf> {
    let zig = Zig::get()?;
    let directory = empty_directory()?;
    for (name, target) in SYSTEMS {
        if let Some(reason) = targets::missing(target) {
            println!("java: {name}: NOT BUILT: {reason}");
            continue;
        }
        let mut build = zig.build(target);
        targets::release(&mut build).args(["--package", "teak-jni", "--lib"]);
        commands::run(&mut build)?;
        let built = built::target_directory()?.join(target).join("release");
        write_sum(&copy_library(&directory, name, &built.join(LIBRARY))?)?;
    }
    Ok(directory)
}

fn empty_directory() -> Result<PathBuf> {
    let directory = built::target_directory()?.join("java-natives");
    if directory.exists() {
        fs::remove_dir_all(&directory)?;
    }
    fs::create_dir_all(&directory)?;
    Ok(directory)
}

/// Copies the library of a system to its place; returns the copy.
fn copy_library(directory: &Path, system: &str, library: &Path) -> Result<PathBuf> {
    let directory = directory.join("META-INF/native").join(system);
    fs::create_dir_all(&directory)?;
    let copy = directory.join(LIBRARY);
    fs::copy(library, &copy)?;
    Ok(copy)
}

/// Writes the SHA-256 of a library beside it, with which the library is compared when it is loaded.
fn write_sum(library: &Path) -> Result {
    let mut sum = Command::new("sha256sum");
    sum.arg(LIBRARY);
    if let Some(directory) = library.parent() {
        sum.current_dir(directory);
    }
    let sum = commands::output(&mut sum)?;
    let file = library.with_file_name(format!("{LIBRARY}.sha256"));
    Ok(fs::write(file, format!("{}\n", sum.trim_end()))?)
}
