//! Finds the names that a source file takes from the crate's root.

use crate::{Context, Result};
use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use std::path::Path;
use std::{collections::BTreeMap, str::FromStr};

/// A name of the crate's root that a file uses.
#[derive(Debug, PartialEq)]
pub(super) struct Finding {
    pub(super) name: String,
    pub(super) line: usize,
}

/// The paths in a file.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// Outside of tests.
    pub(super) findings: Vec<Finding>,
    /// Including tests.
    pub(super) unsafe_lines: Vec<usize>,
    /// Uses of a system's interface, or questions about the system, outside of tests.
    pub(super) system_lines: Vec<usize>,
    /// The number of modules between the file's items and the crate's root.
    depth: usize,
    in_tests: bool,
}

/// Crates with the interface of a system, and conditions on the system.
const OF_SYSTEM: [&str; 7] = [
    "libc",
    "rustix",
    "windows_sys",
    "target_os",
    "target_vendor",
    "target_family",
    "teak_plain",
];
/// Modules of `std::os`.
const OF_OS: [&str; 6] = ["unix", "fd", "linux", "windows", "macos", "wasi"];

/// Whether a name before these tokens is one of a system's interface.
fn is_of_system(ident: &Ident, rest: &[TokenTree]) -> bool {
    let text = |at: usize| rest.get(at).map(ToString::to_string).unwrap_or_default();
    let is_path = text(0) == ":" && text(1) == ":";
    let is_std = ident == "os" && is_path && is_in_os(&text(2));
    is_std || is_question(ident, rest) || OF_SYSTEM.iter().any(|known| ident == known)
}

/// Whether a `cfg` with this argument asks for Unix or Windows.
fn is_question(ident: &Ident, rest: &[TokenTree]) -> bool {
    let is_cfg = ident == "cfg" || ident == "cfg_attr";
    // `cfg!(...)`, or `#[cfg(...)]`.
    let argument = rest.iter().take(2).find_map(|token| match token {
        TokenTree::Group(group) => Some(group.stream()),
        _ => None,
    });
    is_cfg && argument.is_some_and(names_system)
}

fn names_system(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == "unix" || ident == "windows",
        TokenTree::Group(group) => names_system(group.stream()),
        _ => false,
    })
}

/// Whether a path after `os::` begins with one of its modules, or is a list.
fn is_in_os(next: &str) -> bool {
    next.starts_with('{') || OF_OS.contains(&next)
}

impl Scan {
    /// Reads a file whose module is `depth` levels below the crate's root.
    pub(super) fn of(text: &str, depth: usize) -> Result<Self> {
        let tokens = parse(text)?;
        let mut scan = Self {
            depth,
            ..Self::default()
        };
        scan.walk(tokens);
        Ok(scan)
    }

    fn walk(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut index = 0;
        while index < tokens.len() {
            let len = if !self.in_tests && is_test_attribute(&tokens[index..]) {
                self.walk_tests(&tokens[index..])
            } else {
                self.walk_one(&tokens[index..])
            };
            index += len;
        }
    }

    /// Walks the test-only item after an attribute at the start of `tokens`. Returns its length.
    fn walk_tests(&mut self, tokens: &[TokenTree]) -> usize {
        let len = item_len(tokens);
        self.in_tests = true;
        self.walk(tokens[..len].iter().cloned().collect());
        self.in_tests = false;
        len
    }

    /// Walks the path or the token at the start of `tokens`; returns its length.
    fn walk_one(&mut self, tokens: &[TokenTree]) -> usize {
        match &tokens[0] {
            TokenTree::Ident(ident) if ident == "unsafe" => self.unsafe_lines.push(line(ident)),
            TokenTree::Ident(ident) if !self.in_tests && is_of_system(ident, &tokens[1..]) => {
                self.system_lines.push(line(ident));
            }
            TokenTree::Ident(ident) if ident == "crate" => self.note_rest(&tokens[1..]),
            TokenTree::Ident(ident) if ident == "super" => return self.walk_super(tokens),
            TokenTree::Group(group) => self.walk(group.stream()),
            _ => (),
        }
        1
    }

    /// `super::super::name` names an item of the root if its steps match the depth of the file.
    fn walk_super(&mut self, tokens: &[TokenTree]) -> usize {
        let is_step =
            |at: usize| matches!(tokens.get(at), Some(TokenTree::Ident(ident)) if ident == "super");
        let mut end = 1;
        let mut steps = 1;
        while is_separator(&tokens[end..]) && is_step(end + 2) {
            end += 3;
            steps += 1;
        }
        if steps >= self.depth {
            self.note_rest(&tokens[end..]);
        }
        end
    }

