//! The workspace's source files, and which of them are product code.
//!
//! Product code is everything that is compiled without `cfg(test)` and without the feature
//! `testing`. Test files are recognised by their names as well: `tests.rs`, `*_tests.rs`, and
//! everything in folders of these names.

use crate::Failure;
use std::{
    fs,
    path::{Path, PathBuf},
};
use syn::{Attribute, Meta, Token, punctuated::Punctuated};

/// A crate of the workspace.
pub(crate) struct Package {
    /// Its folder's name.
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
pub(crate) fn packages(workspace: &Path) -> Result<Vec<Package>, Failure> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(workspace.join("crates"))? {
        folders.push(entry?.path());
    }
    folders.sort();
    folders.push(workspace.join("xtask"));
    folders.retain(|folder| folder.join("src").is_dir());
    folders.iter().map(|folder| package(folder)).collect()
}

fn package(folder: &Path) -> Result<Package, Failure> {
    let name = folder.file_name().unwrap_or_default();
    Ok(Package {
        name: name.to_string_lossy().into_owned(),
        sources: read(&folder.join("src"))?,
    })
}

/// All Rust files below `root`, sorted by path.
pub(crate) fn read(root: &Path) -> Result<Vec<Source>, Failure> {
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

/// Whether a file holds tests, by its name or by the name of a folder it is in.
pub(crate) fn is_test_file(path: &Path) -> bool {
    let is_test_name = |name: &str| name == "tests" || name.ends_with("_tests");
    path.with_extension("")
        .iter()
        .any(|part| is_test_name(&part.to_string_lossy()))
}

/// Whether attributes keep an item out of product code: `#[test]`, or a `#[cfg(...)]` that cannot
/// hold without `test` or the feature `testing`.
pub(crate) fn is_test_item(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && attribute
                    .parse_args::<Meta>()
                    .is_ok_and(|condition| product_value(&condition) == Some(false))
    })
}

/// The value of a `cfg` condition in product code; `None` if it depends on anything else.
fn product_value(condition: &Meta) -> Option<bool> {
    match condition {
        Meta::Path(path) => path.is_ident("test").then_some(false),
        Meta::NameValue(pair) => {
            let is_testing = matches!(&pair.value, syn::Expr::Lit(literal)
                if matches!(&literal.lit, syn::Lit::Str(text) if text.value() == "testing"));
            (pair.path.is_ident("feature") && is_testing).then_some(false)
        }
        Meta::List(list) => {
            let parts = list
                .parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
                .ok()?;
            let values: Vec<Option<bool>> = parts.iter().map(product_value).collect();
            if list.path.is_ident("not") {
                values.first().copied().flatten().map(|value| !value)
            } else {
                combined(&values, list.path.is_ident("all"))
            }
        }
    }
}

/// The value of `all(...)` or `any(...)` over values of which some are unknown.
fn combined(values: &[Option<bool>], is_all: bool) -> Option<bool> {
    if values.contains(&Some(!is_all)) {
        Some(!is_all)
    } else if values.contains(&None) {
        None
    } else {
        Some(is_all)
    }
}
