//! The library in a directory where clients find it: header, library and `pkg-config` files, as if
//! it were installed.

use crate::{
    Result,
    built::{metadata, quoted, workspace},
    commands,
};
use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

/// The directory in which a library is installed.
#[derive(Clone, Debug)]
pub(crate) struct Prefix(PathBuf);

impl Prefix {
    /// Teak's library, below `directory`.
    pub(crate) fn of_teak(directory: &Path, library: &Path) -> Result<Self> {
        let prefix = Self::new(directory.join("teak"))?;
        let include = workspace().join("crates/teak-lmdb/include/lmdb.h");
        fs::copy(include, prefix.include().join("lmdb.h"))?;
        prefix.install(library)?;
        Ok(prefix)
    }

    /// LMDB, compiled from `sources`, below `directory`.
    pub(crate) fn of_lmdb(directory: &Path, sources: &Path, compiler: &str) -> Result<Self> {
        let prefix = Self::new(directory.join("lmdb"))?;
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
        prefix.install(&library)?;
        Ok(prefix)
    }

    fn new(directory: PathBuf) -> Result<Self> {
        let prefix = Self(directory);
        fs::create_dir_all(prefix.include())?;
        fs::create_dir_all(prefix.descriptions())?;
        Ok(prefix)
    }

    fn install(&self, library: &Path) -> Result {
        for name in ["liblmdb.so", "liblmdb.so.0"] {
            let link = self.libraries().join(name);
            if link.is_symlink() {
                fs::remove_file(&link)?;
            }
            symlink(library, link)?;
        }
        let description = format!(
            "Name: liblmdb\nDescription: LMDB's interface\nVersion: 0.9.36\nLibs: -L{} -llmdb\nCflags: -I{}\n",
            self.libraries().display(),
            self.include().display()
        );
        for name in ["lmdb.pc", "liblmdb.pc"] {
            fs::write(self.descriptions().join(name), &description)?;
        }
        Ok(())
    }

    pub(crate) fn include(&self) -> PathBuf {
        self.0.join("include")
    }

    pub(crate) fn libraries(&self) -> PathBuf {
        self.0.join("lib")
    }

    pub(crate) fn descriptions(&self) -> PathBuf {
        self.0.join("lib/pkgconfig")
    }
}

/// The source directory of a package that cargo knows.
pub(crate) fn sources_of(metadata: &str, package: &str) -> Result<PathBuf> {
    let beginning = format!("{package}-");
    let manifest = quoted(metadata, "\"manifest_path\":\"", |path| {
        let directory = Path::new(path).parent().and_then(Path::file_name);
        let name = directory.and_then(|name| name.to_str());
        let version = name.and_then(|name| name.strip_prefix(&beginning));
        version.is_some_and(|version| version.starts_with(|first: char| first.is_ascii_digit()))
    });
    match manifest {
        Some(manifest) => Ok(Path::new(manifest).with_file_name("")),
        None => Err(failure!("cargo does not know the crate {package}")),
    }
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

#[cfg(test)]
mod tests {
    use super::sources_of;
    use crate::built::quoted;

    #[test]
    fn paths_are_found_in_the_metadata_of_cargo() {
        let metadata = r#"{"manifest_path":"/a/x","manifest_path":"/b/y","target":"/t"}"#;
        let found = quoted(metadata, "\"manifest_path\":\"", |path| path.contains('y'));
        assert_eq!(found, Some("/b/y"));
        assert_eq!(quoted(metadata, "\"other\":\"", |_| true), None);
    }

    #[test]
    fn a_package_name_does_not_match_a_longer_one() {
        let metadata = r#"{"manifest_path":"/r/heed-traits-0.2.0/Cargo.toml","manifest_path":"/r/heed-0.22.0/Cargo.toml"}"#;
        let found = sources_of(metadata, "heed").unwrap();
        assert_eq!(found.file_name().unwrap(), "heed-0.22.0");
        assert!(sources_of(metadata, "hee").is_err());
    }
}
