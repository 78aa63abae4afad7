//! The table of rules, and the allowed counts of each crate.

use crate::Result;
use regex::Regex;
use std::{collections::BTreeMap, fmt::Write, fs, path::Path};

const RULES: &str = include_str!("rules.tsv");
const LIMITS: &str = "xtask/src/style/limits.tsv";

/// A word or an idiom to avoid.
pub(super) struct Rule {
    pub(super) name: &'static str,
    pub(super) position: Where,
    pub(super) pattern: Regex,
    /// The replacement, in words.
    pub(super) instead: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Where {
    /// Comments, rustdoc, Markdown.
    Prose,
    /// All identifiers.
    Identifier,
    /// Identifiers after `fn`.
    Function,
    /// Identifiers that begin with a capital letter.
    Type,
}

/// The number of hits that each rule may have in a crate or in the Markdown files.
pub(super) type HitCounts = BTreeMap<(String, String), usize>;

/// The rules of the table.
pub(super) fn rules() -> Result<Vec<Rule>> {
    rows(RULES).map(|row| rule(&row)).collect()
}

fn rule(row: &[&'static str]) -> Result<Rule> {
    let &[name, position, pattern, instead] = row else {
        bail!("rules.tsv: not four columns: {row:?}");
    };
    let position = match position {
        "prose" => Where::Prose,
        "identifier" => Where::Identifier,
        "function" => Where::Function,
        "type" => Where::Type,
        _ => bail!("rules.tsv: {name} is for {position}"),
    };
    let pattern = match position {
        Where::Prose => pattern.to_owned(),
        Where::Type => format!("^(?:{pattern})$"),
        Where::Identifier | Where::Function => format!("(?:^|_)(?:{pattern})(?:_|$)"),
    };
    Ok(Rule {
        name,
        position,
        pattern: Regex::new(&pattern)?,
        instead,
    })
}

/// Reads the limits of a workspace.
pub(super) fn read_limits(workspace: &Path) -> Result<HitCounts> {
    let text = fs::read_to_string(workspace.join(LIMITS))?;
    let limit = |row: Vec<&str>| match row[..] {
        [rule, scope, count] => Ok(((rule.to_owned(), scope.to_owned()), count.parse()?)),
        _ => Err(failure!("{LIMITS}: not three columns: {row:?}")),
    };
    rows(&text).map(limit).collect()
}

/// Writes the limits of a workspace. Limits of zero need no row.
pub(super) fn write_limits(workspace: &Path, limits: &HitCounts) -> Result {
    let mut text =
        "# Rule, crate, hits allowed. `cargo xtask style --lower` lowers them.\n".to_owned();
    for ((rule, scope), count) in limits.iter().filter(|(_, count)| **count > 0) {
        writeln!(text, "{rule}\t{scope}\t{count}")?;
    }
    Ok(fs::write(workspace.join(LIMITS), text)?)
}

fn rows(table: &str) -> impl Iterator<Item = Vec<&str>> {
    let lines = table.lines();
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.split('\t').collect())
}