    /// Records what follows the root at the start of a path: a name, or names in braces.
    fn note_rest(&mut self, tokens: &[TokenTree]) {
        if !is_separator(tokens) || self.in_tests {
            return;
        }
        let names = match tokens.get(2) {
            Some(TokenTree::Ident(ident)) => vec![ident.clone()],
            Some(TokenTree::Group(group)) => branches(group)
                .iter()
                .filter_map(|branch| first_ident(branch))
                .collect(),
            _ => Vec::new(),
        };
        let findings = names.iter().map(|ident| Finding {
            name: ident.to_string(),
            line: line(ident),
        });
        self.findings.extend(findings);
    }
}

/// The names that the crate's root takes from its modules with `use`, with the module of each.
pub(super) fn exports(text: &str) -> Result<BTreeMap<String, String>> {
    let tokens: Vec<TokenTree> = parse(text)?.into_iter().collect();
    let mut exports = BTreeMap::new();
    for (index, token) in tokens.iter().enumerate() {
        if matches!(token, TokenTree::Ident(ident) if ident == "use") {
            let statement: Vec<_> = tokens[index + 1..]
                .iter()
                .take_while(|token| !is_punct(token, ';'))
                .cloned()
                .collect();
            note_exports(&statement, &mut exports);
        }
    }
    Ok(exports)
}

fn note_exports(statement: &[TokenTree], exports: &mut BTreeMap<String, String>) {
    let mut path = statement;
    if matches!(path.first(), Some(TokenTree::Ident(ident)) if ident == "crate" || ident == "self")
    {
        path = path.get(3..).unwrap_or_default();
    }
    if let Some(TokenTree::Ident(module)) = path.first() {
        for name in leaves(path) {
            exports.insert(name, module.to_string());
        }
    }
}

/// The names that a `use` brings in.
fn leaves(path: &[TokenTree]) -> Vec<String> {
    match path.last() {
        Some(TokenTree::Group(group)) => branches(group)
            .iter()
            .flat_map(|branch| leaves(branch))
            .collect(),
        Some(TokenTree::Ident(ident)) => vec![ident.to_string()],
        _ => Vec::new(),
    }
}

/// The parts between the commas of a group in braces.
fn branches(group: &Group) -> Vec<Vec<TokenTree>> {
    let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
    tokens
        .split(|token| is_punct(token, ','))
        .map(<[TokenTree]>::to_vec)
        .collect()
}

fn first_ident(tokens: &[TokenTree]) -> Option<Ident> {
    match tokens.first() {
        Some(TokenTree::Ident(ident)) => Some(ident.clone()),
        _ => None,
    }
}

fn parse(text: &str) -> Result<TokenStream> {
    TokenStream::from_str(text).context("cannot be read as Rust")
}

/// Whether `#[cfg(test)]`, or another condition with the word `test` in it, comes next.
fn is_test_attribute(tokens: &[TokenTree]) -> bool {
    let [TokenTree::Punct(hash), TokenTree::Group(attribute), ..] = tokens else {
        return false;
    };
    let text = attribute.stream().to_string();
    hash.as_char() == '#'
        && text.starts_with("cfg")
        && text
            .split(|c: char| !c.is_alphanumeric())
            .any(|word| word == "test")
}

/// The number of tokens of the item at the start of `tokens`, with its attributes: up to its first
/// braces or semicolon, and beyond the braces of a `use`.
fn item_len(tokens: &[TokenTree]) -> usize {
    let is_use = tokens
        .iter()
        .take_while(|token| !is_braces(token))
        .any(|token| matches!(token, TokenTree::Ident(ident) if ident == "use"));
    let is_end = |token: &TokenTree| is_punct(token, ';') || !is_use && is_braces(token);
    tokens
        .iter()
        .position(is_end)
        .map_or(tokens.len(), |end| end + 1)
}

fn is_braces(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
}

fn is_punct(token: &TokenTree, character: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == character)
}

fn is_separator(tokens: &[TokenTree]) -> bool {
    matches!(tokens, [first, second, ..] if is_punct(first, ':') && is_punct(second, ':'))
}

fn line(ident: &Ident) -> usize {
    ident.span().start().line
}

/// The module of the crate's root that a file belongs to.
pub(super) fn layer_of(path: &Path) -> String {
    let first = path.iter().next().unwrap_or_default().to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}
