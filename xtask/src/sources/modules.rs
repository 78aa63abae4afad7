//! The module tree of one crate: its files, the names in each module, and the paths in its product
//! code.

use super::{
    collect,
    files::Source,
    module::{Meaning, Module},
    product::{is_test_file, is_test_item},
};
use crate::{Context, Result};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Component, Path, PathBuf},
};

/// All modules of a crate. The crate's roots (`lib.rs`, `main.rs`) are modules without a parent.
#[derive(Default)]
pub(crate) struct Modules {
    pub(crate) modules: Vec<Module>,
}

/// The files of a crate by path, and the folder for the child modules of each.
struct Files<'a> {
    texts: BTreeMap<&'a Path, &'a str>,
}

/// The folders in which `mod x;` looks for its file.
#[derive(Clone)]
struct Folders {
    /// The folder for `mod x;`.
    children: PathBuf,
    /// The folder that `#[path]` starts from.
    attribute: PathBuf,
}

impl Modules {
    /// Reads the modules of a crate, beginning with its roots.
    pub(crate) fn of(sources: &[Source]) -> Result<Self> {
        let files = Files {
            texts: sources
                .iter()
                .map(|source| (source.path.as_path(), source.text.as_str()))
                .collect(),
        };
        let mut modules = Self::default();
        for root in files.texts.keys().filter(|path| is_root(path)) {
            modules.add_file(&files, root, None)?;
        }
        Ok(modules)
    }

    /// The files of product code.
    pub(crate) fn files(&self) -> BTreeSet<&Path> {
        let files = self.modules.iter().map(|module| module.file.as_path());
        files.collect()
    }

    fn add_file(
        &mut self,
        files: &Files<'_>,
        path: &Path,
        parent: Option<usize>,
    ) -> Result<Option<usize>> {
        self.add_file_in(files, path, parent, &folders_of(path))
    }

    fn add_file_in(
        &mut self,
        files: &Files<'_>,
        path: &Path,
        parent: Option<usize>,
        folders: &Folders,
    ) -> Result<Option<usize>> {
        let Some(text) = files.texts.get(path) else {
            return Ok(None);
        };
        if is_test_file(path) {
            return Ok(None);
        }
        let parsed = syn::parse_file(text).context(format_args!("{}", path.display()))?;
        if is_test_item(&parsed.attrs) {
            return Ok(None);
        }
        self.add(files, path, parent, &parsed.items, folders)
            .map(Some)
    }

    fn add(
        &mut self,
        files: &Files<'_>,
        path: &Path,
        parent: Option<usize>,
        items: &[syn::Item],
        folders: &Folders,
    ) -> Result<usize> {
        let index = self.modules.len();
        self.modules.push(Module {
            file: path.to_path_buf(),
            parent,
            ..Module::default()
        });
        for child in collect::collect(items, &mut self.modules[index]) {
            let name = child.ident.to_string();
            let added = self.add_child(files, path, index, child, folders)?;
            if let Some(added) = added {
                self.modules[index].mean(name, Meaning::Module(added));
            }
        }
        Ok(index)
    }

    fn add_child(
        &mut self,
        files: &Files<'_>,
        path: &Path,
        parent: usize,
        child: &syn::ItemMod,
        folders: &Folders,
    ) -> Result<Option<usize>> {
        let name = child.ident.to_string();
        if let Some((_, items)) = &child.content {
            let folder = folders.children.join(&name);
            let folders = Folders {
                children: folder.clone(),
                attribute: folder,
            };
            return self
                .add(files, path, Some(parent), items, &folders)
                .map(Some);
        }
        if let Some(written) = collect::path_attribute(&child.attrs) {
            let file = normalized(&folders.attribute.join(written));
            let folder = file.parent().unwrap_or(Path::new("")).to_path_buf();
            let folders = Folders {
                children: folder.clone(),
                attribute: folder,
            };
            return self.add_file_in(files, &file, Some(parent), &folders);
        }
        let sibling = folders.children.join(format!("{name}.rs"));
        let inside = folders.children.join(name).join("mod.rs");
        let file = if files.texts.contains_key(sibling.as_path()) {
            sibling
        } else {
            inside
        };
        self.add_file(files, &file, Some(parent))
    }
}

/// Whether a file is the root of a crate.
fn is_root(path: &Path) -> bool {
    path == Path::new("lib.rs") || path == Path::new("main.rs") || path.starts_with("bin")
}

fn folders_of(file: &Path) -> Folders {
    let folder = file.parent().unwrap_or(Path::new("")).to_path_buf();
    let is_folder_itself = is_root(file) || file.file_stem().is_some_and(|stem| stem == "mod");
    Folders {
        children: if is_folder_itself {
            folder.clone()
        } else {
            file.with_extension("")
        },
        attribute: folder,
    }
}

/// The path without `..`. A path that leaves the crate keeps the first `..`, and names no file.
fn normalized(path: &Path) -> PathBuf {
    let mut normalized = PathBuf::new();
    for component in path.components() {
        if component != Component::ParentDir || !normalized.pop() {
            normalized.push(component);
        }
    }
    normalized
}
