//! The directory from which Maven builds the jars with native libraries.

use crate::{Result, built, commands, ports::targets};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The file name of the library.
pub(crate) const LIBRARY: &str = "libteak_java.so";

/// Another system for which there is a library: its name in the jar, the compiler's target, and a
/// program that links for it.
struct System {
    name: &'static str,
    target: &'static str,
    linker: &'static str,
}

const SYSTEMS: &[System] = &[
    System {
        name: "linux-x86_64",
        target: "x86_64-unknown-linux-gnu",
        linker: "x86_64-linux-gnu-gcc",
    },
    System {
        name: "linux-aarch64",
        target: "aarch64-unknown-linux-gnu",
        linker: "aarch64-linux-gnu-gcc",
    },
];

/// Puts the library of this machine into an empty directory; returns the directory.
pub(super) fn of_this_machine(library: &Path) -> Result<PathBuf> {
    let directory = empty_directory()?;
    let copy = copy_library(&directory, &this_machine(), library)?;
    // Most of a library for tests is debug information.
    let stripped = Command::new("strip").arg(&copy).status();
    if !stripped.is_ok_and(|status| status.success()) {
        println!("java: the library in the jar keeps its debug information: strip failed");
    }
    write_sum(&copy)?;
    Ok(directory)
}

/// Builds the library for each system for which this machine can link it; returns the directory.
pub(super) fn of_all_systems() -> Result<PathBuf> {
    let library = built::library("teak-jni", "release", LIBRARY)?;
    let directory = of_this_machine(&library)?;
    let this_machine = this_machine();
    for system in SYSTEMS {
        if system.name != this_machine {
            system.add(&directory)?;
        }
    }
    Ok(directory)
}

/// The name of this machine's system in the jar.
fn this_machine() -> String {
    format!("linux-{}", env::consts::ARCH)
}

impl System {
    /// Builds the library, if this machine can link it, and puts it into the directory.
    fn add(&self, directory: &Path) -> Result {
        let missing = targets::missing_program(self.linker);
        if let Some(reason) = missing.or_else(|| targets::missing(self.target)) {
            println!("java: {}: NOT BUILT: {reason}", self.name);
            return Ok(());
        }
        let mut build = targets::cargo("build", self.target);
        build
            .args(["--release", "--package", "teak-jni", "--lib"])
            .env(targets::variable(self.target, "LINKER"), self.linker)
            .env("CARGO_PROFILE_RELEASE_DEBUG", "none")
            .env("CARGO_PROFILE_RELEASE_STRIP", "symbols");
        commands::run(&mut build)?;
        let built = built::target_directory()?.join(self.target).join("release");
        let copy = copy_library(directory, self.name, &built.join(LIBRARY))?;
        write_sum(&copy)
    }
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
