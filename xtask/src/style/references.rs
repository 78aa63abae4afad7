//! References in Markdown and comments to files, items, flags and tasks that do not exist.

use super::names;
use crate::Result;
use regex::Regex;
use std::collections::BTreeSet;

/// The items that a text can refer to.
pub(super) struct Known {
    /// The paths of all files, each after a slash.
    pub(super) files: Vec<String>,
    /// All identifiers, and the words in strings.
    pub(super) words: BTreeSet<String>,
    /// The tasks of `cargo xtask`.
    pub(super) tasks: BTreeSet<String>,
}

/// Finds references.
pub(super) struct Finder {
    file: Regex,
    span: Regex,
    item: Regex,
    flag: Regex,
    task: Regex,
}

/// A reference to something that does not exist.
#[derive(Debug, PartialEq)]
pub(super) struct Dead {
    pub(super) rule: &'static str,
    pub(super) text: String,
    pub(super) line: usize,
}

impl Finder {
    pub(super) fn new() -> Result<Self> {
        Ok(Self {
            file: Regex::new(
                r"[\w.:/-]*[\w-]/[\w./-]*\w\.(?:rs|md|h|hpp|c|cpp|toml|tsv|sh|py|svg|txt|html)\b",
            )?,
            span: Regex::new("`([^`]+)`")?,
            item: Regex::new(r"^[A-Za-z_]\w*(?:::[A-Za-z_]\w*)+")?,
            flag: Regex::new(r"(?:^| )--([a-z][a-z0-9-]*)")?,
            task: Regex::new(r"cargo xtask ([a-z][a-z0-9-]*)")?,
        })
    }

    /// The dead references of a text: all kinds in Markdown, files and tasks in comments.
    pub(super) fn dead(&self, text: &str, is_markdown: bool, known: &Known) -> Vec<Dead> {
        let mut dead = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let mut add = |rule, text: &str| {
                dead.push(Dead {
                    rule,
                    text: text.to_owned(),
                    line: index + 1,
                });
            };
            for found in self.file.find_iter(line) {
                if !known.has_file(found.as_str()) {
                    add("dead-file", found.as_str());
                }
            }
            for found in self.task.captures_iter(line) {
                if !known.tasks.contains(&found[1]) {
                    add("dead-task", &found[0]);
                }
            }
            if is_markdown {
                for span in self.span.captures_iter(line) {
                    self.in_span(&span[1], known, &mut add);
                }
            }
        }
        dead
    }

    fn in_span(&self, span: &str, known: &Known, add: &mut impl FnMut(&'static str, &str)) {
        if let Some(item) = self.item.find(span)
            && !names::words(item.as_str()).all(|word| known.words.contains(word))
        {
            add("dead-item", item.as_str());
        }
        for flag in self.flag.captures_iter(span) {
            if !known.words.contains(&flag[1].replace('-', "_")) && !known.words.contains(&flag[1])
            {
                add("dead-flag", &format!("--{}", &flag[1]));
            }
        }
    }
}

impl Known {
    /// Whether a path, as written, is the end of a file's path. Web addresses are not checked.
    fn has_file(&self, path: &str) -> bool {
        let path = path.trim_start_matches("./").trim_start_matches("../");
        path.contains("://")
            || path.starts_with('/')
            || self.files.iter().any(|file| {
                file.strip_suffix(path)
                    .is_some_and(|before| before.ends_with('/'))
            })
    }
}
