//! Programs that Debian's packages have. The packages are unpacked below the target directory, and
//! not installed. A script in `crates/teak-lmdb/tests/clients/debian` runs each program on LMDB and
//! on the library, and must print the same.

use super::{
    bench::{Client, ClientBench, Side},
    comparison, running,
};
use crate::{Context, Failure, Result, built, names::Named};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The programs that must be installed.
const TOOLS: [&str; 2] = ["apt-get", "dpkg-deb"];
/// The directories of a package that have programs, and those that have libraries.
const PROGRAMS: [&str; 3] = ["usr/bin", "usr/sbin", "bin"];
const LIBRARIES: [&str; 2] = ["usr/lib", "lib"];

/// The packages of each client.
const CLIENTS: [(Client, &[&str]); 6] = [
    (Client::Postfix, &["postfix", "postfix-lmdb"]),
    (Client::Ldb, &["ldb-tools"]),
    (Client::Powerdns, &["pdns-server", "pdns-backend-lmdb"]),
    (Client::Php, &["php8.2-cli", "php8.2-dba"]),
    (Client::Mapcache, &["mapcache-tools"]),
    (Client::DirectoryServer, &["389-ds-base", "ldap-utils"]),
];

/// Runs a client's script, if its packages can be downloaded.
pub(super) fn run(bench: &ClientBench<'_>, client: Client) -> Result {
    let name = &client.name();
    let entry = CLIENTS.iter().find(|(one, _)| *one == client);
    let (_, packages) = entry.context(format_args!("{name} has no packages"))?;
    let Some(root) = unpack(bench, name, packages)? else {
        return Ok(());
    };
    let script = built::workspace()
        .join("crates/teak-lmdb/tests/clients/debian")
        .join(name)
        .with_extension("sh");
    let mut libraries = Vec::new();
    for directory in LIBRARIES {
        add_library_directories(&root.join(directory), &mut libraries)?;
    }
    let with_teak: Vec<_> = [bench.prefix.libraries()]
        .into_iter()
        .chain(libraries.clone())
        .collect();
    let programs = PROGRAMS.map(|directory| root.join(directory));
    let before = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths(programs.into_iter().chain(env::split_paths(&before)))?;
    let [libraries, with_teak] = [env::join_paths(libraries)?, env::join_paths(with_teak)?];
    comparison::compare(bench, name, |side, _| {
        let libraries = match side {
            Side::Lmdb => &libraries,
            Side::Teak => &with_teak,
        };
        let mut command = Command::new("sh");
        command
            .arg("-eu")
            .arg(&script)
            .env("ROOT", &root)
            .env("PATH", &path)
            .env("LD_LIBRARY_PATH", libraries);
        command
    })
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
pub(super) fn unpack(
    bench: &ClientBench<'_>,
    name: &str,
    packages: &[&str],
) -> Result<Option<PathBuf>> {
    if let Some(tool) = running::missing_tool(&TOOLS) {
        println!("{name}: SKIPPED, since there is no {tool} here");
        return Ok(None);
    }
    let directory = bench.directory.join(name);
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
    if let Err(Failure(why)) = download(bench, packages, &cache, &log) {
        println!("{name}: SKIPPED, since Debian's packages cannot be downloaded: {why}");
        return Ok(None);
    }
    for file in fs::read_dir(cache.join("archives"))? {
        let file = file?.path();
        if file.extension().is_some_and(|extension| extension == "deb") {
            let mut unpack = Command::new("dpkg-deb");
            unpack.arg("-x").arg(file).arg(&root);
            running::succeed(&mut unpack, &log, bench.time_limit())?;
        }
    }
    fs::remove_dir_all(&cache)?;
    fs::write(unpacked, wanted)?;
    Ok(Some(root))
}

/// Has apt download packages to `cache`, with lists of its own, so that it needs no rights.
fn download(bench: &ClientBench<'_>, packages: &[&str], cache: &Path, log: &Path) -> Result {
    let lists = bench.directory.join("debian-lists");
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
    running::succeed(&mut apt(&["update"]), log, bench.time_limit())?;
    // `--reinstall` also downloads named packages that are installed.
    let mut install = apt(&["install", "--download-only", "--reinstall"]);
    install.arg("--no-install-recommends").args(packages);
    running::succeed(&mut install, log, bench.time_limit())
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
