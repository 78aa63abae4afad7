//! One module of a crate.

use std::{collections::BTreeMap, path::PathBuf};

/// Segments of a path as written, including `crate`, `self` and `super`.
pub(crate) type Segments = Vec<String>;

/// One module: a file, or an inline module in a file.
#[derive(Default)]
pub(crate) struct Module {
    /// The file that holds it.
    pub(crate) file: PathBuf,
    pub(crate) parent: Option<usize>,
    /// The meanings of each name in its scope. A function and a module can share a name.
    pub(crate) names: BTreeMap<String, Vec<Meaning>>,
    /// The modules that it imports with `*`.
    pub(crate) globs: Vec<Segments>,
    /// The paths that its code depends on, without re-exports.
    pub(crate) mentions: Vec<Segments>,
}

pub(crate) enum Meaning {
    /// Defined in this module.
    Item,
    /// A child module, by index.
    Module(usize),
    /// Imported from this path.
    Import(Segments),
}

impl Module {
    pub(crate) fn mean(&mut self, name: String, meaning: Meaning) {
        self.names.entry(name).or_default().push(meaning);
    }
}
