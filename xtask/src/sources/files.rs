//! The source files of the workspace's crates.

use crate::Result;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A crate of the workspace.
pub(crate) struct Package {
    /// The name of its folder.
    pub(crate) name: String,
    /// The files below `src`, sorted by path.
    pub(crate) sources: Vec<Source>,
}

/// A source file.
pub(crate) struct Source {
    /// Relative to the `src` folder of its crate.
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// The crates in `crates/`, and `xtask` if there is one.
pub(crate) fn packages(workspace: &Path) -> Result<Vec<Package>> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(workspace.join("crates"))? {
        folders.push(entry?.path());
    }
    folders.sort();
    folders.push(workspace.join("xtask"));
    folders.retain(|folder| folder.join("src").is_dir());
    folders.iter().map(|folder| package(folder)).collect()
}

fn package(folder: &Path) -> Result<Package> {
    let name = folder.file_name().unwrap_or_default();
    Ok(Package {
        name: name.to_string_lossy().into_owned(),
        sources: read(&folder.join("src"))?,
    })
}

/// All Rust files below `root`, sorted by path.
pub(crate) fn read(root: &Path) -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                sources.push(Source {
                    text: fs::read_to_string(&path)?,
                    path: path.strip_prefix(root)?.to_path_buf(),
                });
            }
        }
    }
    sources.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(sources)
}
