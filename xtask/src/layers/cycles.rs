//! Finds import cycles between the files of a crate.
//!
//! A file imports the files that define the names it uses, in `use` or in any other path.
//! Re-exports are resolved: a name from a facade counts for the file that defines it, and the
//! facade itself imports nothing by re-exporting. `use module::*` imports the module's file. `mod
//! x;` is no import.

mod resolve;
#[cfg(test)]
mod tests;

use crate::{
    Result,
    ratchet::Ratchet,
    sources::{Modules, Package, Source},
};
use petgraph::{algo::tarjan_scc, graph::DiGraph};
use resolve::Resolver;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

/// The imports between the files of a crate, with the names that each takes from the others.
pub(super) type Imports = BTreeMap<(PathBuf, PathBuf), BTreeSet<String>>;

/// The cycles of one crate.
pub(super) struct Cycles {
    crate_name: String,
    imports: Imports,
    /// The files of each strongly connected component, the largest first.
    components: Vec<Vec<PathBuf>>,
}

impl Cycles {
    pub(super) fn of(package: &Package) -> Result<Self> {
        let imports = imports(&package.sources)?;
        Ok(Self {
            crate_name: package.name.clone(),
            components: components(&imports),
            imports,
        })
    }

    /// Complains if any file is in a cycle.
    pub(super) fn compare(&self, ratchet: &mut Ratchet) {
        let subject = format!("{}: files in import cycles", self.crate_name);
        ratchet.compare(&subject, self.file_count(), 0);
    }

    /// Prints the components, and the imports between their files.
    pub(super) fn print(&self, with_imports: bool) {
        let sizes: Vec<String> = self
            .components
            .iter()
            .map(|files| files.len().to_string())
            .collect();
        if sizes.is_empty() {
            println!("{}: no cycles", self.crate_name);
        } else {
            println!(
                "{}: {} files in cycles of {}",
                self.crate_name,
                self.file_count(),
                sizes.join(", ")
            );
        }
        for files in &self.components {
            println!("  cycle of {} files", files.len());
            for file in files {
                println!("    {}", file.display());
                if with_imports {
                    self.print_imports(file, files);
                }
            }
        }
    }

    fn print_imports(&self, file: &Path, component: &[PathBuf]) {
        for ((from, to), names) in &self.imports {
            if from == file && component.contains(to) {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                println!("      <- {}: {}", to.display(), names.join(", "));
            }
        }
    }

    fn file_count(&self) -> usize {
        self.components.iter().map(Vec::len).sum()
    }
}

/// The imports between the files of a crate.
fn imports(sources: &[Source]) -> Result<Imports> {
    let modules = Modules::of(sources)?;
    let mut resolver = Resolver::new(&modules);
    let mut imports = Imports::new();
    let mut add = |from: &Path, to: &Path, name: String| {
        if from != to {
            let edge = (from.to_path_buf(), to.to_path_buf());
            imports.entry(edge).or_default().insert(name);
        }
    };
    for (index, module) in modules.modules.iter().enumerate() {
        for path in &module.mentions {
            for file in resolver.definitions(index, path) {
                add(&module.file, file, path.join("::"));
            }
        }
        for path in &module.globs {
            if let Some(file) = resolver.module_file(index, path) {
                add(&module.file, file, format!("{}::*", path.join("::")));
            }
        }
    }
    Ok(imports)
}

fn components(imports: &Imports) -> Vec<Vec<PathBuf>> {
    let files: Vec<&Path> = imports
        .keys()
        .flat_map(|(from, to)| [from.as_path(), to.as_path()])
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    let index = |file: &PathBuf| u32::try_from(files.partition_point(|known| known < file)).ok();
    let graph = DiGraph::<(), ()>::from_edges(
        imports
            .keys()
            .filter_map(|(from, to)| Some((index(from)?, index(to)?))),
    );
    let mut components: Vec<Vec<PathBuf>> = tarjan_scc(&graph)
        .into_iter()
        .filter(|component| component.len() > 1)
        .map(|mut component| {
            component.sort_unstable();
            let files = component
                .iter()
                .map(|node| files[node.index()].to_path_buf());
            files.collect()
        })
        .collect();
    components.sort_by_key(|files| (std::cmp::Reverse(files.len()), files[0].clone()));
    components
}
