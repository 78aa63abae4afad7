//! Packages of Debian. They are unpacked below the target directory, and not installed.

use super::{Prefix, WorkArea, running};
use crate::{Failure, Result};
use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The programs that must be installed.
const TOOLS: [&str; 2] = ["apt-get", "dpkg-deb"];
/// The directories of a package that have programs, and those that have libraries.
const PROGRAMS: [&str; 4] = ["usr/bin", "usr/sbin", "bin", "usr/games"];
const LIBRARIES: [&str; 2] = ["usr/lib", "lib"];

/// Unpacked packages.
#[derive(Debug)]
pub(crate) struct Unpacked {
    pub(crate) root: PathBuf,
    libraries: Vec<PathBuf>,
}

impl Unpacked {
    /// Unpacks packages. `None`, with a message, if that is not possible here.
    pub(crate) fn new(area: &WorkArea, name: &str, packages: &[&str]) -> Result<Option<Self>> {
        let Some(root) = unpack(area, name, packages)? else {
            return Ok(None);
        };
        let mut libraries = Vec::new();
        for directory in LIBRARIES {
            add_library_directories(&root.join(directory), &mut libraries)?;
        }
        Ok(Some(Self { root, libraries }))
    }

    /// The environment for a program of the packages: with the library in `prefix` before theirs.
    pub(crate) fn prepare(&self, command: &mut Command, prefix: Option<&Prefix>) -> Result {
        let libraries = prefix.into_iter().map(Prefix::libraries);
        let libraries = env::join_paths(libraries.chain(self.libraries.clone()))?;
        command
            .env("ROOT", &self.root)
            .env("PATH", self.path()?)
            .env("LD_LIBRARY_PATH", libraries);
        Ok(())
    }

    /// A shell that runs a script in this environment.
    pub(crate) fn script(&self, script: &Path, prefix: Option<&Prefix>) -> Result<Command> {
        let mut command = Command::new("sh");
        self.prepare(command.arg("-eu").arg(script), prefix)?;
        Ok(command)
    }

    /// Directories of programs: those of the packages, then those of the system.
    fn path(&self) -> Result<OsString> {
        let programs = PROGRAMS.map(|directory| self.root.join(directory));
        let before = env::var_os("PATH").unwrap_or_default();
        Ok(env::join_paths(
            programs.into_iter().chain(env::split_paths(&before)),
        )?)
    }
}

/// Adds the directories that have shared libraries in them.
fn add_library_directories(directory: &Path, found: &mut Vec<PathBuf>) -> Result {
    if !directory.is_dir() || directory.is_symlink() {
        return Ok(());
    }
    let mut has_library = false;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        has_library |= entry.file_name().to_string_lossy().contains(".so");
        add_library_directories(&entry.path(), found)?;
    }
    if has_library {
        found.push(directory.to_path_buf());
    }
    Ok(())
}

/// Downloads packages, and what they need that is not installed, and unpacks them. `None`, with a
/// message, if that is not possible here.
pub(crate) fn unpack(area: &WorkArea, name: &str, packages: &[&str]) -> Result<Option<PathBuf>> {
    if let Some(tool) = running::missing_tool(&TOOLS) {
        println!("{name}: SKIPPED, since there is no {tool} here");
        return Ok(None);
    }
    let directory = area.directory.join(name);
    let (root, unpacked) = (directory.join("root"), directory.join("unpacked"));
    let wanted = packages.join(" ");
    if fs::read_to_string(&unpacked).is_ok_and(|packages| packages == wanted) {
        return Ok(Some(root));
    }
    let cache = directory.join("cache");
    for old in [&root, &cache] {
        if old.exists() {
            fs::remove_dir_all(old)?;
        }
    }
    fs::create_dir_all(cache.join("archives/partial"))?;
    let log = directory.join("download.log");
    if let Err(Failure(why)) = download(area, packages, &cache, &log) {
        println!("{name}: SKIPPED, since Debian's packages cannot be downloaded: {why}");
        return Ok(None);
    }
    for file in fs::read_dir(cache.join("archives"))? {
        let file = file?.path();
        if file.extension().is_some_and(|extension| extension == "deb") {
            let mut unpack = Command::new("dpkg-deb");
            unpack.arg("-x").arg(file).arg(&root);
            area.succeed(&mut unpack, &log)?;
        }
    }
    fs::remove_dir_all(&cache)?;
    fs::write(unpacked, wanted)?;
    Ok(Some(root))
}

/// Has apt download packages to `cache`, with lists of its own, so that it needs no rights.
fn download(area: &WorkArea, packages: &[&str], cache: &Path, log: &Path) -> Result {
    let lists = area.directory.join("debian-lists");
    fs::create_dir_all(lists.join("partial"))?;
    let apt = |task: &[&str]| {
        let mut command = Command::new("apt-get");
        command
            .arg("--yes")
            .arg("--option=Debug::NoLocking=true")
            // A user that root would change to cannot use these directories.
            .arg("--option=APT::Sandbox::User=root")
            .arg(format!("--option=Dir::State::Lists={}", lists.display()))
            .arg(format!("--option=Dir::Cache={}", cache.display()))
            .args(task);
        command
    };
    area.succeed(&mut apt(&["update"]), log)?;
    // `--reinstall` also downloads named packages that are installed.
    let mut install = apt(&["install", "--download-only", "--reinstall"]);
    install.arg("--no-install-recommends").args(packages);
    area.succeed(&mut install, log)
}

#[cfg(test)]
mod tests {
    use super::add_library_directories;
    use std::fs;

    #[test]
    fn directories_with_libraries_are_found() {
        let directory = tempfile::tempdir().unwrap();
        let [one, two] = ["a/one", "a/two"].map(|name| directory.path().join(name));
        for directory in [&one, &two] {
            fs::create_dir_all(directory).unwrap();
        }
        fs::write(one.join("libx.so.1"), "").unwrap();
        fs::write(two.join("text"), "").unwrap();
        let mut found = Vec::new();
        add_library_directories(directory.path(), &mut found).unwrap();
        assert_eq!(found, [one]);
    }
}
