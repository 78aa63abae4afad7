//! The root of the machine, which it has in memory.

use crate::{Context, Result, commands};
use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

/// The first process of the machine, and the script that it runs.
const INIT: &str = include_str!("init.sh");
const STEPS: &str = include_str!("steps.sh");
/// The needed parts of the kernel. Those that they depend on come before them.
const MODULES: &[&str] = &[
    "crc32c_generic",
    "xxhash_generic",
    "blake2b_generic",
    "sha256_generic",
    "loop",
    "ext4",
    "xfs",
    "btrfs",
    "overlay",
];

/// Makes the root from unpacked packages. Returns its path.
pub(super) fn make(packages: &Path, root: &Path) -> Result<PathBuf> {
    if root.exists() {
        fs::remove_dir_all(root)?;
    }
    for directory in [
        "modules", "tests", "usr", "tmp", "proc", "sys", "dev", "mnt",
    ] {
        fs::create_dir_all(root.join(directory))?;
    }
    for part in ["bin", "sbin", "lib"] {
        let from = packages.join("usr").join(part);
        let mut copy = Command::new("cp");
        copy.arg("-a").arg(from).arg(root.join("usr").join(part));
        commands::output(&mut copy)?;
        symlink(Path::new("usr").join(part), root.join(part))?;
    }
    let kernels = root.join("usr/lib/modules");
    fs::remove_dir_all(&kernels)?;
    copy_modules(&packages.join("usr/lib/modules"), &root.join("modules"))?;
    for (name, script) in [("init", INIT), ("steps.sh", STEPS)] {
        fs::write(root.join(name), script)?;
        commands::call("chmod", &["755", &root.join(name).display().to_string()])?;
    }
    Ok(root.to_owned())
}

/// Copies the needed modules. Their new names are in the order in which they can be loaded.
fn copy_modules(from: &Path, to: &Path) -> Result {
    let mut files = Vec::new();
    list(from, &mut files)?;
    let mut ordered = Vec::new();
    let mut seen = BTreeSet::new();
    for module in MODULES {
        add_module(module, &files, &mut seen, &mut ordered)?;
    }
    for (index, (name, content)) in ordered.iter().enumerate() {
        fs::write(to.join(format!("{index:02}-{name}.ko")), content)?;
    }
    Ok(())
}

/// Adds a module after those that it depends on. A module that is a part of the kernel has no file.
fn add_module(
    name: &str,
    files: &[PathBuf],
    seen: &mut BTreeSet<String>,
    ordered: &mut Vec<(String, Vec<u8>)>,
) -> Result {
    let name = name.replace('-', "_");
    if !seen.insert(name.clone()) {
        return Ok(());
    }
    let file_name = |file: &&PathBuf| {
        let file = file.file_name().unwrap_or_default().to_string_lossy();
        file.replace('-', "_") == format!("{name}.ko.xz")
    };
    let Some(file) = files.iter().find(file_name) else {
        return Ok(());
    };
    let unpacked = Command::new("xz").arg("-dc").arg(file).output()?;
    ensure!(unpacked.status.success(), "{} is damaged", file.display());
    let content = unpacked.stdout;
    let depends = dependencies(&content).context(format_args!("{name} is no module"))?;
    for depended in depends.split(',').filter(|name| !name.is_empty()) {
        add_module(depended, files, seen, ordered)?;
    }
    ordered.push((name, content));
    Ok(())
}

/// The names of the modules that a module depends on, separated by commas.
fn dependencies(module: &[u8]) -> Option<String> {
    const MARK: &[u8] = b"\0depends=";
    let start = module.windows(MARK.len()).position(|bytes| bytes == MARK)? + MARK.len();
    let rest = module.get(start..)?;
    let end = rest.iter().position(|byte| *byte == 0)?;
    Some(String::from_utf8_lossy(rest.get(..end)?).into_owned())
}

/// Adds all files below a directory.
fn list(directory: &Path, files: &mut Vec<PathBuf>) -> Result {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        match path.is_dir() {
            true => list(&path, files)?,
            false => files.push(path),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::dependencies;

    #[test]
    fn dependencies_are_found_among_the_other_fields() {
        let module = b"\x7fELF\0license=GPL\0depends=libcrc32c,jbd2\0name=ext4\0";
        assert_eq!(dependencies(module).as_deref(), Some("libcrc32c,jbd2"));
        assert_eq!(dependencies(b"\0depends=\0").as_deref(), Some(""));
        assert_eq!(dependencies(b"depends"), None);
    }
}
