//! Measures the product code of one crate.

use crate::{
    Context, Result,
    sources::{Kind, Modules, Package, Source, attributes, is_test_item, pieces},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};
use syn::{
    Attribute, Block, ImplItem, Item, Macro, Signature,
    spanned::Spanned,
    visit::{self, Visit},
};

/// A function with more lines is long.
pub(super) const FUNCTION_LINES: usize = 70;
/// A file with more lines, comments and tests included, is long.
pub(super) const FILE_LINES: usize = 500;
/// No file should have more lines.
pub(super) const FILE_LINES_MAX: usize = 800;
/// The macros that count as assertions.
pub(super) const ASSERTIONS: &[&str] = &[
    "assert",
    "assert_eq",
    "assert_ne",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
];

/// Lines and assertions of a folder.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) code_lines: usize,
    pub(super) assertions: usize,
}

/// The figures of a crate, or of all crates.
#[derive(Default)]
pub(super) struct Measures {
    /// Lines with code.
    pub(super) code_lines: usize,
    /// Lines with a comment and no code.
    pub(super) comment_lines: usize,
    pub(super) assertions: usize,
    pub(super) folders: BTreeMap<String, Counts>,
    pub(super) long_functions: Vec<String>,
    pub(super) long_files: Vec<String>,
    pub(super) longest_files: Vec<String>,
    pub(super) repeated_names: Vec<String>,
}

impl Measures {
    pub(super) fn of(package: &Package) -> Result<Self> {
        let modules = Modules::of(&package.sources)?;
        let files = modules.files();
        let mut measures = Self::default();
        let mut types: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for source in &package.sources {
            if files.contains(source.path.as_path()) {
                measures.add_source(source, &mut types)?;
            }
        }
        for (name, positions) in types {
            // Only the module of one system is compiled.
            let is_in_system = |position: &&String| position.starts_with("io/sys/");
            let in_system = positions.iter().filter(is_in_system).count();
            if positions.len() - in_system.saturating_sub(1) > 1 {
                let line = format!("type {name} in {}", positions.join(", "));
                measures.repeated_names.push(line);
            }
        }
        Ok(measures)
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.code_lines += other.code_lines;
        self.comment_lines += other.comment_lines;
        self.assertions += other.assertions;
        self.long_functions.extend_from_slice(&other.long_functions);
        self.long_files.extend_from_slice(&other.long_files);
        self.longest_files.extend_from_slice(&other.longest_files);
        self.repeated_names.extend_from_slice(&other.repeated_names);
    }

    /// The offenders that the limits count, one line each.
    pub(super) fn offenders(&self) -> impl Iterator<Item = &str> {
        let lists = [&self.long_functions, &self.long_files, &self.repeated_names];
        lists.into_iter().flatten().map(String::as_str)
    }

    fn add_source(&mut self, source: &Source, types: &mut BTreeMap<String, Vec<String>>) -> Result {
        let name = source.path.display().to_string();
        let parsed = syn::parse_file(&source.text).context(format_args!("{name}"))?;
        let mut items = Items::default();
        items.visit_file(&parsed);
        let (code, comment) = lines(&source.text, &items.test_lines);
        self.code_lines += code;
        self.comment_lines += comment;
        self.assertions += items.assertions;
        let folder = self.folders.entry(folder(&source.path)).or_default();
        folder.code_lines += code;
        folder.assertions += items.assertions;
        for (function, line, len) in items.functions {
            if len > FUNCTION_LINES {
                let text = format!("fn {function}: {len} lines, {name}:{line}");
                self.long_functions.push(text);
            }
        }
        let len = source.text.lines().count();
        if len > FILE_LINES {
            self.long_files.push(format!("file {name}: {len} lines"));
        }
        if len > FILE_LINES_MAX {
            self.longest_files.push(format!("file {name}: {len} lines"));
        }
        for (of_type, line) in items.types {
            let position = format!("{name}:{line}");
            types.entry(of_type).or_default().push(position);
        }
        Ok(())
    }
}

/// The folder below `src`, or the file's name without one.
fn folder(path: &Path) -> String {
    let first = path.iter().next().unwrap_or_default().to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

/// The number of lines with code and of lines with only a comment, outside of tests.
fn lines(text: &str, tests: &BTreeSet<usize>) -> (usize, usize) {
    let (mut code, mut comment) = (BTreeSet::new(), BTreeSet::new());
    for piece in pieces(text) {
        let lines = if matches!(piece.kind, Kind::Comment | Kind::Doc) {
            &mut comment
        } else {
            &mut code
        };
        for (index, line) in piece.text.split('\n').enumerate() {
            if !line.trim().is_empty() && !tests.contains(&(piece.line + index)) {
                lines.insert(piece.line + index);
            }
        }
    }
    (code.len(), comment.difference(&code).count())
}

/// The figures of the items of a file.
#[derive(Default)]
struct Items {
    /// Name, line, number of lines.
    functions: Vec<(String, usize, usize)>,
    /// Name, line.
    types: Vec<(String, usize)>,
    assertions: usize,
    test_lines: BTreeSet<usize>,
}

impl Items {
    /// Records the lines of a test item. Returns whether the item is a test.
    fn skip_test(&mut self, attributes: &[Attribute], item: &impl Spanned) -> bool {
        let is_test = is_test_item(attributes);
        if is_test {
            let span = item.span();
            self.test_lines.extend(span.start().line..=span.end().line);
        }
        is_test
    }

    fn note_function(&mut self, signature: &Signature, block: &Block) {
        let begin = signature.span().start().line;
        let end = block.brace_token.span.close().end().line;
        let name = signature.ident.to_string();
        self.functions.push((name, begin, end + 1 - begin));
    }
}

impl<'a> Visit<'a> for Items {
    fn visit_item(&mut self, item: &'a Item) {
        if self.skip_test(attributes(item), item) {
            return;
        }
        let of_type = match item {
            Item::Enum(item) => Some(&item.ident),
            Item::Struct(item) => Some(&item.ident),
            Item::Trait(item) => Some(&item.ident),
            Item::Type(item) => Some(&item.ident),
            Item::Union(item) => Some(&item.ident),
            _ => None,
        };
        if let Some(ident) = of_type {
            self.types
                .push((ident.to_string(), ident.span().start().line));
        }
        visit::visit_item(self, item);
    }

    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        self.note_function(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item(&mut self, item: &'a ImplItem) {
        let attributes: &[Attribute] = match item {
            ImplItem::Const(item) => &item.attrs,
            ImplItem::Fn(item) => &item.attrs,
            ImplItem::Type(item) => &item.attrs,
            _ => &[],
        };
        if !self.skip_test(attributes, item) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        self.note_function(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'a syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.note_function(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_macro(&mut self, call: &'a Macro) {
        let name = call.path.segments.last();
        let is_assertion =
            name.is_some_and(|name| ASSERTIONS.contains(&name.ident.to_string().as_str()));
        self.assertions += usize::from(is_assertion);
        visit::visit_macro(self, call);
    }
}
