//! Debian's packages for ARM64, from the release whose kernels have pages of 16 KiB. They are
//! unpacked, and not installed.

use crate::{
    Context, Failure, Result, commands,
    ports::debian::{RELEASE, archive},
};
use std::{fs, path::Path, process::Command};

/// Its newest version is taken.
const KERNEL: &str = "linux-image-arm64-16k";
/// Programs and their libraries.
const PACKAGES: &[&str] = &[
    "btrfs-progs",
    "busybox-static",
    "e2fsprogs",
    "libblkid1",
    "libc6",
    "libcap2",
    "libcom-err2",
    "libext2fs2t64",
    "libgcrypt20",
    "libgpg-error0",
    "libinih1",
    "liblzo2-2",
    "libss2",
    "libudev1",
    "liburcu8t64",
    "libuuid1",
    "libzstd1",
    "xfsprogs",
    "zlib1g",
];
/// The file that is there when all packages are unpacked.
const DONE: &str = "unpacked";

/// Unpacks all packages, unless that is done. Why it is not possible here, if it is not.
pub(super) fn missing(directory: &Path) -> Result<Option<String>> {
    if directory.join(DONE).exists() {
        return Ok(None);
    }
    if directory.exists() {
        fs::remove_dir_all(directory)?;
    }
    let cache = directory.join("cache");
    if let Err(Failure(why)) = download(directory, &cache) {
        let why = why.lines().last().unwrap_or_default().to_owned();
        return Ok(Some(format!("packages cannot be downloaded: {why}")));
    }
    for package in fs::read_dir(&cache)? {
        let package = package?.path();
        if package.extension().is_some_and(|kind| kind == "deb") {
            let mut unpack = Command::new("dpkg-deb");
            commands::output(unpack.arg("-x").arg(package).arg(directory))?;
        }
    }
    fs::remove_dir_all(&cache)?;
    fs::write(directory.join(DONE), "")?;
    Ok(None)
}

/// Downloads all packages with lists, a cache and a state of apt of their own.
fn download(directory: &Path, cache: &Path) -> Result {
    let apt = directory.join("apt");
    for part in ["lists/partial", "archives/partial", "etc", "state"] {
        fs::create_dir_all(apt.join(part))?;
    }
    fs::create_dir_all(cache)?;
    let path = |part: &str| apt.join(part).display().to_string();
    fs::write(path("state/status"), "")?;
    fs::write(
        path("etc/sources.list"),
        format!("deb {} {RELEASE} main\n", archive()?),
    )?;
    let configuration = path("apt.conf");
    fs::write(
        &configuration,
        format!(
            "APT::Architecture \"arm64\";\nAPT::Architectures {{ \"arm64\"; }};\n\
             APT::Sandbox::User \"root\";\nDebug::NoLocking \"true\";\n\
             Acquire::Languages \"none\";\n\
             Dir::State \"{}\";\nDir::State::status \"{}\";\nDir::State::Lists \"{}\";\n\
             Dir::Cache \"{}\";\nDir::Etc::sourcelist \"{}\";\nDir::Etc::sourceparts \"-\";\n",
            path("state"),
            path("state/status"),
            path("lists"),
            path(""),
            path("etc/sources.list"),
        ),
    )?;
    let run = |program: &str, words: &[&str]| {
        let mut command = Command::new(program);
        command.env("APT_CONFIG", &configuration).current_dir(cache);
        commands::output(command.args(words))
    };
    run("apt-get", &["update"])?;
    let depends = run("apt-cache", &["depends", KERNEL])?;
    let kernel = depends
        .lines()
        .find_map(|line| line.trim().strip_prefix("Depends: "));
    let kernel = kernel.context(format_args!("{KERNEL} names no kernel"))?;
    let mut words = vec!["download", kernel];
    words.extend(PACKAGES);
    run("apt-get", &words).map(drop)
}
