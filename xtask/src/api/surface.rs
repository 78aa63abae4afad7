//! Finds the exported names of a crate and the functions that they offer.
//!
//! A name is exported by a `pub use` of `lib.rs`, or is public in a module that is. Functions are
//! the public ones in `impl` blocks of exported types, all those of exported traits, and exported
//! free ones; implementations of traits are not counted, nor is anything with `#[doc(hidden)]`.
//! Types that a macro defines are not seen.

use crate::{
    Context, Result,
    sources::{Modules, Source, attributes, is_test_item},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};
use syn::{
    Attribute, ImplItem, Item, ItemImpl, ItemTrait, TraitItem, Type, UseTree, Visibility,
    visit::{self, Visit},
};

/// The owner that free functions are listed under.
const FREE: &str = "(free)";

#[derive(Default)]
pub(super) struct Surface {
    pub(super) names: BTreeSet<String>,
    /// The functions of each exported type or trait that has any.
    pub(super) functions: BTreeMap<String, Vec<String>>,
}

impl Surface {
    pub(super) fn of(sources: &[Source]) -> Result<Self> {
        let modules = Modules::of(sources)?;
        let files = modules.files();
        let mut parsed = Vec::new();
        for source in sources {
            if files.contains(source.path.as_path()) {
                let name = source.path.display();
                let file = syn::parse_file(&source.text).context(format_args!("{name}"))?;
                parsed.push((source.path.as_path(), file));
            }
        }
        let mut surface = Self::default();
        for (path, file) in &parsed {
            if *path == Path::new("lib.rs") {
                surface.names.extend(public_names(&file.items));
            }
        }
        let exported_modules = surface.names.clone();
        for (path, file) in &parsed {
            if modules_of(path).any(|module| exported_modules.contains(&module)) {
                surface.names.extend(public_names(&file.items));
            }
        }
        for (_, file) in &parsed {
            surface.visit_file(file);
        }
        Ok(surface)
    }

    fn add(&mut self, owner: &str, function: &syn::Ident) {
        let functions = self.functions.entry(owner.to_owned()).or_default();
        functions.push(function.to_string());
    }
}

/// The names of the modules that a file is in, its own included.
fn modules_of(path: &Path) -> impl Iterator<Item = String> {
    let path = path.with_extension("");
    let parts = path.iter().map(|part| part.to_string_lossy().into_owned());
    parts.collect::<Vec<_>>().into_iter()
}

/// The public names of a module, child modules and re-exports included.
fn public_names(items: &[Item]) -> Vec<String> {
    let mut names = Vec::new();
    for item in items {
        if is_hidden(attributes(item)) {
            continue;
        }
        let (visibility, ident) = match item {
            Item::Use(item) if is_public(&item.vis) => {
                add_leaves(&item.tree, &mut names);
                continue;
            }
            Item::Const(item) => (&item.vis, &item.ident),
            Item::Enum(item) => (&item.vis, &item.ident),
            Item::Fn(item) => (&item.vis, &item.sig.ident),
            Item::Mod(item) => (&item.vis, &item.ident),
            Item::Static(item) => (&item.vis, &item.ident),
            Item::Struct(item) => (&item.vis, &item.ident),
            Item::Trait(item) => (&item.vis, &item.ident),
            Item::Type(item) => (&item.vis, &item.ident),
            _ => continue,
        };
        if is_public(visibility) {
            names.push(ident.to_string());
        }
    }
    names
}

fn add_leaves(tree: &UseTree, names: &mut Vec<String>) {
    match tree {
        UseTree::Path(path) => add_leaves(&path.tree, names),
        UseTree::Group(group) => group.items.iter().for_each(|tree| add_leaves(tree, names)),
        UseTree::Name(name) => names.push(name.ident.to_string()),
        UseTree::Rename(rename) => names.push(rename.rename.to_string()),
        UseTree::Glob(_) => {}
    }
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Whether an item is for tests or has `#[doc(hidden)]`.
fn is_hidden(attributes: &[Attribute]) -> bool {
    is_test_item(attributes)
        || attributes.iter().any(|attribute| {
            attribute.path().is_ident("doc")
                && attribute
                    .parse_args::<syn::Ident>()
                    .is_ok_and(|word| word == "hidden")
        })
}

impl<'a> Visit<'a> for Surface {
    fn visit_item(&mut self, item: &'a Item) {
        if !is_hidden(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        if is_public(&item.vis) && self.names.contains(&item.sig.ident.to_string()) {
            self.add(FREE, &item.sig.ident);
        }
    }

    fn visit_item_impl(&mut self, item: &'a ItemImpl) {
        let Some(owner) = inherent_owner(item).filter(|owner| self.names.contains(owner)) else {
            return;
        };
        for item in &item.items {
            if let ImplItem::Fn(function) = item
                && is_public(&function.vis)
                && !is_hidden(&function.attrs)
            {
                self.add(&owner, &function.sig.ident);
            }
        }
    }

    fn visit_item_trait(&mut self, item: &'a ItemTrait) {
        let owner = item.ident.to_string();
        if !self.names.contains(&owner) {
            return;
        }
        for item in &item.items {
            if let TraitItem::Fn(function) = item
                && !is_hidden(&function.attrs)
            {
                self.add(&owner, &function.sig.ident);
            }
        }
    }
}

/// The name of the type, unless a trait is implemented.
fn inherent_owner(item: &ItemImpl) -> Option<String> {
    let (None, Type::Path(path)) = (&item.trait_, &*item.self_ty) else {
        return None;
    };
    path.path.segments.last().map(|last| last.ident.to_string())
}
