//! Finds the file in which a path's item is defined, through any number of re-exports.

use crate::sources::{Meaning, Modules};
use std::{collections::BTreeSet, path::Path};

/// The target of a path.
#[derive(Clone, Copy)]
enum Target {
    Module(usize),
    /// An item of this module.
    Item(usize),
}

/// Resolves the paths of one crate.
pub(super) struct Resolver<'a> {
    modules: &'a Modules,
    /// Lookups in progress. An import that needs its own name continues with the name's other
    /// meanings.
    open: BTreeSet<(usize, String)>,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(modules: &'a Modules) -> Self {
        Self {
            modules,
            open: BTreeSet::new(),
        }
    }

    /// The files that define the item at `path`, as written in `module`. A path that leads to a
    /// module has none, because code takes items from that module by paths of their own.
    pub(super) fn definitions(&mut self, module: usize, path: &[String]) -> Vec<&'a Path> {
        // A lone name that comes through a glob may also be a variable.
        let is_explicit = self.modules.modules[module].names.contains_key(&path[0]);
        if path.len() == 1 && !is_explicit {
            return Vec::new();
        }
        let targets = self.targets(module, path);
        let files = targets.into_iter().filter_map(|target| match target {
            Target::Item(holder) => Some(self.modules.modules[holder].file.as_path()),
            Target::Module(_) => None,
        });
        files.collect()
    }

    /// The file of the module at `path`, as written in `module`.
    pub(super) fn module_file(&mut self, module: usize, path: &[String]) -> Option<&'a Path> {
        let modules = self.modules;
        self.modules_at(module, path)
            .first()
            .map(|found| modules.modules[*found].file.as_path())
    }

    fn modules_at(&mut self, module: usize, path: &[String]) -> Vec<usize> {
        let targets = self.targets(module, path);
        let modules = targets.into_iter().filter_map(|target| match target {
            Target::Module(index) => Some(index),
            Target::Item(_) => None,
        });
        modules.collect()
    }

    fn targets(&mut self, module: usize, path: &[String]) -> Vec<Target> {
        let Some((first, rest)) = path.split_first() else {
            return Vec::new();
        };
        let mut targets = match first.as_str() {
            "crate" => vec![Target::Module(self.root(module))],
            "self" => vec![Target::Module(module)],
            "super" => self.parent(module),
            name => self.lookup(module, name),
        };
        for segment in rest {
            targets = self.step(targets, segment);
        }
        targets
    }

    /// Follows one segment further. For an item the rest is ignored: variants, associated items.
    fn step(&mut self, targets: Vec<Target>, segment: &str) -> Vec<Target> {
        let has_module = targets
            .iter()
            .any(|target| matches!(target, Target::Module(_)));
        let mut next = Vec::new();
        for target in targets {
            match target {
                Target::Item(_) if has_module => (),
                Target::Item(_) => next.push(target),
                Target::Module(module) => next.extend(match segment {
                    "self" => vec![target],
                    "super" => self.parent(module),
                    name => self.member(module, name),
                }),
            }
        }
        next
    }

    /// The meanings of `name` in a module that must define it, perhaps by a macro.
    fn member(&mut self, module: usize, name: &str) -> Vec<Target> {
        let is_open = self.open.contains(&(module, name.to_owned()));
        let found = self.lookup(module, name);
        if found.is_empty() && !is_open {
            vec![Target::Item(module)]
        } else {
            found
        }
    }

    fn lookup(&mut self, module: usize, name: &str) -> Vec<Target> {
        let key = (module, name.to_owned());
        let is_first = self.open.insert(key.clone());
        let modules = self.modules;
        let holder = &modules.modules[module];
        let mut targets = Vec::new();
        for meaning in holder.names.get(name).into_iter().flatten() {
            match meaning {
                Meaning::Item => targets.push(Target::Item(module)),
                Meaning::Module(index) => targets.push(Target::Module(*index)),
                Meaning::Import(path) if is_first => targets.extend(self.targets(module, path)),
                Meaning::Import(_) => (),
            }
        }
        if targets.is_empty() && is_first {
            for glob in &holder.globs {
                for source in self.modules_at(module, glob) {
                    targets.extend(self.lookup(source, name));
                }
            }
        }
        if is_first {
            self.open.remove(&key);
        }
        targets
    }

    fn parent(&self, module: usize) -> Vec<Target> {
        let parent = self.modules.modules[module].parent;
        parent.map(Target::Module).into_iter().collect()
    }

    fn root(&self, module: usize) -> usize {
        let mut root = module;
        while let Some(parent) = self.modules.modules[root].parent {
            root = parent;
        }
        root
    }
}
