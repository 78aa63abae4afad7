//! The texts that the style rules check: Rust sources and Markdown.

use super::{names, references::Known};
use crate::{
    Result,
    sources::{Kind, pieces},
};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// The scope of Markdown files.
const DOCS: &str = "docs";

/// A file that people read.
pub(super) struct Text {
    /// Relative to the workspace.
    pub(super) path: String,
    /// The crate, or `docs`.
    pub(super) scope: String,
    pub(super) text: String,
    pub(super) is_markdown: bool,
}

impl Text {
    /// The text with empty lines for lines without a comment.
    pub(super) fn comments(&self) -> String {
        let mut comments = String::new();
        for piece in pieces(&self.text) {
            match piece.kind {
                Kind::Comment | Kind::Doc => comments.push_str(piece.text),
                _ => comments.extend(piece.text.chars().filter(|character| *character == '\n')),
            }
        }
        comments
    }
}

/// All texts, and the items that they may refer to.
pub(super) struct Workspace {
    pub(super) texts: Vec<Text>,
    pub(super) known: Known,
}

impl Workspace {
    pub(super) fn read(root: &Path, tasks: Vec<String>) -> Result<Self> {
        let mut files = Vec::new();
        list(root, &mut files)?;
        files.sort();
        let mut workspace = Self {
            texts: Vec::new(),
            known: Known {
                files: Vec::new(),
                words: BTreeSet::new(),
                tasks: tasks.into_iter().collect(),
            },
        };
        for file in files {
            workspace.add(root, &file)?;
        }
        Ok(workspace)
    }

    fn add(&mut self, root: &Path, file: &Path) -> Result {
        let path = file.strip_prefix(root)?.display().to_string();
        self.known.files.push(format!("/{path}"));
        let extension = file.extension().unwrap_or_default().to_string_lossy();
        let is_markdown = extension == "md";
        if is_markdown || ["rs", "h", "hpp", "c", "cpp", "toml", "txt"].contains(&&*extension) {
            let text = fs::read_to_string(file)?;
            if !is_markdown {
                self.add_words(&text, extension == "rs");
            }
            if let Some(scope) = scope(&path, &extension) {
                self.texts.push(Text {
                    path,
                    scope,
                    text,
                    is_markdown,
                });
            }
        }
        Ok(())
    }

    fn add_words(&mut self, text: &str, is_rust: bool) {
        let mut add = |text| {
            let words = names::words(text).map(str::to_owned);
            self.known.words.extend(words);
        };
        if is_rust {
            let pieces = pieces(text).into_iter();
            pieces
                .filter(|piece| matches!(piece.kind, Kind::Code | Kind::Text))
                .for_each(|piece| add(piece.text));
        } else {
            add(text);
        }
    }
}

/// The crate of a Rust source, or `docs` for Markdown in the root and in `docs/`.
fn scope(path: &str, extension: &str) -> Option<String> {
    let mut parts = path.split('/');
    let first = parts.next()?;
    match extension {
        "md" => (first == "docs" || parts.next().is_none()).then(|| DOCS.to_owned()),
        "rs" if first == "crates" => parts.next().map(str::to_owned),
        "rs" if first == "xtask" => Some(first.to_owned()),
        _ => None,
    }
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> Result {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            if name.starts_with('.') || is_built(&path) {
                continue;
            }
            list(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// Whether a folder belongs to cargo.
fn is_built(folder: &Path) -> bool {
    folder.join("CACHEDIR.TAG").exists()
}
