//! Installs the library with LevelDB's interfaces in the places where programs look for LevelDB:
//! headers, libraries, the `pkg-config` file and the CMake package.

use crate::{
    Context, Result, built, commands,
    install::{self, InstallArguments, SharedLibrary, describe, install_headers, install_library},
    ports::targets::mingw_for_cpp,
};
use clap::Parser;
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Builds the library with LevelDB's interfaces and installs it in LevelDB's place
#[derive(Parser)]
pub(crate) struct InstallLeveldbArguments {
    #[command(flatten)]
    common: InstallArguments,
    /// A target of the compiler, to install for another platform; its part in C++ is compiled by
    /// CXX, or by MinGW-w64
    #[arg(long, conflicts_with = "is_tried", value_parser = [WINDOWS_TARGET])]
    target: Option<String>,
}

const WINDOWS_TARGET: &str = "x86_64-pc-windows-gnu";

/// A kind of system for which the library is made.
struct SystemKind {
    shared: SharedLibrary,
    /// The beginning of the names of the tools that compile for it.
    tools: &'static str,
}

/// The library, with the `soname` that Debian's has. Programs that were linked elsewhere look for
/// `libleveldb.so.1`.
const SONAME: &str = "libleveldb.so.1d";
const UNIX: SystemKind = SystemKind {
    shared: SharedLibrary {
        file: [SONAME, "lib/libleveldb.so.1d"],
        imports: None,
        links: &[("libleveldb.so.1", SONAME), ("libleveldb.so", SONAME)],
        identity: "IMPORTED_SONAME \"libleveldb.so.1d\"",
    },
    tools: "",
};
/// Programs name the library by its file.
const WINDOWS: SystemKind = SystemKind {
    shared: SharedLibrary {
        file: ["leveldb.dll", "bin/leveldb.dll"],
        imports: Some(["libleveldb.dll.a", "lib/libleveldb.dll.a"]),
        links: &[],
        identity: "IMPORTED_IMPLIB \"${_leveldb_prefix}/lib/libleveldb.dll.a\"",
    },
    tools: "x86_64-w64-mingw32-",
};

/// Builds, links and installs the library.
pub(crate) fn run(InstallLeveldbArguments { common, target }: &InstallLeveldbArguments) -> Result {
    let prefix = common.directory()?;
    let built = common.build("teak-leveldb", target.as_deref())?;
    let kind = match target {
        None => &UNIX,
        Some(_) => &WINDOWS,
    };
    let scratch = tempfile::tempdir()?;
    let library = kind.link(&archive(&built)?, scratch.path())?;
    kind.install(&library, &prefix, &common.prefix)?;
    println!("installed in {}", prefix.display());
    match common.is_tried {
        true => install::trial::run(&prefix, "teak-leveldb", "leveldb"),
        false => Ok(()),
    }
}

/// Installs a linked library to `directory`, for programs that find it at `prefix`.
pub(crate) fn install(library: &Path, directory: &Path, prefix: &Path) -> Result {
    UNIX.install(library, directory, prefix)
}

impl SystemKind {
    /// Links the part in Rust with the part in C++, in `directory`.
    fn link(&self, archive: &Path, directory: &Path) -> Result<PathBuf> {
        let script = built::workspace().join("crates/teak-leveldb/cpp/link.sh");
        let mut link = Command::new(script);
        if !self.tools.is_empty() && env::var_os("CXX").is_none() {
            link.env("CXX", mingw_for_cpp());
        }
        commands::run(link.arg(archive).arg(directory))?;
        Ok(directory.join(self.shared.file[0]))
    }

    fn install(&self, library: &Path, directory: &Path, prefix: &Path) -> Result {
        let package = built::workspace().join("crates/teak-leveldb");
        let libraries = directory.join("lib");
        install_headers(&package.join("include"), &directory.join("include"))?;
        let descriptions = libraries.join("pkgconfig");
        describe(&package.join("leveldb.pc.in"), &descriptions, prefix)?;
        let cmake = libraries.join("cmake/leveldb");
        for name in ["leveldbConfig.cmake.in", "leveldbConfigVersion.cmake.in"] {
            describe(&package.join("cmake").join(name), &cmake, prefix)?;
        }
        let configuration = cmake.join("leveldbConfig.cmake");
        let text = self.shared.describe(&fs::read_to_string(&configuration)?);
        fs::write(configuration, text)?;
        // A program that has the library open keeps its file.
        let stripped = libraries.join("new");
        let mut strip = Command::new(format!("{}strip", self.tools));
        strip.args(["--strip-debug", "-o"]).arg(&stripped);
        commands::run(strip.arg(library))?;
        let installed = directory.join(self.shared.file[1]);
        fs::create_dir_all(installed.parent().unwrap_or(directory))?;
        fs::rename(&stripped, installed)?;
        if let Some([from, to]) = self.shared.imports {
            install_library(&library.with_file_name(from), directory, to)?;
        }
        install::link(&libraries, self.shared.links)
    }
}

/// The linked library: the given one; or the given part in Rust, or else the one that is built with
/// `profile`, linked in `directory`.
pub(crate) fn library(given: Option<&Path>, profile: &str, directory: &Path) -> Result<PathBuf> {
    let archive = match given {
        Some(given) => given.canonicalize().context(given.display())?,
        None => built::library("teak-leveldb", profile, "libteak_leveldb.a")?,
    };
    match archive.extension().is_some_and(|name| name == "a") {
        true => UNIX.link(&archive, directory),
        false => Ok(archive),
    }
}

/// The part in Rust that the newest build in a directory has made. Its name depends on the build if
/// tests have built it.
fn archive(built: &Path) -> Result<PathBuf> {
    let mut newest = None;
    for directory in [built.join("deps"), built.to_owned()] {
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with("libteak_leveldb") && name.ends_with(".a") {
                newest = newest.max(Some((entry.metadata()?.modified()?, entry.path())));
            }
        }
    }
    let (_, archive) = newest.context(format_args!(
        "there is no build of teak-leveldb in {}",
        built.display()
    ))?;
    Ok(archive)
}
