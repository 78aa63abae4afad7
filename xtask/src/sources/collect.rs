//! Collects from the items of a module the names it defines and the paths it uses.

use super::{
    module::{Meaning, Module, Segments},
    product::is_test_item,
};
use proc_macro2::{TokenStream, TokenTree};
use syn::{
    Attribute, Expr, ImplItem, Item, ItemMod, ItemUse, Lit, Macro, Meta, Stmt, UseTree, Visibility,
    visit::{self, Visit},
};

/// Fills `module` from `items` without tests. Returns the child modules, which the caller reads.
pub(super) fn collect<'a>(items: &'a [Item], module: &mut Module) -> Vec<&'a ItemMod> {
    let mut collector = Collector {
        module,
        children: Vec::new(),
    };
    for item in items {
        collector.visit_item(item);
        if let (Some(name), false) = (defined(item), is_test_item(attributes(item))) {
            collector.module.mean(name, Meaning::Item);
        }
    }
    collector.children
}

/// The file that `#[path = "..."]` names.
pub(super) fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    attributes
        .iter()
        .find_map(|attribute| match &attribute.meta {
            Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
                Expr::Lit(literal) => match &literal.lit {
                    Lit::Str(text) => Some(text.value()),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        })
}

struct Collector<'m, 'a> {
    module: &'m mut Module,
    children: Vec<&'a ItemMod>,
}

impl<'a> Visit<'a> for Collector<'_, 'a> {
    fn visit_item(&mut self, item: &'a Item) {
        if !is_test_item(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'a ImplItem) {
        let attributes = match item {
            ImplItem::Const(item) => &item.attrs,
            ImplItem::Fn(item) => &item.attrs,
            ImplItem::Type(item) => &item.attrs,
            ImplItem::Macro(item) => &item.attrs,
            _ => return,
        };
        if !is_test_item(attributes) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_field(&mut self, field: &'a syn::Field) {
        if !is_test_item(&field.attrs) {
            visit::visit_field(self, field);
        }
    }

    fn visit_stmt(&mut self, statement: &'a Stmt) {
        let is_test = match statement {
            Stmt::Local(local) => is_test_item(&local.attrs),
            Stmt::Macro(call) => is_test_item(&call.attrs),
            _ => false,
        };
        if !is_test {
            visit::visit_stmt(self, statement);
        }
    }

    fn visit_item_mod(&mut self, item: &'a ItemMod) {
        self.children.push(item);
    }

    fn visit_item_use(&mut self, item: &'a ItemUse) {
        // A path that begins with `::` is in another crate.
        if item.leading_colon.is_none() {
            let is_private = matches!(item.vis, Visibility::Inherited);
            self.add_use(&item.tree, &mut Vec::new(), is_private);
        }
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        if path.leading_colon.is_none() {
            let segments = path.segments.iter();
            let segments = segments.map(|segment| segment.ident.to_string());
            self.module.mentions.push(segments.collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'a Macro) {
        visit::visit_macro(self, call);
        self.add_tokens(call.tokens.clone());
    }
}

impl Collector<'_, '_> {
    fn add_use(&mut self, tree: &UseTree, prefix: &mut Segments, is_private: bool) {
        match tree {
            UseTree::Path(path) => {
                prefix.push(path.ident.to_string());
                self.add_use(&path.tree, prefix, is_private);
                prefix.pop();
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.add_use(tree, prefix, is_private);
                }
            }
            UseTree::Glob(_) => self.module.globs.push(prefix.clone()),
            UseTree::Name(name) => {
                let name = name.ident.to_string();
                self.add_import(prefix, &name, None, is_private);
            }
            UseTree::Rename(rename) => {
                let (name, alias) = (rename.ident.to_string(), rename.rename.to_string());
                self.add_import(prefix, &name, Some(alias), is_private);
            }
        }
    }

    fn add_import(
        &mut self,
        prefix: &Segments,
        name: &str,
        alias: Option<String>,
        is_private: bool,
    ) {
        let mut path = prefix.clone();
        if name != "self" || path.is_empty() {
            path.push(name.to_owned());
        }
        if is_private {
            self.module.mentions.push(path.clone());
        }
        let known = alias.or_else(|| path.last().cloned()).unwrap_or_default();
        if known != "_" {
            self.module.mean(known, Meaning::Import(path));
        }
    }

    /// Adds the paths of two or more segments in a macro's tokens, regardless of what the macro
    /// does with them.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let mut path: Segments = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.end_path(&mut path);
                    }
                    path.push(ident.to_string());
                    colons = 0;
                }
                other => {
                    self.end_path(&mut path);
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.add_tokens(group.stream());
                    }
                }
            }
        }
        self.end_path(&mut path);
    }

    fn end_path(&mut self, path: &mut Segments) {
        let path = std::mem::take(path);
        if path.len() > 1 {
            self.module.mentions.push(path);
        }
    }
}

/// The name that an item defines; `None` for imports and modules.
fn defined(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(ident.to_string())
}

/// The attributes of an item.
pub(crate) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
