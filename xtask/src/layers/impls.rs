//! Methods outside of the folder of their type. A caller needs no import for them, so the rules for
//! imports do not see the call.

use super::paths::layer_of;
use crate::{Result, sources::Source};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};
use syn::{Item, ItemEnum, ItemStruct, Type};

/// Files that define methods of a type of another folder.
const EXCEPTIONS: &[(&str, &str)] = &[
    // `instance/opening.rs` calls the methods in `open/close.rs`, and readers those in
    // `open/unlocked.rs`. All other callers are in layers above both folders.
    ("commit/pipeline.rs", "WriteTransaction"),
    ("open/close.rs", "Engine"),
    ("open/open_database.rs", "Engine"),
    ("open/unlocked.rs", "Engine"),
    ("process/wait_for_commits.rs", "Opening"),
    ("read/reader.rs", "Engine"),
    ("read/slow_readers.rs", "Engine"),
    ("write/marks.rs", "Snapshot"),
    // Readers merge the memtable before they begin, and so does an opening.
    ("write/merge.rs", "Engine"),
    ("write/named.rs", "Engine"),
    ("write/ordered.rs", "Engine"),
];

/// One line for each file that defines methods of a type of another folder.
pub(super) fn check<'s>(sources: impl Iterator<Item = &'s Source>) -> Result<Vec<String>> {
    let mut homes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut implemented = Vec::new();
    for source in sources {
        let folder = layer_of(&source.path);
        let file = syn::parse_file(&source.text)?;
        for item in file.items {
            match item {
                Item::Struct(ItemStruct { ident, .. }) | Item::Enum(ItemEnum { ident, .. }) => {
                    let homes = homes.entry(ident.to_string()).or_default();
                    homes.push(folder.clone());
                }
                Item::Impl(item) if item.trait_.is_none() => {
                    if let Some(name) = type_name(&item.self_ty) {
                        implemented.push((&source.path, folder.clone(), name));
                    }
                }
                _ => {}
            }
        }
    }
    let is_foreign = |(path, folder, name): &(&PathBuf, String, String)| {
        let is_elsewhere = homes.get(name).is_some_and(|homes| !homes.contains(folder));
        let is_allowed = |(file, of): &(&str, &str)| *path == Path::new(file) && name == of;
        is_elsewhere && !EXCEPTIONS.iter().any(is_allowed)
    };
    let complaint = |(path, _, name): (&PathBuf, String, String)| {
        let path = path.display();
        format!("{path}: methods of {name}, which another folder defines; write functions instead")
    };
    Ok((implemented.into_iter().filter(is_foreign))
        .map(complaint)
        .collect())
}

fn type_name(of: &Type) -> Option<String> {
    match of {
        Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
        _ => None,
    }
}
