//! The library in a directory where clients find it: header, library and `pkg-config` files, as if
//! it were installed.

use crate::{
    Result,
    built::{metadata, workspace},
    clients::{Prefix, crates::sources_of},
    commands,
};
use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

/// Teak's library, below `directory`.
pub(crate) fn of_teak(directory: &Path, library: &Path) -> Result<Prefix> {
    let prefix = new(directory.join("teak"))?;
    let include = workspace().join("crates/teak-lmdb/include/lmdb.h");
    fs::copy(include, prefix.include().join("lmdb.h"))?;
    install(&prefix, library)?;
    Ok(prefix)
}

/// LMDB, compiled from `sources`, below `directory`.
pub(crate) fn of_lmdb(directory: &Path, sources: &Path, compiler: &str) -> Result<Prefix> {
    let prefix = new(directory.join("lmdb"))?;
    fs::copy(sources.join("lmdb.h"), prefix.include().join("lmdb.h"))?;
    let library = prefix.0.join("liblmdb-built.so");
    let mut command = Command::new(compiler);
    command
        .args(["-O2", "-w", "-shared", "-fPIC", "-Wl,-soname,liblmdb.so.0"])
        .args(["mdb.c", "midl.c"].map(|file| sources.join(file)))
        .arg("-o")
        .arg(&library)
        .arg("-lpthread");
    commands::run(&mut command)?;
    install(&prefix, &library)?;
    Ok(prefix)
}

fn new(directory: PathBuf) -> Result<Prefix> {
    let prefix = Prefix(directory);
    fs::create_dir_all(prefix.include())?;
    fs::create_dir_all(prefix.descriptions())?;
    Ok(prefix)
}

fn install(prefix: &Prefix, library: &Path) -> Result {
    for name in ["liblmdb.so", "liblmdb.so.0"] {
        let link = prefix.libraries().join(name);
        if link.is_symlink() {
            fs::remove_file(&link)?;
        }
        symlink(library, link)?;
    }
    let description = format!(
        "Name: liblmdb\nDescription: LMDB's interface\nVersion: 0.9.36\nLibs: -L{} -llmdb\nCflags: -I{}\n",
        prefix.libraries().display(),
        prefix.include().display()
    );
    for name in ["lmdb.pc", "liblmdb.pc"] {
        fs::write(prefix.descriptions().join(name), &description)?;
    }
    Ok(())
}

/// LMDB's sources, which are part of the crate lmdb-master-sys.
pub(crate) fn find_lmdb() -> Result<PathBuf> {
    let package = sources_of(&metadata(workspace())?, "lmdb-master-sys")?;
    let directory = package.join("lmdb/libraries/liblmdb");
    match directory.join("mdb.c").is_file() {
        true => Ok(directory),
        false => Err(failure!(
            "there are no sources of LMDB in {}; say where they are with `--sources`",
            directory.display()
        )),
    }
}
